//! Energies that fail, as a user's may.

use bitmc::{Function, Layout, Packed};

/// An energy in a table: its total and its gradient at the states of number 0, 1, …, then from the start.
#[derive(Debug)]
pub struct Table {
    /// Sites.
    pub sites: usize,
    /// `E`.
    pub totals: Vec<f32>,
    /// `∂E/∂x`, the same at every site.
    pub gradient: Vec<f32>,
}

impl Function for Table {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.totals[x.words().first().map_or(0, |&word| word as usize) % self.totals.len()]
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        self.gradient[x.words()[0] as usize % self.gradient.len()]
    }
}
