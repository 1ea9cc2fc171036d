//! One site of sixteen chains.

use super::sums::Sums;
use super::{ALL, chains, full};
use crate::energy::Ising;
use crate::lane::{Bits, Block, LANES, PARTS, U32s};

/// One site of sixteen chains: what each knows there. 384 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct BatchSite {
    /// What the site is drawn by, at the states.
    pub(super) here: Block,
    /// The same at the proposed states.
    pub(super) there: Block,
    /// The field `b + Kx`, in units of the model's grid.
    pub(super) field: Bits,
    /// ln(1+e^z) at the states, for kernels that keep it.
    pub(super) softplus: Bits,
    /// The same at the proposed states.
    pub(super) softplus_there: Bits,
    /// The values, one bit a chain.
    pub(super) values: u32,
    /// The chains in which the site may move.
    pub(super) free: u32,
    /// The chains in which the last proposal changed it.
    pub(super) flips: u32,
    /// Whether the last proposal changed its field in some chain.
    pub(super) touched: bool,
}

impl BatchSite {
    /// Zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            here: [0.0; LANES],
            there: [0.0; LANES],
            field: [0; LANES],
            softplus: [0; LANES],
            softplus_there: [0; LANES],
            values: 0,
            free: ALL,
            flips: 0,
            touched: false,
        }
    }
}

impl Default for BatchSite {
    fn default() -> Self {
        Self::new()
    }
}

/// What flips change: energies, and how many there were.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) units: Sums,
    pub(super) count: Bits,
}

impl Change {
    pub(super) fn none() -> Self {
        Self { units: Sums::zero(), count: [0; LANES] }
    }
}

/// Flips a site in some chains and moves the fields of its neighbours.
#[inline]
pub(super) fn flip(model: &Ising<'_>, sites: &mut [BatchSite], number: usize, flips: u32, change: &mut Change) {
    let Some(site) = sites.get_mut(number) else { return };
    let before = site.values;
    site.values ^= flips;
    site.touched = true;
    change.units.next();
    for part in 0..PARTS {
        let (moved, zero) = (chains(flips, part), full(!chains(before, part)));
        // A one that goes gives its field back; a zero that comes takes it.
        let difference = moved.keep((U32s::load(&site.field, part) ^ zero) - zero);
        change.units.add(difference, part);
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
                neighbour.touched = true;
            }
        }
    }
}
