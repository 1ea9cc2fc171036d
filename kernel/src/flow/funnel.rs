//! Neal's funnel: a width that changes by orders of magnitude.

use super::gaussian::checked;
use super::vector::dot;
use super::{Potential, PotentialError};
use crate::lane::{Block, F32s, PARTS, exp};

/// `x₀ ~ N(0, s²)`, the others `~ N(0, e^x₀)` given x₀ (Neal 2003; usually s = 3, d = 10 or 20):
/// `E = x₀²/(2s²) + ½(d−1)x₀ + ½e^(−x₀) Σ xᵢ²`.
#[derive(Clone, Copy, Debug)]
pub struct Funnel {
    dim: usize,
    precision: f32,
}

impl Funnel {
    /// In `dim` ≥ 2 dimensions, with standard deviation s of x₀.
    ///
    /// # Errors
    /// [`PotentialError`] where there are fewer dimensions, or s or 1/s² is not positive and finite.
    pub fn new(dim: usize, sigma: f32) -> Result<Self, PotentialError> {
        let precision = 1.0 / (sigma * sigma);
        if dim < 2 {
            return Err(PotentialError::Empty);
        }
        checked(&[sigma], |_, sigma| sigma > 0.0 && precision.is_normal())?;
        Ok(Self { dim, precision })
    }
}

impl Potential for Funnel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, x: &[Block], _scratch: &mut [Block], out: &mut [Block]) -> f32 {
        // Without x₀ from the start. Down in the neck its square is a million times that of the others. A difference
        // would be rounding, which e^(−x₀) makes large.
        let mut head = x.first().copied().unwrap_or_default();
        let [first, ..] = &mut head;
        let neck = core::mem::take(first);
        let tight = exp(-neck);
        let rest = x.get(1..).unwrap_or_default();
        let square = dot(&[head], &[head]) + dot(rest, rest);
        for (x, out) in x.iter().zip(out.iter_mut()) {
            for part in 0..PARTS {
                (F32s::splat(tight) * F32s::load(x, part)).store(out, part);
            }
        }
        let others = (self.dim - 1) as f32;
        let spread = 0.5 * tight * square;
        if let Some([first, ..]) = out.first_mut() {
            *first = self.precision * neck + 0.5 * others - spread;
        }
        0.5 * self.precision * neck * neck + 0.5 * others * neck + spread
    }
}
