//! Fields of all sites at once, when many of them flip.

use super::Run;
use crate::lane::{Bits, LANES, LaneSums, PARTS, U32s, i16s_mut};
use crate::random::twice;

/// `h ← h + Kv` for the couplings K of all runs, in their units: `v·h + ½ v·Kv` of before.
///
/// v, of −1, 0 and 1, comes as words of sites that go up and of those that go down. The couplings of one magnitude c,
/// on a lattice most of them, are counted. The count n of the changes around a site has sixteen bits, and
/// `h ← h + cn` is one pass over all fields. So no site may have more than 2¹⁵ neighbours. The `room` is as long as
/// the fields.
pub(crate) fn follow(
    runs: &[Run],
    v: impl Iterator<Item = (u32, u32)>,
    room: &mut [Bits],
    fields: &mut [Bits],
) -> i64 {
    let (changes, counts) = i16s_mut(room).split_at_mut_checked(LANES * fields.len()).unwrap_or_default();
    spread(v, changes);
    counts.fill(0);
    let c = runs.iter().map(|run| run.coupling).find(|&coupling| coupling != 0).unwrap_or(0);
    let others = || runs.iter().filter(|run| run.coupling.unsigned_abs() != c.unsigned_abs());
    // v·h + ½ v·Kv, twice: before and after.
    let mut twice_others = 0;
    if others().next().is_some() {
        twice_others += along(changes, fields);
        for run in others() {
            let fields = fields.as_flattened_mut();
            run.both_ways(|to, from| {
                let (to, from) =
                    (fields.get_mut(to).unwrap_or_default(), changes.get(from).unwrap_or_default());
                let terms = from.iter().map(|&v| (i32::from(v) * run.coupling) as u32);
                to.iter_mut().zip(terms).for_each(|(field, term)| *field = field.wrapping_add(term));
            });
        }
        twice_others -= along(changes, fields);
    }
    for run in runs.iter().filter(|run| run.coupling.unsigned_abs() == c.unsigned_abs()) {
        run.both_ways(|to, from| {
            let to = counts.get_mut(to).unwrap_or_default().iter_mut();
            let pairs = to.zip(changes.get(from).unwrap_or_default());
            if run.coupling == c {
                pairs.for_each(|(count, v)| *count = count.wrapping_add(*v));
            } else {
                pairs.for_each(|(count, v)| *count = count.wrapping_sub(*v));
            }
        });
    }
    let (sum, pairs) = settle(c, changes, counts, fields);
    sum + twice_others / 2 + i64::from(c) * pairs / 2
}

impl Run {
    /// The sites at one of its ends and those at the other, and the other way about.
    #[inline(always)]
    fn both_ways(&self, mut with: impl FnMut(core::ops::Range<usize>, core::ops::Range<usize>)) {
        let (first, edges) = (self.first as usize, self.edges as usize);
        let far = first + self.offset as usize;
        let (near, far) = (first..first + edges, far..far + edges);
        with(far.clone(), near.clone());
        with(near, far);
    }
}

/// v, one a site.
pub(crate) fn spread(v: impl Iterator<Item = (u32, u32)>, changes: &mut [i16]) {
    let (whole, last) = changes.as_chunks_mut();
    let fill = |(up, down), slot: &mut [i16; 2 * LANES]| {
        for part in 0..PARTS {
            let of = |bits| U32s::halves_from_bits(bits, part);
            ((of(up) & twice(1)) | of(down)).store_halves(slot, part);
        }
    };
    let mut v = v;
    whole.iter_mut().zip(&mut v).for_each(|(slot, word)| fill(word, slot));
    if let Some(word) = v.next() {
        let mut slot = [0; 2 * LANES];
        fill(word, &mut slot);
        last.iter_mut().zip(slot).for_each(|(last, v)| *last = v);
    }
}

/// Blocks that are gone over at once: so few that they are at hand for the next loop.
const AT_ONCE: usize = 256;

/// `v·h`.
fn along(changes: &[i16], fields: &[Bits]) -> i64 {
    let changes = changes.as_chunks().0.chunks(AT_ONCE);
    let sums = changes.zip(fields.chunks(AT_ONCE)).map(|(changes, fields)| {
        let mut sums = LaneSums::ZERO;
        for (v, field) in changes.iter().zip(fields) {
            for part in 0..PARTS {
                sums.add(times_sign(U32s::load(field, part), U32s::load_i16s(v, part)), part);
            }
        }
        sums.values().sum::<i64>()
    });
    sums.sum()
}

/// `v·n`.
fn pairs(changes: &[i16], counts: &[i16]) -> i64 {
    let mut sums = [0; LANES];
    let mut add = |v: &[i16; 2 * LANES], n: &[i16; 2 * LANES]| {
        for part in 0..PARTS {
            let products = U32s::load_halves(v, part).dot(U32s::load_halves(n, part));
            (U32s::load(&sums, part) + products).store(&mut sums, part);
        }
    };
    let ((changes, last), (counts, last_counts)) = (changes.as_chunks(), counts.as_chunks());
    changes.iter().zip(counts).for_each(|(v, n)| add(v, n));
    let mut ends = [[0; 2 * LANES]; 2];
    for (end, last) in ends.iter_mut().zip([last, last_counts]) {
        end.iter_mut().zip(last).for_each(|(slot, &number)| *slot = number);
    }
    let [v, n] = &ends;
    add(v, n);
    sums.iter().map(|&sum| i64::from(sum as i32)).sum()
}

/// `h ← h + cn`: `v·h` of before and `v·n`.
fn settle(c: i32, changes: &[i16], counts: &[i16], fields: &mut [Bits]) -> (i64, i64) {
    // In halves: products of sixteen bits.
    let low = c as i16;
    let high = c.wrapping_sub(i32::from(low)) >> 16;
    let (low, high) = (U32s::splat(u32::from(low as u16)), U32s::splat(u32::from(high as u16)));
    let piece = AT_ONCE * LANES;
    let pieces = changes.chunks(piece).zip(counts.chunks(piece)).zip(fields.chunks_mut(AT_ONCE));
    pieces.fold((0, 0), |(sum, of_pairs), ((changes, counts), fields)| {
        let (sum, of_pairs) = (sum + along(changes, fields), of_pairs + pairs(changes, counts));
        for (n, field) in counts.as_chunks().0.iter().zip(fields) {
            for part in 0..PARTS {
                let n = U32s::load_i16s(n, part);
                (U32s::load(field, part) + n.dot(low) + n.dot(high).shl::<16>()).store(field, part);
            }
        }
        (sum, of_pairs)
    })
}

/// The word times −1, 0 or 1.
#[inline(always)]
fn times_sign(word: U32s, v: U32s) -> U32s {
    let sign = v.sar::<31>();
    (!v.eq(U32s::splat(0))).keep((word ^ sign) - sign)
}
