//! Flips of many sites: how fields and energy follow.

use super::{Ising, scatter};
use crate::energy::{Entry, Sparse, add, field};
use crate::lane::PARTS;
use core::hint::black_box;

/// Sites that are listed before they flip, at most.
const LIST: usize = 64;
/// Sites of a word that are listed without a look at how many flip.
const AT_ONCE: usize = 4;
/// Set in the list where a site is 1 before.
const ONE: u32 = 0x8000_0000;
/// Most entries that are read of a row at once.
const MOST: usize = 8;

/// Eight signs and eight zeros: from place `8 − length` on, those of a row's entries and of the entries behind it.
static INTO: [i32; 2 * MOST] = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
static OUT_OF: [i32; 2 * MOST] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

impl Ising<'_> {
    /// Flips sites of words in a row, given as `(number of the word, the word before, those of its sites that flip)`:
    /// how the energy changes, in units.
    #[inline]
    pub(crate) fn follow(&self, fields: &mut [u32], words: impl Iterator<Item = (usize, u32, u32)>) -> i64 {
        if PARTS == 1 && self.form.far() && words.size_hint().0 > 1 {
            return self.follow_far(fields, words);
        }
        // A loop of its own for each, so that none takes the others' registers.
        match Rows::of(&self.form) {
            Rows::Short => self.flip_words(words, fields, at_once::<4>),
            Rows::Long => self.flip_words(words, fields, at_once::<8>),
            Rows::Level => pairs(words).map(|pair| self.flip_level(pair, fields)).sum(),
        }
    }

    /// Flips the sites of a pair of words where a row is mostly as long as the one before: a loop of its own for every
    /// length up to ten. How the energy changes, in units.
    #[inline(never)]
    fn flip_level(&self, mut pair: Pair, fields: &mut [u32]) -> i64 {
        let mut difference = 0;
        while pair.flips != 0 {
            difference += match self.form.row(pair.first()).len() {
                1 => self.flip_alike::<1>(&mut pair, fields),
                2 => self.flip_alike::<2>(&mut pair, fields),
                3 => self.flip_alike::<3>(&mut pair, fields),
                4 => self.flip_alike::<4>(&mut pair, fields),
                5 => self.flip_alike::<5>(&mut pair, fields),
                6 => self.flip_alike::<6>(&mut pair, fields),
                7 => self.flip_alike::<7>(&mut pair, fields),
                8 => self.flip_alike::<8>(&mut pair, fields),
                9 => self.flip_alike::<9>(&mut pair, fields),
                10 => self.flip_alike::<10>(&mut pair, fields),
                _ => {
                    let (site, before) = pair.take();
                    self.flip_one(site, before, fields, |entries, length, before, fields| {
                        let row = entries.get(..length).unwrap_or_default();
                        scatter(row, 1 - 2 * before as i32, fields, |_, _| ());
                    })
                }
            };
        }
        difference
    }

    /// Flips the next sites of a pair of words as long as their rows have `N` entries: how the energy changes, in
    /// units.
    #[inline(always)]
    fn flip_alike<const N: usize>(&self, pair: &mut Pair, fields: &mut [u32]) -> i64 {
        let mut difference = 0;
        while pair.flips != 0 {
            let (entries, length) = self.form.row_on(pair.first()).unwrap_or_default();
            let Some(row) = entries.first_chunk::<N>().filter(|_| length == N) else { break };
            let (site, before) = pair.take();
            difference += self.flip_one(site, before, fields, |_, _, before, fields| {
                scatter(row, 1 - 2 * before as i32, fields, |_, _| ());
            });
        }
        difference
    }

    #[inline(always)]
    fn flip_words(
        &self,
        words: impl Iterator<Item = (usize, u32, u32)>,
        fields: &mut [u32],
        add: impl Fn(&[Entry], usize, u32, &mut [u32]),
    ) -> i64 {
        let mut difference = 0;
        for mut pair in pairs(words) {
            while pair.flips != 0 {
                let (site, before) = pair.take();
                difference += self.flip_one(site, before, fields, &add);
            }
        }
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
                    Rows::Long | Rows::Level => at_once::<8>(entries, length, before, fields),
                }
            })
        };
        list.iter().map(flip).sum()
    }

    /// Flips a site that is `before`: how the energy changes, in units. Then `add` adds its row to the fields. It is
    /// given the entries from the row's first one on, the row's length, and `before`.
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
    /// All of them: mostly their number is that of the row before.
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

/// Adds the row of a site that was `before` to the fields. The first `N` ≤ 8 entries, about the length of a row, are
/// read at once, and those behind the row count 0. A loop over rows of different lengths would end where the
/// processor did not expect it.
#[inline(always)]
fn at_once<const N: usize>(entries: &[Entry], length: usize, before: u32, fields: &mut [u32]) {
    let sign = 1 - 2 * before as i32;
    let Some((first, behind)) = entries.split_first_chunk::<N>() else {
        return scatter(entries.get(..length).unwrap_or_default(), sign, fields, |_, _| ());
    };
    let signs = if before == 0 { &INTO } else { &OUT_OF };
    let signs = signs.get(MOST.saturating_sub(length)..).and_then(|signs| signs.first_chunk::<N>());
    for (entry, &sign) in first.iter().zip(signs.unwrap_or(&[0; N])) {
        add(fields, entry.site as usize, (sign * entry.coupling) as u32);
    }
    if length > N {
        scatter(behind.get(..length - N).unwrap_or_default(), sign, fields, |_, _| ());
    }
}

/// Two words in a row.
#[derive(Clone, Copy)]
struct Pair {
    /// The first site of both.
    start: usize,
    before: u64,
    /// The sites that flip, and have not yet.
    flips: u64,
}

impl Pair {
    /// The first site that flips.
    #[inline(always)]
    fn first(&self) -> usize {
        self.start + self.flips.trailing_zeros() as usize
    }

    /// Takes the first site that flips, and its value before.
    #[inline(always)]
    fn take(&mut self) -> (usize, u32) {
        let bit = self.flips.trailing_zeros();
        self.flips &= self.flips.wrapping_sub(1);
        (self.start + bit as usize, self.before.wrapping_shr(bit) as u32 & 1)
    }
}

/// Words in a row, two at a time where there are registers. A processor cannot foresee where a loop over few flips
/// ends. Two words in one loop have one unforeseen end, not two.
#[inline(always)]
fn pairs(mut words: impl Iterator<Item = (usize, u32, u32)>) -> impl Iterator<Item = Pair> {
    core::iter::from_fn(move || {
        let (word, before, flips) = words.next()?;
        let second = if PARTS == 1 { words.next() } else { None };
        let (beside, more) = second.map_or((0, 0), |(_, before, flips)| (before, flips));
        Some(Pair {
            start: 32 * word,
            before: u64::from(before) | u64::from(beside) << 32,
            flips: u64::from(flips) | u64::from(more) << 32,
        })
    })
}
