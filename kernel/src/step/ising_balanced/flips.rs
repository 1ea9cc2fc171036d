//! Flips of AB-edge's sites in place: by the rows of those that flip, or all edges run by run.

use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{LANES, Mask, PARTS, U32s};
use crate::noise::Run;
use crate::noise::runs::{common, follow};

/// Flips the sites in there's words here, and moves the fields along, by runs where they are given:
/// `E(after) − E(before)` in units.
#[inline]
pub(super) fn flip(ring: &mut Ring<'_, Ising<'_>>, runs: Option<&[Run]>) -> i64 {
    let units = if let Some(runs) = runs {
        let common = common(runs);
        changes(ring, common);
        -follow(runs, common, ring.there.cache, ring.here.cache)
    } else {
        let words = ring.here.words.iter().zip(ring.there.words.iter()).enumerate();
        let flips = words.map(|(index, (&here, &flips))| (index, here, flips));
        ring.energy.follow(ring.here.cache.as_flattened_mut(), flips)
    };
    ring.here.words.iter_mut().zip(ring.there.words.iter()).for_each(|(word, flips)| *word ^= flips);
    units
}

/// What is added to each site, −1, 0 or 1, times a coupling: into there's cache, since there has no state of its own.
fn changes(ring: &mut Ring<'_, Ising<'_>>, coupling: i32) {
    let (up, down) = (U32s::splat(coupling as u32), U32s::splat(coupling.wrapping_neg() as u32));
    for (block, slot) in ring.there.cache.iter_mut().enumerate() {
        let of = |words: &[u32]| words.get(block / 2).map_or(0, |word| word >> (LANES * (block % 2)));
        let (here, flips) = (of(ring.here.words), of(ring.there.words));
        for part in 0..PARTS {
            let mask = |bits| Mask::from_bits(bits, part);
            (mask(flips & !here).keep(up) | mask(flips & here).keep(down)).store(slot, part);
        }
    }
}
