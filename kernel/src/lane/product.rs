//! Sums of many logarithms as one running product: one logarithm in all, and no large terms that cancel.

use super::{Bits, Block, F32s, LANES, Mask, PARTS, U32s, ln};
use crate::snapshot::plain;

/// `ln 2` in two parts; the first has few enough bits that an integer times it is exact.
pub(crate) const LN_2_HIGH: f32 = 0.693_359_4;
pub(crate) const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Factors that a lane takes before its mantissa is renormalised: 64 factors in [1, 2] stay below 2⁶⁵.
pub(crate) const BATCH: u32 = 64;

pub(crate) const ONE: u32 = 0x3F80_0000;
pub(crate) const MANTISSA: u32 = 0x007F_FFFF;

/// Mantissa in [1, 2) and exponent of a positive normal number.
#[inline(always)]
pub(crate) fn split(number: F32s) -> (F32s, U32s) {
    let bits = number.to_bits();
    let mantissa = (bits & U32s::splat(MANTISSA)) | U32s::splat(ONE);
    (mantissa.to_f32(), bits.shr::<23>() - U32s::splat(127))
}

/// The same, and those of 1 where `mask` is not set.
#[inline(always)]
pub(crate) fn split_where(mask: Mask, number: F32s) -> (F32s, U32s) {
    let bits = number.to_bits();
    let mantissa = mask.keep(bits & U32s::splat(MANTISSA)) | U32s::splat(ONE);
    (mantissa.to_f32(), mask.keep(bits.shr::<23>() - U32s::splat(127)))
}

/// A product of many factors, one running product a lane: the rounding error of n factors is about √n · 2⁻²⁴
/// relative, whatever their size. Mantissa and exponent are apart, so that nothing overflows.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    mantissa: Block,
    exponent: Bits,
    pending: u32,
}

impl Product {
    /// Blocks whose factors may be taken between two calls of [`Product::renormalise`].
    pub const BLOCKS: usize = BATCH as usize;

    /// As a constant, which is copied in a third of the instructions that a loop over the lanes takes on a
    /// microcontroller.
    const ONE: Self = Self { mantissa: [1.0; LANES], exponent: [0; LANES], pending: 0 };

    /// The empty product.
    #[inline]
    #[must_use]
    pub const fn one() -> Self {
        Self::ONE
    }

    /// Call once before the factors of each block: renormalises in time.
    #[inline(always)]
    pub fn next_block(&mut self) {
        self.pending += 1;
        if self.pending > BATCH {
            self.renormalise();
            self.pending = 1;
        }
    }

    /// Makes room for the factors of [`Product::BLOCKS`] more blocks, for those who count them themselves.
    pub fn renormalise(&mut self) {
        for part in 0..PARTS {
            let (mantissa, exponent) = split(F32s::load(&self.mantissa, part));
            mantissa.store(&mut self.mantissa, part);
            (U32s::load(&self.exponent, part) + exponent).store(&mut self.exponent, part);
        }
        self.pending = 0;
    }

    /// Multiplies by `factor`, each lane in [1, 2].
    #[inline(always)]
    pub fn times(&mut self, factor: F32s, part: usize) {
        (F32s::load(&self.mantissa, part) * factor).store(&mut self.mantissa, part);
    }

    /// Multiplies by `factor`, any positive normal number, where `mask` is set.
    #[inline(always)]
    pub fn times_where(&mut self, mask: Mask, factor: F32s, part: usize) {
        let (mantissa, exponent) = split_where(mask, factor);
        self.times(mantissa, part);
        (U32s::load(&self.exponent, part) + exponent).store(&mut self.exponent, part);
    }

    /// The product over all lanes, along the fixed tree of [`sum`](super::sum).
    #[must_use]
    pub fn finish(mut self) -> LogProduct {
        self.renormalise();
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.mantissa;
        let [a, b, c, d, e, f, g, h] = [a * i, b * j, c * k, d * l, e * m, f * n, g * o, h * p];
        let [a, b, c, d] = [a * e, b * f, c * g, d * h];
        let exponent = self.exponent.iter().fold(0, |sum: i32, &e| sum.wrapping_add(e as i32));
        LogProduct::new((a * c) * (b * d), exponent)
    }
}

/// A positive number far outside the range of floats, `mantissa · 2^exponent`, whose logarithm is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogProduct {
    mantissa: f32,
    exponent: i32,
}

impl Default for LogProduct {
    fn default() -> Self {
        Self::ONE
    }
}

impl LogProduct {
    /// One.
    pub const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// `mantissa · 2^exponent`, for a positive normal mantissa.
    #[must_use]
    pub fn new(mantissa: f32, exponent: i32) -> Self {
        let bits = mantissa.to_bits();
        Self {
            mantissa: f32::from_bits((bits & MANTISSA) | ONE),
            exponent: exponent.wrapping_add((bits >> 23) as i32 - 127),
        }
    }

    /// The mantissa, in [1, 2).
    #[must_use]
    pub fn mantissa(self) -> f32 {
        self.mantissa
    }

    /// The exponent of two.
    #[must_use]
    pub fn exponent(self) -> i32 {
        self.exponent
    }

    /// The product of two.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self::new(self.mantissa * other.mantissa, self.exponent.wrapping_add(other.exponent))
    }

    /// The quotient of two: exponents are subtracted first, so close numbers give a small, accurate logarithm.
    #[must_use]
    pub fn over(self, other: Self) -> Self {
        Self::new(self.mantissa / other.mantissa, self.exponent.wrapping_sub(other.exponent))
    }

    /// The natural logarithm.
    #[must_use]
    pub fn ln(self) -> f32 {
        // Around 1 the two terms would cancel: take [√½, √2) instead of [1, 2).
        let high = self.mantissa > core::f32::consts::SQRT_2;
        let m = if high { 0.5 * self.mantissa } else { self.mantissa };
        let k = self.exponent.wrapping_add(i32::from(high)) as f32;
        k * LN_2_HIGH + (ln(m) + k * LN_2_LOW)
    }

    /// The logarithm of the quotient of two, and exactly its negative for the two in the other order. A difference of
    /// energies that is added for a move is then taken away by the move back.
    #[must_use]
    pub fn ln_over(self, other: Self) -> f32 {
        if (self.exponent, self.mantissa) < (other.exponent, other.mantissa) {
            -other.over(self).ln()
        } else {
            self.over(other).ln()
        }
    }
}

plain!(LogProduct, b"logp", { mantissa, exponent }, |product| (1.0..2.0).contains(&product.mantissa));
