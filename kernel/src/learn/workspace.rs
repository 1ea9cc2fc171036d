//! What an objective works on: one sample in the memory of a chain.

use super::LearnError;
use crate::chain::{Buffer, Memory, check_sites, check_values, part};
use crate::energy::{Energy, EnergyError};
use crate::flow::vector::copy;
use crate::lane::{Bits, Block};
use crate::layout::{Kind, Layout};
use crate::packed::Packed;

/// A sample with its cache, and room: a cache for a neighbour and two planes of a number a change.
pub struct Workspace<'a> {
    pub(crate) layout: Layout,
    pub(crate) words: &'a mut [u32],
    pub(crate) cache: &'a mut [Bits],
    pub(crate) scratch: &'a mut [Bits],
    pub(crate) first: &'a mut [Block],
    pub(crate) second: &'a mut [Block],
    /// `E` at the sample.
    pub(crate) energy: f32,
}

impl<'a> Workspace<'a> {
    /// Lays a sample out in the memory of a chain.
    pub(crate) fn new<E: Energy + ?Sized, W: AsMut<[u32]>, C: AsMut<[Bits]>, B: AsMut<[Block]>>(
        model: &E,
        x: Packed<'_>,
        memory: &'a mut Memory<W, C, B>,
    ) -> Result<Self, LearnError> {
        let layout = model.layout();
        check_sites(model)?;
        let x = x.of(layout)?;
        check_values(model, x)?;
        let (words, cache) = (layout.words(), model.cache_len());
        let state = part(Buffer::Words, memory.words.as_mut(), words)?;
        let caches = part(Buffer::Cache, memory.cache.as_mut(), 2 * cache)?;
        let (here, scratch) = caches.split_at_mut_checked(cache).unwrap_or_default();
        let blocks = layout.weight_blocks();
        let planes = part(Buffer::Weights, memory.weights.as_mut(), 2 * blocks)?;
        let (first, second) = planes.split_at_mut_checked(blocks).unwrap_or_default();
        copy(state, x.words());
        let energy = model.init(x, here)?;
        if energy == f32::INFINITY {
            return Err(EnergyError::Forbidden.into());
        }
        Ok(Self { layout, words: state, cache: here, scratch, first, second, energy })
    }

    pub(crate) fn state(&self) -> Packed<'_> {
        Packed::trusted(self.layout, self.words)
    }

    /// For objectives of the neighbours of binary states.
    pub(crate) fn binary(&self) -> Result<(), LearnError> {
        if self.layout.kind() == Kind::Binary { Ok(()) } else { Err(LearnError::NotBinary) }
    }

    /// `Δ = E(x) − E(x with site i flipped)`, exactly, of a binary site.
    pub(crate) fn delta<E: Energy + ?Sized>(&mut self, model: &E, site: usize) -> f32 {
        let mut differences = [0.0; 2];
        model.differences(self.words, self.cache, site, &mut differences);
        let [zero, one] = differences;
        // The difference to its own value is 0.
        -if self.state().get(site) == 0 { one } else { zero }
    }
}
