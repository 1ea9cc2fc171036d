//! A small network as an energy over bits.

use super::{Energy, EnergyError, checked, dot, flip_or_stay, room};
use crate::flow::vector::add;
use crate::lane::{self, Bits, Block, F32s, LANES, PARTS};
use crate::layout::Layout;
use crate::packed::{self, Move, Packed};
use core::ops::Range;

/// A fully connected network of up to three hidden layers with swish units as an energy over bits. It is
/// `E(x) = w·a_L + b`, with `a_l = s·σ(s)` of `s = W_l a_{l−1} + b_l` and `a₀ = x` (the energies of RMwGGIS §5.1;
/// swish: Ramachandran, Zoph, Le 2017).
///
/// Parameters are stored layer by layer in blocks. The biases come first, then for every input the weights to all
/// outputs. Each row is padded with zeros to whole blocks ([`Perceptron::parameter_len`]). The last layer has one
/// output.
///
/// The cache keeps every hidden layer's activations and the slopes `∂E/∂s`, and E. The gradients by x and by the
/// parameters are products with them, whatever the path that led there. Totals have the rounding of f32 sums, so
/// differences have that of the totals.
///
/// Cost of a state or a move: the first layer's rows of the bits that are 1, the others' weights twice, an
/// exponential a unit. A gradient is one product a site with the first layer. A move takes 5 KB of stack.
#[derive(Clone, Copy, Debug)]
pub struct Perceptron<'a> {
    widths: &'a [usize],
    parameters: &'a [Block],
}

crate::error::errors! {
    /// Why parameters are not those of a network.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PerceptronError {
        /// The widths are not the sites and one to three hidden layers of 1 to 256 units.
        Widths => "the widths are not the sites and one to three hidden layers of 1 to 256 units";
        /// The parameters have `got` blocks instead of `need`.
        Length {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "{need} blocks of parameters are needed, {got} were given";
        /// A parameter is not finite, or not zero in the padding.
        Value {
            /// Its place, in floats.
            index: usize,
        } => "parameter {index} is not finite, or not zero in the padding";
    }
}

/// Blocks of the widest layer.
const WIDEST: usize = 256 / LANES;
/// The activations of one layer.
type Layer = [Block; WIDEST];

impl<'a> Perceptron<'a> {
    /// Blocks of parameters for the given widths: sites, then hidden units layer by layer.
    #[must_use]
    pub const fn parameter_len(widths: &[usize]) -> usize {
        let (mut total, mut rest) = (0usize, widths);
        while let [inputs, after @ ..] = rest {
            let outputs = if let [next, ..] = after { *next } else { 1 };
            total = outputs.div_ceil(LANES).saturating_mul(inputs.saturating_add(1)).saturating_add(total);
            rest = after;
        }
        total
    }

    /// Blocks of cache that a network of these widths needs.
    #[must_use]
    pub const fn cache_len(widths: &[usize]) -> usize {
        let (mut total, mut rest) = (1usize, widths);
        while let [_, hidden @ ..] = rest
            && let [units, ..] = hidden
        {
            total = total.saturating_add(2 * units.div_ceil(LANES));
            rest = hidden;
        }
        total
    }

    /// From the widths, sites first, without the one output, and parameters.
    ///
    /// # Errors
    /// [`PerceptronError`] says what is wrong.
    pub fn new(widths: &'a [usize], parameters: &'a [Block]) -> Result<Self, PerceptronError> {
        let &[sites, ref hidden @ ..] = widths else { return Err(PerceptronError::Widths) };
        let legal = hidden.iter().all(|units| (1..=WIDEST * LANES).contains(units));
        if sites == 0 || sites > i32::MAX as usize || !(1..=3).contains(&hidden.len()) || !legal {
            return Err(PerceptronError::Widths);
        }
        let (need, got) = (Self::parameter_len(widths), parameters.len());
        if need != got {
            return Err(PerceptronError::Length { need, got });
        }
        let model = Self { widths, parameters };
        for part in model.layers() {
            for row in 0..=part.inputs {
                for (lane, &value) in model.row(part, row).as_flattened().iter().enumerate() {
                    if !value.is_finite() || (lane >= part.outputs && value != 0.0) {
                        let index = (part.start + row * part.width) * LANES + lane;
                        return Err(PerceptronError::Value { index });
                    }
                }
            }
        }
        Ok(model)
    }

    /// Every layer, the output last.
    pub(crate) fn layers(&self) -> impl Iterator<Item = Part> + use<'a> {
        let outputs = self.widths.iter().copied().skip(1).chain([1]);
        let (mut start, mut kept) = (0, 1);
        self.widths.iter().copied().zip(outputs).map(move |(inputs, outputs)| {
            let width = outputs.div_ceil(LANES);
            let part = Part { inputs, outputs, width, start, kept };
            start += width * (1 + inputs);
            kept += 2 * width;
            part
        })
    }

    /// The biases of a layer, or the weights of one of its inputs.
    fn row(&self, part: Part, row: usize) -> &'a [Block] {
        let start = part.start + row * part.width;
        self.parameters.get(start..start + part.width).unwrap_or_default()
    }

    /// Forward through all layers; hidden activations and their slopes by s are shown layer by layer.
    fn forward(&self, x: Packed<'_>, mut see: impl FnMut(Part, &[Block], &[Block])) -> f32 {
        let mut below: Layer = [[0.0; LANES]; WIDEST];
        for (number, part) in self.layers().enumerate() {
            let mut sums: Layer = [[0.0; LANES]; WIDEST];
            let mut slopes: Layer = [[0.0; LANES]; WIDEST];
            add(&mut sums, 1.0, self.row(part, 0)); // biases
            if number == 0 {
                for (site, _) in x.values().enumerate().filter(|&(_, value)| value != 0) {
                    add(&mut sums, 1.0, self.row(part, 1 + site));
                }
            } else {
                for (input, &activation) in below.as_flattened().iter().enumerate().take(part.inputs) {
                    add(&mut sums, activation, self.row(part, 1 + input));
                }
            }
            if number + 1 == self.widths.len() {
                let [[energy, ..], ..] = sums;
                return energy;
            }
            for (sum, slope) in sums.iter_mut().zip(&mut slopes).take(part.width) {
                for lanes in 0..PARTS {
                    let s = F32s::load(sum, lanes);
                    let on = s.sigmoid();
                    let activation = s * on;
                    // σ + sσ(1−σ)
                    (on + activation * (F32s::splat(1.0) - on)).store(slope, lanes);
                    activation.store(sum, lanes);
                }
            }
            see(part, &sums, &slopes);
            below = sums;
        }
        f32::NAN
    }

    /// The cache of a state, from nothing: E.
    fn settle(&self, x: Packed<'_>, cache: &mut [Bits]) -> f32 {
        let energy = self.forward(x, |part, activations, slopes| {
            let kept = cache.get_mut(part.kept..part.kept + 2 * part.width).unwrap_or_default();
            let blocks = activations.iter().take(part.width).chain(slopes);
            kept.iter_mut().zip(blocks).for_each(|(slot, block)| *slot = block.map(f32::to_bits));
        });
        // Back: ∂E/∂a of a layer is Wᵀ times the slopes above it.
        let mut above = [[0; LANES]; WIDEST];
        let [[first, ..], ..] = &mut above;
        *first = 1f32.to_bits();
        let depth = self.widths.len();
        for number in (1..depth).rev() {
            let mut layers = self.layers().skip(number - 1);
            let (Some(part), Some(next)) = (layers.next(), layers.next()) else { break };
            let mut slopes = [[0; LANES]; WIDEST];
            let start = part.kept + part.width;
            let kept = cache.get_mut(start..start + part.width).unwrap_or_default().as_flattened_mut();
            for ((unit, slot), slope) in kept.iter_mut().enumerate().zip(slopes.as_flattened_mut()) {
                if unit < part.outputs {
                    *slope = (f32::from_bits(*slot) * dot(self.row(next, 1 + unit), &above)).to_bits();
                }
                *slot = *slope;
            }
            above = slopes;
        }
        if let Some([kept, ..]) = cache.first_mut() {
            *kept = energy.to_bits();
        }
        energy
    }

    /// A hidden layer's activations or slopes in the cache.
    pub(crate) fn kept<'c>(&self, part: Part, slopes: bool, cache: &'c [Bits]) -> &'c [Bits] {
        let start = part.kept + if slopes { part.width } else { 0 };
        cache.get(start..start + part.width).unwrap_or_default()
    }
}

/// The place of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Blocks of a row.
    pub(crate) width: usize,
    /// The first block of its parameters.
    pub(crate) start: usize,
    /// The first block of what the cache keeps.
    pub(crate) kept: usize,
}

impl Energy for Perceptron<'_> {
    fn layout(&self) -> Layout {
        Layout::binary(self.widths.first().copied().unwrap_or(0))
    }

    fn cache_len(&self) -> usize {
        Self::cache_len(self.widths)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        checked(self.settle(x, room(cache, self.cache_len())?))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]) {
        let Some(part) = self.layers().next() else { return };
        let slopes = self.kept(part, true, cache);
        for (site, slot) in lane::each(blocks.start, out) {
            *slot = if site < part.inputs { dot(self.row(part, 1 + site), slopes) } else { 0.0 };
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = cache.first().map_or(f32::NAN, |&[kept, ..]| f32::from_bits(kept));
        self.settle(step.to(), cache) - before
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let layout = self.layout();
        let here = Packed::trusted(layout, words).get(site);
        let before = cache.first().map_or(f32::NAN, |&[kept, ..]| f32::from_bits(kept));
        // A site that does not exist leaves the state as it is.
        let _ = packed::set(layout, words, site, 1 - here);
        let flipped = self.forward(Packed::trusted(layout, words), |_, _, _| ()) - before;
        let _ = packed::set(layout, words, site, here);
        flip_or_stay(here, flipped, out);
    }
}
