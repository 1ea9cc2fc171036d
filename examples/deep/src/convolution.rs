//! Convolutions of small pictures, as one matrix product over the patches of a batch.

use crate::product::{Matrix, add, transposed_product};
use candle_core::{Device, Result, Tensor};
use std::path::Path;

/// Square pictures one after the other: rows, then columns, then channels.
pub struct Picture {
    /// Pictures.
    pub count: usize,
    /// Rows, and columns, of each.
    pub side: usize,
    /// Numbers of a pixel.
    pub channels: usize,
    /// All of them.
    pub values: Vec<f32>,
}

/// What a convolution takes and gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Rows, and columns, of a patch.
    pub width: usize,
    /// Channels that come in.
    pub from: usize,
    /// Channels that go out.
    pub to: usize,
    /// Pixels from one patch to the next.
    pub stride: usize,
}

impl Size {
    /// Inputs of one output.
    #[must_use]
    pub fn inputs(self) -> usize {
        self.width * self.width * self.from
    }

    /// Numbers: weights, then one bias a channel.
    #[must_use]
    pub fn parameters(self) -> usize {
        (self.inputs() + 1) * self.to
    }
}

/// A convolution with zeros around the picture.
pub struct Convolution {
    weights: Matrix,
    size: Size,
}

impl Convolution {
    /// Of weights `[row][column][from][to]`, and a bias for each channel that goes out.
    ///
    /// # Errors
    /// Where there are not [`Size::parameters`].
    pub fn new(size: Size, parameters: &[f32]) -> Result<Self> {
        let (weights, bias) = parameters.split_at(parameters.len().min(size.inputs() * size.to));
        let weights = Tensor::from_slice(weights, (size.inputs(), size.to), &Device::Cpu)?;
        Ok(Self { weights: Matrix::new(weights, bias.to_vec())?, size })
    }

    /// Reads `NAME_w.npy`, of `[row][column][from][to]`, and `NAME_b.npy`.
    ///
    /// # Errors
    /// Where a file is missing or has another shape.
    pub fn read(folder: &Path, name: &str, stride: usize) -> Result<Self> {
        let weights = Tensor::read_npy(folder.join(format!("{name}_w.npy")))?;
        let (width, _, from, to) = weights.dims4()?;
        let bias = Tensor::read_npy(folder.join(format!("{name}_b.npy")))?.flatten_all()?;
        let parameters = [weights.flatten_all()?.to_vec1::<f32>()?, bias.to_vec1()?].concat();
        Self::new(Size { width, from, to, stride }, &parameters)
    }

    /// What it gives.
    ///
    /// # Errors
    /// Where the channels do not fit.
    pub fn forward(&self, x: &Picture) -> Result<Picture> {
        let values = self.weights.forward(self.patches(x))?;
        Ok(Picture { count: x.count, side: self.side(x.side), channels: self.size.to, values })
    }

    /// From the gradient at what it gives to the gradient at what it takes, pictures of a side.
    ///
    /// # Errors
    /// Where the channels do not fit.
    pub fn backward(&self, gradient: &Picture, side: usize) -> Result<Picture> {
        let patches = self.weights.backward(gradient.values.clone())?;
        let mut values = vec![0.0; gradient.count * side * side * self.size.from];
        self.runs(gradient.count, side, |patch, pixels| add(&mut values[pixels], &patches[patch]));
        Ok(Picture { count: gradient.count, side, channels: self.size.from, values })
    }

    /// Adds the gradient by its parameters, from what it took and the gradient at what it gave.
    ///
    /// # Errors
    /// Where the channels do not fit.
    pub fn accumulate(&self, x: &Picture, gradient: &Picture, into: &mut [f32]) -> Result<()> {
        let weights = transposed_product(self.patches(x), self.size.inputs(), &gradient.values)?;
        let (to, bias) = into.split_at_mut(weights.len());
        add(to, &weights);
        gradient.values.chunks(self.size.to).for_each(|pixel| add(bias, pixel));
        Ok(())
    }

    fn side(&self, side: usize) -> usize {
        side.div_ceil(self.size.stride)
    }

    /// A row for each pixel that goes out.
    fn patches(&self, x: &Picture) -> Vec<f32> {
        let side = self.side(x.side);
        let mut patches = vec![0.0; x.count * side * side * self.size.inputs()];
        self.runs(x.count, x.side, |patch, pixels| patches[patch].copy_from_slice(&x.values[pixels]));
        patches
    }

    /// Each row of pixels that a patch has in common with its picture: where it is in the patches, and in the pictures.
    fn runs(
        &self,
        count: usize,
        side: usize,
        mut run: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        let Size { width, from, stride, .. } = self.size;
        let (padding, out) = (width / 2, self.side(side));
        for picture in 0..count {
            for (row, column) in (0..out).flat_map(|row| (0..out).map(move |column| (row, column))) {
                let patch = ((picture * out + row) * out + column) * width * width;
                // The patch begins `padding` above and left of its middle.
                let left = (column * stride).saturating_sub(padding);
                let skipped = left + padding - column * stride;
                let pixels = (width - skipped).min(side - left);
                for line in 0..width {
                    let Some(at) = (row * stride + line).checked_sub(padding).filter(|&at| at < side) else {
                        continue;
                    };
                    let first = (patch + line * width + skipped) * from;
                    let pixel = ((picture * side + at) * side + left) * from;
                    run(first..first + pixels * from, pixel..pixel + pixels * from);
                }
            }
        }
    }
}

/// The one number of a file.
///
/// # Errors
/// Where there is no such file.
pub fn number(folder: &Path, name: &str) -> Result<f32> {
    Tensor::read_npy(folder.join(name))?.flatten_all()?.get(0)?.to_scalar()
}
