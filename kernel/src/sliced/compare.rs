//! The draw of 512 bits with probabilities of their own.

use super::count::remake;
use crate::lane::{Bits, LANES, PARTS, U32s};
use crate::random::{from_bytes, words};
use rand_core::Rng;

/// Planes that are drawn for each site: after these, two chains in 512 are undecided.
const OWN: usize = 8;
/// Planes that sites share: after these too, one site in sixteen has an undecided chain.
const SHARED: usize = 5;
const ALL: Bits = [u32::MAX; LANES];

/// Random bit planes. Few chains need more than a site's own planes, so those that sites share serve fourteen sites
/// or so. Each chain takes its bits of them once. Nothing has looked at a bit that is not taken, nor does the rule by
/// which planes are drawn again.
pub(super) struct Planes {
    own: [u8; OWN * 64],
    shared: [u8; SHARED * 64],
    /// The chains that have taken their bits of `shared`.
    taken: Bits,
}

impl Planes {
    /// None are drawn yet.
    pub(super) const fn new() -> Self {
        Self { own: [0; OWN * 64], shared: [0; SHARED * 64], taken: ALL }
    }

    /// Draws a site's own planes.
    #[inline(always)]
    fn draw_own<R: Rng + ?Sized>(&mut self, rng: &mut R) -> &[[u8; 64]] {
        rng.fill_bytes(&mut self.own);
        self.own.as_chunks().0
    }

    /// The planes that sites share, drawn again where one of these chains has taken its bits. They have taken them
    /// now.
    #[inline(always)]
    fn take_shared<R: Rng + ?Sized>(&mut self, chains: &Bits, rng: &mut R) -> &[[u8; 64]] {
        if meet(chains, &self.taken) {
            rng.fill_bytes(&mut self.shared);
            self.taken = [0; LANES];
        }
        remake(&mut self.taken, |taken, part| taken | U32s::load(chains, part));
        self.shared.as_chunks().0
    }
}

/// Whether two sets of chains have one in common.
#[inline(always)]
fn meet(a: &Bits, b: &Bits) -> bool {
    let apart = |part| (U32s::load(a, part) & U32s::load(b, part)).eq(U32s::splat(0));
    (0..PARTS).any(|part| (!apart(part)).any())
}

/// 512 comparisons of a uniform number with a threshold.
struct Comparison {
    /// The threshold's bit in the last plane to which a chain was undecided: where that decided it, 1 if the number is below.
    last: Bits,
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
            // Of these, one operation waits for the plane before where three words make one.
            let undecided = U32s::load(&self.undecided, part);
            let last = U32s::load(&self.last, part);
            (last ^ ((last ^ threshold) & undecided)).store(&mut self.last, part);
            let apart = threshold ^ U32s::load(random, part);
            (undecided & (apart ^ U32s::splat(u32::MAX))).store(&mut self.undecided, part);
        }
    }

    /// Where the number is below: not where it is the threshold, to the last plane.
    #[inline(always)]
    fn below(mut self) -> Bits {
        let decided = |part| U32s::load(&self.undecided, part) ^ U32s::splat(u32::MAX);
        remake(&mut self.last, |last, part| last & decided(part));
        self.last
    }
}

/// Where a uniform number is below a chain's threshold. Planes are compared from the most significant one on:
/// thirteen, and more while a chain is undecided.
#[inline(always)]
fn below<'r, R: Rng + ?Sized>(
    features: &[Bits],
    mut rows: impl Iterator<Item = &'r [u32]>,
    planes: &mut Planes,
    rng: &mut R,
) -> Bits {
    let mut comparison = Comparison { last: [0; LANES], undecided: ALL };
    // A row is taken after its plane, so that none is lost where planes end.
    for (random, row) in planes.draw_own(rng).iter().zip(&mut rows) {
        comparison.plane(&from_bytes(random), row, features);
    }
    for (random, row) in planes.take_shared(&comparison.undecided, rng).iter().zip(&mut rows) {
        comparison.plane(&from_bytes(random), row, features);
    }
    for row in rows {
        if !meet(&comparison.undecided, &ALL) {
            break;
        }
        comparison.plane(&words(rng), row, features);
    }
    comparison.below()
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
