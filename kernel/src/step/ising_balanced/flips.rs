//! Flips of AB-edge's sites in place: by the rows of those that flip, or all edges run by run.

use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{LANES, Mask, PARTS, U32s};
use crate::noise::{Run, runs::follow};

/// Flips the sites in there's words here, and moves the fields along, by runs where they are given:
/// `E(after) − E(before)` in units.
#[inline]
pub(super) fn flip(ring: &mut Ring<'_, Ising<'_>>, runs: Option<&[Run]>) -> i64 {
    let units = if let Some(runs) = runs {
        changes(ring);
        -follow(runs, ring.there.cache.as_flattened(), ring.here.cache.as_flattened_mut())
    } else {
        let words = ring.here.words.iter().zip(ring.there.words.iter()).enumerate();
        let flips = words.map(|(index, (&here, &flips))| (index, here, flips));
        ring.energy.follow(ring.here.cache.as_flattened_mut(), flips)
    };
    ring.here.words.iter_mut().zip(ring.there.words.iter()).for_each(|(word, flips)| *word ^= flips);
    units
}

/// What is added to each site, −1, 0 or 1: into there's cache, since there has no state of its own.
fn changes(ring: &mut Ring<'_, Ising<'_>>) {
    let words = ring.here.words.iter().zip(ring.there.words.iter());
    for (blocks, (&here, &flips)) in ring.there.cache.chunks_mut(2).zip(words) {
        for (half, block) in blocks.iter_mut().enumerate() {
            for part in 0..PARTS {
                let mask = |bits: u32| Mask::from_bits(bits >> (LANES * half), part);
                let sign = mask(here).keep(U32s::splat(u32::MAX)) | U32s::splat(1);
                mask(flips).keep(sign).store(block, part);
            }
        }
    }
}
