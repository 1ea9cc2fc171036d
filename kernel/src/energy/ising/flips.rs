//! Flips of many sites: how fields and energy follow.

use super::{Ising, field, scatter};
use crate::energy::Entry;
use core::hint::black_box;

/// Sites that are listed before they flip, at most.
const LIST: usize = 64;
/// Set in the list where a site is 1 before.
const ONE: u32 = 0x8000_0000;
/// Flips of a word that are listed without asking whether there are as many.
const AT_ONCE: usize = 4;
/// Entries of a model that a processor keeps at hand: half a megabyte.
const NEAR: usize = 1 << 16;
/// Most entries that are read of a row at once.
const MOST: usize = 8;

/// Eight signs and eight zeros: from place `8 − length` on, those of a row's entries and of the entries behind it.
static INTO: [i32; 2 * MOST] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
static OUT_OF: [i32; 2 * MOST] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

impl Ising<'_> {
    /// Flips sites, given as `(number of a word, the word before, those of its sites that flip)`: how the energy changes,
    /// in units.
    ///
    /// They are listed first. A loop that ends after another number of flips each time would be left at an unforeseen
    /// place, and rows that lie far apart in memory would be waited for one by one.
    #[inline]
    pub(crate) fn follow(&self, fields: &mut [u32], words: impl Iterator<Item = (usize, u32, u32)>) -> i64 {
        let (mut list, mut count, mut difference) = ([0; LIST], 0, 0);
        for (word, before, mut flips) in words {
            let mut push = |flips: &mut u32| {
                let bit = flips.trailing_zeros();
                let one = before.wrapping_shr(bit) << 31;
                if let Some(slot) = list.get_mut(count) {
                    *slot = (32 * word as u32).wrapping_add(bit) | one;
                }
                count += usize::from(*flips != 0);
                *flips &= flips.wrapping_sub(1);
            };
            (0..AT_ONCE).for_each(|_| push(&mut flips));
            while flips != 0 {
                push(&mut flips);
            }
            if count > LIST - 32 {
                difference += self.flip_all(list.get(..count).unwrap_or_default(), fields);
                count = 0;
            }
        }
        difference + self.flip_all(list.get(..count).unwrap_or_default(), fields)
    }

    /// Flips the sites of a list: how the energy changes, in units.
    fn flip_all(&self, list: &[u32], fields: &mut [u32]) -> i64 {
        if self.form.entries().len() > NEAR {
            // A look at both ends of every row, none of which waits for another: then they are at hand.
            for site in list {
                let row = self.form.row((site & !ONE) as usize);
                let look = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.site);
                black_box(look(row.first()) ^ look(row.last()));
            }
        }
        let sites = list.iter().map(|&site| ((site & !ONE) as usize, site >> 31));
        if self.form.wide() {
            sites.map(|(site, before)| self.flip_by::<8>(site, before, fields)).sum()
        } else {
            sites.map(|(site, before)| self.flip_by::<4>(site, before, fields)).sum()
        }
    }

    /// Flips a site that is `before`: how the energy changes, in units. The first `N` ≤ 8 entries, about as many as rows
    /// have, are read at once, and those behind the row count 0: as with the flips of a word.
    #[inline(always)]
    fn flip_by<const N: usize>(&self, site: usize, before: u32, fields: &mut [u32]) -> i64 {
        let sign = 1 - 2 * before as i32;
        let difference = -i64::from(sign * field(fields, site));
        let (entries, length) = self.form.row_on(site);
        let Some((first, behind)) = entries.split_first_chunk::<N>() else {
            scatter(entries.get(..length).unwrap_or_default(), sign, fields, |_, _| ());
            return difference;
        };
        let signs = if before == 0 { &INTO } else { &OUT_OF };
        let signs = signs.get(MOST.saturating_sub(length)..).and_then(|signs| signs.first_chunk::<N>());
        for (entry, &sign) in first.iter().zip(signs.unwrap_or(&[0; N])) {
            if let Some(field) = fields.get_mut(entry.site as usize) {
                *field = field.wrapping_add((sign * entry.coupling) as u32);
            }
        }
        if length > N {
            scatter(behind.get(..length - N).unwrap_or_default(), sign, fields, |_, _| ());
        }
        difference
    }
}
