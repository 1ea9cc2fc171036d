//! A mixture of round Gaussians.

use super::gaussian::{checked, checked_len};
use super::{Potential, PotentialError, blocks};
use crate::lane::{Block, F32s, LANES, PARTS, exp, ln, sum};

/// `E(x) = −ln Σₖ exp(wₖ − |x − μₖ|²/(2σ²))`, gradient `Σₖ pₖ(x − μₖ)/σ²` with p the shares of the sum.
///
/// Three passes over the means a gradient, and two exponentials a component. Where every |x − μₖ|² leaves the floats,
/// E is +∞.
#[derive(Clone, Copy, Debug)]
pub struct Mixture<'a> {
    dim: usize,
    means: &'a [Block],
    log_weights: &'a [f32],
    precision: f32,
}

impl<'a> Mixture<'a> {
    /// From the means, [`blocks`]`(dim)` blocks each with zeros for padding, one log weight a component, and
    /// the common standard deviation σ.
    ///
    /// # Errors
    /// [`PotentialError`] where there is no component, a length is wrong, a number is not finite, or σ or
    /// 1/σ² is not positive and finite.
    pub fn new(
        dim: usize,
        means: &'a [Block],
        log_weights: &'a [f32],
        sigma: f32,
    ) -> Result<Self, PotentialError> {
        if dim == 0 || log_weights.is_empty() {
            return Err(PotentialError::Empty);
        }
        let width = blocks(dim);
        checked_len(width.saturating_mul(log_weights.len()), means)?;
        let columns = (width * LANES).max(1);
        let legal = |place, value: f32| value.is_finite() && (place % columns < dim || value.abs() <= 0.0);
        checked(means.as_flattened(), legal)?;
        checked(log_weights, |_, value| value.is_finite())?;
        let precision = 1.0 / (sigma * sigma);
        checked(&[sigma], |_, sigma| sigma > 0.0 && precision.is_normal())?;
        Ok(Self { dim, means, log_weights, precision })
    }

    /// wₖ − |x − μₖ|²/(2σ²) for every component.
    fn logits<'x>(&self, x: &'x [Block]) -> impl Iterator<Item = (f32, &'a [Block])> + use<'a, 'x> {
        let half = 0.5 * self.precision;
        let means = self.means.chunks(blocks(self.dim).max(1));
        self.log_weights.iter().zip(means).map(move |(&weight, mean)| {
            let mut total = [0.0; LANES];
            for (x, mean) in x.iter().zip(mean) {
                for part in 0..PARTS {
                    let away = F32s::load(x, part) - F32s::load(mean, part);
                    (F32s::load(&total, part) + away * away).store(&mut total, part);
                }
            }
            (weight - half * sum(&total), mean)
        })
    }
}

impl Potential for Mixture<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, x: &[Block], _scratch: &mut [Block], out: &mut [Block]) -> f32 {
        out.fill([0.0; LANES]);
        let most = self.logits(x).fold(f32::NEG_INFINITY, |most, (logit, _)| most.max(logit));
        if most == f32::NEG_INFINITY {
            return f32::INFINITY;
        }
        let total: f32 = self.logits(x).map(|(logit, _)| exp(logit - most)).sum();
        for (logit, mean) in self.logits(x) {
            let pull = F32s::splat(self.precision * (exp(logit - most) / total));
            for ((out, x), mean) in out.iter_mut().zip(x).zip(mean) {
                for part in 0..PARTS {
                    let away = F32s::load(x, part) - F32s::load(mean, part);
                    (F32s::load(out, part) + pull * away).store(out, part);
                }
            }
        }
        -(most + ln(total))
    }
}
