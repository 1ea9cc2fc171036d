//! The running products of sixteen chains, each in sixteen parts: those of [`Product`](crate::lane::Product).

use super::log_product::LogProducts;
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};

/// As in [`Product`](crate::lane::Product).
const BATCH: u32 = 64;
const ONE: u32 = 0x3F80_0000;
const MANTISSA: u32 = 0x007F_FFFF;

/// One of the sixteen parts: the factors of the sites that share a lane in a chain of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    mantissa: Block,
    exponent: Bits,
}

impl Part {
    /// Multiplies by `factor`, each lane in [1, 2].
    #[inline(always)]
    pub(super) fn times(&mut self, factor: F32s, part: usize) {
        (F32s::load(&self.mantissa, part) * factor).store(&mut self.mantissa, part);
    }

    /// Multiplies by `factor`, any positive normal number, where `mask` is set.
    #[inline(always)]
    pub(super) fn times_where(&mut self, mask: Mask, factor: F32s, part: usize) {
        let bits = factor.to_bits();
        let exponent = mask.keep(bits.shr::<23>() - U32s::splat(127));
        let mantissa = mask.keep(bits & U32s::splat(MANTISSA)) | U32s::splat(ONE);
        self.times(mantissa.to_f32(), part);
        (U32s::load(&self.exponent, part) + exponent).store(&mut self.exponent, part);
    }

    fn renormalise(&mut self) {
        for part in 0..PARTS {
            let bits = F32s::load(&self.mantissa, part).to_bits();
            let exponent = U32s::load(&self.exponent, part);
            (exponent + bits.shr::<23>() - U32s::splat(127)).store(&mut self.exponent, part);
            let mantissa = (bits & U32s::splat(MANTISSA)) | U32s::splat(ONE);
            mantissa.to_f32().store(&mut self.mantissa, part);
        }
    }

    /// The product of two parts whose mantissas are small.
    fn with(self, other: Self) -> Self {
        let mut both = self;
        for part in 0..PARTS {
            both.times(F32s::load(&other.mantissa, part), part);
            let exponent = U32s::load(&both.exponent, part) + U32s::load(&other.exponent, part);
            exponent.store(&mut both.exponent, part);
        }
        both
    }
}

/// One running product a chain.
#[derive(Debug)]
pub(super) struct Products {
    parts: [Part; LANES],
    pending: u32,
}

impl Products {
    pub(super) fn one() -> Self {
        Self { parts: [Part { mantissa: [1.0; LANES], exponent: [0; LANES] }; LANES], pending: 0 }
    }

    /// The parts for the next sixteen sites, in their order.
    #[inline]
    pub(super) fn next_group(&mut self) -> &mut [Part; LANES] {
        self.pending += 1;
        if self.pending > BATCH {
            self.parts.iter_mut().for_each(Part::renormalise);
            self.pending = 1;
        }
        &mut self.parts
    }

    /// The products over all parts, along the tree of [`lane::sum`](crate::lane::sum).
    pub(super) fn finish(mut self) -> LogProducts {
        self.parts.iter_mut().for_each(Part::renormalise);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.parts;
        let [a, b, c, d] = [a.with(i), b.with(j), c.with(k), d.with(l)];
        let [e, f, g, h] = [e.with(m), f.with(n), g.with(o), h.with(p)];
        let [a, b, c, d] = [a.with(e), b.with(f), c.with(g), d.with(h)];
        let all = a.with(c).with(b.with(d));
        LogProducts::new(all.mantissa, all.exponent)
    }
}
