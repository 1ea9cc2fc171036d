//! The normalising product of a proposal, and the ratio of two.

use super::odds::{after_zeros, high, power};
use super::{Odds, PER_OCTAVE};
use rand_core::Rng;

/// A product of factors `1 + 2^(log odds)`: `mantissa · 2^(units/65,536 − 31)`, the mantissa from 2³¹ on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    mantissa: u32,
    units: i64,
}

/// `2^(32 − 1/131,072)`: the factor for half a unit less.
const HALF_UNIT_LESS: u32 = ((power(1) as u64) << 33).isqrt() as u32;

impl Weight {
    /// The product of no factors.
    pub(super) const ONE: Self = Self { mantissa: 1 << 31, units: 0 };

    /// Takes a factor: `1 + 2^z = 2^max(z, 0) · (1 + 2^(−|z|))`. Loses at most a relative 2⁻²⁹.
    #[inline]
    pub(super) fn multiply(&mut self, log_odds: i32) {
        self.units += i64::from(log_odds.max(0));
        let parts = Odds::new(log_odds.unsigned_abs()).parts();
        if parts > 0 {
            // From 2²⁹ on and at most 2³¹: one place or two are free.
            let product = high(self.mantissa, (1 << 30) + parts);
            let places = if product < 1 << 30 { 2 } else { 1 };
            self.mantissa = product << places;
            self.units += i64::from(2 - places) * i64::from(PER_OCTAVE);
        }
    }

    /// True with probability `min(1, this / other · 2^(half_units/131,072))`, within a relative 2⁻²⁷; never
    /// below 2⁻⁶⁴. At most three words of the generator, none where it is certain by a factor of two.
    pub(super) fn accept<R: Rng + ?Sized>(self, other: Self, half_units: i64, rng: &mut R) -> bool {
        let twice = 2 * (self.units - other.units) + half_units;
        let mantissa = if twice & 1 == 0 { self.mantissa } else { high(self.mantissa, HALF_UNIT_LESS) };
        // The ratio is numerator/other.mantissa · 2^octaves, its fraction in (¼, 2).
        let units = (twice + 1) >> 1;
        let octaves = -((-units) >> 16);
        let fraction = Odds::new((-units & 0xFFFF) as u32);
        let numerator = u64::from(high(mantissa, fraction.mantissa)) << 2;
        if octaves >= 2 {
            return true;
        }
        let octaves = octaves.max(-65) as i32; // below, all are never
        let zeros = (-1 - octaves).max(0) as u32;
        let shift = (31 + octaves.max(-1)) as u32;
        let below = |word: u32| (u64::from(word) * u64::from(other.mantissa)) >> 1 < numerator << shift;
        after_zeros(zeros, rng).is_some_and(below)
    }
}
