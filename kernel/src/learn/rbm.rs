//! Restricted Boltzmann machines.

use super::{Learnable, add};
use crate::energy::{Rbm, RbmError};
use crate::lane::{Bits, Block, LANES};
use crate::packed::Packed;

/// The RBM's θ in one slice: the visible biases in blocks, the hidden ones, then W row by row, each in whole
/// blocks ([`Rbm::parameter_len`]).
impl<'a> Rbm<'a> {
    /// Blocks of parameters.
    #[must_use]
    pub const fn parameter_len(visible: usize, hidden: usize) -> usize {
        Self::row_blocks(hidden)
            .saturating_mul(visible.saturating_add(1))
            .saturating_add(visible.div_ceil(LANES))
    }

    /// An RBM over one slice of parameters, as a [`Learnable`] has them. Lanes past the last hidden unit must be 0, as
    /// learning leaves them; those past the last visible unit are not read.
    ///
    /// # Errors
    /// [`RbmError`], as [`Rbm::new`].
    pub fn from_parameters(parameters: &'a [Block], visible: usize, hidden: usize) -> Result<Self, RbmError> {
        let (need, got) = (Self::parameter_len(visible, hidden), parameters.len());
        let wrong = RbmError::Length { need, got };
        if need != got {
            return Err(wrong);
        }
        let (first, rest) = parameters.split_at_checked(visible.div_ceil(LANES)).ok_or(wrong)?;
        let (second, weights) = rest.split_at_checked(Self::row_blocks(hidden)).ok_or(wrong)?;
        Self::new(weights, first.as_flattened().get(..visible).ok_or(wrong)?, second, hidden)
    }
}

/// `∂E/∂aᵢ = −vᵢ`, `∂E/∂bⱼ = −σ(pⱼ)`, `∂E/∂Wᵢⱼ = −vᵢσ(pⱼ)`. The cache has σ(p).
///
/// Cost a state: the weights of the visible units that are 1. A neighbour costs the same and `hidden`
/// exponentials.
impl Learnable for Rbm<'_> {
    fn parameter_len(&self) -> usize {
        Self::parameter_len(self.visible_units(), self.hidden_units())
    }

    fn accumulate(&self, x: Packed<'_>, cache: &[Bits], weight: f32, into: &mut [Block]) {
        let sigma = self.activities(cache);
        let rows = self.visible_units().div_ceil(LANES);
        let (biases, rest) = into.split_at_mut_checked(rows).unwrap_or_default();
        let (hidden, weights) = rest.split_at_mut_checked(sigma.len()).unwrap_or_default();
        add(hidden, -weight, sigma);
        let weights = weights.chunks_exact_mut(sigma.len().max(1));
        for ((value, bias), row) in x.values().zip(biases.as_flattened_mut()).zip(weights) {
            if value != 0 {
                *bias -= weight;
                add(row, -weight, sigma);
            }
        }
    }
}
