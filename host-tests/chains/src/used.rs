//! Memory that was used before: constructors make the same of it as of zeros.

use bitmc::chain::FixedMemory;
use bitmc::energy::{Entry, PolynomialBuffers, SparseBuffers};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{PolynomialMemory, SparseMemory};

/// What memory is made of.
pub(crate) trait Content: Copy {
    /// From a word of any bits.
    fn of(word: u32) -> Self;
}

impl Content for u32 {
    fn of(word: u32) -> Self {
        word
    }
}

impl Content for i32 {
    fn of(word: u32) -> Self {
        word as Self
    }
}

impl Content for u64 {
    fn of(word: u32) -> Self {
        Self::from(word) << 32 | Self::from(word)
    }
}

impl Content for [u32; 2] {
    fn of(word: u32) -> Self {
        [word; 2]
    }
}

impl Content for Bits {
    fn of(word: u32) -> Self {
        [word; LANES]
    }
}

impl Content for Block {
    fn of(word: u32) -> Self {
        [f32::from_bits(word); LANES]
    }
}

impl Content for Entry {
    fn of(word: u32) -> Self {
        Self { site: word, coupling: word as i32 }
    }
}

/// Fills memory with words of a fixed seed, every third of which is a NaN as a float.
pub(crate) fn fill<T: Content>(memory: &mut [T]) {
    let mut word = 0x9E37_79B9u32;
    for (number, slot) in memory.iter_mut().enumerate() {
        word = (word ^ (word << 13)).wrapping_mul(0x85EB_CA6B).rotate_left(7);
        *slot = T::of(if number.is_multiple_of(3) { word | 0x7FC0_0000 } else { word });
    }
}

/// An array that was used before.
pub(crate) fn used<T: Content, const N: usize>() -> [T; N] {
    let mut memory = [T::of(0); N];
    fill(&mut memory);
    memory
}

/// A chain's memory, used before.
pub(crate) fn chain<const W: usize, const C: usize, const B: usize>() -> FixedMemory<W, C, B> {
    FixedMemory { words: used(), cache: used(), weights: used() }
}

/// Memory for couplings, used before.
pub(crate) fn borrowed<const S: usize, const E: usize>(memory: &mut SparseMemory<S, E>) -> SparseBuffers<'_> {
    let borrowed = memory.borrow();
    fill(borrowed.ends);
    fill(borrowed.linear);
    fill(borrowed.entries);
    borrowed
}

/// Memory for terms, used before.
pub(crate) fn terms<const S: usize, const T: usize, const M: usize>(
    memory: &mut PolynomialMemory<S, T, M>,
) -> PolynomialBuffers<'_> {
    let terms = memory.borrow();
    fill(terms.sites);
    fill(terms.terms);
    fill(terms.members);
    terms
}

/// As `bitmc::memory!`, but used before.
macro_rules! memory {
    ($layout:expr, $cache_len:expr, momentum) => {{
        const WORDS: usize = bitmc::Memory::words($layout);
        const CACHE: usize = bitmc::Memory::cache($cache_len);
        const WEIGHTS: usize = bitmc::Memory::weights_and_momentum($layout);
        $crate::used::chain::<WORDS, CACHE, WEIGHTS>()
    }};
    ($layout:expr, $cache_len:expr) => {{
        const WORDS: usize = bitmc::Memory::words($layout);
        const CACHE: usize = bitmc::Memory::cache($cache_len);
        const WEIGHTS: usize = bitmc::Memory::weights($layout);
        $crate::used::chain::<WORDS, CACHE, WEIGHTS>()
    }};
}
pub(crate) use memory;

/// As `bitmc::open_memory!`, but used before.
macro_rules! open_memory {
    ($layout:expr, momentum) => {{
        const WORDS: usize = bitmc::Memory::words($layout);
        const WEIGHTS: usize = bitmc::Memory::weights_gradients_and_momentum($layout);
        $crate::used::chain::<WORDS, 0, WEIGHTS>()
    }};
    ($layout:expr) => {{
        const WORDS: usize = bitmc::Memory::words($layout);
        const WEIGHTS: usize = bitmc::Memory::weights_and_gradients($layout);
        $crate::used::chain::<WORDS, 0, WEIGHTS>()
    }};
}
pub(crate) use open_memory;
