//! Log odds as exact numbers, and their probabilities to 64 binary places: when a table is made, in integers.

/// `ln 2` with 64 binary places.
const LN_2: u64 = 0xB172_17F7_D1CF_79AC;

/// 1/n! with 63 binary places, n = 0 … 20.
const FACTORIALS: [u64; 21] = {
    let (mut table, mut value, mut n) = ([0; 21], 1u128 << 126, 1);
    let mut rest = table.as_mut_slice();
    while let Some((first, tail)) = rest.split_first_mut() {
        *first = ((value + (1 << 62)) >> 63) as u64;
        value /= n;
        n += 1;
        rest = tail;
    }
    table
};

/// Natural log odds in units of 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogOdds(i128);

/// The size of a float as a whole number and the exponent of its unit.
pub(super) fn parts(value: f32) -> (i64, i32) {
    let (bits, exponent) = (value.to_bits() & 0x7F_FFFF, ((value.to_bits() >> 23) & 0xFF) as i32);
    let hidden = if exponent == 0 { 0 } else { 0x80_0000 };
    (i64::from(bits | hidden), exponent.max(1) - 150)
}

impl LogOdds {
    /// Beyond this a flip is not drawn with relative precision.
    pub(super) const LIMIT: Self = Self(30 << 64);
    /// As good as infinite.
    const MOST: i128 = 1 << 96;

    /// `units · 2^exponent`, cut to ±2³².
    pub(super) fn new(units: i64, exponent: i32) -> Self {
        let shift = 64 + exponent;
        let value = i128::from(units);
        Self(match shift {
            ..-63 => 0,
            -63..0 => value >> -shift,
            0..=62 => (value << shift).clamp(-Self::MOST, Self::MOST),
            _ => value.signum() * Self::MOST,
        })
    }

    /// A float, not negative.
    pub(super) fn of(value: f32) -> Self {
        let (units, exponent) = parts(value);
        Self::new(units, exponent)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).clamp(-Self::MOST, Self::MOST))
    }

    pub(super) fn minus(self) -> Self {
        Self(-self.0)
    }

    pub(super) fn size(self) -> Self {
        Self(self.0.abs())
    }

    pub(super) fn positive(self) -> bool {
        self.0 > 0
    }

    /// e^(−|z|) with 125 binary places, correct to 62 of them and relatively to as many. It is Σ (−r)ⁿ/n!, with r
    /// what is left of |z| after whole factors of two.
    fn odds(self) -> u128 {
        let (mut rest, mut halvings) = (self.0.unsigned_abs(), 0);
        if rest >= 64 << 64 {
            return 0;
        }
        while rest >= u128::from(LN_2) {
            rest -= u128::from(LN_2);
            halvings += 1;
        }
        let series = |sum: u64, &term: &u64| term.wrapping_sub(((rest * u128::from(sum)) >> 64) as u64);
        let power = FACTORIALS.iter().rev().fold(0, series);
        (u128::from(power) << 62) >> halvings
    }

    /// The probability 1/(1+e^(−z)) in units of 2⁻⁶⁴, within one of them: odds over 1 + odds, by long division, on
    /// the unlikely side. Exactly half where z = 0.
    pub(super) fn probability(self) -> u64 {
        let odds = self.odds();
        let (whole, mut rest, mut rare) = ((1 << 125) + odds, odds, 0);
        for _ in 0..64 {
            rest <<= 1;
            rare <<= 1;
            if rest >= whole {
                rest -= whole;
                rare |= 1;
            }
        }
        if self.positive() { u64::wrapping_neg(rare) } else { rare }
    }

    /// `ln(1 + e^z)` in units of 2⁻³², within one of them, for |z| up to [`LogOdds::LIMIT`]. Squaring gives the
    /// binary logarithm of 1 + e^(−|z|), a bit each time.
    pub(super) fn softplus(self) -> i64 {
        let odds = (self.odds() >> 62) as u64;
        let (mut power, mut log) = ((1 << 63) + u128::from(odds), 0u64);
        if power >> 64 != 0 {
            (power, log) = (power >> 1, 1);
        }
        for _ in 0..48 {
            power = (power * power) >> 63;
            log <<= 1;
            if power >> 64 != 0 {
                power >>= 1;
                log |= 1;
            }
        }
        let natural = ((u128::from(log) * u128::from(LN_2) + (1 << 79)) >> 80) as i64;
        natural + if self.positive() { (self.0 >> 32) as i64 } else { 0 }
    }
}
