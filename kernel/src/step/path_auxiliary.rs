//! The path auxiliary sampler: many indices without replacement.

super::path::of_indices! {
    /// The path auxiliary sampler (Sun, Dai, Xia, Ramamurthy 2022, the fast form with gradients at the two ends;
    /// METHODS.md §2).
    ///
    /// R moves of different sites are drawn one after the other from `softmax(Δ/2)`, with `Δ = −∂E/∂x · (change)` at
    /// x. Each is drawn from what those before have left. This is the distribution of the R largest of independent
    /// Gumbel noises plus logits. The path back draws the same sites in reverse order, with the probabilities at y.
    /// Both ways `log q = Σ_k [l_k − log Σ_left e^l]`, and the sum over what is left is exact. Categorical and
    /// ordinal sites: over (site, value), the present value left out.
    ///
    /// Where fewer than R sites can move, all of them do.
    ///
    /// Sites of two values: a step changes exactly R of them. So an even R keeps the parity of the number of ones. If
    /// all sites that can move do so at every step, there are only two states. In both cases the chain reaches only a
    /// part of the states. Take R odd and below the number of free sites, or take steps of another kernel in between.
    ///
    /// # Choosing R
    /// As many as the acceptance bears: .574 is best in the limit of many sites (Sun, Dai, Schuurmans 2022).
    /// That is tens on a lattice of 4,096 spins, a few on strongly coupled energies.
    ///
    /// A move at which the gradient points uphill to +∞ is never drawn, whatever the others are. So a state that is reached
    /// only by several such moves at once is never reached. Take 000, 100, 010, 001 and 111 as the allowed states, R = 3 and
    /// exact differences as the gradient. A chain from 000 never comes to 111. The distribution is kept.
    ///
    /// Sites of [many values](crate::Layout::many_values): one pass over the sites draws, and another scores the way back.
    /// Nothing is kept from step to step, so a step costs two gradients, two exponentials a value, and two uniforms a
    /// site.
    ///
    /// Cost a step: one gradient, and one exponential a site (and value). Each index takes 128 random bits and a walk
    /// over a sixteenth of the weights.
    ///
    /// ```
    /// use bitmc::{Chain, Ising, LaneRng, Layout, PathAuxiliary, SeedableRng, SparseMemory, memory, torus};
    ///
    /// const L: Layout = Layout::binary(25);
    /// let mut couplings = SparseMemory::<25, 100>::new();
    /// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
    /// let mut rng = LaneRng::seed_from_u64(1);
    /// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
    /// let info = chain.step(&PathAuxiliary::new(4)?, &mut rng);
    /// assert_eq!(info.proposed, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    PathAuxiliary { replace: false, backwards: true }
}
