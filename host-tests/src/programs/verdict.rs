//! Counts against a distribution, at false-alarm rates so small that the usual approximation does not hold.

use crate::stat::FALSE_FAIL;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Comparisons that a run may make at most.
pub(crate) const COMPARISONS: f64 = 1e7;

/// A comparison with a smaller p-value is a finding. All comparisons of a run together raise a false alarm with
/// probability [`FALSE_FAIL`] at most (Bonferroni).
pub const ALARM: f64 = FALSE_FAIL / COMPARISONS;

/// Expected counts below this are taken together.
const LEAST_EXPECTED: f64 = 10.0;

/// The probability that independent draws from `distribution` look this wrong or worse.
///
/// Two tests share it. Cells that expect ten counts or more take the likelihood ratio with Williams' correction. Far out its
/// tail is right where a single cell decides, unlike that of Pearson's statistic. The sum of all other cells takes Chernoff's
/// bound, which holds for any counts.
///
/// # Panics
/// Where the lengths differ.
#[must_use]
pub fn p_value(counts: &[u64], distribution: &[f64]) -> f64 {
    assert_eq!(counts.len(), distribution.len(), "one probability a cell");
    let total = counts.iter().sum::<u64>() as f64;
    let cells = counts.iter().zip(distribution).map(|(&count, &p)| (count as f64, p * total));
    let (many, few): (Vec<_>, Vec<_>) = cells.partition(|&(_, expected)| expected >= LEAST_EXPECTED);
    let sum =
        |cells: &[(f64, f64)]| cells.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    (2.0 * likelihood(&many, sum(&many)).min(rare(sum(&few)))).min(1.0)
}

/// `P(X ≥ count)` is at most this for a binomial X of that expectation.
fn rare((count, expected): (f64, f64)) -> f64 {
    if count <= expected { 1.0 } else { (count - expected - count * (count / expected).ln()).exp() }
}

fn likelihood(cells: &[(f64, f64)], (count, expected): (f64, f64)) -> f64 {
    if cells.len() < 2 {
        return 1.0;
    }
    let scale = count / expected;
    let term = |&(count, expected): &(f64, f64)| {
        if count > 0.0 { 2.0 * count * (count / (scale * expected)).ln() } else { 0.0 }
    };
    let free = (cells.len() - 1) as f64;
    let inverses: f64 = cells.iter().map(|cell| 1.0 / (scale * cell.1)).sum();
    let williams = 1.0 + (inverses - 1.0 / count) / (6.0 * free);
    let statistic = cells.iter().map(term).sum::<f64>() / williams;
    ChiSquared::new(free).map_or(f64::NAN, |distribution| distribution.sf(statistic.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Source;

    #[test]
    fn small_p_values_are_not_smaller_than_they_should_be() {
        // Two cells with probability .01, a thousand draws: P(X ≥ 40) of the binomial is 5.3·10⁻¹³.
        let p = p_value(&[40, 960], &[0.01, 0.99]);
        assert!((1e-13..5e-12).contains(&p), "{p:e}");
        // Of three counts where 10⁻⁶ is expected, P = 10⁻¹⁸/6.
        let p = p_value(&[3, 4999, 4998], &[1e-10, 0.5, 0.5]);
        assert!((1e-19..1e-16).contains(&p), "{p:e}");
        assert_eq!(p_value(&[1, 500], &[0.0, 1.0]), 0.0);
        assert_eq!(p_value(&[501], &[1.0]), 1.0);
    }

    #[test]
    fn p_values_of_a_right_sampler_are_uniform_or_larger() {
        let mut source = Source::new(5);
        let distribution: Vec<f64> =
            (0..100).map(|k| 0.97f64.powi(k) * 0.03 / (1.0 - 0.97f64.powi(100))).collect();
        let mut below = [0; 3];
        for _ in 0..4000 {
            let mut counts = vec![0; distribution.len()];
            for _ in 0..2000 {
                let mut u = source.uniform();
                counts[distribution
                    .iter()
                    .position(|p| {
                        u -= p;
                        u < 0.0
                    })
                    .unwrap_or(0)] += 1;
            }
            let p = p_value(&counts, &distribution);
            for (slot, limit) in below.iter_mut().zip([0.1, 0.01, 0.001]) {
                *slot += usize::from(p < limit);
            }
        }
        assert!(below[0] < 500 && below[1] < 70 && below[2] < 15, "{below:?}");
    }
}
