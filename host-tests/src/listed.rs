//! What a draw does with given words: its probability, counted.

use core::convert::Infallible;
use rand_core::{TryRng, utils};

/// A generator of words by a list.
#[derive(Debug)]
pub struct Listed<'a>(pub &'a [u32]);

impl TryRng for Listed<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let (first, rest) = self.0.split_first().expect("a word more than there are");
        self.0 = rest;
        Ok(*first)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for piece in bytes.chunks_mut(4) {
            let word = self.try_next_u32()?;
            piece.copy_from_slice(&word.to_le_bytes()[..piece.len()]);
        }
        Ok(())
    }
}

/// How many of the numbers below `end` come before the first of which `holds` is false, where it holds for those alone.
#[must_use]
pub fn count(end: u128, holds: impl Fn(u128) -> bool) -> u128 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
