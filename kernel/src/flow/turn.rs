//! Half a step in direction and speed: the direction turns towards the descent while x stays.

use super::vector::{dot, largest, scale, sqrt, square_and_dot};
use crate::lane::{Block, exp, exp_m1, ln, ln_1p};

/// The angle between a direction u and the descent e = −g/|g|. Both sides of the cosine w = u·e are kept apart, so
/// that neither loses its precision near the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Way {
    /// |g|.
    pub steepness: f32,
    /// 1 + w: 0 straight up, 2 straight down.
    pub down: f32,
    /// 1 − w.
    pub up: f32,
}

impl Way {
    /// From |g| and w, which is cut to [−1, 1].
    #[must_use]
    pub fn new(steepness: f32, cosine: f32) -> Self {
        let w = cosine.clamp(-1.0, 1.0);
        Self { steepness, down: 1.0 + w, up: 1.0 - w }
    }

    /// Of u, whose length is 1/`inverse_norm`, at gradient g. Gradients of any finite size.
    pub(crate) fn of(u: &[Block], g: &mut [Block], inverse_norm: f32) -> Self {
        let (square, along) = square_and_dot(g, u);
        if square > 1e-30 && square < 1e38 {
            let steepness = sqrt(square);
            return Self::new(steepness, -along * inverse_norm / steepness);
        }
        Self::of_extreme(u, g, inverse_norm)
    }

    #[cold]
    fn of_extreme(u: &[Block], g: &mut [Block], inverse_norm: f32) -> Self {
        let most = largest(g);
        if most.to_bits() == 0 || !most.is_finite() {
            return Self::new(most, 0.0);
        }
        // By a power of two, so that nothing but subnormals is rounded on the way there and back.
        let unit = f32::from_bits(most.to_bits() & 0x7F80_0000).max(f32::MIN_POSITIVE);
        scale(g, 0.25 / unit);
        let (square, along) = square_and_dot(g, u);
        scale(g, unit);
        scale(g, 4.0);
        let norm = sqrt(square);
        let steepness = norm * unit * 4.0;
        Self::new(steepness.min(f32::MAX), -along * inverse_norm / norm)
    }

    /// Of the same gradient and −u.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { down: self.up, up: self.down, ..self }
    }
}

/// What half a step does: `u ← keep·u + push·g`, `r ← r + gain`, in `e^(r + max(gain, 0)) · time` of
/// unscaled time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Turn {
    /// The factor of u.
    pub keep: f32,
    /// The factor of g.
    pub push: f32,
    /// The growth of r = ln|v|.
    pub gain: f32,
    /// Unscaled time over the larger of the speeds before and after.
    pub time: f32,
    /// The angle of u afterwards.
    pub way: Way,
}

impl Turn {
    /// Below this, a turn is nothing in f32: neither u nor r changes.
    const NOTHING: f32 = 1e-30;

    /// The exact solution of `u̇ = −(1 − uuᵀ)g/d, ṙ = −u·g/d` over a scaled time h, g fixed; `rate` is h/d.
    ///
    /// Source: Ver Steeg and Galstyan 2021, Eq. 13–14 and the text below Eq. 6 for the time, in METHODS.md §7's safe
    /// form. With a = h|g|/d, z = e^(−a), m = 1 − z, and half the paper's denominator over e^a,
    /// `D = z² + ½(1+w)m(1+z)`:
    /// ```text
    /// u' = z/D·u + m(z + ½(1+w)m)/D·e        gain = a + ln D = a + ln(1 − ½(1−w)m(1+z))
    /// time = m(z + ½(1+w)m)/(D|g|)·e^gain    1+w' = (1+w)/D,   1−w' = z²(1−w)/D
    /// ```
    /// m is by `exp_m1` and small gains by `ln_1p`, so nothing cancels for any a from 10⁻³⁰ up. Straight up
    /// (w = −1) u stays and r falls by a. Where g = 0 nothing changes, and `time` is h/d.
    #[must_use]
    pub fn new(way: Way, rate: f32) -> Self {
        let Way { steepness, down, up } = way;
        let a = (rate * steepness).min(f32::MAX);
        if a < Self::NOTHING {
            return Self { keep: 1.0, push: 0.0, gain: 0.0, time: rate, way };
        }
        let m = -exp_m1(-a);
        let z = exp(-a);
        let below = z * z + 0.5 * down * m * (1.0 + z);
        // Straight up, or so near to it that what turns is less than the least float.
        if down <= 0.0 || below <= 0.0 {
            return Self { keep: 1.0, push: 0.0, gain: -a, time: m / steepness, way };
        }
        let loss = -0.5 * up * m * (1.0 + z);
        let gain = a + if loss > -0.5 { ln_1p(loss) } else { ln(below) };
        let turned = m * (z + 0.5 * down * m);
        let push = turned / below / steepness;
        let time = if gain < 0.0 { turned / z / steepness } else { push };
        let way = Way { steepness, down: down / below, up: z * z * up / below };
        Self { keep: z / below, push: -push, gain, time, way }
    }

    /// The natural logarithm of the unscaled time that it takes from r.
    #[must_use]
    pub fn log_time(&self, r: f32) -> f32 {
        r + self.gain.max(0.0) + ln(self.time)
    }
}

/// The logarithm of the time of two turns in a row, the first from `r`.
#[inline]
pub(crate) fn log_time(r: f32, first: &Turn, second: &Turn) -> f32 {
    let one = first.gain.max(0.0);
    let two = first.gain + second.gain.max(0.0);
    let (most, large, small) =
        if one > two { (one, first.time, second.time) } else { (two, second.time, first.time) };
    let apart = (one - two).abs();
    r + (most + ln(large + small * exp(-apart)))
}

/// |u| = 1, and Σ uᵢ² as it was rounded; `None` for the zero vector.
pub(crate) fn normalise(u: &mut [Block]) -> Option<f32> {
    let most = largest(u);
    if most.to_bits() == 0 || !most.is_finite() {
        return None;
    }
    scale(u, 1.0 / most.max(f32::MIN_POSITIVE));
    let square = dot(u, u);
    scale(u, 1.0 / sqrt(square));
    Some(dot(u, u))
}
