//! Block Gibbs for restricted Boltzmann machines.

use super::Kernel;
use super::together::groups;
use crate::accept::Info;
use crate::chain::{Chain, CountError, Ring};
use crate::energy::{PathError, Rbm};
use crate::lane::{Bits, Block, F32s, PARTS};
use crate::packed::Move;
use crate::random::uniforms;
use rand_core::Rng;

/// Block Gibbs (METHODS.md §2): all hidden units given the visible ones, then all visible units given the
/// hidden ones: `h ~ Bernoulli(σ(Wᵀv + b))`, `v ~ Bernoulli(σ(Wh + a))`. Every draw is accepted. The distribution is
/// exactly that of the weights and biases on the model's grid ([`Rbm::new`]). Clamped sites keep their value.
///
/// Cost: `hidden` additions a changed visible unit, a uniform and an exponential a unit, and `visible` additions a changed
/// hidden unit. The last are for models [with columns](Rbm::with_columns); without them one product Wh,
/// `visible × hidden` additions. The draws are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGibbs;

impl Kernel<Rbm<'_>> for BlockGibbs {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Rbm<'_>>, rng: &mut R) -> Info {
        let [info] = sweep(1.0, [ring], [rng]);
        info
    }
}

/// Block Gibbs at inverse temperature β: `h ~ Bernoulli(σ(β(Wᵀv + b)))`, `v ~ Bernoulli(σ(β(Wh + a)))`.
///
/// It samples exactly from `p_β(v) ∝ Σ_h e^(−βE(v,h))`, the [`Rbm`] with β times all weights and biases (Desjardins et al.
/// 2010). The path of [`Tempered`](crate::energy::Tempered) is another one: it scales the energy after the hidden units are
/// summed out. Both paths lead from the uniform distribution at β = 0 to the model's own at β = 1.
/// [`temper::block_gibbs_round`](crate::temper::block_gibbs_round) is replica exchange along it. Energies that a
/// chain tells are the model's, at β = 1.
///
/// Cost: that of [`BlockGibbs`], and one exponential a hidden unit where β is not 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperedBlockGibbs {
    beta: f32,
}

impl TemperedBlockGibbs {
    /// Block Gibbs at β.
    ///
    /// # Errors
    /// [`PathError::Beta`] where β is negative or not finite.
    pub fn new(beta: f32) -> Result<Self, PathError> {
        if beta >= 0.0 && beta.is_finite() { Ok(Self { beta }) } else { Err(PathError::Beta(beta)) }
    }

    /// β.
    #[must_use]
    pub fn beta(&self) -> f32 {
        self.beta
    }
}

impl Kernel<Rbm<'_>> for TemperedBlockGibbs {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Rbm<'_>>, rng: &mut R) -> Info {
        let [info] = sweep(self.beta, [ring], [rng]);
        info
    }
}

impl BlockGibbs {
    /// One transition of each of several chains: the same, bit for bit, as [`Chain::step`] of each with its own
    /// generator. Up to 64 chains of one model read its weights together, so that each chain takes less time.
    ///
    /// ```
    /// # use bitmc::energy::pack_rows;
    /// use bitmc::{BlockGibbs, Chain, Info, LaneRng, Layout, Rbm, memory};
    /// # let (mut weights, mut hidden) = ([[0.0; 16]; 3], [[0.0; 16]]);
    /// # pack_rows(&[0.5, -1.0, 0.25, 0.0, 1.5, -0.5], 2, &mut weights)?;
    /// # pack_rows(&[0.1, -0.2], 2, &mut hidden)?;
    /// # let model = Rbm::new(&weights, &[0.3, -0.4, 0.0], &hidden, 2)?;
    /// const L: Layout = Layout::binary(3);
    /// let mut rngs = [0, 1, 2, 3].map(|stream| LaneRng::stream(1, stream));
    /// let start = |rng| Chain::random(&model, memory!(L, Rbm::cache_len(2)), rng).unwrap();
    /// let mut chains = rngs.each_mut().map(start);
    /// let mut infos = [Info::default(); 4];
    /// for _ in 0..100 {
    ///     BlockGibbs.step_together(&mut chains, &mut rngs, &mut infos)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CountError`] where there is not one generator and one place for an [`Info`] a chain.
    pub fn step_together<'m, W: AsMut<[u32]> + AsRef<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>, R: Rng>(
        &self,
        chains: &mut [Chain<'_, Rbm<'m>, W, C, B>],
        rngs: &mut [R],
        infos: &mut [Info],
    ) -> Result<(), CountError> {
        CountError::check(chains.len(), [rngs.len(), infos.len()])?;
        let rest = groups((chains, rngs, infos), together::<R, 64>);
        let rest = groups(rest, together::<R, 16>);
        let rest = groups(rest, together::<R, 4>);
        groups(rest, together::<R, 1>);
        Ok(())
    }
}

/// A step of several chains, of one model or not.
#[inline(never)] // its rings must not weigh on the stack of fewer chains
fn together<R: Rng, const M: usize>(rings: [Ring<'_, Rbm<'_>>; M], rngs: &mut [R; M]) -> [Info; M] {
    if let Some(&Ring { energy, .. }) = rings.first()
        && rings.iter().all(|ring| core::ptr::eq(ring.energy, energy))
    {
        return sweep(1.0, rings, rngs.each_mut());
    }
    let mut infos = [Info::default(); M];
    for ((info, ring), rng) in infos.iter_mut().zip(rings).zip(rngs) {
        [*info] = sweep(1.0, [ring], [rng]);
    }
    infos
}

/// A sweep of several chains of one model, at one β.
#[inline(always)]
fn sweep<R: Rng + ?Sized, const M: usize>(
    beta: f32,
    mut rings: [Ring<'_, Rbm<'_>>; M],
    mut rngs: [&mut R; M],
) -> [Info; M] {
    let Some(model) = rings.first().map(|ring| *ring.energy) else { return [Info::default(); M] };
    for (ring, rng) in rings.iter_mut().zip(&mut rngs) {
        ring.copy_cache();
        model.draw_hidden(beta, ring.there.cache, *rng);
    }
    model.follow_hidden(rings.each_mut().map(|ring| (&*ring.here.cache, &mut *ring.there.cache)));
    for (ring, rng) in rings.iter_mut().zip(rngs) {
        model.write_odds(ring.there.cache, ring.there.weights);
        draw_visible(beta, ring, rng);
    }
    model.follow_visible(
        rings.each_mut().map(|ring| {
            (Move::trusted(ring.layout, ring.here.words, ring.there.words), &mut *ring.there.cache)
        }),
    );
    rings.map(|ring| {
        let step = Move::trusted(ring.layout, ring.here.words, ring.there.words);
        let difference = model.arrive(&step, ring.there.cache);
        let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
        ring.core.weights_of = None;
        let log_ratio = if fault { f32::NEG_INFINITY } else { 0.0 };
        let proposed = ring.distance();
        ring.close(Info { accepted: !fault, proposed, log_ratio, difference, fault })
    })
}

/// Draws the visible units at there from the log odds in its weights. Clamped sites stay.
fn draw_visible<R: Rng + ?Sized>(beta: f32, ring: &mut Ring<'_, Rbm<'_>>, rng: &mut R) {
    let (one, beta) = (F32s::splat(1.0), F32s::splat(-beta));
    let words = ring.there.words.iter_mut().zip(ring.here.words.iter()).zip(ring.free);
    for (odds, ((y, &x), &free)) in ring.there.weights.chunks(2).zip(words) {
        let mut drawn = 0;
        for (half, odds) in odds.iter().enumerate() {
            let u = uniforms(rng);
            let mut bits = 0;
            for part in 0..PARTS {
                let against = (beta * F32s::load(odds, part)).exp();
                bits |= (F32s::load(&u, part) * (one + against)).lt(one).bits(part);
            }
            drawn |= bits << (16 * half);
        }
        *y = (x & !free) | (drawn & free);
    }
}
