//! The states of persistent chains.

use super::LearnError;
use crate::chain::snapshot::{load_shape, shape};
use crate::flow::vector::copy;
use crate::layout::Layout;
use crate::packed::{Packed, is_word, set};
use crate::random::{below, uniform_state};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, list_len, lists};
use rand_core::Rng;

/// A replay buffer: packed states in caller-provided words. They are the states of the chains of persistent
/// contrastive divergence between iterations. A binary state of d sites takes d/8 bytes.
#[derive(Debug)]
pub struct Replay<'a> {
    words: &'a mut [u32],
    layout: Layout,
    states: usize,
}

impl<'a> Replay<'a> {
    /// Bytes in a snapshot, for so many states of a layout.
    #[must_use]
    pub const fn snapshot_len(layout: Layout, states: usize) -> usize {
        list_len(layout.words().saturating_mul(states), 4).saturating_add(13)
    }

    /// The states that the words hold, as they are.
    ///
    /// # Errors
    /// [`LearnError::Replay`] where the words are not whole states, at least one; [`LearnError::Chain`] where one
    /// is not legal.
    pub fn new(layout: Layout, words: &'a mut [u32]) -> Result<Self, LearnError> {
        let (state, got) = (layout.words(), words.len());
        let mut states = 0;
        for words in words.chunks(state.max(1)) {
            if words.len() != state {
                return Err(LearnError::Replay { state, got });
            }
            Packed::new(layout, words)?;
            states += 1;
        }
        if states == 0 { Err(LearnError::Replay { state, got }) } else { Ok(Self { words, layout, states }) }
    }

    /// Makes every state one of independent uniform values. (Every site may take all values of the layout.)
    pub fn randomise<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        for words in self.words.chunks_mut(self.layout.words().max(1)) {
            uniform_state(self.layout, None, rng, words);
        }
    }

    /// States.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states
    }

    /// Never: there is at least one state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states == 0
    }

    /// A uniform number below [`Replay::len`].
    pub fn pick<R: Rng + ?Sized>(&self, rng: &mut R) -> usize {
        below(self.states as u32, rng) as usize
    }

    /// A state; state 0 where there are not so many.
    #[must_use]
    pub fn state(&self, index: usize) -> Packed<'_> {
        let words = self.layout.words();
        let at = if index < self.states { index * words } else { 0 };
        Packed::trusted(self.layout, self.words.get(at..at + words).unwrap_or_default())
    }

    /// An error where `index` is past the last state.
    pub(super) fn check(&self, index: usize) -> Result<(), LearnError> {
        if index < self.states { Ok(()) } else { Err(LearnError::State(index)) }
    }

    /// All states, one after the other.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.words
    }

    /// Sets a state; there is nothing to do where there are not so many, or it is of another layout.
    pub fn put(&mut self, index: usize, state: Packed<'_>) {
        if state.layout() == self.layout {
            copy(self.slots(index), state.words());
        }
    }

    /// Sets one site of a state.
    ///
    /// # Errors
    /// [`LearnError::State`] where `index` is past the last state, [`LearnError::Chain`] where the layout lacks the
    /// site or the value.
    pub fn set(&mut self, index: usize, site: usize, value: u32) -> Result<(), LearnError> {
        self.check(index)?;
        Ok(set(self.layout, self.slots(index), site, value)?)
    }

    /// The words of a state; none where there are not so many.
    fn slots(&mut self, index: usize) -> &mut [u32] {
        self.words.chunks_mut(self.layout.words().max(1)).nth(index).unwrap_or_default()
    }
}

/// The states. Where it is refused they are as they were.
impl Snapshot for Replay<'_> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"repb");
        shape(self.layout).save(to);
        self.words.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, layout) = (*from, self.layout);
        at.name(*b"repb")?;
        load_shape(&mut at, layout)?;
        let legal = |place: usize, &word: &u32| is_word(layout, place % layout.words().max(1), word);
        lists([&mut *self.words], legal, &mut at)?;
        *from = at;
        Ok(())
    }
}
