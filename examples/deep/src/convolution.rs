//! Convolutions of small pictures, as one matrix product over the patches of a batch.

use crate::product::{Matrix, add};
use candle_core::{Result, Tensor};
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

/// A convolution with zeros around the picture.
pub struct Convolution {
    weights: Matrix,
    from: usize,
    to: usize,
    width: usize,
    stride: usize,
}

impl Convolution {
    /// Reads `NAME_w.npy`, of `[row][column][from][to]`, and `NAME_b.npy`.
    ///
    /// # Errors
    /// Where a file is missing or has another shape.
    pub fn read(folder: &Path, name: &str, stride: usize) -> Result<Self> {
        let weights = Tensor::read_npy(folder.join(format!("{name}_w.npy")))?;
        let (width, _, from, to) = weights.dims4()?;
        let bias = Tensor::read_npy(folder.join(format!("{name}_b.npy")))?.flatten_all()?.to_vec1()?;
        let weights = Matrix::new(weights.reshape((width * width * from, to))?, bias)?;
        Ok(Self { weights, from, to, width, stride })
    }

    /// What it gives.
    ///
    /// # Errors
    /// Where the channels do not fit.
    pub fn forward(&self, x: &Picture) -> Result<Picture> {
        let side = x.side.div_ceil(self.stride);
        let mut patches = vec![0.0; x.count * side * side * self.width * self.width * self.from];
        self.runs(x.count, x.side, |patch, pixels| {
            patches[patch].copy_from_slice(&x.values[pixels]);
        });
        let values = self.weights.forward(patches)?;
        Ok(Picture { count: x.count, side, channels: self.to, values })
    }

    /// From the gradient at what it gives to the gradient at what it takes, pictures of a side.
    ///
    /// # Errors
    /// Where the channels do not fit.
    pub fn backward(&self, gradient: &Picture, side: usize) -> Result<Picture> {
        let patches = self.weights.backward(gradient.values.clone())?;
        let mut values = vec![0.0; gradient.count * side * side * self.from];
        self.runs(gradient.count, side, |patch, pixels| add(&mut values[pixels], &patches[patch]));
        Ok(Picture { count: gradient.count, side, channels: self.from, values })
    }

    /// Each row of pixels that a patch has in common with its picture: where it is in the patches, and in the pictures.
    fn runs(
        &self,
        count: usize,
        side: usize,
        mut run: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        let (width, from, padding) = (self.width, self.from, self.width / 2);
        let out = side.div_ceil(self.stride);
        for picture in 0..count {
            for (row, column) in (0..out).flat_map(|row| (0..out).map(move |column| (row, column))) {
                let patch = ((picture * out + row) * out + column) * width * width;
                // The patch begins `padding` above and left of its middle.
                let left = (column * self.stride).saturating_sub(padding);
                let skipped = left + padding - column * self.stride;
                let pixels = (width - skipped).min(side - left);
                for line in 0..width {
                    let Some(at) = (row * self.stride + line).checked_sub(padding).filter(|&at| at < side)
                    else {
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
