//! Ising models of a given sparsity.

use super::edges::Edges;
use super::{Learnable, each_change, subtract};
use crate::energy::{Energy, EnergyError, Ising, SparseBuffers, SparseError};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// An [`Ising`] model whose edges are known and whose couplings and fields are learned:
/// `f = Σ wᵢvᵢ + Σ_edges Jₑvₐv_b`, v spins or bits, every edge once. `∂E/∂wᵢ = −vᵢ`, `∂E/∂Jₑ = −vₐv_b`.
///
/// θ is the fields in blocks, then one coupling an edge in blocks ([`SparseIsing::parameter_len`]).
///
/// Cost: O(sites + edges) a state; O(degree · log edges) a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct SparseIsing<'a> {
    model: Ising<'a>,
    edges: Edges<'a>,
    /// v where x is 0.
    off: f32,
}

impl<'a> SparseIsing<'a> {
    /// Blocks of parameters.
    #[must_use]
    pub const fn parameter_len(sites: usize, edges: usize) -> usize {
        sites.div_ceil(LANES) + edges.div_ceil(LANES)
    }

    /// Over spins. `edges` ascend, each with its smaller end first.
    ///
    /// # Errors
    /// [`SparseError`], as [`Ising::spins_edges_once`]; [`SparseError::Unsorted`] where edges do not ascend,
    /// [`SparseError::Parameters`] where the parameters have another length.
    pub fn spins(
        parameters: &[Block],
        sites: usize,
        edges: &'a [(u32, u32)],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let (edges, fields) = Edges::new(edges, sites, parameters)?;
        let model = Ising::spins_edges_once(sites, edges.with(parameters), fields, memory)?;
        Ok(Self { model, edges, off: -1.0 })
    }

    /// Over bits.
    ///
    /// # Errors
    /// As [`SparseIsing::spins`].
    pub fn bits(
        parameters: &[Block],
        sites: usize,
        edges: &'a [(u32, u32)],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let (edges, fields) = Edges::new(edges, sites, parameters)?;
        let model = Ising::bits_edges_once(sites, edges.with(parameters), fields, memory)?;
        Ok(Self { model, edges, off: 0.0 })
    }

    /// The model itself, for samplers of its own.
    #[must_use]
    pub fn ising(&self) -> &Ising<'a> {
        &self.model
    }

    fn value(&self, x: u32) -> f32 {
        if x == 0 { self.off } else { 1.0 }
    }
}

impl Learnable for SparseIsing<'_> {
    fn parameter_len(&self) -> usize {
        self.edges.parameter_len()
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        for (value, slot) in x.values().zip(into.as_flattened_mut()) {
            *slot -= weight * self.value(value);
        }
        for ((a, b), slot) in self.edges.gradients(into) {
            *slot -= weight * self.value(x.get(a)) * self.value(x.get(b));
        }
    }

    fn accumulate_changes(
        &self,
        words: &mut [u32],
        _cache: &[Bits],
        _scratch: &mut [Bits],
        weights: &[Block],
        into: &mut [Block],
    ) {
        each_change(self, words, weights, |words, site, value, weight| {
            let x = Packed::trusted(self.layout(), words);
            let change = weight * (self.value(value) - self.value(1 - value));
            subtract(into, site, change);
            for entry in self.model.form().row(site) {
                let neighbour = entry.site as usize;
                if let Some(slot) = self.edges.gradient(site, neighbour, into) {
                    *slot -= change * self.value(x.get(neighbour));
                }
            }
        });
    }
}

super::delegate!(SparseIsing);
