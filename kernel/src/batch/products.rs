//! The running products of sixteen chains, each in sixteen parts: those of [`Product`](crate::lane::Product).

use super::log_product::LogProducts;
use crate::lane::product::{BATCH, Running};
use crate::lane::{F32s, LANES, PARTS, U32s};

/// The product of two parts whose mantissas are small.
fn both(one: Running, other: Running) -> Running {
    let mut product = one;
    for part in 0..PARTS {
        product.times(F32s::load(&other.mantissa, part), part);
        let exponent = U32s::load(&one.exponent, part) + U32s::load(&other.exponent, part);
        exponent.store(&mut product.exponent, part);
    }
    product
}

/// One running product a chain.
#[derive(Debug)]
pub(super) struct Products {
    parts: [Running; LANES],
    pending: u32,
}

impl Products {
    pub(super) fn one() -> Self {
        Self { parts: [Running::ONE; LANES], pending: 0 }
    }

    /// The parts for the next sixteen sites, in their order.
    #[inline]
    pub(super) fn next_group(&mut self) -> &mut [Running; LANES] {
        self.pending += 1;
        if self.pending > BATCH {
            self.parts.iter_mut().for_each(Running::renormalise);
            self.pending = 1;
        }
        &mut self.parts
    }

    /// The products over all parts, along the tree of [`lane::sum`](crate::lane::sum).
    pub(super) fn finish(mut self) -> LogProducts {
        self.parts.iter_mut().for_each(Running::renormalise);
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.parts;
        let [a, b, c, d] = [both(a, i), both(b, j), both(c, k), both(d, l)];
        let [e, f, g, h] = [both(e, m), both(f, n), both(g, o), both(h, p)];
        let [a, b, c, d] = [both(a, e), both(b, f), both(c, g), both(d, h)];
        let all = both(both(a, c), both(b, d));
        LogProducts::new(all.mantissa, all.exponent)
    }
}
