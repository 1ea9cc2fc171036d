//! The weights of many values: their sum, and draws from them.
//!
//! Weights come in blocks of sixteen values and are not kept. They are added up in chunks of 1,024 values, lane by
//! lane and then along the tree of [`sum`]. A value is drawn in three levels, its chunk, its block and its lane, with
//! 64 random bits each, in the whole numbers of [`units`](super::index::units). So every value, however rare, has the
//! probability weight / [`Sums::total`] within a relative 10⁻⁵: 142 roundings, should all of them go one way.

use super::index::pick;
use crate::lane::{Block, F32s, LANES, PARTS, Total, sum};
use crate::layout::Layout;
use core::ops::Range;
use rand_core::Rng;

/// Blocks of a chunk.
const CHUNK: usize = 64;
/// Chunks of the largest arity.
const CHUNKS: usize = Layout::MAX_ARITY / (CHUNK * LANES);

/// The sums of the chunks.
pub(crate) struct Sums {
    chunks: [f32; CHUNKS],
    blocks: usize,
}

impl Sums {
    /// Of `blocks` blocks of weights, each 0 or at most 1.
    pub(crate) fn new(blocks: usize, weights: impl Fn(usize) -> [F32s; PARTS]) -> Self {
        Self::by(blocks, |blocks, sums| blocks.for_each(|block| add_to(sums, weights(block))))
    }

    /// The same, where `add` adds those of some blocks in their order.
    #[inline(always)]
    pub(crate) fn by(blocks: usize, add: impl Fn(Range<usize>, &mut [F32s; PARTS])) -> Self {
        let mut chunks = [0.0; CHUNKS];
        for (first, chunk) in (0..blocks).step_by(CHUNK).zip(&mut chunks) {
            let mut sums = [F32s::splat(0.0); PARTS];
            add(first..blocks.min(first + CHUNK), &mut sums);
            *chunk = sum(&block_of(sums));
        }
        Self { chunks, blocks }
    }

    /// The sum of all weights.
    pub(crate) fn total(&self) -> f32 {
        let mut total = Total::new(0.0);
        self.chunks.iter().for_each(|&chunk| total.add(chunk));
        total.value()
    }

    /// Draws a value from the weights that the sums were made of; `None` where all are 0.
    pub(crate) fn draw<R: Rng + ?Sized>(
        &self,
        weights: impl Fn(usize) -> [F32s; PARTS],
        rng: &mut R,
    ) -> Option<usize> {
        let [chunk, block, lane] = [(); 3].map(|()| rng.next_u64());
        let first = pick(&self.chunks, chunk)? * CHUNK;
        let mut sums = [0.0; CHUNK];
        for (slot, block) in sums.iter_mut().zip(first..self.blocks) {
            *slot = sum(&block_of(weights(block)));
        }
        let block = first + pick(&sums, block)?;
        Some(block * LANES + pick(&block_of(weights(block)), lane)?)
    }
}

/// Adds a block of weights, lane by lane.
#[inline(always)]
pub(super) fn add_to(sums: &mut [F32s; PARTS], weights: [F32s; PARTS]) {
    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum = *sum + weight);
}

/// Registers in memory.
pub(super) fn block_of(parts: [F32s; PARTS]) -> Block {
    let mut block = [0.0; LANES];
    parts.into_iter().enumerate().for_each(|(part, lanes)| lanes.store(&mut block, part));
    block
}

/// A block in registers.
pub(crate) fn registers(block: &Block) -> [F32s; PARTS] {
    core::array::from_fn(|part| F32s::load(block, part))
}
