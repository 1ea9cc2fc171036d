//! Layer normalisation.

use super::WIDTH;
use candle_core::{Result, Tensor};
use std::path::Path;

/// `(x − mean) / √(variance + 10⁻⁵)`, times a gain, plus a bias.
pub struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// What the way back needs.
pub struct Kept {
    normal: Vec<f32>,
    scales: Vec<f32>,
}

impl Norm {
    pub fn read(folder: &Path, name: &str) -> Result<Self> {
        let numbers =
            |part: &str| Tensor::read_npy(folder.join(format!("{name}_{part}.npy")))?.to_vec1::<f32>();
        Ok(Self { gain: numbers("g")?, bias: numbers("b")? })
    }

    pub fn forward(&self, x: &[f32]) -> (Vec<f32>, Kept) {
        let mut normal = x.to_vec();
        let scale = |row: &mut [f32]| {
            let mean = row.iter().sum::<f32>() / WIDTH as f32;
            row.iter_mut().for_each(|x| *x -= mean);
            let variance = row.iter().map(|x| x * x).sum::<f32>() / WIDTH as f32;
            let scale = 1.0 / (variance + 1e-5).sqrt();
            row.iter_mut().for_each(|x| *x *= scale);
            scale
        };
        let scales = normal.chunks_mut(WIDTH).map(scale).collect();
        let numbers = self.gain.iter().zip(&self.bias).cycle();
        let out = normal.iter().zip(numbers).map(|(x, (gain, bias))| x * gain + bias).collect();
        (out, Kept { normal, scales })
    }

    pub fn backward(&self, mut gradient: Vec<f32>, kept: &Kept) -> Vec<f32> {
        let rows = gradient.chunks_mut(WIDTH).zip(kept.normal.chunks(WIDTH)).zip(&kept.scales);
        for ((row, normal), scale) in rows {
            row.iter_mut().zip(&self.gain).for_each(|(g, gain)| *g *= gain);
            let mean = row.iter().sum::<f32>() / WIDTH as f32;
            let along = row.iter().zip(normal).map(|(g, x)| g * x).sum::<f32>() / WIDTH as f32;
            row.iter_mut().zip(normal).for_each(|(g, x)| *g = scale * (*g - mean - x * along));
        }
        gradient
    }
}
