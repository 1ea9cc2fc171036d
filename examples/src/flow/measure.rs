//! How good samples are: squared MMD to exact ones, and the effective sample size of a chain.

use rayon::prelude::*;

/// An unbiased estimate of the squared maximum mean discrepancy with the kernel exp(−|x−y|²/(2b²)) (Gretton
/// et al. 2012, Eq. 3); b is the median distance between exact samples.
#[derive(Clone, Debug)]
pub struct Mmd<'r> {
    exact: &'r [Vec<f32>],
    width: f64,
    own: f64,
}

impl<'r> Mmd<'r> {
    /// Prepares comparisons with exact samples; two or more.
    #[must_use]
    pub fn new(exact: &'r [Vec<f32>]) -> Self {
        let pairs = exact.iter().enumerate().flat_map(|(i, x)| exact[..i].iter().map(move |y| square(x, y)));
        let mut squares: Vec<f64> = pairs.collect();
        squares.sort_by(f64::total_cmp);
        let width = 2.0 * squares[squares.len() / 2];
        Self { exact, width, own: within(exact, width) }
    }

    /// Squared MMD of samples to the exact ones; it may be negative.
    #[must_use]
    pub fn squared(&self, samples: &[Vec<f32>]) -> f64 {
        let rows: Vec<f64> = samples
            .par_iter()
            .map(|x| self.exact.iter().map(|y| (-square(x, y) / self.width).exp()).sum())
            .collect();
        let between = rows.iter().sum::<f64>() / (samples.len() * self.exact.len()) as f64;
        within(samples, self.width) + self.own - 2.0 * between
    }
}

fn within(set: &[Vec<f32>], width: f64) -> f64 {
    let row = |i: usize| set[..i].iter().map(|y| (-square(&set[i], y) / width).exp()).sum::<f64>();
    let rows: Vec<f64> = (0..set.len()).into_par_iter().map(row).collect();
    2.0 * rows.iter().sum::<f64>() / (set.len() * (set.len() - 1)) as f64
}

fn square(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(x, y)| f64::from(x - y).powi(2)).sum()
}

/// The effective sample size of a chain from exact means and variances (Hoffman and Gelman 2014, App. A):
/// `M / (1 + 2 Σ (1 − s/M) ρ_s)`, the sum cut where ρ_s first falls below .05, and of the coordinates the
/// worst. The autocorrelations are means over all chains: of single short chains they are mostly chance.
/// Chains far from where the target lives have autocorrelations over 1 and an ESS below 1.
#[must_use]
pub fn effective_size(chains: &[&[Vec<f32>]], moments: &[(f64, f64)]) -> f64 {
    let count = chains.iter().map(|states| states.len()).min().unwrap_or(0);
    let one = |(axis, &(mean, variance)): (usize, &(f64, f64))| {
        let away = |states: &&[Vec<f32>]| -> Vec<f64> {
            states[..count].iter().map(|x| f64::from(x[axis]) - mean).collect()
        };
        let away: Vec<Vec<f64>> = chains.iter().map(away).collect();
        let mut sum = 0.0;
        for lag in 1..count {
            let product = |away: &Vec<f64>| away[lag..].iter().zip(away).map(|(a, b)| a * b).sum::<f64>();
            let terms = (chains.len() * (count - lag)) as f64;
            let rho = away.iter().map(product).sum::<f64>() / (variance * terms);
            if rho.is_nan() || rho < 0.05 {
                break;
            }
            sum += (1.0 - lag as f64 / count as f64) * rho;
        }
        count as f64 / (1.0 + 2.0 * sum)
    };
    moments.iter().enumerate().map(one).fold(f64::INFINITY, f64::min)
}

/// Mean and standard deviation.
#[must_use]
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
}
