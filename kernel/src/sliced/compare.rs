//! The draw of 512 bits with probabilities of their own.

use crate::lane::{Bits, LANES, PARTS, U32s};
use crate::random::{from_bytes, words};
use rand_core::Rng;

/// Room for the planes that are drawn at once: after eight, two chains in 512 are undecided.
pub(super) type Planes = [u8; 8 * 64];

pub(super) const BLANK: Planes = [0; 8 * 64];

/// 512 comparisons of a uniform number with a threshold.
struct Comparison {
    below: Bits,
    undecided: Bits,
}

impl Comparison {
    /// Compares the next plane, the thresholds being a row of a [`Table`](super::table::Table): a word, and one for
    /// every feature.
    #[inline(always)]
    fn plane(&mut self, random: &Bits, row: &[u32], features: &[Bits]) {
        for part in 0..PARTS {
            let mut words = row.iter();
            let mut threshold = U32s::splat(words.next().copied().unwrap_or(0));
            for (feature, &change) in features.iter().zip(words) {
                threshold = threshold ^ (U32s::load(feature, part) & U32s::splat(change));
            }
            let undecided = U32s::load(&self.undecided, part);
            let decided = undecided & (threshold ^ U32s::load(random, part));
            (U32s::load(&self.below, part) | (decided & threshold)).store(&mut self.below, part);
            (undecided ^ decided).store(&mut self.undecided, part);
        }
    }
}

/// Where a uniform number is below a chain's threshold: planes are compared from the most significant one on, until
/// no chain is undecided.
#[inline(always)]
fn below<'r, R: Rng + ?Sized>(
    features: &[Bits],
    mut rows: impl Iterator<Item = &'r [u32]>,
    planes: &mut Planes,
    rng: &mut R,
) -> Bits {
    let mut comparison = Comparison { below: [0; LANES], undecided: [u32::MAX; LANES] };
    rng.fill_bytes(planes);
    for (random, row) in planes.as_chunks().0.iter().zip(&mut rows) {
        comparison.plane(&from_bytes(random), row, features);
    }
    for row in rows {
        if comparison.undecided.iter().fold(0, |any, word| any | word) == 0 {
            break;
        }
        comparison.plane(&words(rng), row, features);
    }
    comparison.below
}

/// `below` with its inner loop laid out for the usual numbers of features, where there are vectors.
#[inline(always)]
pub(super) fn draw<R: Rng + ?Sized>(
    features: &[Bits],
    table: &[u32],
    planes: &mut Planes,
    rng: &mut R,
) -> Bits {
    fn rows<const WIDTH: usize>(table: &[u32]) -> impl Iterator<Item = &[u32]> {
        table.as_chunks::<WIDTH>().0.iter().map(|row| row.as_slice())
    }
    if PARTS == 1 {
        if let Ok(two) = <&[Bits; 2]>::try_from(features) {
            return below(two, rows::<3>(table), planes, rng);
        }
        if let Ok(three) = <&[Bits; 3]>::try_from(features) {
            return below(three, rows::<4>(table), planes, rng);
        }
        if let Ok(four) = <&[Bits; 4]>::try_from(features) {
            return below(four, rows::<5>(table), planes, rng);
        }
    }
    let mut rest = table;
    let rows = core::iter::from_fn(|| {
        let (row, tail) = rest.split_at_checked(1 + features.len())?;
        rest = tail;
        Some(row)
    });
    below(features, rows, planes, rng)
}
