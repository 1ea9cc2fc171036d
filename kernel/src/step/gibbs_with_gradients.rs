//! Gibbs with gradients: an index drawn by the gradient.

super::path::of_indices! {
    /// Gibbs with gradients (Grathwohl, Swersky, Hashemi, Duvenaud, Maddison 2021, Algorithm 1; METHODS.md §2).
    ///
    /// The change of E by every single-site move is estimated by the gradient, `Δ = −∂E/∂x · (change)`. One move is
    /// drawn from `softmax(Δ/2)`: for binary sites over sites, for categorical and ordinal ones over (site, value)
    /// without the present value. The Metropolis test makes it exact: `ln A = E(x) − E(y) + log q(i|y) − log q(i|x)`.
    ///
    /// With R indices (GWG-R) a step moves up to R sites. Binary: R draws with replacement, the union is
    /// flipped, and log q is summed over all R draws both ways. Other sites: R *distinct* sites are drawn, each
    /// (site, value) from what is left. The way back has them in the same order. Where fewer than R sites can move,
    /// all of them do.
    ///
    /// The first choice where gradients are cheap and few sites should move a step. R = 2 to 5 pays where the
    /// energy is smooth; [`PathAuxiliary`](crate::PathAuxiliary) is the better way to move many.
    ///
    /// A move at which the gradient points uphill to +∞ is never drawn, whatever the others are. So a state that is reached
    /// only by several such moves at once is never reached. Take 000, 100, 010, 001 and 111 as the allowed states, R = 3 and
    /// exact differences as the gradient. A chain from 000 never comes to 111. The distribution is kept.
    ///
    /// Sites of [many values](crate::Layout::many_values): one pass over the sites draws, and another scores the way back.
    /// Nothing is kept from step to step, so a step costs two gradients, two exponentials a value, and two uniforms a
    /// site.
    ///
    /// Categorical and ordinal sites of two values, and R at or above the number of free sites: what
    /// [`PathAuxiliary`](super::PathAuxiliary) says of parity holds here too.
    ///
    /// Cost a step: one gradient, one exponential a site (and value), 128 random bits an index.
    ///
    /// ```
    /// use bitmc::{Chain, GibbsWithGradients, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, torus};
    ///
    /// const L: Layout = Layout::binary(25);
    /// let mut couplings = SparseMemory::<25, 100>::new();
    /// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
    /// let mut rng = LaneRng::seed_from_u64(1);
    /// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
    /// let info = chain.step(&GibbsWithGradients::new(1)?, &mut rng);
    /// assert_eq!(info.proposed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    GibbsWithGradients { replace: true, backwards: false }
}
