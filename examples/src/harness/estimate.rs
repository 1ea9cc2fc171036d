//! What several chains of one scalar say: effective sample size, split R̂, and whether two samplers differ.

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// The effective sample size of all chains together (Geyer 1992, initial monotone sequence; the chains
/// combined as in Vehtari et al. 2021, Eqs. 10–13): `mn / τ`, `τ = −1 + 2 Σ P_k` over the pairs
/// `P_k = ρ_2k + ρ_2k+1` while they are positive, none larger than the one before. Chains that disagree with
/// each other lower it. At most `mn log₁₀(mn)`, for chains whose values alternate.
///
/// `None` for fewer than four values a chain, chains of unequal length, or a scalar that never changes.
#[must_use]
pub fn effective_size(chains: &[Vec<f64>]) -> Option<f64> {
    let (m, n) = (chains.len(), length(chains)?);
    if n < 4 {
        return None;
    }
    let covariances = mean_autocovariance(chains, n);
    let (count, total) = (n as f64, (m * n) as f64);
    let within = covariances[0] * count / (count - 1.0);
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let variance = covariances[0] + if m > 1 { deviation(&means).powi(2) } else { 0.0 };
    if variance <= 0.0 || variance.is_nan() {
        return None;
    }
    let rho = |lag: usize| if lag == 0 { 1.0 } else { 1.0 - (within - covariances[lag]) / variance };
    let (mut sum, mut before) = (0.0, f64::INFINITY);
    for first in (0..n - 1).step_by(2) {
        let pair = rho(first) + rho(first + 1);
        if pair <= 0.0 || pair.is_nan() {
            break;
        }
        before = pair.min(before);
        sum += before;
    }
    let tau = (2.0 * sum - 1.0).max(1.0 / total.log10());
    Some(total / tau)
}

/// The potential scale reduction of half chains (Gelman et al. 2013, §11.4): `√(1 + (B/W − 1)/n)`. Near 1 where
/// all halves of all chains tell the same; 1.01 is a usual limit.
///
/// `None` as for [`effective_size`]; infinite where every half stands still, but not all at one value.
#[must_use]
pub fn split_r_hat(chains: &[Vec<f64>]) -> Option<f64> {
    let half = length(chains)? / 2;
    if half < 2 {
        return None;
    }
    let halves = chains.iter().flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]);
    let (mut means, mut variances) = (Vec::new(), Vec::new());
    for part in halves {
        means.push(mean(part));
        variances.push(deviation(part).powi(2));
    }
    let (within, between) = (mean(&variances), deviation(&means).powi(2));
    if within + between == 0.0 {
        return None;
    }
    Some(((half as f64 - 1.0) / half as f64 + between / within).sqrt())
}

/// The natural logarithm of the root of the mean square difference; −∞ for equal means.
#[must_use]
pub fn log_rmse(means: &[f64], exact: &[f64]) -> f64 {
    let squares: f64 = means.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    0.5 * (squares / means.len() as f64).ln()
}

/// Welch's t between two sets of independent values, with its degrees of freedom: whether their means differ.
///
/// ```
/// let (t, _) = bitmc_examples::harness::welch(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]);
/// assert_eq!(t, 0.0);
/// ```
#[must_use]
pub fn welch(a: &[f64], b: &[f64]) -> (f64, f64) {
    let spread = |values: &[f64]| deviation(values).powi(2) / values.len() as f64;
    let (va, vb) = (spread(a), spread(b));
    let share = |v: f64, values: &[f64]| v * v / (values.len() as f64 - 1.0);
    let degrees = (va + vb).powi(2) / (share(va, a) + share(vb, b));
    ((mean(a) - mean(b)) / (va + vb).sqrt(), degrees)
}

/// The mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation, n − 1 in the denominator; 0 of a single value.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// The standard error of the mean of some independent values.
#[must_use]
pub fn standard_error(values: &[f64]) -> f64 {
    deviation(values) / (values.len() as f64).sqrt()
}

/// The middle value, of an even number the mean of the two; `None` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get((sorted.len().max(1) - 1) / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}

/// The common length of the chains.
fn length(chains: &[Vec<f64>]) -> Option<usize> {
    let n = chains.first()?.len();
    chains.iter().all(|chain| chain.len() == n).then_some(n)
}

/// The autocovariance at every lag, 1/n in front, averaged over the chains: by Fourier transforms of
/// sequences padded to twice their length, two chains at a time as real and imaginary part.
fn mean_autocovariance(chains: &[Vec<f64>], n: usize) -> Vec<f64> {
    let size = (2 * n).next_power_of_two();
    let mut planner = FftPlanner::new();
    let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut power = vec![Complex::new(0.0, 0.0); size];
    for pair in chains.chunks(2) {
        let mut wave = vec![Complex::new(0.0, 0.0); size];
        for (index, chain) in pair.iter().enumerate() {
            let mean = mean(chain);
            for (slot, value) in wave.iter_mut().zip(chain) {
                let part = if index == 0 { &mut slot.re } else { &mut slot.im };
                *part = value - mean;
            }
        }
        forward.process(&mut wave);
        // |F(a + ib)|² at k and −k, averaged, is |F(a)|² + |F(b)|².
        for (k, sum) in power.iter_mut().enumerate() {
            sum.re += 0.5 * (wave[k].norm_sqr() + wave[(size - k) % size].norm_sqr());
        }
    }
    inverse.process(&mut power);
    let scale = 1.0 / (size as f64 * n as f64 * chains.len() as f64);
    power.iter().take(n).map(|value| value.re * scale).collect()
}
