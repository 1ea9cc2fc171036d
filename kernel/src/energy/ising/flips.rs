//! Flips of many sites: how fields and energy follow.

use super::{Ising, field, scatter};
use crate::energy::{Entry, Sparse};
use crate::lane::PARTS;
use core::hint::black_box;

/// Sites that are listed before they flip, at most.
const LIST: usize = 64;
/// Sites of a word that are listed without asking whether as many flip.
const AT_ONCE: usize = 4;
/// Set in the list where a site is 1 before.
const ONE: u32 = 0x8000_0000;
/// Most entries that are read of a row at once.
const MOST: usize = 8;

/// Eight signs and eight zeros: from place `8 − length` on, those of a row's entries and of the entries behind it.
static INTO: [i32; 2 * MOST] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
static OUT_OF: [i32; 2 * MOST] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

impl Ising<'_> {
    /// Flips sites of words in a row, given as `(number of the word, the word before, those of its sites that flip)`: how
    /// the energy changes, in units.
    #[inline]
    pub(crate) fn follow(&self, fields: &mut [u32], words: impl Iterator<Item = (usize, u32, u32)>) -> i64 {
        if PARTS == 1 && self.form.far() && words.size_hint().0 > 1 {
            return self.follow_far(fields, words);
        }
        // A loop of its own for each, so that none takes the others' registers.
        match Rows::of(&self.form) {
            Rows::Short => self.flip_words(words, fields, at_once::<4>),
            Rows::Long => self.flip_words(words, fields, at_once::<8>),
            Rows::Level => self.flip_level(words, fields),
        }
    }

    #[inline(never)]
    fn flip_level(&self, words: impl Iterator<Item = (usize, u32, u32)>, fields: &mut [u32]) -> i64 {
        self.flip_words(words, fields, in_one_go)
    }

    #[inline(always)]
    fn flip_words(
        &self,
        words: impl Iterator<Item = (usize, u32, u32)>,
        fields: &mut [u32],
        add: impl Fn(&[Entry], usize, u32, &mut [u32]),
    ) -> i64 {
        let mut difference = 0;
        each_site(words, |site, before| difference += self.flip_one(site, before, fields, &add));
        difference
    }

    /// The same for a model whose rows lie far apart in memory, so that they would be waited for one by one. Sites are
    /// listed, and all their rows looked at, none of which waits for another: then they are at hand.
    fn follow_far(&self, fields: &mut [u32], words: impl Iterator<Item = (usize, u32, u32)>) -> i64 {
        let (mut list, mut count, mut difference) = ([0; LIST], 0, 0);
        for (word, before, mut flips) in words {
            let mut push = |flips: &mut u32| {
                let bit = flips.trailing_zeros();
                if let Some(slot) = list.get_mut(count) {
                    *slot = (32 * word as u32).wrapping_add(bit) | before.wrapping_shr(bit) << 31;
                }
                count += usize::from(*flips != 0);
                *flips &= flips.wrapping_sub(1);
            };
            // Some at once, whether they flip or not: what is looked at ahead is lost at every unforeseen turn.
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
    #[inline(never)]
    fn flip_all(&self, list: &[u32], fields: &mut [u32]) -> i64 {
        for site in list {
            let row = self.form.row((site & !ONE) as usize);
            let look = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.site);
            black_box(look(row.first()) ^ look(row.last()));
        }
        let rows = Rows::of(&self.form);
        let flip = |&site: &u32| {
            self.flip_one((site & !ONE) as usize, site >> 31, fields, |entries, length, before, fields| {
                match rows {
                    Rows::Short => at_once::<4>(entries, length, before, fields),
                    Rows::Long => at_once::<8>(entries, length, before, fields),
                    Rows::Level => in_one_go(entries, length, before, fields),
                }
            })
        };
        list.iter().map(flip).sum()
    }

    /// Flips a site that is `before`: how the energy changes, in units. `add` adds its row to the fields, given the entries from
    /// the row's first one on, its length, and `before`.
    #[inline(always)]
    fn flip_one(
        &self,
        site: usize,
        before: u32,
        fields: &mut [u32],
        add: impl Fn(&[Entry], usize, u32, &mut [u32]),
    ) -> i64 {
        let sign = 1 - 2 * before as i32;
        let (entries, length) = self.form.row_on(site).unwrap_or_default();
        let difference = -i64::from(sign * field(fields, site));
        add(entries, length, before, fields);
        difference
    }
}

/// How rows are read.
#[derive(Clone, Copy)]
enum Rows {
    /// The first four entries at once.
    Short,
    /// The first eight at once.
    Long,
    /// As many as there are, which is as many as in the row before.
    Level,
}

impl Rows {
    fn of(form: &Sparse<'_>) -> Self {
        if !form.wide() {
            Self::Short
        } else if PARTS == 1 && form.level() {
            Self::Level
        } else {
            Self::Long
        }
    }
}

/// Adds the row of a site that was `before` to the fields. The first `N` ≤ 8 entries, about as many as rows have, are read
/// at once, and those behind the row count 0: a loop that ends with a row of another length each time would be left at an
/// unforeseen place.
#[inline(always)]
fn at_once<const N: usize>(entries: &[Entry], length: usize, before: u32, fields: &mut [u32]) {
    let sign = 1 - 2 * before as i32;
    let Some((first, behind)) = entries.split_first_chunk::<N>() else {
        return scatter(entries.get(..length).unwrap_or_default(), sign, fields, |_, _| ());
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
}

/// The same in a loop of its own for every length up to ten.
#[inline(always)]
fn in_one_go(entries: &[Entry], length: usize, before: u32, fields: &mut [u32]) {
    #[inline(always)]
    fn go<const N: usize>(entries: &[Entry], sign: i32, fields: &mut [u32]) {
        if let Some(row) = entries.first_chunk::<N>() {
            scatter(row, sign, fields, |_, _| ());
        }
    }
    let sign = 1 - 2 * before as i32;
    match length {
        1 => go::<1>(entries, sign, fields),
        2 => go::<2>(entries, sign, fields),
        3 => go::<3>(entries, sign, fields),
        4 => go::<4>(entries, sign, fields),
        5 => go::<5>(entries, sign, fields),
        6 => go::<6>(entries, sign, fields),
        7 => go::<7>(entries, sign, fields),
        8 => go::<8>(entries, sign, fields),
        9 => go::<9>(entries, sign, fields),
        10 => go::<10>(entries, sign, fields),
        _ => scatter(entries.get(..length).unwrap_or_default(), sign, fields, |_, _| ()),
    }
}

/// Tells the sites that flip in words in a row, and their values before. Two words at a time where there are registers: a
/// loop over few of them is left at an unforeseen place as often as one over twice as many.
#[inline(always)]
fn each_site(words: impl Iterator<Item = (usize, u32, u32)>, mut tell: impl FnMut(usize, u32)) {
    let mut words = words;
    while let Some((word, before, flips)) = words.next() {
        let second = if PARTS == 1 { words.next() } else { None };
        let (beside, more) = second.map_or((0, 0), |(_, before, flips)| (before, flips));
        let before = u64::from(before) | u64::from(beside) << 32;
        let mut flips = u64::from(flips) | u64::from(more) << 32;
        while flips != 0 {
            let bit = flips.trailing_zeros();
            flips &= flips - 1;
            tell(32 * word + bit as usize, (before >> bit) as u32 & 1);
        }
    }
}
