//! The network: a residual convolutional energy over 28×28 bits, with its gradient by backpropagation.
//!
//! `f(x) = c + Σ lᵢxᵢ + net(x)` is the log density up to a constant, and `E = −f`. The net is a 5×5 convolution of stride 2 to
//! 24 channels, three residual blocks of two 3×3 convolutions (the second block halves the picture again, to 32 channels), the
//! mean over the pixels, and a linear unit. Each layer ends in the swish φ(z) = z σ(z). 46,561 parameters.

use crate::convolution::{Convolution, Picture, number};
use crate::product::{add, multiply, swish};
use bitmc::{Layout, Packed};
use bitmc_examples::cli::Failure;
use bitmc_examples::model::{DIGIT, SIDE};
use bitmc_examples::told::Evaluator;
use candle_core::{Result, Tensor};
use std::path::Path;

/// Sites.
pub const BITS: usize = (SIDE * SIDE) as usize;

/// Two convolutions and what is added to them: the input itself, or a 1×1 convolution of it.
struct Residual {
    first: Convolution,
    second: Convolution,
    short: Option<Convolution>,
}

/// The slopes that the way back needs, and the side of what came in.
struct Slopes {
    inner: Vec<f32>,
    outer: Vec<f32>,
    side: usize,
}

impl Residual {
    fn forward(&self, x: &Picture) -> Result<(Picture, Slopes)> {
        let mut hidden = self.first.forward(x)?;
        let inner = swish(&mut hidden.values);
        let mut out = self.second.forward(&hidden)?;
        match &self.short {
            Some(short) => add(&mut out.values, &short.forward(x)?.values),
            None => add(&mut out.values, &x.values),
        }
        let outer = swish(&mut out.values);
        Ok((out, Slopes { inner, outer, side: x.side }))
    }

    fn backward(&self, mut gradient: Picture, slopes: &Slopes) -> Result<Picture> {
        multiply(&mut gradient.values, &slopes.outer);
        let mut inner = self.second.backward(&gradient, gradient.side)?;
        multiply(&mut inner.values, &slopes.inner);
        let mut out = self.first.backward(&inner, slopes.side)?;
        match &self.short {
            Some(short) => add(&mut out.values, &short.backward(&gradient, slopes.side)?.values),
            None => add(&mut out.values, &gradient.values),
        }
        Ok(out)
    }
}

/// The energy.
pub struct Network {
    constant: f32,
    logits: Vec<f32>,
    first: Convolution,
    blocks: [Residual; 3],
    head: Vec<f32>,
    head_bias: f32,
}

impl Network {
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
            constant: number(folder, "base_const.npy")?,
            logits: numbers("base_logit.npy")?,
            first: convolution("proj", 2)?,
            blocks: [
                block("b1", 1, None)?,
                block("b2", 2, Some(convolution("b2_short", 2)?))?,
                block("b3", 1, None)?,
            ],
            head: numbers("head_w.npy")?,
            head_bias: number(folder, "head_b.npy")?,
        })
    }

    /// `E` and `∂E/∂x` of states, each of [`BITS`] numbers.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn evaluate(&self, states: &[f32], energies: &mut [f32], gradients: &mut [f32]) -> Result<()> {
        let x = Picture { count: energies.len(), side: SIDE as usize, channels: 1, values: states.to_vec() };
        let mut h = self.first.forward(&x)?;
        let slope = swish(&mut h.values);
        let entry = h.side;
        let mut slopes = Vec::new();
        for block in &self.blocks {
            let (out, slope) = block.forward(&h)?;
            slopes.push(slope);
            h = out;
        }
        let pixels = h.side * h.side;
        for ((energy, x), h) in
            energies.iter_mut().zip(states.chunks(BITS)).zip(h.values.chunks(pixels * h.channels))
        {
            let base: f32 = self.logits.iter().zip(x).map(|(logit, x)| logit * x).sum();
            let net: f32 = self.head.iter().cycle().zip(h).map(|(head, h)| head * h).sum();
            *energy = -(self.constant + base + self.head_bias + net / pixels as f32);
        }
        let top = self.head.iter().map(|head| head / pixels as f32).cycle().take(h.values.len());
        let mut gradient = Picture { values: top.collect(), ..h };
        for (block, slope) in self.blocks.iter().zip(&slopes).rev() {
            gradient = block.backward(gradient, slope)?;
        }
        debug_assert_eq!(gradient.side, entry);
        multiply(&mut gradient.values, &slope);
        let gradient = self.first.backward(&gradient, x.side)?;
        let logits = self.logits.iter().cycle();
        let found = gradient.values.iter().zip(logits);
        gradients.iter_mut().zip(found).for_each(|(out, (slope, logit))| *out = -(slope + logit));
        Ok(())
    }
}

impl Evaluator for Network {
    fn layout(&self) -> Layout {
        DIGIT
    }

    fn evaluate(
        &self,
        states: &[Packed<'_>],
        energies: &mut [f32],
        gradients: &mut [f32],
    ) -> std::result::Result<(), Failure> {
        let bits: Vec<f32> = states.iter().flat_map(|state| state.values()).map(|value| value as f32).collect();
        Network::evaluate(self, &bits, energies, gradients).map_err(Failure::model)
    }
}
