//! The network: a residual convolutional energy over 28×28 bits, with its gradient by backpropagation.
//!
//! `f(x) = c + Σ lᵢxᵢ + net(x)` is the log density up to a constant, and `E = −f`. The net is a 5×5 convolution of stride 2 to
//! 24 channels, three residual blocks of two 3×3 convolutions (the second block halves the picture again, to 32 channels), the
//! mean over the pixels, and a linear unit. Each layer ends in the swish φ(z) = z σ(z). 46,561 parameters.

use bitmc_examples::cli::Failure;
use bitmc_examples::model::SIDE;
use candle_core::{D, Device, Result, Tensor};
use std::path::Path;

/// Sites.
pub const BITS: usize = (SIDE * SIDE) as usize;

/// A convolution, and the weights that take a gradient back through it.
struct Convolution {
    weights: Tensor,
    back: Tensor,
    bias: Tensor,
    stride: usize,
    padding: usize,
}

impl Convolution {
    fn read(folder: &Path, name: &str, stride: usize) -> Result<Self> {
        // Files have [row][column][from][to], the library wants [to][from][row][column].
        let weights =
            Tensor::read_npy(folder.join(format!("{name}_w.npy")))?.permute((3, 2, 0, 1))?.contiguous()?;
        let bias = Tensor::read_npy(folder.join(format!("{name}_b.npy")))?;
        let bias = bias.reshape((1, bias.elem_count(), 1, 1))?;
        let back = weights.flip(&[2, 3])?.transpose(0, 1)?.contiguous()?;
        let padding = weights.dim(2)? / 2;
        Ok(Self { weights, back, bias, stride, padding })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.conv2d(&self.weights, self.padding, self.stride, 1, 1)?.broadcast_add(&self.bias)
    }

    /// From the gradient at what it gives to the gradient at what it takes: a convolution with the weights turned around, after
    /// the rows and columns that a stride of 2 leaves out are filled with zeros.
    fn backward(&self, gradient: &Tensor) -> Result<Tensor> {
        let spread = match self.stride {
            1 => gradient.clone(),
            stride => {
                let (batch, channels, rows, columns) = gradient.dims4()?;
                let apart = gradient.reshape((batch, channels, rows, 1, columns, 1))?;
                let apart = apart.pad_with_zeros(3, 0, stride - 1)?.pad_with_zeros(5, 0, stride - 1)?;
                apart.reshape((batch, channels, rows * stride, columns * stride))?
            }
        };
        spread.conv2d(&self.back, self.weights.dim(2)? - 1 - self.padding, 1, 1, 1)
    }
}

/// φ(z) and φ′(z).
fn swish(z: &Tensor) -> Result<(Tensor, Tensor)> {
    let gate = (z.neg()?.exp()? + 1.0)?.recip()?;
    let value = (z * &gate)?;
    // φ′ = σ + φ (1 − σ)
    let slope = (&gate + (&value - (&value * &gate)?)?)?;
    Ok((value, slope))
}

/// Two convolutions and what is added to them: the input itself, or a 1×1 convolution of it.
struct Residual {
    first: Convolution,
    second: Convolution,
    short: Option<Convolution>,
}

/// The slopes that the way back needs.
struct Slopes {
    inner: Tensor,
    outer: Tensor,
}

impl Residual {
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Slopes)> {
        let (hidden, inner) = swish(&self.first.forward(x)?)?;
        let beside = self.short.as_ref().map_or_else(|| Ok(x.clone()), |short| short.forward(x))?;
        let (out, outer) = swish(&(beside + self.second.forward(&hidden)?)?)?;
        Ok((out, Slopes { inner, outer }))
    }

    fn backward(&self, gradient: &Tensor, slopes: &Slopes) -> Result<Tensor> {
        let outer = (gradient * &slopes.outer)?;
        let inner = (self.second.backward(&outer)? * &slopes.inner)?;
        let beside = self.short.as_ref().map_or_else(|| Ok(outer.clone()), |short| short.backward(&outer))?;
        beside + self.first.backward(&inner)?
    }
}

/// The energy.
pub struct Network {
    constant: f32,
    logits: Vec<f32>,
    first: Convolution,
    blocks: [Residual; 3],
    head: Tensor,
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
        let number =
            |name: &str| Tensor::read_npy(folder.join(name))?.flatten_all()?.get(0)?.to_scalar::<f32>();
        Ok(Self {
            constant: number("base_const.npy")?,
            logits: Tensor::read_npy(folder.join("base_logit.npy"))?.flatten_all()?.to_vec1()?,
            first: convolution("proj", 2)?,
            blocks: [
                block("b1", 1, None)?,
                block("b2", 2, Some(convolution("b2_short", 2)?))?,
                block("b3", 1, None)?,
            ],
            head: Tensor::read_npy(folder.join("head_w.npy"))?.flatten_all()?,
            head_bias: number("head_b.npy")?,
        })
    }

    /// `E` and `∂E/∂x` of states, each of [`BITS`] numbers.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn evaluate(&self, states: &[f32], energies: &mut [f32], gradients: &mut [f32]) -> Result<()> {
        let side = SIDE as usize;
        let x = Tensor::from_slice(states, (energies.len(), 1, side, side), &Device::Cpu)?;
        let (mut h, slope) = swish(&self.first.forward(&x)?)?;
        let mut slopes = Vec::new();
        for block in &self.blocks {
            let (out, slope) = block.forward(&h)?;
            slopes.push(slope);
            h = out;
        }
        let pooled = h.mean((2, 3))?;
        let net = pooled.broadcast_mul(&self.head)?.sum(D::Minus1)?.to_vec1::<f32>()?;
        let (_, channels, rows, columns) = h.dims4()?;
        let mut gradient =
            (self.head.reshape((1, channels, 1, 1))? / (rows * columns) as f64)?.broadcast_as(h.shape())?;
        for (block, slope) in self.blocks.iter().zip(&slopes).rev() {
            gradient = block.backward(&gradient, slope)?;
        }
        let gradient = self.first.backward(&(gradient * slope)?)?.flatten_all()?.to_vec1::<f32>()?;
        for ((energy, x), net) in energies.iter_mut().zip(states.chunks(BITS)).zip(net) {
            let base: f32 = self.logits.iter().zip(x).map(|(logit, x)| logit * x).sum();
            *energy = -(self.constant + base + self.head_bias + net);
        }
        let logits = self.logits.iter().cycle();
        gradients
            .iter_mut()
            .zip(gradient)
            .zip(logits)
            .for_each(|((out, slope), logit)| *out = -(slope + logit));
        Ok(())
    }
}
