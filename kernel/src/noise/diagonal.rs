//! Diagonal W: nothing to draw.

use super::{Noise, NoiseError};
use crate::lane::Block;
use crate::packed::Move;
use rand_core::Rng;

/// A diagonal W with `D = −W`: W + D is zero, so there is nothing to draw, and the second-order proposal is
/// `q_i ∝ exp(β h v + ½(βWᵢᵢ − 1/σ)v²)`, exact in the diagonal (AB's variant for deep energies; METHODS.md §3).
///
/// W may have either sign: over finitely many values every D gives a proposal.
///
/// Cost: that of the first-order sampler, which it is.
#[derive(Clone, Copy, Debug)]
pub struct Diagonal<'a> {
    d: &'a [Block],
}

impl<'a> Diagonal<'a> {
    /// From D = −W, one a site, in blocks; lanes past the last site must be finite too.
    ///
    /// # Errors
    /// [`NoiseError::D`] where an entry is NaN or infinite; it may be negative.
    pub fn new(d: &'a [Block]) -> Result<Self, NoiseError> {
        match d.as_flattened().iter().enumerate().find(|(_, value)| !value.is_finite()) {
            Some((site, &value)) => Err(NoiseError::D { site, value }),
            None => Ok(Self { d }),
        }
    }
}

impl Noise for Diagonal<'_> {
    const SOME: bool = false;

    fn d(&self) -> Option<&[Block]> {
        Some(self.d)
    }

    fn draw<R: Rng + ?Sized>(&self, _: &mut R, _: &mut [Block], _: usize) {}

    fn follow(&self, _: &Move<'_>, _: &mut [Block], _: usize) {}
}
