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

/// The effective sample size of a chain as the authors' program has it (after Hoffman and Gelman 2014, App. A):
/// `N / (1 + 2 Σ (1 − s/M) ρ_s)` of N states and M = N − 1 lags. The sum is cut where ρ_s first is .05 or less. The worst
/// of all coordinates and of their squares counts. `moments` has the variances of a coordinate and of its square; means
/// are 0. Chains far from where the target lives have autocorrelations over 1 and a size below 1.
#[must_use]
pub fn effective_size(states: &[Vec<f32>], moments: &[[f64; 2]]) -> f64 {
    let (count, lags) = (states.len() as f64, states.len() - 1);
    let of = |away: Vec<f64>, variance: f64| {
        let rho = |lag: usize| {
            let product: f64 = away[lag..].iter().zip(&away).map(|(a, b)| a * b).sum();
            (lag, product / (variance * (away.len() - lag) as f64))
        };
        let kept = (0..lags).map(rho).take_while(|(_, rho)| *rho > 0.05).skip(1);
        count / (1.0 + 2.0 * kept.map(|(lag, rho)| (1.0 - lag as f64 / lags as f64) * rho).sum::<f64>())
    };
    let one = |(axis, &[variance, of_square]): (usize, &[f64; 2])| {
        let values: Vec<f64> = states.iter().map(|x| x[axis].into()).collect();
        let squares = values.iter().map(|x| x * x - variance).collect();
        of(values, variance).min(of(squares, of_square))
    };
    moments.iter().enumerate().map(one).fold(f64::INFINITY, f64::min)
}
