//! Networks.

use super::{Learnable, add};
use crate::energy::Perceptron;
use crate::lane::{Bits, Block};
use crate::packed::Packed;

/// With `∂E/∂s` of every layer in the cache: `∂E/∂b = ∂E/∂s` and `∂E/∂W = a_{l−1} ∂E/∂s`.
///
/// Cost a state: one multiply-add a weight, of the first layer those of the bits that are 1.
impl Learnable for Perceptron<'_> {
    fn parameter_len(&self) -> usize {
        self.layers().map(|part| part.width * (1 + part.inputs)).sum()
    }

    fn accumulate(&self, x: Packed<'_>, cache: &[Bits], weight: f32, into: &mut [Block]) {
        let one = [core::array::from_fn(|lane| f32::from(lane == 0).to_bits())];
        let depth = self.layers().count();
        let mut below: Option<&[Bits]> = None;
        for (number, part) in self.layers().enumerate() {
            // The output's own slope is 1.
            let slopes = if number + 1 == depth { &one } else { self.kept(part, true, cache) };
            let rows =
                into.get_mut(part.start..part.start + part.width * (1 + part.inputs)).unwrap_or_default();
            let mut rows = rows.chunks_mut(part.width.max(1));
            if let Some(biases) = rows.next() {
                add(biases, weight, slopes);
            }
            match below {
                None => {
                    for (row, value) in rows.zip(x.values()).filter(|&(_, value)| value != 0) {
                        add(row, weight * value as f32, slopes);
                    }
                }
                Some(activations) => {
                    for (row, &activation) in rows.zip(activations.as_flattened()) {
                        add(row, weight * f32::from_bits(activation), slopes);
                    }
                }
            }
            below = Some(self.kept(part, false, cache));
        }
    }
}
