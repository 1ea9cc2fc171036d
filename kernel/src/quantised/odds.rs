//! Powers of two by tables, and draws by them.

use rand_core::Rng;

/// Units of log odds in a factor of two.
pub const PER_OCTAVE: u32 = 65_536;

/// `round(2^(31 − i/65,536))`, from square roots of 2^(−1) at 62 binary places.
pub(super) const fn power(i: u32) -> u32 {
    let (mut x, mut root, mut bit) = (1u128 << 62, 1u128 << 61, PER_OCTAVE >> 1);
    while bit > 0 {
        root = (root << 62).isqrt();
        if i & bit != 0 {
            x = (x * root) >> 62;
        }
        bit >>= 1;
    }
    ((x + (1 << 30)) >> 31) as u32
}

/// [`power`] of 0, `step`, 2·`step` …
const fn powers(step: u32) -> [u32; 256] {
    let (mut table, mut i) = ([0; 256], 0);
    let mut rest = table.as_mut_slice();
    while let Some((first, tail)) = rest.split_first_mut() {
        *first = power(i * step);
        rest = tail;
        i += 1;
    }
    table
}

static COARSE: [u32; 256] = powers(256);
static FINE: [u32; 256] = powers(1);

#[inline(always)]
pub(super) fn high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// `2^(−units/65,536)` as `mantissa · 2^(−30 − octaves)`, the mantissa in (2²⁹, 2³⁰], within a relative 2⁻²⁸.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odds {
    /// The mantissa.
    pub mantissa: u32,
    /// Halvings.
    pub octaves: u32,
}

impl Odds {
    /// The odds of a number of units.
    #[inline]
    #[must_use]
    pub fn new(units: u32) -> Self {
        let of = |table: &[u32; 256], byte: u32| table.get((byte & 255) as usize).copied().unwrap_or(0);
        Self { mantissa: high(of(&COARSE, units >> 8), of(&FINE, units)), octaves: units >> 16 }
    }

    /// True with probability `e/(1+e)`, e being the odds: within a relative 2⁻²⁷ down to odds of 2⁻⁶⁴, below
    /// which it is never true. One word mostly, at most three.
    #[inline]
    pub fn draw<R: Rng + ?Sized>(self, rng: &mut R) -> bool {
        // u(1 + e) < mantissa, in units of 2⁻³⁰.
        let below = |word: u32| (word >> 2) + scaled(high(word, self.mantissa), self.octaves) < self.mantissa;
        after_zeros(self.octaves, rng).is_some_and(below)
    }

    /// `e/(1+e)` in units of 2⁻⁶⁴, rounded down, by long division.
    pub(super) fn probability(self) -> u64 {
        let (mut rest, mut rare) = (u64::from(self.mantissa), 0u64);
        let whole = rest + (1 << (30 + self.octaves.min(32)));
        for _ in 0..64 {
            rest <<= 1;
            rare <<= 1;
            if rest >= whole {
                rest -= whole;
                rare |= 1;
            }
        }
        // From 32 halvings on, those behind them hardly change the whole.
        rare.checked_shr(self.octaves.saturating_sub(32)).unwrap_or(0)
    }

    /// The odds in units of 2⁻³⁰, rounded down.
    #[inline]
    pub(super) fn parts(self) -> u32 {
        scaled(self.mantissa, self.octaves)
    }
}

/// `number · 2^(−octaves)`, rounded down.
#[inline(always)]
fn scaled(number: u32, octaves: u32) -> u32 {
    if octaves < 32 { number >> octaves } else { 0 }
}

/// A word with probability 2^(−zeros), none else; never one from 64 on. One word of the generator mostly, at most
/// three.
#[inline]
pub(super) fn after_zeros<R: Rng + ?Sized>(zeros: u32, rng: &mut R) -> Option<u32> {
    let mut word = rng.next_u32();
    let mut left = zeros;
    if left >= 32 {
        if word != 0 || left >= 64 {
            return None;
        }
        word = rng.next_u32();
        left -= 32;
    }
    if left > 0 {
        if word >> (32 - left) != 0 {
            return None;
        }
        word = rng.next_u32();
    }
    Some(word)
}
