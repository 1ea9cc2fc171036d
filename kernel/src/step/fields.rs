//! Updates of Ising spins from their cached fields, sixteen at a time.

use crate::energy::Ising;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};

/// Log odds of being 1, one a site: the field.
#[inline(always)]
pub(super) fn log_odds(fields: &Bits, unit: F32s, part: usize) -> F32s {
    F32s::from_i32(U32s::load(fields, part)) * unit
}

/// The sites of a block that come out as 1: where the noise is below the log odds.
#[inline(always)]
fn ones(fields: &Bits, noise: &Block, unit: F32s) -> u32 {
    (0..PARTS).fold(0, |bits, part| bits | F32s::load(noise, part).lt(log_odds(fields, unit, part)).bits(part))
}

/// Gives the sites in the mask `among` of one block the values that the noise says, one after another: each
/// sees the fields that those before it left. Returns `E(after) − E(before)` in units.
///
/// Sites that stay cost nothing but lanes: the next one that flips is found for all at once, and looked for
/// again only where the flip before it changed a field of this block.
#[inline]
pub(super) fn update(
    model: &Ising<'_>,
    cache: &mut [Bits],
    word: &mut u32,
    block: usize,
    among: u32,
    noise: &Block,
) -> i64 {
    let (unit, half) = (F32s::splat(model.form().unit()), 16 * (block as u32 & 1));
    let mut difference = 0;
    let mut left = among;
    let mut stale = true;
    let mut flips = 0;
    while left != 0 {
        if stale {
            let Some(fields) = cache.get(block) else { return difference };
            flips = (ones(fields, noise, unit) ^ (*word >> half)) & left;
        }
        if flips == 0 {
            return difference;
        }
        let lane = flips.trailing_zeros();
        flips &= flips - 1;
        left &= !1 << lane;
        let site = block * LANES + lane as usize;
        let before = (*word >> (half + lane)) & 1;
        *word ^= 1 << (half + lane);
        let (change, near) = model.flip(site, before, block, cache);
        difference += change;
        stale = near;
    }
    difference
}
