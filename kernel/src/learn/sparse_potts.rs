//! Potts models of a given sparsity.

use super::edges::Edges;
use super::{Learnable, each_change, subtract};
use crate::energy::{Energy, EnergyError, Potts, SparseBuffers, SparseError};
use crate::lane::{Bits, Block, LANES};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// A [`Potts`] model whose edges are known and whose couplings and fields are learned:
/// `E(x) = −Σ_edges Jₑ [xₐ = x_b] − Σᵢ wᵢ(xᵢ)`. `∂E/∂Jₑ = −[xₐ = x_b]`, `∂E/∂wᵢ(k) = −[xᵢ = k]`.
///
/// θ is the fields site by site in blocks, then one coupling an edge in blocks
/// ([`SparsePotts::parameter_len`]). A number added to all fields of a site changes nothing: learning keeps
/// their sum where it was.
///
/// Cost: O(sites + edges) a state; O(degree · log edges) a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct SparsePotts<'a> {
    model: Potts<'a>,
    edges: Edges<'a>,
}

impl<'a> SparsePotts<'a> {
    /// Blocks of parameters.
    #[must_use]
    pub const fn parameter_len(sites: usize, arity: usize, edges: usize) -> usize {
        sites.saturating_mul(arity).div_ceil(LANES) + edges.div_ceil(LANES)
    }

    /// `edges` ascend, each with its smaller end first.
    ///
    /// # Errors
    /// [`SparseError`], as [`Potts::new`]; [`SparseError::Unsorted`] where edges do not ascend,
    /// [`SparseError::Parameters`] where the parameters have another length.
    pub fn new(
        parameters: &'a [Block],
        (sites, arity): (usize, usize),
        edges: &'a [(u32, u32)],
        memory: SparseBuffers<'a>,
    ) -> Result<Self, SparseError> {
        let fields = sites.checked_mul(arity).ok_or(SparseError::Shape)?;
        let (edges, fields) = Edges::new(edges, fields, parameters)?;
        let model = Potts::new(sites, arity, edges.with(parameters), fields, memory)?;
        Ok(Self { model, edges })
    }

    /// The model itself, for samplers of its own.
    #[must_use]
    pub fn potts(&self) -> &Potts<'a> {
        &self.model
    }

    fn field(&self, site: usize, value: u32) -> usize {
        site * self.layout().arity() + value as usize
    }
}

impl Learnable for SparsePotts<'_> {
    fn parameter_len(&self) -> usize {
        self.edges.parameter_len()
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        for (site, value) in x.values().enumerate() {
            subtract(into, self.field(site, value), weight);
        }
        for ((a, b), slot) in self.edges.gradients(into) {
            if x.get(a) == x.get(b) {
                *slot -= weight;
            }
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
            let here = x.get(site);
            for (value, weight) in [(here, -weight), (value, weight)] {
                subtract(into, self.field(site, value), weight);
            }
            for entry in self.model.form().row(site) {
                let neighbour = entry.site as usize;
                let there = x.get(neighbour);
                let change = i8::from(there == value) - i8::from(there == here);
                if let Some(slot) = self.edges.gradient(site, neighbour, into).filter(|_| change != 0) {
                    *slot -= weight * f32::from(change);
                }
            }
        });
    }
}

super::delegate!(SparsePotts);
