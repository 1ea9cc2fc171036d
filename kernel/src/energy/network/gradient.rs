//! What a weight does to the output, row by row, and the place of the sum in the gradient.

use super::BinaryNetwork;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::packed::Packed;
use core::ops::Range;

impl BinaryNetwork<'_> {
    /// Σ over some rows of what a weight of every unit of a group does to the output, times the residual. This is
    /// `r z (1 − t²)` for the first layer, and `r t` for the output's weights.
    #[inline]
    fn slope(&self, layer: usize, rows: Range<usize>, tanh: &[Bits], residuals: &[u32]) -> Block {
        let (mut sum, one, output) = ([0.0; LANES], F32s::splat(1.0), layer > self.columns);
        for ((input, tanh), &residual) in self.inputs(layer, rows).zip(tanh).zip(residuals) {
            if input == 0.0 {
                continue;
            }
            let weight = F32s::splat(f32::from_bits(residual) * input);
            for part in 0..PARTS {
                let t = U32s::load(tanh, part).to_f32();
                let slope = if output { t } else { one - t * t };
                (F32s::load(&sum, part) + weight * slope).store(&mut sum, part);
            }
        }
        sum
    }

    /// Adds `times` the slopes of a group's units, over some rows, to the gradients among the wanted blocks.
    pub(super) fn add_slopes(
        &self,
        (x, group): (Packed<'_>, usize),
        rows: Range<usize>,
        (tanh, residuals): (&[Bits], &[u32]),
        times: f32,
        out: &mut Wanted<'_>,
    ) {
        // ∂E/∂x = 2 ∂E/∂weight = 4 τ a r ∂(Σ v t)/∂weight.
        let factor = 4.0 * self.precision * self.scale * times;
        let votes = self.signs(x, self.columns + 1, group);
        for layer in 0..self.columns + 2 {
            let site = layer * self.units.get() + group * LANES;
            if !out.has(site, self.lanes(group)) {
                continue;
            }
            let slope = self.slope(layer, rows.clone(), tanh, residuals);
            for (lane, slope) in slope.iter().enumerate().take(self.lanes(group)) {
                let vote = if layer > self.columns { 1.0 } else { votes.get(lane) };
                let place = (site + lane).checked_sub(out.first);
                if let Some(out) = place.and_then(|place| out.values.get_mut(place)) {
                    *out += factor * vote * slope;
                }
            }
        }
    }
}

/// Gradients of the sites from `first` on.
pub(super) struct Wanted<'o> {
    first: usize,
    values: &'o mut [f32],
}

impl<'o> Wanted<'o> {
    pub(super) fn of(blocks: &Range<usize>, out: &'o mut [Block]) -> Self {
        let values = out.as_flattened_mut();
        values.fill(0.0);
        Self { first: blocks.start * LANES, values }
    }

    /// Whether any of these sites is among them.
    fn has(&self, site: usize, count: usize) -> bool {
        site + count > self.first && site < self.first + self.values.len()
    }
}
