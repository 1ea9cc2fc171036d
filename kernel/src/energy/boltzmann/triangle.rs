//! The places of the parameters of a dense symmetric model.

use crate::lane::{Block, LANES};

/// Fields, then the strict upper triangle of a matrix, row by row in whole blocks: row i begins with the block
/// that holds column i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Triangle {
    sites: usize,
}

impl Triangle {
    pub(crate) const fn new(sites: usize) -> Self {
        Self { sites }
    }

    pub(crate) const fn sites(self) -> usize {
        self.sites
    }

    /// Blocks of a whole row.
    pub(crate) const fn width(self) -> usize {
        self.sites.div_ceil(LANES)
    }

    /// Blocks of all parameters.
    pub(crate) const fn len(self) -> usize {
        if self.sites.checked_mul(self.sites).is_none() { usize::MAX } else { self.start(self.sites) }
    }

    /// The block with which a row begins.
    pub(crate) const fn start(self, row: usize) -> usize {
        let (whole, rest, width) = (row / LANES, row % LANES, self.width());
        // Sixteen rows of `width` blocks, sixteen of one less, …
        let above = if whole == 0 { 0 } else { LANES * (whole * width - whole * (whole - 1) / 2) };
        width + above + rest * (width - whole)
    }

    /// The place of the coupling of two different sites, in floats.
    pub(crate) const fn place(self, a: usize, b: usize) -> Option<usize> {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        if low == high || high >= self.sites || self.len() > usize::MAX / LANES {
            return None;
        }
        Some(self.start(low) * LANES + high - low / LANES * LANES)
    }

    /// The blocks of a row.
    pub(crate) fn range(self, row: usize) -> core::ops::Range<usize> {
        let start = self.start(row);
        start..start + self.width().saturating_sub(row / LANES)
    }

    /// A row's couplings: place, column, value.
    pub(crate) fn row(self, parameters: &[Block], row: usize) -> impl Iterator<Item = (usize, usize, f32)> {
        let range = self.range(row);
        let (first, column) = (range.start * LANES, row / LANES * LANES);
        let values = parameters.get(range).unwrap_or_default().as_flattened();
        let inside = self.sites.saturating_sub(column);
        let values = values.iter().enumerate().take(inside).skip(row % LANES + 1);
        values.map(move |(offset, &value)| (first + offset, column + offset, value))
    }
}
