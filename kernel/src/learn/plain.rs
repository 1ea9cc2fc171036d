//! Parameters of an energy of one's own.

use super::{Learnable, changes};
use crate::energy::{Function, Plain};
use crate::lane::{Bits, Block, LANES};
use crate::packed::Packed;

/// What a user writes to learn an energy of their own: a [`Function`] with its `∂E/∂θ`. [`Plain`] makes a [`Learnable`]
/// of it, for every objective.
///
/// ```
/// use bitmc::learn::{Adam, LearnableFunction, Minibatch, PseudoLikelihood};
/// use bitmc::{Function, LaneRng, Layout, Packed, Plain, SeedableRng, memory};
///
/// const L: Layout = Layout::binary(4);
/// struct Row<'t>(&'t [f32]);               // E(x) = −θ₀ Σ xᵢ − θ₁ Σ xᵢ xᵢ₊₁
/// fn terms(x: Packed<'_>) -> [f32; 2] {
///     [x.ones() as f32, (1..4).map(|i| (x.get(i - 1) * x.get(i)) as f32).sum()]
/// }
/// impl Function for Row<'_> {
///     fn layout(&self) -> Layout {
///         L
///     }
///     fn total(&self, x: Packed<'_>) -> f32 {
///         let [ones, pairs] = terms(x);
///         -self.0[0] * ones - self.0[1] * pairs
///     }
///     fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
///         -self.0[0] - self.0[1] * (x.get(site.wrapping_sub(1)) + x.get(site + 1)) as f32
///     }
/// }
/// impl LearnableFunction for Row<'_> {
///     fn parameters(&self) -> usize {
///         2
///     }
///     fn accumulate(&self, x: Packed<'_>, weight: f32, into: &mut [f32]) {
///         into.iter_mut().zip(terms(x)).for_each(|(slot, term)| *slot -= weight * term);
///     }
/// }
///
/// let (mut theta, mut gradient, mut moments) = ([[0.0; 16]], [[0.0; 16]], [[0.0; 16]; 2]);
/// let (mut adam, mut rng) = (Adam::new(&mut moments, 0.05)?, LaneRng::seed_from_u64(1));
/// let mut room = memory!(L, Plain::<Row>::CACHE_LEN);
/// for _ in 0..100 {
///     let model = Plain(Row(theta.as_flattened()));
///     let mut batch = Minibatch::new(&model, &mut gradient)?;
///     for x in [[0b0011], [0b0000], [0b1100], [0b0110]] {
///         batch.add(&PseudoLikelihood, &model, Packed::new(L, &x)?, &mut room, &mut rng)?;
///     }
///     batch.finish();
///     adam.step(&gradient, &mut theta);
/// }
/// assert!(theta[0][0] < -1.0 && theta[0][1] > 1.0); // ones are rare and come in pairs
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LearnableFunction: Function {
    /// How many parameters θ has. They are the first numbers of the blocks that the learner owns.
    fn parameters(&self) -> usize;

    /// Adds `weight · ∂E/∂θ` at `x` to `into`, one number a parameter.
    fn accumulate(&self, x: Packed<'_>, weight: f32, into: &mut [f32]);
}

impl<F: LearnableFunction + ?Sized> LearnableFunction for &F {
    fn parameters(&self) -> usize {
        F::parameters(self)
    }

    fn accumulate(&self, x: Packed<'_>, weight: f32, into: &mut [f32]) {
        F::accumulate(self, x, weight, into);
    }
}

/// Cost of all neighbours: one [`LearnableFunction::accumulate`] for each that has a weight, and no total.
impl<F: LearnableFunction> Learnable for Plain<F> {
    fn parameter_len(&self) -> usize {
        self.0.parameters().div_ceil(LANES)
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        let slots = into.as_flattened_mut().get_mut(..self.0.parameters());
        self.0.accumulate(x, weight, slots.unwrap_or_default());
    }

    fn accumulate_changes(
        &self,
        words: &mut [u32],
        cache: &[Bits],
        _scratch: &mut [Bits],
        weights: &[Block],
        into: &mut [Block],
    ) {
        // ∂E/∂θ reads no cache. Without room for one no total is computed.
        changes(self, words, cache, &mut [], weights, into);
    }
}
