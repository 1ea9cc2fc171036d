//! Where paths to machines of digits begin: fields of independent bits that are as often on as in the training digits.

use crate::naive::{Machine, sigmoid};
use crate::npy;

/// The logit of a mean over the training digits, which is kept within .01 and .99 (METHODS.md §4).
fn logit(mean: f64) -> f32 {
    let mean = mean.clamp(0.01, 0.99);
    (mean / (1.0 - mean)).ln() as f32
}

/// The values of a digit's bits.
fn bits(words: &[u32]) -> impl Iterator<Item = f64> {
    (0..784).map(|site| f64::from(words[site / 32] >> (site % 32) & 1))
}

/// Of the pixels.
#[must_use]
pub fn visible_fields() -> Vec<f32> {
    let digits = npy::states("mnist/mnist_train1000.bits");
    let mut sums = vec![0.0; 784];
    for words in &digits {
        sums.iter_mut().zip(bits(words)).for_each(|(sum, bit)| *sum += bit);
    }
    sums.iter().map(|sum| logit(sum / digits.len() as f64)).collect()
}

/// Of a machine's hidden units, given the digits.
#[must_use]
pub fn hidden_fields(machine: &Machine) -> Vec<f32> {
    let digits = npy::states("mnist/mnist_train1000.bits");
    let mut sums = vec![0.0; machine.hidden.len()];
    for words in &digits {
        let activations = machine.activations(&bits(words).collect::<Vec<f64>>());
        sums.iter_mut().zip(activations).for_each(|(sum, activation)| *sum += sigmoid(activation));
    }
    sums.iter().map(|sum| logit(sum / digits.len() as f64)).collect()
}
