//! Memory that was used before, full of words of any bits.

use crate::heap::HeapMemory;
use crate::models::Source;
use bitmc::lane::{Bits, Block, LANES};

/// What such memory holds: random words, all ones, or zeros.
pub(crate) fn leftovers(source: &mut Source) -> impl FnMut() -> u32 + '_ {
    let kind = source.below(8);
    move || match kind {
        0 => 0,
        1 => u32::MAX,
        _ => source.word(),
    }
}

/// Words of it.
pub(crate) fn words(count: usize, source: &mut Source) -> Vec<u32> {
    let mut word = leftovers(source);
    (0..count).map(|_| word()).collect()
}

/// Blocks of it.
pub(crate) fn bits(blocks: usize, source: &mut Source) -> Vec<Bits> {
    let mut word = leftovers(source);
    (0..blocks).map(|_| [(); LANES].map(|()| word())).collect()
}

/// Blocks of floats: NaN, infinities, anything.
pub(crate) fn blocks(count: usize, source: &mut Source) -> Vec<Block> {
    bits(count, source).into_iter().map(|bits| bits.map(f32::from_bits)).collect()
}

/// Fills all memory of a chain with it.
pub(crate) fn wear(memory: &mut HeapMemory, source: &mut Source) {
    let mut word = leftovers(source);
    memory.words.fill_with(&mut word);
    memory.cache.as_flattened_mut().fill_with(&mut word);
    memory.weights.as_flattened_mut().fill_with(|| f32::from_bits(word()));
}
