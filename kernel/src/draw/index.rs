//! Indices: one single-site move out of all of them, drawn from a softmax.
//!
//! Every move, a site and another value for it, has the weight e^(logit − largest logit), at least e^(−50). Weights
//! are in *rows* of one plane or several. A row's sixteen lanes are
//! ```text
//! Order::Planes   sixteen sites, a plane for every value (binary: one plane)
//! Order::Sites    one plane; the values of a site side by side, site after site
//! ```
//! A move is drawn in two levels, first the plane and then the lane, with 64 random bits each:
//! ```text
//! q = sum of the plane / sum of all planes · weight / sum of the plane's weights
//! ```
//! The sum of a plane is a float, added along one fixed tree. All other sums are integers on the grid 2⁻⁹⁷, on which
//! those floats lie exactly. So a million planes lose no precision. What is left without the likeliest moves is as
//! exact as the whole. What was drawn and what is scored are the same integers.

use crate::lane::{Block, F32s, LANES, LogProduct, Mask, PARTS, sum};
use crate::layout::{Kind, Layout};
use crate::packed::Packed;
use rand_core::Rng;

/// Binary places of the grid: sums of 2³¹ weights fit 128 bits.
const PLACES: i32 = 97;
/// The most indices of a path.
pub(crate) const MAX_INDICES: usize = 64;

/// The order of weights in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Lane = site, a plane for every value.
    Planes,
    /// Lane = value, site after site; for binary sites the same as `Planes`.
    Sites,
}

/// The place of a move's weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    row: usize,
    plane: usize,
    lane: usize,
}

/// Up to [`MAX_INDICES`] moves in the order in which they were drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    places: [Place; MAX_INDICES],
    len: usize,
}

impl Path {
    pub(crate) const EMPTY: Self = Self { places: [Place { row: 0, plane: 0, lane: 0 }; MAX_INDICES], len: 0 };

    pub(crate) fn places(&self) -> &[Place] {
        self.places.get(..self.len).unwrap_or_default()
    }

    /// False where it is full.
    pub(crate) fn push(&mut self, place: Place) -> bool {
        let Some(slot) = self.places.get_mut(self.len) else { return false };
        *slot = place;
        self.len += 1;
        true
    }
}

impl Order {
    /// Planes of a row.
    pub(crate) fn planes(self, layout: Layout) -> usize {
        match self {
            Self::Planes if layout.kind() != Kind::Binary => layout.arity(),
            Self::Planes | Self::Sites => 1,
        }
    }

    /// The place of the move of `site` to `value`.
    pub(crate) fn place(self, layout: Layout, site: usize, value: u32) -> Place {
        let value = value as usize;
        let (index, plane) = match (layout.kind(), self) {
            (Kind::Binary, _) => (site, 0),
            (_, Self::Planes) => (site, value),
            (_, Self::Sites) => (site * layout.arity() + value, 0),
        };
        Place { row: index / LANES, plane, lane: index % LANES }
    }

    /// The site of a move.
    pub(crate) fn site(self, layout: Layout, place: Place) -> usize {
        let index = place.row * LANES + place.lane;
        match (layout.kind(), self) {
            (Kind::Binary, _) | (_, Self::Planes) => index,
            (_, Self::Sites) => index / layout.arity(),
        }
    }

    /// The site and the new value of a move from `x`.
    pub(crate) fn choice(self, x: Packed<'_>, place: Place) -> (usize, u32) {
        let (layout, index) = (x.layout(), place.row * LANES + place.lane);
        let site = self.site(layout, place);
        let value = match (layout.kind(), self) {
            (Kind::Binary, _) => 1 - x.get(index),
            (_, Self::Planes) => place.plane as u32,
            (_, Self::Sites) => (index % layout.arity()) as u32,
        };
        (site, value)
    }
}

/// The sum of all weights.
pub(crate) fn total(weights: &[Block]) -> u128 {
    weights.iter().fold(0, |total, plane| total.saturating_add(units(sum(plane))))
}

/// Draws `indices` moves, each given those before: with replacement, or from the sites that are left, until none is
/// left. Returns the sum of all weights too. `sums` is scratch, one float a plane.
pub(crate) fn draw<R: Rng + ?Sized>(
    weights: &[Block],
    planes: usize,
    (indices, replace): (u32, bool),
    sums: &mut [f32],
    rng: &mut R,
) -> (Path, u128) {
    let mut all = 0u128;
    for (slot, plane) in sums.iter_mut().zip(weights) {
        *slot = sum(plane);
        all = all.saturating_add(units(*slot));
    }
    let sums = sums.get_mut(..weights.len()).unwrap_or_default();
    let (mut path, whole) = (Path::EMPTY, all);
    for _ in 0..indices {
        let (at, lane) = (rng.next_u64(), rng.next_u64());
        let Some(index) = pick_of(sums, all, at) else { break };
        let (row, plane) = (index / planes.max(1), index % planes.max(1));
        let taken = if replace { 0 } else { taken(path.places(), row) };
        let left = weights.get(index).map(|plane| without(plane, taken)).unwrap_or_default();
        let lane = pick(&left, lane).unwrap_or(0);
        let place = Place { row, plane, lane };
        if !path.push(place) {
            break;
        }
        if !replace {
            let taken = taken | (1 << lane);
            let row = row * planes..(row + 1) * planes;
            let (sums, weights) = (sums.get_mut(row.clone()), weights.get(row));
            for (slot, plane) in sums.unwrap_or_default().iter_mut().zip(weights.unwrap_or_default()) {
                let left = sum(&without(plane, taken));
                all = all.saturating_sub(units(*slot)).saturating_add(units(left));
                *slot = left;
            }
        }
    }
    (path, whole)
}

/// The probability of drawing a path from weights whose sum is `all`, and the sum that is left after it. The result
/// is `None` where the path is never drawn.
pub(crate) fn score(
    weights: &[Block],
    planes: usize,
    mut all: u128,
    places: &[Place],
    replace: bool,
) -> Option<(LogProduct, u128)> {
    let mut q = LogProduct::ONE;
    for (index, place) in places.iter().enumerate() {
        let before = places.get(..index).unwrap_or_default();
        let taken = if replace { 0 } else { taken(before, place.row) };
        let row = weights.get(place.row * planes..(place.row + 1) * planes)?;
        let left = without(row.get(place.plane)?, taken);
        let weight = units(left.get(place.lane).copied()?);
        if weight == 0 {
            return None;
        }
        let (plane, lanes) = (units(sum(&left)), left.iter().map(|&w| units(w)).sum());
        // Where the float is the exact sum the two cancel: equal weights give equal probabilities.
        let exact = if plane == lanes { LogProduct::ONE } else { ratio(plane, lanes) };
        q = q.times(ratio(weight, all)).times(exact);
        if !replace {
            for plane in row {
                let (old, new) = (without(plane, taken), without(plane, taken | (1 << place.lane)));
                all = all.saturating_sub(units(sum(&old))).saturating_add(units(sum(&new)));
            }
        }
    }
    Some((q, all))
}

/// The place of the weight in which a share of 2⁶⁴ falls; `None` where all are 0.
pub(super) fn pick(weights: &[f32], share: u64) -> Option<usize> {
    pick_of(weights, weights.iter().map(|&w| units(w)).sum(), share)
}

/// The same of weights whose sum is `all`.
fn pick_of(weights: &[f32], all: u128, share: u64) -> Option<usize> {
    let mut at = fraction(all, share);
    for (place, &weight) in weights.iter().enumerate() {
        let weight = units(weight);
        if at < weight {
            return Some(place);
        }
        at -= weight;
    }
    None
}

/// The lanes of a row whose sites are taken.
fn taken(places: &[Place], row: usize) -> u32 {
    places.iter().filter(|place| place.row == row).fold(0, |taken, place| taken | (1 << place.lane))
}

/// Weights without some lanes.
fn without(weights: &Block, lanes: u32) -> Block {
    let mut left = *weights;
    for part in 0..PARTS {
        Mask::from_bits(lanes, part).pick(F32s::splat(0.0), F32s::load(weights, part)).store(&mut left, part);
    }
    left
}

/// A weight or a sum of them, at most 2¹⁶, as a whole number of 2⁻⁹⁷; below 2⁻⁷⁴ (e^(−50) is above) it counts as 0.
#[inline]
pub(super) fn units(value: f32) -> u128 {
    const LEAST: u32 = 127 + 23 - PLACES as u32;
    let bits = value.to_bits();
    let mantissa = (bits & 0x007F_FFFF) | 0x0080_0000;
    let exponent = bits >> 23;
    if exponent < LEAST { 0 } else { u128::from(mantissa).wrapping_shl(exponent - LEAST) }
}

/// ⌊all · share / 2⁶⁴⌋: a uniform number below `all` from a uniform word.
fn fraction(all: u128, share: u64) -> u128 {
    let (share, low) = (u128::from(share), all & u128::from(u64::MAX));
    (all >> 64).wrapping_mul(share).wrapping_add(low.wrapping_mul(share) >> 64)
}

/// The quotient of two positive sums.
fn ratio(part: u128, all: u128) -> LogProduct {
    float(part).over(float(all))
}

/// A positive number of units, in units.
fn float(value: u128) -> LogProduct {
    let zeros = value.leading_zeros();
    let top = (value.wrapping_shl(zeros) >> 97) as u32; // 31 bits, rounded to 24
    LogProduct::new(top as f32, 97 - zeros as i32)
}
