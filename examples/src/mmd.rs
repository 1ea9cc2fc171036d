//! Squared maximum mean discrepancy: how far two sets of binary rows are from being samples of one distribution.
//!
//! `MMD² = mean k(x,x') + mean k(y,y') − 2 mean k(x,y)`, the means over distinct pairs, so that its
//! expectation is 0 where the distributions are equal (Gretton et al. 2012, Eq. 3). The kernel is
//! `k(x,y) = exp(−hamming(x,y)/d)`. Distances are integers, so pairs are counted by distance and each
//! exponential is taken once; the counts do not depend on the order of the work.

use crate::bits::BitRows;
use rayon::prelude::*;

/// The 99 % quantile of MMD² between two sets of 1,000 samples of the digits' distribution is 1.8·10⁻⁴; it goes
/// with 1/n + 1/m, here in units of that.
const NULL_99: f64 = 0.09;

/// A reference set, with what every comparison needs of it.
#[derive(Clone, Debug)]
pub struct Mmd<'r> {
    reference: &'r BitRows,
    /// k by Hamming distance.
    kernel: Vec<f64>,
    /// Mean k over distinct pairs of the reference.
    own: f64,
}

impl<'r> Mmd<'r> {
    /// Prepares comparisons with `reference`, which needs two rows or more.
    #[must_use]
    pub fn new(reference: &'r BitRows) -> Self {
        Self::by(reference, |share| (-share).exp())
    }

    /// With the linear kernel `k = s·s′/d` of spins: it sees the mean of every bit, and nothing else.
    #[must_use]
    pub fn linear(reference: &'r BitRows) -> Self {
        Self::by(reference, |share| 1.0 - 2.0 * share)
    }

    /// With a kernel of the share of bits that differ.
    fn by(reference: &'r BitRows, kernel: impl Fn(f64) -> f64) -> Self {
        let sites = reference.layout().sites();
        let kernel: Vec<f64> = (0..=sites).map(|h| kernel(h as f64 / sites as f64)).collect();
        let own = mean(&kernel, &within(reference));
        Self { reference, kernel, own }
    }

    /// Squared MMD of samples to the reference, unbiased, so it may be negative; `None` for fewer than two.
    #[must_use]
    pub fn squared(&self, samples: &BitRows) -> Option<f64> {
        let inside = (samples.len() >= 2).then(|| mean(&self.kernel, &within(samples)))?;
        Some(inside + self.own - 2.0 * mean(&self.kernel, &between(samples, self.reference)))
    }

    /// What `samples` draws from the digits' own distribution stay below 99 times in 100: smaller values say nothing.
    #[must_use]
    pub fn noise_floor(&self, samples: usize) -> f64 {
        NULL_99 * (1.0 / samples as f64 + 1.0 / self.reference.len() as f64)
    }
}

/// Distinct pairs by Hamming distance.
fn within(rows: &BitRows) -> Vec<u64> {
    count(rows, |index| rows.rows().take(index))
}

/// Pairs by Hamming distance.
fn between(rows: &BitRows, others: &BitRows) -> Vec<u64> {
    count(rows, |_| others.rows())
}

fn count<'a, I: Iterator<Item = &'a [u32]>>(rows: &BitRows, partners: impl Fn(usize) -> I + Sync) -> Vec<u64> {
    let zeros = || vec![0; rows.layout().sites() + 1];
    let all = (0..rows.len()).into_par_iter();
    let parts = all.fold(zeros, |mut counts, index| {
        for partner in partners(index) {
            counts[hamming(rows.row(index), partner)] += 1;
        }
        counts
    });
    parts.reduce(zeros, |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
}

/// Sites at which two rows differ.
#[must_use]
pub fn hamming(x: &[u32], y: &[u32]) -> usize {
    x.iter().zip(y).map(|(x, y)| (x ^ y).count_ones()).sum::<u32>() as usize
}

fn mean(kernel: &[f64], counts: &[u64]) -> f64 {
    let sum: f64 = kernel.iter().zip(counts).map(|(k, &count)| k * count as f64).sum();
    sum / counts.iter().sum::<u64>() as f64
}
