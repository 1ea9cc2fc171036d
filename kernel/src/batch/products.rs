//! The running products of sixteen chains, each in sixteen parts: those of [`Product`](crate::lane::Product).

use super::log_product::LogProducts;
use crate::lane::product::{BATCH, split, split_where};
use crate::lane::{Bits, Block, F32s, LANES, Line, Mask, PARTS, U32s};

/// One running product a chain: the mantissas of its parts, and the exponent of them all.
#[derive(Debug)]
pub(super) struct Products {
    mantissas: Line<[Block; LANES]>,
    exponents: Bits,
    pending: u32,
    most: u32,
}

impl Products {
    /// Of factors that [`Products::times`] takes in [1, 2], and [`Products::times_where`] any.
    pub(super) fn one() -> Self {
        Self::of(BATCH)
    }

    /// Of factors of which `most` together, and twice that, are normal numbers.
    pub(super) fn of(most: u32) -> Self {
        Self { mantissas: Line([[1.0; LANES]; LANES]), exponents: [0; LANES], pending: 0, most }
    }

    /// Call before each group of sixteen sites.
    #[inline]
    pub(super) fn next_group(&mut self) {
        self.pending += 1;
        if self.pending > self.most {
            self.renormalise();
            self.pending = 1;
        }
    }

    /// Multiplies the part of site `number` by `factor`.
    #[inline(always)]
    pub(super) fn times(&mut self, number: usize, factor: F32s, part: usize) {
        if let Some(mantissas) = self.mantissas.get_mut(number % LANES) {
            (F32s::load(mantissas, part) * factor).store(mantissas, part);
        }
    }

    /// The same by any positive normal number, where `mask` is set.
    #[inline(always)]
    pub(super) fn times_where(&mut self, number: usize, mask: Mask, factor: F32s, part: usize) {
        let (mantissa, exponent) = split_where(mask, factor);
        self.times(number, mantissa, part);
        (U32s::load(&self.exponents, part) + exponent).store(&mut self.exponents, part);
    }

    fn renormalise(&mut self) {
        for part in 0..PARTS {
            let mut exponents = U32s::load(&self.exponents, part);
            for mantissas in self.mantissas.iter_mut() {
                let (mantissa, exponent) = split(F32s::load(mantissas, part));
                mantissa.store(mantissas, part);
                exponents = exponents + exponent;
            }
            exponents.store(&mut self.exponents, part);
        }
    }

    /// The products over all parts, along the tree of [`lane::sum`](crate::lane::sum).
    pub(super) fn finish(&mut self) -> LogProducts {
        self.renormalise();
        let mut all = [0.0; LANES];
        for part in 0..PARTS {
            let parts = self.mantissas.0.each_ref().map(|mantissas| F32s::load(mantissas, part));
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = parts;
            let [a, b, c, d, e, f, g, h] = [a * i, b * j, c * k, d * l, e * m, f * n, g * o, h * p];
            let [a, b, c, d] = [a * e, b * f, c * g, d * h];
            ((a * c) * (b * d)).store(&mut all, part);
        }
        LogProducts::new(all, self.exponents)
    }
}
