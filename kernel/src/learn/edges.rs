//! Edge lists of a given sparsity, in order, so that an edge is found by its ends.

use crate::energy::SparseError;
use crate::lane::{Block, LANES};

/// The edges of a sparse model in ascending order, each with its smaller end first: edge number e has parameter
/// e after `fields` blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges<'a> {
    pairs: &'a [(u32, u32)],
    fields: usize,
}

impl<'a> Edges<'a> {
    /// After so many fields, which are the first of the parameters: the edges and those.
    pub(super) fn new<'p>(
        pairs: &'a [(u32, u32)],
        fields: usize,
        parameters: &'p [Block],
    ) -> Result<(Self, &'p [f32]), SparseError> {
        let edges = Self { pairs, fields: fields.div_ceil(LANES) };
        let (need, got) = (edges.parameter_len(), parameters.len());
        let fields = parameters.as_flattened().get(..fields).filter(|_| need == got);
        let fields = fields.ok_or(SparseError::Parameters { need, got })?;
        for (edge, &(a, b)) in pairs.iter().enumerate() {
            if a == b {
                return Err(SparseError::Diagonal { edge });
            }
            let before = edge.checked_sub(1).and_then(|before| pairs.get(before));
            if a > b || before.is_some_and(|&before| before >= (a, b)) {
                return Err(SparseError::Unsorted { site: a as usize });
            }
        }
        Ok((edges, fields))
    }

    /// Blocks of parameters, those of the fields first.
    pub(super) fn parameter_len(self) -> usize {
        self.fields + self.pairs.len().div_ceil(LANES)
    }

    /// Edges with their couplings.
    pub(super) fn with(self, parameters: &[Block]) -> impl Iterator<Item = (u32, u32, f32)> + Clone {
        let couplings = parameters.get(self.fields..).unwrap_or_default().as_flattened();
        self.pairs.iter().zip(couplings).map(|(&(a, b), &coupling)| (a, b, coupling))
    }

    /// The gradients of the couplings, edge by edge.
    pub(super) fn gradients(self, into: &mut [Block]) -> impl Iterator<Item = ((usize, usize), &mut f32)> {
        let slots = into.get_mut(self.fields..).unwrap_or_default().as_flattened_mut();
        self.pairs.iter().map(|&(a, b)| (a as usize, b as usize)).zip(slots)
    }

    /// The gradient of the coupling of two sites.
    pub(super) fn gradient(self, a: usize, b: usize, into: &mut [Block]) -> Option<&mut f32> {
        let pair = (a.min(b) as u32, a.max(b) as u32);
        let edge = self.pairs.binary_search(&pair).ok()?;
        into.get_mut(self.fields..)?.as_flattened_mut().get_mut(edge)
    }
}
