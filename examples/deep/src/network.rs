//! The network: a residual convolutional energy over bits of a square, with its gradients by backpropagation.
//!
//! `f(x) = c + Σ lᵢxᵢ + net(x)` is the log density up to a constant, and `E = −f`. The net is a convolution, residual blocks of
//! two 3×3 convolutions, the mean over the pixels, and a linear unit. Each layer ends in the swish φ(z) = z σ(z).

use crate::convolution::{Convolution, Picture, Size, number};
use crate::product::{add, multiply, swish};
use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::learn::Learnable;

use bitmc::random::normals;
use bitmc::{Energy, LaneRng, Layout, Move, Packed};
use bitmc_examples::cli::Failure;
use bitmc_examples::model::SIDE;
use bitmc_examples::told::Evaluator;
use candle_core::{Result, Tensor};
use std::ops::Range;
use std::path::Path;

/// Sites of a digit.
pub const BITS: usize = (SIDE * SIDE) as usize;

/// What a network is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Rows, and columns, of sites.
    pub side: usize,
    /// Width and stride of the first convolution.
    pub entry: (usize, usize),
    /// Channels of the first convolution.
    pub channels: usize,
    /// Channels and stride of each residual block.
    pub blocks: Vec<(usize, usize)>,
}

impl Shape {
    /// The one of the shipped energy: 46,561 parameters with 24 and 32 channels over digits.
    #[must_use]
    pub fn three_blocks(side: usize, channels: usize, more: usize) -> Self {
        Self { side, entry: (5, 2), channels, blocks: vec![(channels, 1), (more, 2), (more, 1)] }
    }

    /// The one of the papers: 64 channels, and eight blocks, of which the first two halve the picture.
    #[must_use]
    pub fn of_the_papers() -> Self {
        let strides = [2, 2, 1, 1, 1, 1, 1, 1];
        let blocks = strides.map(|stride| (64, stride)).to_vec();
        Self { side: SIDE as usize, entry: (3, 1), channels: 64, blocks }
    }

    /// Channels of the last block.
    fn last(&self) -> usize {
        self.blocks.last().map_or(self.channels, |block| block.0)
    }

    /// The convolutions in order: the first one, then of each block both, and the 1×1 where the shape changes.
    fn convolutions(&self) -> Vec<Size> {
        let (width, stride) = self.entry;
        let mut all = vec![Size { width, from: 1, to: self.channels, stride }];
        let mut from = self.channels;
        for &(to, stride) in &self.blocks {
            all.push(Size { width: 3, from, to, stride });
            all.push(Size { width: 3, from: to, to, stride: 1 });
            if Self::changes(from, to, stride) {
                all.push(Size { width: 1, from, to, stride });
            }
            from = to;
        }
        all
    }

    fn changes(from: usize, to: usize, stride: usize) -> bool {
        from != to || stride != 1
    }

    /// Numbers that are learned: those of the convolutions, and of the linear unit without its bias.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.convolutions().into_iter().map(Size::parameters).sum::<usize>() + self.last()
    }

    /// Random weights of deviation 1/√inputs, and biases of 0.
    #[must_use]
    pub fn start(&self, rng: &mut LaneRng) -> Vec<Block> {
        let mut theta = vec![[0.0; LANES]; self.parameters().div_ceil(LANES)];
        let mut left = theta.as_flattened_mut();
        let mut fill = |inputs: usize, weights: &mut [f32]| {
            let deviation = 1.0 / (inputs as f32).sqrt();
            for chunk in weights.chunks_mut(LANES) {
                chunk.iter_mut().zip(normals(rng)).for_each(|(slot, normal)| *slot = deviation * normal);
            }
        };
        for size in self.convolutions() {
            let all = left.split_off_mut(..size.parameters()).unwrap_or_default();
            fill(size.inputs(), &mut all[..size.inputs() * size.to]);
        }
        fill(self.last(), &mut left[..self.last()]);
        theta
    }
}

/// Two convolutions and what is added to them: the input itself, or a 1×1 convolution of it.
struct Residual {
    first: Convolution,
    second: Convolution,
    short: Option<Convolution>,
}

/// What the way back through a block needs.
struct Trace {
    hidden: Picture,
    inner: Vec<f32>,
    outer: Vec<f32>,
    out: Picture,
}

/// What the way back needs.
struct Pass {
    entry: Picture,
    slopes: Vec<f32>,
    blocks: Vec<Trace>,
}

impl Residual {
    fn forward(&self, x: &Picture) -> Result<Trace> {
        let mut hidden = self.first.forward(x)?;
        let inner = swish(&mut hidden.values);
        let mut out = self.second.forward(&hidden)?;
        match &self.short {
            Some(short) => add(&mut out.values, &short.forward(x)?.values),
            None => add(&mut out.values, &x.values),
        }
        let outer = swish(&mut out.values);
        Ok(Trace { hidden, inner, outer, out })
    }

    fn backward(
        &self,
        mut gradient: Picture,
        (x, trace): (&Picture, &Trace),
        into: &mut Parts<'_>,
    ) -> Result<Picture> {
        multiply(&mut gradient.values, &trace.outer);
        let mut inner = self.second.backward(&gradient, gradient.side)?;
        multiply(&mut inner.values, &trace.inner);
        if let Some(short) = &self.short {
            into.add(|part| short.accumulate(x, &gradient, part))?;
        }
        into.add(|part| self.second.accumulate(&trace.hidden, &gradient, part))?;
        into.add(|part| self.first.accumulate(x, &inner, part))?;
        let mut out = self.first.backward(&inner, x.side)?;
        match &self.short {
            Some(short) => add(&mut out.values, &short.backward(&gradient, x.side)?.values),
            None => add(&mut out.values, &gradient.values),
        }
        Ok(out)
    }
}

/// Where the gradients by the parameters go, the last one first. Nowhere, if there is no place.
struct Parts<'g>(Vec<&'g mut [f32]>);

impl<'g> Parts<'g> {
    fn of(shape: &Shape, mut into: &'g mut [f32]) -> Self {
        let lengths = shape.convolutions().into_iter().map(Size::parameters).chain([shape.last()]);
        Self(lengths.map(|length| into.split_off_mut(..length).unwrap_or_default()).collect())
    }

    fn add(&mut self, to: impl FnOnce(&mut [f32]) -> Result<()>) -> Result<()> {
        self.0.pop().map_or(Ok(()), to)
    }
}

/// The energy.
pub struct Network {
    shape: Shape,
    constant: f32,
    logits: Vec<f32>,
    first: Convolution,
    blocks: Vec<Residual>,
    head: Vec<f32>,
    head_bias: f32,
}

impl Network {
    /// A network over independent sites with given logits, whose normaliser is in the constant: without the net, `Z = 1`.
    ///
    /// # Errors
    /// [`Failure`] where there are not as many logits as sites, or fewer numbers than parameters.
    pub fn new(shape: &Shape, logits: &[f32], theta: &[Block]) -> std::result::Result<Self, Failure> {
        let (sites, need) = (shape.side * shape.side, shape.parameters());
        let all = theta.as_flattened();
        if logits.len() != sites || all.len() < need {
            let (logits, got) = (logits.len(), all.len());
            let reason =
                format!("{logits} logits and {got} parameters: the network has {sites} sites and {need}");
            return Err(Failure::model(reason));
        }
        let mut left = all;
        let take = |size: Size| {
            let part = left.split_off(..size.parameters()).unwrap_or_default();
            Convolution::new(size, part)
        };
        let convolutions: Result<Vec<_>> = shape.convolutions().into_iter().map(take).collect();
        let mut convolutions = convolutions.map_err(Failure::model)?.into_iter();
        let mut next = || convolutions.next().expect("as many as the shape has");
        let first = next();
        let mut from = shape.channels;
        let blocks = shape.blocks.iter().map(|&(to, stride)| {
            let short = Shape::changes(from, to, stride);
            from = to;
            Residual { first: next(), second: next(), short: short.then(&mut next) }
        });
        let blocks = blocks.collect();
        let head = left[..shape.last()].to_vec();
        let constant = -logits.iter().map(|logit| f64::from(*logit).exp().ln_1p()).sum::<f64>() as f32;
        let (shape, logits) = (shape.clone(), logits.to_vec());
        Ok(Self { shape, constant, logits, first, blocks, head, head_bias: 0.0 })
    }

    /// Reads the weights from a folder of NumPy files.
    ///
    /// # Errors
    /// [`Failure::File`] where a file is missing or has another shape.
    pub fn read(folder: &Path) -> std::result::Result<Self, Failure> {
        let network = Self::load(folder).map_err(|error| Failure::file(folder, error))?;
        if network.logits.len() == BITS {
            Ok(network)
        } else {
            let reason = format!("has {} values: the energy has {BITS} sites", network.logits.len());
            Err(Failure::file(&folder.join("base_logit.npy"), reason))
        }
    }

    fn load(folder: &Path) -> Result<Self> {
        let convolution = |name: &str, stride| Convolution::read(folder, name, stride);
        let block = |name: &str, stride, short| {
            let first = convolution(&format!("{name}_conv1"), stride)?;
            let second = convolution(&format!("{name}_conv2"), 1)?;
            Ok::<_, candle_core::Error>(Residual { first, second, short })
        };
        let numbers = |name: &str| Tensor::read_npy(folder.join(name))?.flatten_all()?.to_vec1::<f32>();
        Ok(Self {
            shape: Shape::three_blocks(SIDE as usize, 24, 32),
            constant: number(folder, "base_const.npy")?,
            logits: numbers("base_logit.npy")?,
            first: convolution("proj", 2)?,
            blocks: vec![
                block("b1", 1, None)?,
                block("b2", 2, Some(convolution("b2_short", 2)?))?,
                block("b3", 1, None)?,
            ],
            head: numbers("head_w.npy")?,
            head_bias: number(folder, "head_b.npy")?,
        })
    }

    fn sites(&self) -> usize {
        self.logits.len()
    }

    fn forward(&self, x: &Picture) -> Result<Pass> {
        let mut entry = self.first.forward(x)?;
        let slopes = swish(&mut entry.values);
        let mut blocks: Vec<Trace> = Vec::new();
        for block in &self.blocks {
            let trace = block.forward(blocks.last().map_or(&entry, |trace| &trace.out))?;
            blocks.push(trace);
        }
        Ok(Pass { entry, slopes, blocks })
    }

    /// The gradient of `scale · Σ net` before the first convolution's swish; those by the parameters go into the parts.
    fn backward(&self, pass: &Pass, scale: f32, into: &mut Parts<'_>) -> Result<Picture> {
        let last = pass.blocks.last().map_or(&pass.entry, |trace| &trace.out);
        let Picture { count, side, channels, ref values } = *last;
        let scale = scale / (side * side) as f32;
        into.add(|part| {
            for pixel in values.chunks(channels) {
                part.iter_mut().zip(pixel).for_each(|(slot, value)| *slot += scale * value);
            }
            Ok(())
        })?;
        let top = self.head.iter().map(|head| scale * head).cycle().take(values.len());
        let mut gradient = Picture { count, side, channels, values: top.collect() };
        for (index, (block, trace)) in self.blocks.iter().zip(&pass.blocks).enumerate().rev() {
            let x = index.checked_sub(1).map_or(&pass.entry, |before| &pass.blocks[before].out);
            gradient = block.backward(gradient, (x, trace), into)?;
        }
        multiply(&mut gradient.values, &pass.slopes);
        Ok(gradient)
    }

    fn picture(&self, states: &[f32]) -> Picture {
        let count = states.len() / self.sites();
        Picture { count, side: self.shape.side, channels: 1, values: states.to_vec() }
    }

    /// `E` and `∂E/∂x` of states, one number a site.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn evaluate(&self, states: &[f32], energies: &mut [f32], gradients: &mut [f32]) -> Result<()> {
        let x = self.picture(states);
        let pass = self.forward(&x)?;
        let values = energies.iter_mut().zip(states.chunks(self.sites())).zip(self.nets(&pass));
        for ((energy, x), net) in values {
            let base: f32 = self.logits.iter().zip(x).map(|(logit, x)| logit * x).sum();
            *energy = -(self.constant + base + net);
        }
        let gradient = self.backward(&pass, 1.0, &mut Parts(Vec::new()))?;
        let gradient = self.first.backward(&gradient, x.side)?;
        let found = gradient.values.iter().zip(self.logits.iter().cycle());
        gradients.iter_mut().zip(found).for_each(|(out, (slope, logit))| *out = -(slope + logit));
        Ok(())
    }

    /// Adds `weight · ∂E/∂θ` of states.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn accumulate_all(&self, states: &[f32], weight: f32, into: &mut [f32]) -> Result<()> {
        let x = self.picture(states);
        let pass = self.forward(&x)?;
        let mut parts = Parts::of(&self.shape, into);
        let gradient = self.backward(&pass, -weight, &mut parts)?;
        parts.add(|part| self.first.accumulate(&x, &gradient, part))
    }

    /// Adds `strength · ∂ net(x)²/∂θ` of a state.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn accumulate_square(&self, state: Packed<'_>, strength: f32, into: &mut [f32]) -> Result<()> {
        let x = self.picture(&bits([state]));
        let pass = self.forward(&x)?;
        let net = self.nets(&pass).next().unwrap_or(0.0);
        let mut parts = Parts::of(&self.shape, into);
        let gradient = self.backward(&pass, 2.0 * strength * net, &mut parts)?;
        parts.add(|part| self.first.accumulate(&x, &gradient, part))
    }

    /// The net of each state.
    fn nets<'n>(&'n self, pass: &'n Pass) -> impl Iterator<Item = f32> + 'n {
        let last = pass.blocks.last().map_or(&pass.entry, |trace| &trace.out);
        let pixels = last.side * last.side;
        last.values.chunks(pixels * last.channels).map(move |h| {
            let sum: f32 = self.head.iter().cycle().zip(h).map(|(head, h)| head * h).sum();
            self.head_bias + sum / pixels as f32
        })
    }

    /// `E`, and `E` with `∂E/∂x` in the cache. NaN where the tensor library fails.
    fn fill(&self, x: Packed<'_>, cache: &mut [Bits]) -> f32 {
        let (mut energy, mut gradient) = ([f32::NAN], vec![f32::NAN; self.sites()]);
        // A failure leaves NaN, which the kernel counts as a fault.
        let _ = self.evaluate(&bits([x]), &mut energy, &mut gradient);
        let slots = cache.as_flattened_mut().iter_mut();
        energy
            .iter()
            .chain([&0.0; LANES - 1])
            .chain(&gradient)
            .zip(slots)
            .for_each(|(x, slot)| *slot = x.to_bits());
        energy[0]
    }
}

/// States as numbers.
fn bits<'x>(states: impl IntoIterator<Item = Packed<'x>>) -> Vec<f32> {
    states.into_iter().flat_map(|state| state.values()).map(|value| value as f32).collect()
}

impl Evaluator for Network {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites())
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> std::result::Result<(), Failure> {
        let states = bits(states.iter().copied());
        Network::evaluate(self, &states, energies, gradients).map_err(Failure::model)
    }
}

/// One state at a time, with its gradient in the cache: one evaluation a step.
impl Energy for Network {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites())
    }

    fn cache_len(&self) -> usize {
        1 + self.sites().div_ceil(LANES)
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> std::result::Result<f32, EnergyError> {
        let (need, got) = (self.cache_len(), cache.len());
        if got < need {
            return Err(EnergyError::Cache { need, got });
        }
        let energy = self.fill(x, cache);
        if energy.is_nan() { Err(EnergyError::Nan) } else { Ok(energy) }
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        for (row, out) in rows.zip(out) {
            *out = cache[1 + row].map(f32::from_bits);
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = f32::from_bits(cache[0][0]);
        self.fill(step.to(), cache) - before
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        let (layout, here) = (Energy::layout(self), f32::from_bits(cache[0][0]));
        let (word, bit) = (site / 32, 1 << (site % 32));
        let value = usize::from(words[word] & bit != 0);
        words[word] ^= bit;
        let mut room = vec![[0; LANES]; self.cache_len()];
        let there = Packed::new(layout, words).map_or(f32::NAN, |there| self.fill(there, &mut room));
        words[word] ^= bit;
        out[value] = 0.0;
        out[1 - value] = there - here;
    }
}

impl Learnable for Network {
    fn parameter_len(&self) -> usize {
        self.shape.parameters().div_ceil(LANES)
    }

    fn accumulate(&self, x: Packed<'_>, _cache: &[Bits], weight: f32, into: &mut [Block]) {
        // A failure leaves NaN, which the optimiser passes over and counts.
        if self.accumulate_all(&bits([x]), weight, into.as_flattened_mut()).is_err() {
            into.as_flattened_mut().fill(f32::NAN);
        }
    }
}
