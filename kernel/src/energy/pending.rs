//! Couplings of sites that flipped, on their way to the fields.

use super::{Entry, Sparse};
use crate::lane::{LANES, PARTS, U32s};

/// Entries of a register: about the length of a row.
const EACH: usize = LANES / 2;
/// Entries that may wait.
const ROOM: usize = 128;
/// The lanes of sites, and those of couplings.
const SITES: u32 = 0x5555;
const COUPLINGS: [u32; LANES] = [0, !0, 0, !0, 0, !0, 0, !0, 0, !0, 0, !0, 0, !0, 0, !0];

/// What fields have yet to gain: sites and numbers of units in turn, of all rows in one list. So no processor has to
/// foresee where each row ends.
pub(crate) struct Pending {
    words: [u32; 2 * (ROOM + 2 * EACH)],
    len: usize,
}

impl Pending {
    pub(crate) fn new() -> Self {
        Self { words: [0; 2 * (ROOM + 2 * EACH)], len: 0 }
    }

    /// Takes the row of a site that flips and was `before`. What it has for the sites behind it and before `end` does
    /// not wait: `moved` is told each of them, and its new field.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        form: &Sparse<'_>,
        (site, end): (usize, usize),
        before: u32,
        fields: &mut [u32],
        mut moved: impl FnMut(usize, i32),
    ) {
        let (mut entries, mut left) = form.row_on(site).unwrap_or_default();
        while left > 0 {
            if self.len > ROOM {
                self.flush(fields);
            }
            let mut row = [0; LANES];
            if let Some((first, behind)) = entries.split_first_chunk::<EACH>() {
                fill(&mut row, first);
                entries = behind;
            } else {
                fill(&mut row, entries);
                entries = &[];
            }
            let Some(slot) = self.words.get_mut(2 * self.len..).and_then(<[u32]>::first_chunk_mut) else {
                return;
            };
            let (mut near, minus) = (0, U32s::splat(before.wrapping_neg()));
            for part in 0..PARTS {
                let row = U32s::load(&row, part);
                let minus = minus & U32s::load(&COUPLINGS, part);
                ((row ^ minus) - minus).store(slot, part);
                let behind = U32s::splat(site as u32).lt_i32(row);
                near |= (behind & row.lt_i32(U32s::splat(end as u32))).bits(part);
            }
            let taken = left.min(EACH);
            near &= SITES & ((1 << (2 * taken)) - 1);
            while near != 0 {
                let lane = near.trailing_zeros() as usize;
                near &= near - 1;
                if let Some([site, units]) = slot.get_mut(lane..lane + 2)
                    && let Some(field) = fields.get_mut(*site as usize)
                {
                    *field = field.wrapping_add(core::mem::take(units));
                    moved(*site as usize, *field as i32);
                }
            }
            self.len += taken;
            left -= taken;
        }
    }

    /// Adds all that waits.
    #[inline(always)]
    pub(crate) fn flush(&mut self, fields: &mut [u32]) {
        if let Some(behind) = self.words.get_mut(2 * self.len..).and_then(<[u32]>::first_chunk_mut::<LANES>) {
            *behind = [0; LANES];
        }
        let len = core::mem::take(&mut self.len);
        for group in self.words.as_chunks::<LANES>().0.iter().take(len.div_ceil(EACH)) {
            for &[site, units] in group.as_chunks::<2>().0 {
                let Some(field) = fields.get_mut(site as usize) else { return };
                *field = field.wrapping_add(units);
            }
        }
    }
}

#[inline(always)]
fn fill(row: &mut [u32; LANES], entries: &[Entry]) {
    for (pair, entry) in row.as_chunks_mut::<2>().0.iter_mut().zip(entries) {
        *pair = [entry.site, entry.coupling as u32];
    }
}
