//! One site of sixteen Potts chains, and its moves.

use super::super::sums::Change;
use super::super::{ALL, full};
use crate::energy::Potts;
use crate::lane::{Bits, Block, LANES, Mask, PARTS, U32s};
use core::ops::Range;

/// The values of a site, one a chain.
pub(super) type Values = [u8; LANES];

/// One site of sixteen Potts chains: what each knows there. 64·(3Q+1) bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct PottsSite<const Q: usize> {
    /// The field of every value, `wᵢ(k) + Σⱼ Jᵢⱼ [xⱼ = k]`, in units of the model's grid.
    pub(super) fields: [Bits; Q],
    /// The weights of the values at the states.
    pub(super) here: [Block; Q],
    /// The same at the proposed states.
    pub(super) there: [Block; Q],
    /// The values, one a chain.
    pub(super) values: Values,
    /// The values at the other end of the last proposal.
    pub(super) others: Values,
    /// The chains in which the last proposal moved it.
    pub(super) moved: u32,
    /// Whether it is held in every chain.
    pub(super) clamped: bool,
}

impl<const Q: usize> PottsSite<Q> {
    /// Zeros.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            fields: [[0; LANES]; Q],
            here: [[0.0; LANES]; Q],
            there: [[0.0; LANES]; Q],
            values: [0; LANES],
            others: [0; LANES],
            moved: 0,
            clamped: false,
        }
    }

    /// In every chain the field of the value there.
    #[inline(always)]
    pub(super) fn field_at(&self, values: U32s, part: usize) -> U32s {
        (0..).zip(&self.fields).fold(U32s::splat(0), |found, (k, field)| {
            found | U32s::splat(k).eq(values).keep(U32s::load(field, part))
        })
    }

    /// The field of a value in one chain.
    #[inline(always)]
    fn field(&mut self, chain: usize, value: u8) -> Option<&mut u32> {
        self.fields.as_flattened_mut().get_mut(usize::from(value) * LANES + chain)
    }
}

impl<const Q: usize> Default for PottsSite<Q> {
    fn default() -> Self {
        Self::new()
    }
}

/// Moves some sites to their other values where they moved.
#[inline]
pub(super) fn go<const Q: usize>(
    model: &Potts<'_>,
    sites: &mut [PottsSite<Q>],
    among: Range<usize>,
    change: &mut Change,
) {
    in_groups(sites, among, ALL, |sites, turn| match turn {
        Turn::One(number, chain) => {
            change.units.add_to(chain, turn_one(model, sites, number, chain));
            if let Some(count) = change.count.get_mut(chain) {
                *count += 1;
            }
        }
        Turn::Many(number, _) => go_one(model, sites, number, change),
    });
}

/// Moves one site to its other values where it moved.
#[inline]
pub(super) fn go_one<const Q: usize>(
    model: &Potts<'_>,
    sites: &mut [PottsSite<Q>],
    number: usize,
    change: &mut Change,
) {
    let Some(site) = sites.get(number) else { return };
    change.units.next();
    for part in 0..PARTS {
        let moved = Mask::from_bits(site.moved, part);
        let from = site.field_at(U32s::load_bytes(&site.values, part), part);
        let to = site.field_at(U32s::load_bytes(&site.others, part), part);
        change.add(moved, from - to, part);
    }
    let moved = site.moved;
    turn_many(model, sites, number, moved);
}

/// Moves the sites back in some chains.
#[inline]
pub(super) fn undo<const Q: usize>(model: &Potts<'_>, sites: &mut [PottsSite<Q>], chains: u32) {
    in_groups(sites, 0..sites.len(), chains, |sites, turn| match turn {
        Turn::One(number, chain) => _ = turn_one(model, sites, number, chain),
        Turn::Many(number, moved) => turn_many(model, sites, number, moved),
    });
}

/// Gives the couplings of a site, which had no values so far, to the fields of its neighbours.
pub(super) fn enter<const Q: usize>(model: &Potts<'_>, sites: &mut [PottsSite<Q>], number: usize) {
    let values = sites.get(number).map_or([0; LANES], |site| site.values);
    scatter(model, sites, number, None, &values, ALL);
}

/// Sites whose moves are looked at together.
const GROUP: usize = 4;
/// As few moves of them are made one by one; without registers of many chains all are.
const FEW: u32 = if PARTS > 1 { u64::BITS } else { 16 };

/// Of a site that turns to its other values.
enum Turn {
    /// The site and the chain.
    One(usize, usize),
    /// The site and its chains.
    Many(usize, u32),
}

/// The moves of some sites, a whole number of groups or the last ones, in some chains. A processor cannot foresee how
/// many moves a site has. A wrong guess loses about the time of a move. So the moves are gone through four sites at a
/// time.
#[inline(always)]
fn in_groups<const Q: usize>(
    sites: &mut [PottsSite<Q>],
    among: Range<usize>,
    chains: u32,
    mut turn: impl FnMut(&mut [PottsSite<Q>], Turn),
) {
    for first in among.step_by(GROUP) {
        let group = sites.get(first..).unwrap_or_default().iter().take(GROUP);
        let moved = |all: u64, (place, site): (usize, &PottsSite<Q>)| {
            all | u64::from(site.moved & chains) << (LANES * place)
        };
        let mut moves = group.enumerate().fold(0, moved);
        if moves.count_ones() <= FEW {
            while moves != 0 {
                let place = moves.trailing_zeros() as usize;
                moves &= moves - 1;
                turn(sites, Turn::One(first + place / LANES, place % LANES));
            }
        } else {
            for place in 0..GROUP {
                let moved = (moves >> (LANES * place)) as u32 & ALL;
                if moved != 0 {
                    turn(sites, Turn::Many(first + place, moved));
                }
            }
        }
    }
}

/// Exchanges a site's values in one chain with its others: the field that it leaves less the one that it comes to.
#[inline(always)]
fn turn_one<const Q: usize>(model: &Potts<'_>, sites: &mut [PottsSite<Q>], number: usize, chain: usize) -> u32 {
    let Some(site) = sites.get_mut(number) else { return 0 };
    let (Some(value), Some(other)) = (site.values.get_mut(chain), site.others.get_mut(chain)) else { return 0 };
    core::mem::swap(value, other);
    let (from, to) = (*other, *value);
    let [leaves, comes] = [from, to].map(|value| site.field(chain, value).map_or(0, |field| *field));
    for entry in model.form().row(number) {
        let Some(neighbour) = sites.get_mut(entry.site as usize) else { continue };
        let coupling = entry.coupling as u32;
        if let Some(field) = neighbour.field(chain, from) {
            *field = field.wrapping_sub(coupling);
        }
        if let Some(field) = neighbour.field(chain, to) {
            *field = field.wrapping_add(coupling);
        }
    }
    leaves.wrapping_sub(comes)
}

/// Exchanges a site's values in some chains with its others.
#[inline(always)]
fn turn_many<const Q: usize>(model: &Potts<'_>, sites: &mut [PottsSite<Q>], number: usize, moved: u32) {
    let Some(site) = sites.get_mut(number) else { return };
    let (from, to) = (site.values, site.others);
    for part in 0..PARTS {
        let (from, to) = (U32s::load_bytes(&from, part), U32s::load_bytes(&to, part));
        let change = full(Mask::from_bits(moved, part)) & (from ^ to);
        (from ^ change).store_bytes(&mut site.values, part);
        (to ^ change).store_bytes(&mut site.others, part);
    }
    scatter(model, sites, number, Some(&from), &to, moved);
}

/// Takes the couplings of a site from its neighbours' fields of some values and gives them to those of others.
#[inline(always)]
fn scatter<const Q: usize>(
    model: &Potts<'_>,
    sites: &mut [PottsSite<Q>],
    number: usize,
    from: Option<&Values>,
    to: &Values,
    moved: u32,
) {
    let row = model.form().row(number);
    for part in 0..PARTS {
        let moved = Mask::from_bits(moved, part);
        let to = U32s::load_bytes(to, part);
        let from = from.map(|from| U32s::load_bytes(from, part));
        for k in 0..Q {
            let at = |values: U32s| moved & values.eq(U32s::splat(k as u32));
            let (leave, come) = (from.map_or(Mask::from_bits(0, part), at), at(to));
            if !(leave | come).any() {
                continue;
            }
            let (leave, come) = (full(leave), full(come));
            for entry in row {
                let field = sites.get_mut(entry.site as usize).and_then(|site| site.fields.get_mut(k));
                if let Some(field) = field {
                    let coupling = U32s::splat(entry.coupling as u32);
                    let moved = U32s::load(field, part) + (come & coupling) - (leave & coupling);
                    moved.store(field, part);
                }
            }
        }
    }
}
