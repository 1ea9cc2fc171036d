//! What a weight does to the output, row by row, and the place of the sum in the gradient.

use super::BinaryNetwork;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::packed::Packed;
use core::ops::Range;

impl BinaryNetwork<'_> {
    /// Σ over some rows of what a weight of every unit of a group does to the output, times the residual. This is
    /// `r z (1 − t²)` for the first layer, and `r t` for the output's weights.
    #[inline]
    pub(super) fn slope(&self, layer: usize, rows: Range<usize>, tanh: &[Bits], residuals: &[u32]) -> Block {
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

    /// Adds a slope to the gradient, for the units that are among the wanted blocks.
    pub(super) fn scatter(
        &self,
        x: Packed<'_>,
        at: (usize, usize),
        times: f32,
        slope: &Block,
        out: &mut Wanted<'_>,
    ) {
        let (layer, group) = at;
        // ∂E/∂x = 2 ∂E/∂weight = 4 τ a r ∂(Σ v t)/∂weight.
        let factor = 4.0 * self.precision * self.scale * times;
        let votes = self.signs(x, self.columns + 1, group);
        let site = layer * self.units.get() + group * LANES;
        for (lane, slope) in slope.iter().enumerate().take(self.lanes(group)) {
            let vote = if layer > self.columns { 1.0 } else { votes.get(lane) };
            if let Some(out) = (site + lane).checked_sub(out.first).and_then(|place| out.values.get_mut(place))
            {
                *out += factor * vote * slope;
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
    pub(super) fn has(&self, site: usize, count: usize) -> bool {
        site + count > self.first && site < self.first + self.values.len()
    }
}
