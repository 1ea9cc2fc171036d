//! Updates of Ising spins from their cached fields, by thresholds that are known before the fields are.
//!
//! A site becomes 1 where a standard logistic number is below its log odds, `field · unit`. That is where its field,
//! a whole number of units, is above the threshold ⌊number / unit⌋. The thresholds are made in lanes; sites that stay
//! cost one comparison in lanes, and a flip its neighbours.

use crate::energy::{Ising, Pending};
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};

/// What a field never reaches.
const BEYOND: f32 = 1_610_612_736.0;

/// Log odds of being 1, one a site: the field.
#[inline(always)]
pub(super) fn log_odds(fields: &Bits, unit: F32s, part: usize) -> F32s {
    F32s::from_i32(U32s::load(fields, part)) * unit
}

/// ⌊noise / unit⌋, for fields below 2³⁰ in magnitude.
#[inline(always)]
pub(super) fn thresholds(noise: &Block, per_unit: f32) -> Bits {
    let mut thresholds = [0; LANES];
    for part in 0..PARTS {
        threshold(F32s::load(noise, part), F32s::splat(per_unit)).store(&mut thresholds, part);
    }
    thresholds
}

#[inline(always)]
pub(crate) fn threshold(noise: F32s, per_unit: F32s) -> U32s {
    let (most, least) = (F32s::splat(BEYOND), F32s::splat(-BEYOND));
    let units = noise * per_unit;
    let units = units.lt(most).pick(units, most);
    least.lt(units).pick(units, least).floor_i32()
}

/// Sites of a word.
const WORD: usize = 32;

/// The sites of word `index` for which `holds` does, given a block of fields and one of noise.
#[inline(always)]
fn sites<T>(cache: &[Bits], noise: &[T], index: usize, holds: impl Fn(&Bits, &T, usize) -> Mask) -> u32 {
    let block = |half: usize, fields, noise| {
        (0..PARTS).fold(0, |bits, part| bits | holds(fields, noise, part).bits(part)) << (LANES * half)
    };
    match (cache.get(2 * index..), noise) {
        (Some([first, second, ..]), [low, high, ..]) => block(0, first, low) | block(1, second, high),
        (Some([first, ..]), [low, ..]) => block(0, first, low),
        _ => 0,
    }
}

/// Gives the sites in the mask `among` of one word the values that their thresholds say, one after another. Each sees
/// the fields that those before it left. `changed` is told `E(after) − E(before)` of each flip, in units.
///
/// The sites that flip are found for all at once; a flip corrects those of the word that it is coupled with. With a
/// `LIST` the fields of the others wait until the end of the word: worth it for long rows of different lengths.
pub(super) fn in_turn<const LIST: bool>(
    model: &Ising<'_>,
    cache: &mut [Bits],
    (index, word): (usize, &mut u32),
    among: u32,
    thresholds: &[Bits],
    pending: &mut Pending,
    mut changed: impl FnMut(i64),
) {
    let above = sites(cache, thresholds, index, |fields, thresholds, part| {
        U32s::load(thresholds, part).lt_i32(U32s::load(fields, part))
    });
    let (fields, thresholds) = (cache.as_flattened_mut(), thresholds.as_flattened());
    // No site is beyond, and lanes compare signed numbers.
    let (here, end) = (*word, (WORD * (index + 1)).min(i32::MAX as usize));
    let (mut flips, mut rest) = ((above ^ here) & among, among);
    while flips & rest != 0 {
        let bit = (flips & rest).trailing_zeros();
        let (site, before) = (WORD * index + bit as usize, (here >> bit) & 1);
        rest = among & (!1 << bit);
        let moved = |site: usize, field| {
            let place = site % WORD;
            let threshold = thresholds.get(place).map_or(0, |&t| t as i32);
            let flip = (u32::from(threshold < field) << place) ^ (here & (1 << place));
            flips = (flips & !(1 << place)) | (flip & rest);
        };
        let list = if LIST { Some(&mut *pending) } else { None };
        changed(model.flip((site, end), before, fields, list, moved));
    }
    if LIST {
        pending.flush(fields);
    }
    *word = here ^ flips;
}

/// Gives the sites in `among`, which are not coupled with one another, the values that the noise says.
#[inline]
pub(super) fn at_once(
    model: &Ising<'_>,
    cache: &[Bits],
    word: &mut u32,
    index: usize,
    among: u32,
    noise: &[Block],
) {
    let unit = F32s::splat(model.form().unit());
    let ones = sites(cache, noise, index, |fields, noise, part| {
        F32s::load(noise, part).lt(log_odds(fields, unit, part))
    });
    *word ^= (ones ^ *word) & among;
}
