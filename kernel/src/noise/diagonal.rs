//! Diagonal W: nothing to draw.

use super::{Noise, NoiseError};
use crate::lane::{Block, LANES};
use crate::packed::Move;
use rand_core::Rng;

/// A diagonal W with `D = −W`: W + D is zero, so there is nothing to draw. The second-order proposal is
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

    /// `Wᵢᵢ = 1/(1 + Var xᵢ)` from variances of the data, one a site: AB's choice for deep energies (§5.4). D goes to
    /// `room`, one block for every sixteen sites.
    ///
    /// ```
    /// use bitmc::noise::Diagonal;
    /// use bitmc::Langevin;
    ///
    /// let mut room = [[0.0; 16]; 1];
    /// let noise = Diagonal::from_variances(&[0.25, 0.09, 0.0], &mut room)?;
    /// let kernel = Langevin::second_order(noise, 0.2, 0.5)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where `room` has another length, [`NoiseError::Variance`] where one is negative, NaN or
    /// infinite.
    pub fn from_variances(variances: &[f32], room: &'a mut [Block]) -> Result<Self, NoiseError> {
        let (need, got) = (variances.len().div_ceil(LANES), room.len());
        if need != got {
            return Err(NoiseError::Memory { need, got });
        }
        room.fill([0.0; LANES]);
        for ((site, &value), d) in variances.iter().enumerate().zip(room.as_flattened_mut()) {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(NoiseError::Variance { site, value });
            }
            *d = -1.0 / (1.0 + value);
        }
        Ok(Self { d: room })
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
