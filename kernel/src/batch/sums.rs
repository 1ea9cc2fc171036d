//! Sums of whole numbers, a chain each.

use crate::lane::{Bits, LANES, U32s};

/// Sixteen sums of 32-bit integers, in two halves of 16 bits: exact, in any order.
#[derive(Debug)]
pub(super) struct Sums {
    low: Bits,
    high: Bits,
    /// Terms that the halves have taken.
    pending: u32,
    totals: [i64; LANES],
}

impl Sums {
    pub(super) fn zero() -> Self {
        Self { low: [0; LANES], high: [0; LANES], pending: 0, totals: [0; LANES] }
    }

    /// Call before each term.
    #[inline(always)]
    pub(super) fn next(&mut self) {
        self.pending += 1;
        if self.pending > 1 << 15 {
            self.carry();
            self.pending = 1;
        }
    }

    /// Adds a term, read as signed.
    #[inline(always)]
    pub(super) fn add(&mut self, term: U32s, part: usize) {
        (U32s::load(&self.low, part) + (term & U32s::splat(0xFFFF))).store(&mut self.low, part);
        (U32s::load(&self.high, part) + term.sar::<16>()).store(&mut self.high, part);
    }

    /// Adds a term of one chain, read as signed.
    #[inline(always)]
    pub(super) fn add_to(&mut self, chain: usize, term: u32) {
        if let Some(total) = self.totals.get_mut(chain) {
            *total += i64::from(term as i32);
        }
    }

    fn carry(&mut self) {
        for (total, (low, high)) in self.totals.iter_mut().zip(self.low.iter_mut().zip(&mut self.high)) {
            *total += (i64::from(*high as i32) << 16) + i64::from(*low);
            (*low, *high) = (0, 0);
        }
    }

    pub(super) fn totals(mut self) -> [i64; LANES] {
        self.carry();
        self.totals
    }
}
