//! Matrix products by the tensor library, and what is done to single numbers between them.

use bitmc::lane::{F32s, LANES, PARTS};
use candle_core::{Device, Result, Tensor};

/// Weights of a linear layer, and their transpose for the way back.
pub struct Matrix {
    forward: Tensor,
    back: Tensor,
    bias: Vec<f32>,
}

impl Matrix {
    /// Of weights `[from][to]`. No bias where it is empty.
    ///
    /// # Errors
    /// Where the weights are not a matrix.
    pub fn new(weights: Tensor, bias: Vec<f32>) -> Result<Self> {
        let back = weights.t()?.contiguous()?;
        Ok(Self { forward: weights.contiguous()?, back, bias })
    }

    /// `x W + b` of rows.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn forward(&self, x: Vec<f32>) -> Result<Vec<f32>> {
        let mut out = product(x, &self.forward)?;
        if !self.bias.is_empty() {
            out.chunks_mut(self.bias.len()).for_each(|row| add(row, &self.bias));
        }
        Ok(out)
    }

    /// `x W` of rows.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn forward_without_bias(&self, x: Vec<f32>) -> Result<Vec<f32>> {
        product(x, &self.forward)
    }

    /// `g Wᵀ` of rows: from the gradient at what it gives to that at what it takes.
    ///
    /// # Errors
    /// Where the lengths do not fit.
    pub fn backward(&self, gradient: Vec<f32>) -> Result<Vec<f32>> {
        product(gradient, &self.back)
    }
}

fn product(x: Vec<f32>, by: &Tensor) -> Result<Vec<f32>> {
    let width = by.dim(0)?;
    let rows = x.len() / width;
    Tensor::from_vec(x, (rows, width), &Device::Cpu)?.matmul(by)?.flatten_all()?.to_vec1()
}

/// `Xᵀ G` of rows `width` long: the gradient of weights by what came in, X, and the gradient at what went out, G.
///
/// # Errors
/// Where there are not as many rows of each.
pub fn transposed_product(x: Vec<f32>, width: usize, gradient: &[f32]) -> Result<Vec<f32>> {
    let rows = x.len() / width;
    let x = Tensor::from_vec(x, (rows, width), &Device::Cpu)?.t()?;
    let gradient = Tensor::from_slice(gradient, (rows, gradient.len() / rows), &Device::Cpu)?;
    x.matmul(&gradient)?.flatten_all()?.to_vec1()
}

/// φ(z) = z σ(z) in place of z, and φ′(z).
pub fn swish(z: &mut [f32]) -> Vec<f32> {
    let mut slopes = vec![0.0; z.len()];
    for (z, slopes) in z.chunks_mut(LANES).zip(slopes.chunks_mut(LANES)) {
        let (mut values, mut all) = ([0.0; LANES], [0.0; LANES]);
        values[..z.len()].copy_from_slice(z);
        for part in 0..PARTS {
            let value = F32s::load(&values, part);
            let gate = value.sigmoid();
            let out = value * gate;
            out.store(&mut values, part);
            // φ′ = σ + φ (1 − σ)
            (gate + out * (F32s::splat(1.0) - gate)).store(&mut all, part);
        }
        z.copy_from_slice(&values[..z.len()]);
        slopes.copy_from_slice(&all[..z.len()]);
    }
    slopes
}

/// Adds term by term.
pub fn add(to: &mut [f32], terms: &[f32]) {
    to.iter_mut().zip(terms).for_each(|(to, term)| *to += term);
}

/// Multiplies term by term.
pub fn multiply(to: &mut [f32], factors: &[f32]) {
    to.iter_mut().zip(factors).for_each(|(to, factor)| *to *= factor);
}

/// Adds a multiple of a row.
pub fn add_times(to: &mut [f32], factor: f32, row: &[f32]) {
    to.iter_mut().zip(row).for_each(|(to, row)| *to += factor * row);
}

/// The sum of products of rows whose length is a multiple of eight.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    sums.iter().sum()
}
