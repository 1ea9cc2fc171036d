//! Flips of AB-edge's sites in place: by the rows of those that flip, or all edges run by run.

use crate::chain::Ring;
use crate::energy::Ising;
use crate::noise::Run;
use crate::noise::runs::follow;

/// Flips the sites in there's words here, and moves the fields along, by runs where they are given:
/// `E(after) − E(before)` in units.
#[inline]
pub(super) fn flip(ring: &mut Ring<'_, Ising<'_>>, runs: Option<&[Run]>) -> i64 {
    let words = ring.here.words.iter().zip(ring.there.words.iter());
    let units = if let Some(runs) = runs {
        // There has no state of its own.
        -follow(
            runs,
            words.map(|(here, flips)| (flips & !here, flips & here)),
            ring.there.cache,
            ring.here.cache,
        )
    } else {
        let flips = words.enumerate().map(|(index, (&here, &flips))| (index, here, flips));
        ring.energy.follow(ring.here.cache.as_flattened_mut(), flips)
    };
    ring.here.words.iter_mut().zip(ring.there.words.iter()).for_each(|(word, flips)| *word ^= flips);
    units
}
