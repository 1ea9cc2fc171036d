//! A hash of words, in three operations a word.

use bitmc::Info;

/// A running hash: rotate, xor, multiply by an odd constant. Each word enters by a bijection, so two
/// histories that differ in one word never end alike.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u32);

impl Hash {
    /// The hash of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(0x811C_9DC5)
    }

    /// With one word more.
    #[must_use]
    pub const fn with(self, word: u32) -> Self {
        Self((self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B1))
    }

    /// The hash.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Takes a word.
    pub fn word(&mut self, word: u32) {
        *self = self.with(word);
    }

    /// Takes words.
    pub fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|&word| self.word(word));
    }

    /// Takes the bits of a float. All NaNs count as one: IEEE 754 leaves their bits open.
    pub fn float(&mut self, value: f32) {
        self.word(if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() });
    }

    /// Takes the bits of floats.
    pub fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|&value| self.float(value));
    }

    /// Takes all that a step reports.
    pub fn info(&mut self, info: &Info) {
        self.word(info.proposed << 2 | u32::from(info.accepted) << 1 | u32::from(info.fault));
        self.float(info.log_ratio);
        self.float(info.difference);
    }
}

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}
