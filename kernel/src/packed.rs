//! Packed states: fields of 1, 2, 4, 8 or 16 bits in `u32` words, borrowed and owned.
//!
//! Site 0 is the least significant field of word 0. Bits past the last site are zero, always: a state
//! is checked once, when it comes in, and everything below relies on it.

mod error;

pub use error::StateError;

use crate::lane::{Bits, LANES};
use crate::layout::{Kind, Layout};

/// A borrowed state. Copying it copies the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed<'a> {
    layout: Layout,
    words: &'a [u32],
}

impl<'a> Packed<'a> {
    /// Looks at `words` as a state; every value and the padding is checked. O(sites).
    ///
    /// # Errors
    /// [`StateError`] says which length, padding bit or value is wrong.
    pub fn new(layout: Layout, words: &'a [u32]) -> Result<Self, StateError> {
        if words.len() != layout.words() {
            return Err(StateError::Words { need: layout.words(), got: words.len() });
        }
        if words.last().is_some_and(|&last| last & !layout.last_word() != 0) {
            return Err(StateError::Padding);
        }
        let state = Self { layout, words };
        if layout.arity() < 1 << layout.field_bits()
            && let Some((site, value)) = (0..).zip(state.values()).find(|&(_, v)| v as usize >= layout.arity())
        {
            return Err(StateError::Value { site, value });
        }
        Ok(state)
    }

    /// The state, if it is of this layout.
    pub(crate) fn of(self, layout: Layout) -> Result<Self, StateError> {
        if self.layout == layout {
            Ok(self)
        } else {
            Err(StateError::Layout { need: layout, got: self.layout })
        }
    }

    /// For words that the crate itself has kept legal.
    pub(crate) fn trusted(layout: Layout, words: &'a [u32]) -> Self {
        Self { layout, words }
    }

    /// The layout.
    #[must_use]
    pub fn layout(self) -> Layout {
        self.layout
    }

    /// The words.
    #[must_use]
    pub fn words(self) -> &'a [u32] {
        self.words
    }

    /// The value at a site; 0 where there is no such site.
    #[inline]
    #[must_use]
    pub fn get(self, site: usize) -> u32 {
        let (word, shift) = place(self.layout, site);
        (self.words.get(word).copied().unwrap_or(0) >> shift) & field_mask(self.layout)
    }

    /// The sixteen sites of a block of a binary state, site `16·block` in the lowest bit.
    #[inline]
    #[must_use]
    pub fn bits(self, block: usize) -> u32 {
        (self.words.get(block >> 1).copied().unwrap_or(0) >> ((block & 1) * LANES)) & 0xFFFF
    }

    /// The values of the sixteen sites of a block, one a lane.
    #[inline]
    #[must_use]
    pub fn lanes(self, block: usize) -> Bits {
        let width = self.layout.field_bits();
        let mut lanes = [0; LANES];
        for (lane, place) in lanes.iter_mut().zip(0..) {
            let bit = place * width;
            let word = word_of(block, width) + (bit >> 5) as usize;
            let shift = (bit + half_word(block, width)) & 31;
            *lane = (self.words.get(word).copied().unwrap_or(0) >> shift) & field_mask(self.layout);
        }
        lanes
    }

    /// Sites whose value is not zero.
    #[must_use]
    pub fn ones(self) -> usize {
        match self.layout.field_bits() {
            1 => self.words.iter().map(|w| w.count_ones() as usize).sum(),
            _ => self.values().filter(|&v| v != 0).count(),
        }
    }

    /// All values in the order of the sites.
    pub fn values(self) -> impl Iterator<Item = u32> + 'a {
        (0..self.layout.sites()).map(move |site| self.get(site))
    }
}

/// An owned state of `WORDS` words, on the stack or in a static.
///
/// ```
/// use bitmc::{Layout, State};
/// const L: Layout = Layout::binary(25);
/// let mut state = State::<{ L.words() }>::zeros(L)?;
/// state.set(3, 1)?;
/// assert_eq!(state.view().ones(), 1);
/// # Ok::<(), bitmc::StateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<const WORDS: usize> {
    layout: Layout,
    words: [u32; WORDS],
}

impl<const WORDS: usize> State<WORDS> {
    /// Every site at 0.
    ///
    /// # Errors
    /// [`StateError::Words`] where `WORDS` is not [`Layout::words`].
    pub const fn zeros(layout: Layout) -> Result<Self, StateError> {
        if WORDS != layout.words() {
            return Err(StateError::Words { need: layout.words(), got: WORDS });
        }
        Ok(Self { layout, words: [0; WORDS] })
    }

    /// Sets one site.
    ///
    /// # Errors
    /// [`StateError::Site`] or [`StateError::Value`].
    pub fn set(&mut self, site: usize, value: u32) -> Result<(), StateError> {
        set(self.layout, &mut self.words, site, value)
    }

    /// The state, borrowed.
    #[must_use]
    pub fn view(&self) -> Packed<'_> {
        Packed::trusted(self.layout, &self.words)
    }
}

/// Sets one site of a state in caller-provided words.
///
/// # Errors
/// [`StateError`] where the words are too few, the site does not exist or the value is not below the arity.
pub fn set(layout: Layout, words: &mut [u32], site: usize, value: u32) -> Result<(), StateError> {
    check(layout, site, value)?;
    let short = StateError::Words { need: layout.words(), got: words.len() };
    let (word, shift) = place(layout, site);
    let word = words.get_mut(word).ok_or(short)?;
    *word = (*word & !(field_mask(layout) << shift)) | (value << shift);
    Ok(())
}

/// Whether there is such a site, and it may have such a value.
#[inline]
pub(crate) fn check(layout: Layout, site: usize, value: u32) -> Result<(), StateError> {
    match (site < layout.sites(), (value as usize) < layout.arity()) {
        (true, true) => Ok(()),
        (true, false) => Err(StateError::Value { site, value }),
        (false, _) => Err(StateError::Site { site }),
    }
}

/// Sets every bit of a site's field to 0.
pub(crate) fn clear(layout: Layout, words: &mut [u32], site: usize) {
    let (word, shift) = place(layout, site);
    if let Some(word) = words.get_mut(word) {
        *word &= !(field_mask(layout) << shift);
    }
}

/// Sets the bits of binary sites that have one value only to 0: in a state, or in a mask of free sites.
pub(crate) fn clear_single(layout: Layout, arities: Option<&[u16]>, words: &mut [u32]) {
    single(layout, arities).for_each(|site| clear(layout, words, site));
}

/// Sets these bits of a mask to 1: another model may have more values there.
pub(crate) fn free_single(layout: Layout, arities: Option<&[u16]>, words: &mut [u32]) {
    single(layout, arities).for_each(|site| _ = set(layout, words, site, 1));
}

/// Binary sites that have one value only.
fn single(layout: Layout, arities: Option<&[u16]>) -> impl Iterator<Item = usize> {
    let arities = arities.filter(|_| layout.kind() == Kind::Binary).unwrap_or_default();
    (0..layout.sites()).zip(arities).filter(|&(_, &arity)| arity < 2).map(|(site, _)| site)
}

/// Whether every field of a word of a mask is all zeros or all ones, and the padding zeros.
pub(crate) fn is_mask_word(layout: Layout, index: usize, word: u32) -> bool {
    let mask = field_mask(layout);
    is_padded(layout, index, word) && fields(layout, word).all(|field| field == 0 || field == mask)
}

/// Whether a word can be at a place of a state.
pub(crate) fn is_word(layout: Layout, index: usize, word: u32) -> bool {
    is_padded(layout, index, word) && fields(layout, word).all(|field| (field as usize) < layout.arity())
}

/// The same, with the arity of every site where they differ.
pub(crate) fn is_value_word(layout: Layout, arities: Option<&[u16]>, index: usize, word: u32) -> bool {
    let first = index.saturating_mul(layout.fields_per_word());
    let legal = |(site, value): (usize, u32)| {
        site >= layout.sites() || (value as usize) < layout.arity_at(arities, site)
    };
    is_padded(layout, index, word) && (first..).zip(fields(layout, word)).all(legal)
}

fn is_padded(layout: Layout, index: usize, word: u32) -> bool {
    index + 1 < layout.words() || word & !layout.last_word() == 0
}

fn fields(layout: Layout, word: u32) -> impl Iterator<Item = u32> {
    (0..32).step_by(layout.field_bits() as usize).map(move |shift| (word >> shift) & field_mask(layout))
}

/// Writes the values of a block of sixteen sites, [`Packed::lanes`] the other way round.
#[inline]
pub(crate) fn store_lanes(layout: Layout, lanes: &Bits, block: usize, words: &mut [u32]) {
    let width = layout.field_bits();
    for (&lane, place) in lanes.iter().zip(0..) {
        let bit = place * width;
        let shift = (bit + half_word(block, width)) & 31;
        if let Some(word) = words.get_mut(word_of(block, width) + (bit >> 5) as usize) {
            *word = (*word & !(field_mask(layout) << shift)) | (lane << shift);
        }
    }
}

/// The first word of a block of sixteen fields.
#[inline]
fn word_of(block: usize, width: u32) -> usize {
    if width == 1 { block >> 1 } else { block << (width.trailing_zeros() - 1) }
}

/// Where in its word a block of sixteen bits starts; wider fields start at 0.
#[inline]
fn half_word(block: usize, width: u32) -> u32 {
    if width == 1 { 16 * (block as u32 & 1) } else { 0 }
}

/// The word of a site's field, and its first bit there.
#[inline]
pub(crate) fn place(layout: Layout, site: usize) -> (usize, u32) {
    let log_bits = layout.log_field_bits();
    (site >> (5 - log_bits), ((site as u32) << log_bits) & 31)
}

#[inline]
fn field_mask(layout: Layout) -> u32 {
    (1 << layout.field_bits()) - 1
}

/// A move from one state to another of the same layout. The changed sites are where the words differ:
/// there is no list and no mask to keep in step with them.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    to: Packed<'a>,
    /// The words before, from word `first` on; all others are as they were.
    from: &'a [u32],
    first: usize,
}

/// One site of a [`Move`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The site.
    pub site: usize,
    /// Its value before.
    pub from: u32,
    /// Its value after.
    pub to: u32,
}

impl Change {
    /// The change of the site that has the lowest bit of `differ` in word `number`, of values before and after, and the bits of
    /// that site.
    #[inline(always)]
    fn lowest(layout: Layout, number: usize, differ: u32, [from, to]: [u32; 2]) -> (Self, u32) {
        let (mask, log_bits) = (field_mask(layout), layout.log_field_bits());
        let field = differ.trailing_zeros() >> log_bits;
        let shift = (field << log_bits) & 31;
        let site = (number << (5 - log_bits)) + field as usize;
        (Self { site, from: (from >> shift) & mask, to: (to >> shift) & mask }, mask << shift)
    }
}

impl<'a> Move<'a> {
    /// The move from one state to another.
    ///
    /// # Errors
    /// [`StateError::Layout`] where their layouts differ.
    pub fn new(from: Packed<'a>, to: Packed<'a>) -> Result<Self, StateError> {
        let to = to.of(from.layout)?;
        Ok(Self::within(0, from.words, to))
    }

    /// From the words of two states of one layout.
    pub(crate) fn trusted(layout: Layout, from: &'a [u32], to: &'a [u32]) -> Self {
        Self::within(0, from, Packed::trusted(layout, to))
    }

    /// A move inside the words from `first` on, which were `from`: a change of one site costs one word.
    pub(crate) fn within(first: usize, from: &'a [u32], to: Packed<'a>) -> Self {
        Self { to, from, first }
    }

    /// The state after.
    #[must_use]
    pub fn to(self) -> Packed<'a> {
        self.to
    }

    /// The value of a site in the state before; 0 where there is no such site.
    #[inline]
    #[must_use]
    pub fn before(self, site: usize) -> u32 {
        let (word, shift) = place(self.to.layout, site);
        let before = word.checked_sub(self.first).and_then(|offset| self.from.get(offset));
        let bits = before.or(self.to.words.get(word)).copied().unwrap_or(0);
        (bits >> shift) & field_mask(self.to.layout)
    }

    /// Words that may differ, before and after.
    #[inline]
    fn words(self) -> impl Iterator<Item = (&'a u32, &'a u32)> + Clone {
        self.from.iter().zip(self.to.words.get(self.first..).unwrap_or_default())
    }

    /// The words that may differ, with their numbers: `(number, before, after)`.
    #[inline]
    pub(crate) fn by_words(self) -> impl Iterator<Item = (usize, u32, u32)> + Clone {
        (self.first..).zip(self.words()).map(|(number, (&before, &after))| (number, before, after))
    }

    /// The changed sites, in order. O(changes), and O(words) where the move is not known to be local.
    #[inline]
    pub fn changes(self) -> impl Iterator<Item = Change> + 'a {
        let layout = self.to.layout;
        self.by_words().flat_map(move |(number, from, to)| {
            let mut left = from ^ to;
            core::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let (change, bits) = Change::lowest(layout, number, left, [from, to]);
                left &= !bits;
                Some(change)
            })
        })
    }

    /// The change, where the move is known to be within one word and only one site changes there.
    #[inline]
    pub(crate) fn one(self) -> Option<Change> {
        let &[from] = self.from else { return None };
        let to = self.to.words.get(self.first).copied().unwrap_or(0);
        let differ = from ^ to;
        let (change, bits) = Change::lowest(self.to.layout, self.first, differ, [from, to]);
        (differ & !bits == 0 && differ != 0).then_some(change)
    }

    /// How many sites change.
    #[must_use]
    pub fn count(self) -> usize {
        if self.to.layout.field_bits() == 1 {
            self.words().map(|(a, b)| (a ^ b).count_ones() as usize).sum()
        } else {
            self.changes().count()
        }
    }
}
