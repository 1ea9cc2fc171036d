//! Bayesian logistic regression over binary coefficients.

mod error;

pub use error::LogisticError;

use super::{Energy, EnergyError, Rbm};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// The posterior of binary coefficients β of a logistic regression, `yᵢ ~ Bernoulli(σ(Xᵢ·β + oᵢ))`:
/// `E(β) = Σⱼ aⱼβⱼ + Σᵢ ln(1 + e^(−mᵢ))` with the margins `mᵢ = (2yᵢ − 1)(Xᵢ·β + oᵢ)` (AB Eq. 22, where prior
/// and offsets are 0).
///
/// This is an [`Rbm`]'s energy with the opposite sign, whose hidden units are the observations, and it is computed in
/// that way. The cache keeps the margins in fixed point, free of history.
///
/// Cost: a gradient is `coefficients × observations` multiply-adds; a move is `observations` additions a changed
/// coefficient and one exponential an observation.
///
/// ```
/// use bitmc::{Energy, Logistic};
/// let design = [0.5, -1.0, 2.0, 0.25]; // two observations of two coefficients
/// let mut rows = [[0.0; 16]; 2];
/// Logistic::pack(&design, &[true, false], &mut rows)?;
/// let model = Logistic::new(&rows, &[0.0; 2], &[[0.0; 16]], 2)?;
/// assert_eq!(model.layout().sites(), 2);
/// # Ok::<(), bitmc::energy::LogisticError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Logistic<'a> {
    mirror: Rbm<'a>,
}

impl<'a> Logistic<'a> {
    /// Blocks of a coefficient's row.
    #[must_use]
    pub const fn row_blocks(observations: usize) -> usize {
        Rbm::row_blocks(observations)
    }

    /// Blocks of cache that a model of so many observations needs.
    #[must_use]
    pub const fn cache_len(observations: usize) -> usize {
        Rbm::cache_len(observations)
    }

    /// Writes the rows that [`Logistic::new`] borrows: `(1 − 2yᵢ)Xᵢⱼ`, a row for every coefficient, from the
    /// design X, row-major with one row for every outcome y.
    ///
    /// # Errors
    /// [`LogisticError::Length`] where X is not whole rows or `out` is not [`Logistic::row_blocks`] blocks for
    /// each coefficient; [`LogisticError::Empty`] where there is no outcome.
    pub fn pack(design: &[f32], outcomes: &[bool], out: &mut [Block]) -> Result<(), LogisticError> {
        let coefficients = design.len().checked_div(outcomes.len()).ok_or(LogisticError::Empty)?;
        let (need, got) = (coefficients * outcomes.len(), design.len());
        if need != got {
            return Err(LogisticError::Length { need, got });
        }
        let blocks = Self::row_blocks(outcomes.len());
        let (need, got) = (coefficients * blocks, out.len());
        if need != got {
            return Err(LogisticError::Length { need, got });
        }
        for (coefficient, row) in out.chunks_exact_mut(blocks.max(1)).enumerate() {
            row.fill([0.0; LANES]);
            let column = design.iter().skip(coefficient).step_by(coefficients.max(1));
            for ((slot, &x), &outcome) in row.as_flattened_mut().iter_mut().zip(column).zip(outcomes) {
                *slot = if outcome { -x } else { x };
            }
        }
        Ok(())
    }

    /// A posterior over borrowed data. The `rows` are those of [`Logistic::pack`]. The `prior` is a, the log prior
    /// odds of 0 against 1, one a coefficient (all 0: uniform). The `offsets` are `(1 − 2yᵢ)oᵢ` in blocks, zero past
    /// the last of the `observations`. Cost: O(coefficients × observations).
    ///
    /// Numbers are rounded to one grid. A rounding is at most 2⁻²² of the largest entry or 2⁻³⁰ of the largest
    /// possible margin or prior, whichever is more. A number that would lose much, as [`Sparse`](super::Sparse) says,
    /// is refused.
    ///
    /// # Errors
    /// [`LogisticError`] names the coefficient or observation that is wrong.
    pub fn new(
        rows: &'a [Block],
        prior: &'a [f32],
        offsets: &'a [Block],
        observations: usize,
    ) -> Result<Self, LogisticError> {
        Ok(Self { mirror: Rbm::new(rows, prior, offsets, observations)? })
    }

    /// As [`Logistic::new`], rounded as coarsely as the largest number asks for.
    ///
    /// # Errors
    /// As [`Logistic::new`], but for what rounding would lose.
    pub fn rounded(
        rows: &'a [Block],
        prior: &'a [f32],
        offsets: &'a [Block],
        observations: usize,
    ) -> Result<Self, LogisticError> {
        Ok(Self { mirror: Rbm::rounded(rows, prior, offsets, observations)? })
    }
}

impl Energy for Logistic<'_> {
    fn layout(&self) -> Layout {
        self.mirror.layout()
    }

    fn cache_len(&self) -> usize {
        self.mirror.cache_len()
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        self.mirror.init(x, cache).map(|energy| 0.0 - energy)
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        self.mirror.gradient(x, cache, blocks, out);
        out.as_flattened_mut().iter_mut().for_each(|slope| *slope = 0.0 - *slope);
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        0.0 - self.mirror.shift(step, cache)
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.mirror.differences(words, cache, site, out);
        out.iter_mut().for_each(|difference| *difference = 0.0 - *difference);
    }
}
