//! One site of sixteen chains.

use super::{ALL, chains, full};
use crate::energy::Ising;
use crate::lane::{Bits, Block, LANES, PARTS, U32s};

/// One site of sixteen chains: what each knows there. 256 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct BatchSite {
    /// Weights ([`draw`](crate::draw)) at the states.
    pub(super) here: Block,
    /// Weights at the proposed states.
    pub(super) there: Block,
    /// The field `b + Kx`, in units of the model's grid.
    pub(super) field: Bits,
    /// The values, one bit a chain.
    pub(super) values: u32,
    /// The chains in which the site may move.
    pub(super) free: u32,
    /// The chains in which the last proposal changed it.
    pub(super) flips: u32,
}

impl BatchSite {
    /// Zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            here: [0.0; LANES],
            there: [0.0; LANES],
            field: [0; LANES],
            values: 0,
            free: ALL,
            flips: 0,
        }
    }
}

impl Default for BatchSite {
    fn default() -> Self {
        Self::new()
    }
}

/// Sums over flips, a chain each: changes of energy in two halves of 16 bits, and how many there were.
#[derive(Debug)]
pub(super) struct Change {
    low: Bits,
    high: Bits,
    count: Bits,
    /// Flipped sites that `low` has taken.
    pending: u32,
    units: [i64; LANES],
}

impl Change {
    pub(super) fn none() -> Self {
        Self { low: [0; LANES], high: [0; LANES], count: [0; LANES], pending: 0, units: [0; LANES] }
    }

    /// Flips of each chain.
    pub(super) fn count(&self) -> Bits {
        self.count
    }

    /// `E(after) − E(before)` of each chain, in units of the model's grid.
    pub(super) fn units(mut self) -> [i64; LANES] {
        self.carry();
        self.units
    }

    #[cold]
    fn carry(&mut self) {
        for (units, (low, high)) in self.units.iter_mut().zip(self.low.iter_mut().zip(&mut self.high)) {
            *units += (i64::from(*high as i32) << 16) + i64::from(*low);
            (*low, *high) = (0, 0);
        }
        self.pending = 0;
    }
}

/// Flips a site in some chains and moves the fields of its neighbours.
#[inline]
pub(super) fn flip(
    model: &Ising<'_>,
    sites: &mut [BatchSite],
    number: usize,
    flips: u32,
    change: &mut Change,
) {
    let Some(site) = sites.get_mut(number) else { return };
    let before = site.values;
    site.values ^= flips;
    change.pending += 1;
    if change.pending > 1 << 15 {
        change.carry();
        change.pending = 1;
    }
    for part in 0..PARTS {
        let (moved, zero) = (chains(flips, part), full(!chains(before, part)));
        // A one that goes gives its field back; a zero that comes takes it.
        let difference = moved.keep((U32s::load(&site.field, part) ^ zero) - zero);
        (U32s::load(&change.low, part) + (difference & U32s::splat(0xFFFF))).store(&mut change.low, part);
        (U32s::load(&change.high, part) + difference.sar::<16>()).store(&mut change.high, part);
        (U32s::load(&change.count, part) + moved.keep(U32s::splat(1))).store(&mut change.count, part);
    }
    scatter(model, sites, number, before, flips);
}

/// Flips a site back in some chains.
#[inline]
pub(super) fn undo(model: &Ising<'_>, sites: &mut [BatchSite], number: usize, flips: u32) {
    let Some(site) = sites.get_mut(number) else { return };
    let before = site.values;
    site.values ^= flips;
    scatter(model, sites, number, before, flips);
}

/// Adds ±K to the neighbours' fields in the chains of `flips`.
#[inline(always)]
fn scatter(model: &Ising<'_>, sites: &mut [BatchSite], number: usize, before: u32, flips: u32) {
    let row = model.form().row(number);
    for part in 0..PARTS {
        let (moved, one) = (full(chains(flips, part)), full(chains(before, part)));
        for entry in row {
            if let Some(neighbour) = sites.get_mut(entry.site as usize) {
                let signed = (U32s::splat(entry.coupling as u32) ^ one) - one;
                let field = U32s::load(&neighbour.field, part) + (signed & moved);
                field.store(&mut neighbour.field, part);
            }
        }
    }
}
