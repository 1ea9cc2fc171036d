//! Gradients of a part of the data.

use super::BinaryNetwork;
use super::gradient::Wanted;
use crate::lane::{self, Block, LANES};
use crate::packed::Packed;
use core::ops::Range;

impl BinaryNetwork<'_> {
    /// An estimate of the gradient of all rows from some of them. It is unbiased where these are drawn uniformly. For
    /// an [`Estimate`](crate::energy::Estimate) and the unadjusted sampler (DLP §6).
    ///
    /// No cache is needed. Cost: three multiply-adds a row, unit and input that is not 0, and two tangents a
    /// row and unit.
    ///
    /// ```
    /// use bitmc::{BinaryNetwork, energy::Estimate, Energy, Layout};
    /// use core::cell::Cell;
    /// let (inputs, targets) = ([0.0, 0.5, 1.0, 0.2], [0.1, 0.4, 0.9, 0.3]);
    /// let network = BinaryNetwork::new(&inputs, &targets, 4, 0.25, 1.0)?;
    /// let turn = Cell::new(0);
    /// let model = Estimate::new(network.layout(), |x, blocks, out| {
    ///     let first = turn.replace((turn.get() + 2) % 4); // rows 0 and 1, then 2 and 3
    ///     network.estimate(x, first..first + 2, blocks, out);
    /// });
    /// # Ok::<(), bitmc::energy::NetworkError>(())
    /// ```
    pub fn estimate(&self, x: Packed<'_>, rows: Range<usize>, blocks: Range<usize>, out: &mut [Block]) {
        let mut out = Wanted::of(&blocks, out);
        let end = rows.end.min(self.rows());
        if rows.start >= end {
            return;
        }
        let times = self.rows() as f32 / (end - rows.start) as f32;
        for first in (rows.start..end).step_by(LANES) {
            let rows = first..(first + LANES).min(end);
            // Once for the residuals, and once more for what the units did.
            let mut sums = [[0.0; LANES]; LANES];
            for group in 0..self.groups() {
                self.tangents(x, group, rows.clone(), &mut sums);
            }
            let mut residuals = [0; LANES];
            let targets = self.targets.get(rows.clone()).unwrap_or_default();
            for ((residual, sum), target) in residuals.iter_mut().zip(&sums).zip(targets) {
                *residual = (self.scale * lane::sum(sum) - target).to_bits();
            }
            for group in 0..self.groups() {
                let tanh = self.tangents(x, group, rows.clone(), &mut sums);
                self.add_slopes((x, group), rows.clone(), (&tanh, &residuals), times, &mut out);
            }
        }
    }

    /// The tangents of up to sixteen rows and a group of units, from nothing.
    fn tangents(
        &self,
        x: Packed<'_>,
        group: usize,
        rows: Range<usize>,
        sums: &mut [Block; LANES],
    ) -> [[u32; LANES]; LANES] {
        let (mut pre, mut tanh) = ([[0; LANES]; LANES], [[0; LANES]; LANES]);
        for layer in 0..=self.columns {
            self.add_inputs(self.signs(x, layer, group), layer, rows.clone(), &mut pre);
        }
        self.activate(self.signs(x, self.columns + 1, group), &pre, &mut tanh, sums);
        tanh
    }
}
