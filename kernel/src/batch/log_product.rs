//! One [`LogProduct`](crate::lane::LogProduct) a chain.

use crate::lane::product::{LN_2_HIGH, LN_2_LOW, MANTISSA, ONE};
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use core::f32::consts::SQRT_2;

/// `mantissa · 2^exponent` of each chain, the mantissas in [1, 2).
#[derive(Clone, Copy, Debug)]
pub(super) struct LogProducts {
    mantissa: Block,
    exponent: Bits,
}

impl LogProducts {
    pub(super) const ONE: Self = Self { mantissa: [1.0; LANES], exponent: [0; LANES] };

    pub(super) fn new(mantissa: Block, exponent: Bits) -> Self {
        Self { mantissa, exponent }.combine(Self::ONE, |a, _| a, |a, _| a)
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.combine(other, |a, b| a * b, |a, b| a + b)
    }

    pub(super) fn over(self, other: Self) -> Self {
        self.combine(other, |a, b| a / b, |a, b| a - b)
    }

    #[inline(always)]
    fn combine(
        self,
        other: Self,
        mantissa: impl Fn(F32s, F32s) -> F32s,
        exponent: impl Fn(U32s, U32s) -> U32s,
    ) -> Self {
        let mut out = self;
        for part in 0..PARTS {
            let m = mantissa(F32s::load(&self.mantissa, part), F32s::load(&other.mantissa, part)).to_bits();
            let k = exponent(U32s::load(&self.exponent, part), U32s::load(&other.exponent, part));
            ((m & U32s::splat(MANTISSA)) | U32s::splat(ONE)).to_f32().store(&mut out.mantissa, part);
            (k + m.shr::<23>() - U32s::splat(127)).store(&mut out.exponent, part);
        }
        out
    }

    /// These where `mask` has the chain's bit, `others` elsewhere.
    pub(super) fn where_set(self, mask: u32, others: Self) -> Self {
        let mut out = others;
        for part in 0..PARTS {
            let set = Mask::from_bits(mask, part);
            let mantissa = set.pick(F32s::load(&self.mantissa, part), F32s::load(&others.mantissa, part));
            mantissa.store(&mut out.mantissa, part);
            let (yes, no) = (U32s::load(&self.exponent, part), U32s::load(&others.exponent, part));
            set.choose(yes, no).store(&mut out.exponent, part);
        }
        out
    }

    /// The natural logarithm of each.
    pub(super) fn ln(self) -> Block {
        let mut out = [0.0; LANES];
        for part in 0..PARTS {
            let (m, k) = (F32s::load(&self.mantissa, part), U32s::load(&self.exponent, part));
            let high = F32s::splat(SQRT_2).lt(m);
            let m = high.pick(F32s::splat(0.5) * m, m);
            let k = F32s::from_i32(k + high.keep(U32s::splat(1)));
            let sum = k * F32s::splat(LN_2_HIGH) + (m.ln() + k * F32s::splat(LN_2_LOW));
            sum.store(&mut out, part);
        }
        out
    }
}
