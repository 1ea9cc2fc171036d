//! A small neural network as an energy.

use super::gaussian::checked_len;
use super::vector::{add, copy, dot};
use super::{Potential, PotentialError, blocks};
use crate::lane::{Block, F32s, LANES, PARTS};

/// A fully connected network with leaky rectifiers, `E(x) = W_L a_{L−1} + b_L`,
/// `a_l = max(s, s/20)` of `s = W_l a_{l−1} + b_l`, `a₀ = x` (the 2-d energies of Ver Steeg and Galstyan
/// 2021, Table 3).
///
/// Parameters are stored layer by layer in [`Mlp::parameter_len`] caller-provided blocks. The biases come first, then
/// for every input the weights to all outputs. Each row is padded with zeros to whole blocks. The last layer has one
/// output.
///
/// Cost a gradient: twice the weights in multiplications, forward and back; scratch of all activations.
#[derive(Clone, Copy, Debug)]
pub struct Mlp<'a> {
    widths: &'a [usize],
    parameters: &'a [Block],
}

/// The slope of a rectifier below 0.
const LEAK: f32 = 0.05;

impl<'a> Mlp<'a> {
    /// Blocks of parameters for layers of the given widths, inputs first, without the one output.
    #[must_use]
    pub const fn parameter_len(widths: &[usize]) -> usize {
        let (mut total, mut rest) = (0usize, widths);
        while let [inputs, after @ ..] = rest {
            let outputs = if let [next, ..] = after { *next } else { 1 };
            total = blocks(outputs).saturating_mul(inputs.saturating_add(1)).saturating_add(total);
            rest = after;
        }
        total
    }

    /// From the widths, inputs first, without the one output, and parameters.
    ///
    /// # Errors
    /// [`PotentialError`] where there is no layer or an empty one, the length is wrong, or a parameter is not finite
    /// or is in the padding.
    pub fn new(widths: &'a [usize], parameters: &'a [Block]) -> Result<Self, PotentialError> {
        if widths.is_empty() || widths.contains(&0) {
            return Err(PotentialError::Empty);
        }
        checked_len(Self::parameter_len(widths), parameters)?;
        let model = Self { widths, parameters };
        let mut start = 0;
        for layer in model.layers() {
            for row in [layer.biases].into_iter().chain(layer.rows()) {
                for (column, &value) in row.as_flattened().iter().enumerate() {
                    if !value.is_finite() || (column >= layer.outputs && value.abs() > 0.0) {
                        return Err(PotentialError::Value { index: start + column, value });
                    }
                }
                start += row.len() * LANES;
            }
        }
        Ok(model)
    }

    fn layers(&self) -> impl Iterator<Item = Layer<'a>> + use<'a> {
        let mut parameters = self.parameters;
        let outputs = self.widths.iter().copied().skip(1).chain([1]);
        self.widths.iter().copied().zip(outputs).map(move |(inputs, outputs)| {
            let width = blocks(outputs);
            let (biases, rest) = parameters.split_at_checked(width).unwrap_or_default();
            let (weights, rest) = rest.split_at_checked(width * inputs).unwrap_or_default();
            parameters = rest;
            Layer { outputs, biases, weights }
        })
    }

    /// Activations of every layer into `scratch`, one after the other; E.
    fn forward(&self, x: &[Block], scratch: &mut [Block]) -> f32 {
        let mut rest = scratch;
        let mut below: &[Block] = x;
        let mut energy = 0.0;
        for layer in self.layers() {
            let (above, after) = rest.split_at_mut_checked(layer.biases.len()).unwrap_or_default();
            copy(above, layer.biases);
            for (&input, row) in below.as_flattened().iter().zip(layer.rows()) {
                add(above, input, row);
            }
            energy = above.first().map_or(0.0, |[first, ..]| *first);
            if !after.is_empty() {
                rectify(above);
            }
            (below, rest) = (above, after);
        }
        energy
    }

    /// Adds `weight · ∂E/∂θ` at x to `into`, laid out as the parameters.
    ///
    /// Does nothing where `into` is shorter than the parameters or `scratch` than
    /// [`Potential::scratch_len`].
    pub fn accumulate(&self, x: &[Block], weight: f32, scratch: &mut [Block], into: &mut [Block]) {
        let Some(scratch) = scratch.get_mut(..self.scratch_len()) else { return };
        let Some(into) = into.get_mut(..self.parameters.len()) else { return };
        self.forward(x, scratch);
        self.backward(scratch, |layer, below, slopes, from_end| {
            let width = layer.biases.len();
            let below = below.unwrap_or(x).as_flattened();
            let end = self.parameters.len() - from_end;
            let target = into.get_mut(end - layer.weights.len() - width..end).unwrap_or_default();
            let (biases, weights) = target.split_at_mut_checked(width).unwrap_or_default();
            add(biases, weight, slopes);
            for (row, &input) in weights.chunks_mut(width.max(1)).zip(below) {
                add(row, weight * input, slopes);
            }
        });
    }

    /// Turns activations into ∂E/∂(sums of each layer), last layer first. Shows each layer with what feeds it, its
    /// slopes, and the number of parameter blocks behind it.
    fn backward(
        &self,
        activations: &mut [Block],
        mut see: impl FnMut(Layer<'a>, Option<&[Block]>, &[Block], usize),
    ) {
        let mut from_end = 0;
        // The output's own slope is 1.
        if let Some(output) = activations.last_mut() {
            *output = core::array::from_fn(|lane| f32::from(lane == 0));
        }
        let mut rest = activations;
        for number in (0..self.widths.len()).rev() {
            let Some((layer, &inputs)) = self.layers().zip(self.widths).nth(number) else { return };
            let width = layer.biases.len();
            let at = rest.len().saturating_sub(width);
            let (below, slopes) = rest.split_at_mut_checked(at).unwrap_or_default();
            let start = below.len().saturating_sub(blocks(inputs));
            let feeding = below.get_mut(start..).unwrap_or_default();
            see(layer, if number > 0 { Some(feeding) } else { None }, slopes, from_end);
            if number > 0 {
                // An activation has the sign of its sum, so its own slope can be read off it.
                for (value, row) in feeding.as_flattened_mut().iter_mut().zip(layer.rows()) {
                    let slope = if *value > 0.0 { 1.0 } else { LEAK };
                    *value = slope * dot(row, slopes);
                }
            }
            from_end += layer.weights.len() + width;
            rest = below;
        }
    }
}

/// One layer's parameters.
#[derive(Clone, Copy)]
struct Layer<'a> {
    outputs: usize,
    biases: &'a [Block],
    weights: &'a [Block],
}

impl<'a> Layer<'a> {
    /// The weights of each input to all outputs.
    fn rows(&self) -> core::slice::Chunks<'a, Block> {
        self.weights.chunks(self.biases.len().max(1))
    }
}

impl Potential for Mlp<'_> {
    fn dim(&self) -> usize {
        self.widths.first().copied().unwrap_or(0)
    }

    fn scratch_len(&self) -> usize {
        self.layers().map(|layer| layer.biases.len()).sum()
    }

    fn gradient(&self, x: &[Block], scratch: &mut [Block], out: &mut [Block]) -> f32 {
        let Some(scratch) = scratch.get_mut(..self.scratch_len()) else { return f32::NAN };
        let energy = self.forward(x, scratch);
        out.fill([0.0; LANES]);
        self.backward(scratch, |layer, below, slopes, _| {
            if below.is_none() {
                for (slot, row) in out.as_flattened_mut().iter_mut().zip(layer.rows()) {
                    *slot = dot(row, slopes);
                }
            }
        });
        energy
    }
}

fn rectify(sums: &mut [Block]) {
    for block in sums {
        for part in 0..PARTS {
            let s = F32s::load(block, part);
            F32s::splat(0.0).lt(s).pick(s, F32s::splat(LEAK) * s).store(block, part);
        }
    }
}
