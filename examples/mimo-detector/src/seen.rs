//! Which states have been evaluated: a hash table of words in fixed memory.

/// A set of at most three quarters of `TABLE` words; `TABLE` is a power of two.
#[derive(Clone, Debug)]
pub struct Seen<const TABLE: usize> {
    /// 0 where nothing is.
    words: [u32; TABLE],
    zero: bool,
    len: u32,
    lost: u32,
}

impl<const TABLE: usize> Seen<TABLE> {
    const SHIFT: u32 = {
        assert!(TABLE.is_power_of_two() && TABLE > 1);
        32 - TABLE.trailing_zeros()
    };

    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: [0; TABLE], zero: false, len: 0, lost: 0 }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.words.fill(0);
        (self.zero, self.len, self.lost) = (false, 0, 0);
    }

    /// Words that it holds.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Words, with repetitions, that found no room.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether the word is new, and there is room for it: then it is held.
    pub fn insert(&mut self, word: u32) -> bool {
        if word == 0 {
            let new = !self.zero;
            self.zero = true;
            self.len += u32::from(new);
            return new;
        }
        let mut at = (word.wrapping_mul(0x9E37_79B1) >> Self::SHIFT) as usize;
        // A quarter of the places is free, so this ends.
        while let Some(place) = self.words.get_mut(at) {
            if *place == word {
                return false;
            }
            if *place == 0 {
                if 4 * self.len as usize >= 3 * TABLE {
                    self.lost += 1;
                    return false;
                }
                *place = word;
                self.len += 1;
                return true;
            }
            at = (at + 1) & (TABLE - 1);
        }
        false
    }
}

impl<const TABLE: usize> Default for Seen<TABLE> {
    fn default() -> Self {
        Self::new()
    }
}
