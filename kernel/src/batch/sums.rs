//! Sums of whole numbers, a chain each.

use crate::lane::{Bits, LANES, LaneSums, Mask, U32s};

/// Sixteen sums of 32-bit integers: exact, in any order.
#[derive(Debug)]
pub(super) struct Sums {
    /// Of the terms since the last carry. A loop that adds many takes it out, to registers, and puts it back.
    pub(super) recent: LaneSums,
    /// Terms that [`Sums::next`] has announced since the last carry.
    pending: usize,
    totals: [i64; LANES],
}

impl Sums {
    /// Terms that may be added between two calls of [`Sums::carry`], [`add_both`] being one.
    pub(super) const MOST: usize = 1 << 14;

    pub(super) fn zero() -> Self {
        Self { recent: LaneSums::ZERO, pending: 0, totals: [0; LANES] }
    }

    /// Carries where it is time to: for a caller that does not count, before each term.
    #[inline(always)]
    pub(super) fn next(&mut self) {
        self.pending += 1;
        if self.pending > Self::MOST {
            self.carry();
            self.pending = 1;
        }
    }

    /// Adds a term of one chain, read as signed.
    #[inline(always)]
    pub(super) fn add_to(&mut self, chain: usize, term: u32) {
        if let Some(total) = self.totals.get_mut(chain) {
            *total += i64::from(term as i32);
        }
    }

    pub(super) fn carry(&mut self) {
        for (total, recent) in self.totals.iter_mut().zip(self.recent.values()) {
            *total += recent;
        }
        self.recent = LaneSums::ZERO;
    }

    pub(super) fn totals(mut self) -> [i64; LANES] {
        self.carry();
        self.totals
    }
}

/// Adds two terms where `mask` is set: one a chain, and one of them all.
#[inline(always)]
pub(super) fn add_both(sums: &mut LaneSums, mask: Mask, (each, all): (U32s, u32), part: usize) {
    let high = each.sar::<16>() + U32s::splat(((all as i32) >> 16) as u32);
    sums.add_halves(mask.keep(each + U32s::splat(all)), mask.keep(high), part);
}

/// What moves change: energies, and how many there were.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) units: Sums,
    pub(super) count: Bits,
}

impl Change {
    pub(super) fn none() -> Self {
        Self { units: Sums::zero(), count: [0; LANES] }
    }

    /// Counts a site that moves in the chains of `moved`, with these differences of energy there.
    #[inline(always)]
    pub(super) fn add(&mut self, moved: Mask, units: U32s, part: usize) {
        self.units.recent.add(moved.keep(units), part);
        (U32s::load(&self.count, part) + moved.keep(U32s::splat(1))).store(&mut self.count, part);
    }
}
