//! Memory that was used before: words of any bits, as constructors may be given it.

use bitmc::energy::Entry;
use bitmc::lane::{Bits, Block};
use bitmc::noise::Run;
use bitmc::temper::Rung;
use bitmc::tune::Trial;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What memory is made of.
pub trait Content: Clone {
    /// Any of its values, from the next words.
    fn next(words: &mut dyn FnMut() -> u32) -> Self;
}

impl Content for u32 {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        words()
    }
}

impl Content for i32 {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        words() as Self
    }
}

impl Content for f32 {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        Self::from_bits(words())
    }
}

impl Content for [u32; 2] {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        [words(), words()]
    }
}

impl Content for Bits {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        Self::default().map(|_| words())
    }
}

impl Content for Block {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        Self::default().map(|_| f32::from_bits(words()))
    }
}

impl Content for Entry {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        Self { site: words(), coupling: words() as i32 }
    }
}

impl Content for Trial {
    fn next(words: &mut dyn FnMut() -> u32) -> Self {
        let mut number = || f32::from_bits(words());
        Self { step_size: number(), balance: number(), rate: number(), error: number() }
    }
}

/// Its fields are private: there are no words to set.
impl Content for Run {
    fn next(_: &mut dyn FnMut() -> u32) -> Self {
        Self::default()
    }
}

/// Its fields are private: there are no words to set.
impl Content for Rung {
    fn next(_: &mut dyn FnMut() -> u32) -> Self {
        Self::default()
    }
}

/// Fills memory with random words of a fixed seed; one in four is a NaN, an infinity, ones, or the least number.
pub fn fill<T: Content>(memory: &mut [T]) {
    let mut rng = SplitMix64::seed_from_u64(memory.len() as u64);
    let mut word = || match rng.next_u32() {
        special if special % 4 == 0 => {
            [0x7FC0_0000, 0xFF80_0001, 0x7F80_0000, !0, 0x8000_0000][special as usize % 5]
        }
        word => word,
    };
    memory.iter_mut().for_each(|slot| *slot = T::next(&mut word));
}

/// So much memory that was used before.
#[must_use]
pub fn memory<T: Content + Default>(len: usize) -> Vec<T> {
    let mut memory = vec![T::default(); len];
    fill(&mut memory);
    memory
}
