//! The chi-square test of counts against a distribution.

use super::Verdict;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Cells that expect fewer counts than this are pooled: the distribution of the statistic is a chi-square only where
/// counts are nearly normal.
const LEAST_EXPECTED: f64 = 10.0;

/// Pearson's test that `counts` are independent draws from `distribution` (one probability a cell, summing to 1).
///
/// Two-sided: a fit that is too good shows draws that are not independent. A count where the distribution has none
/// fails at once, whatever the pool would hide.
///
/// # Panics
/// Where the lengths differ, or fewer than two cells are left after pooling.
#[must_use]
pub fn chi_square(what: &str, counts: &[u64], distribution: &[f64]) -> Verdict {
    assert_eq!(counts.len(), distribution.len(), "one probability a cell");
    let total = counts.iter().sum::<u64>() as f64;
    if counts.iter().zip(distribution).any(|(&count, &p)| p == 0.0 && count > 0) {
        return Verdict::new(format!("{what}: an impossible state"), 0.0);
    }
    let cells = pool(counts, distribution, total);
    assert!(cells.len() > 1, "{what}: nothing to compare");
    let statistic: f64 = cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let free = (cells.len() - 1) as f64;
    let distribution = ChiSquared::new(free).expect("at least one degree of freedom");
    let p = 2.0 * distribution.sf(statistic).min(distribution.cdf(statistic));
    Verdict::new(format!("{what} (chi-square {statistic:.1}, {free} degrees)"), p.clamp(0.0, 1.0))
}

/// Counts and expected counts: those that expect enough, and the sum of the others.
fn pool(counts: &[u64], distribution: &[f64], total: f64) -> Vec<(f64, f64)> {
    let all = counts.iter().zip(distribution).map(|(&count, &p)| (count as f64, p * total));
    let (mut cells, few): (Vec<_>, Vec<_>) = all.partition(|&(_, expected)| expected >= LEAST_EXPECTED);
    let rest = few.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    if rest.1 >= LEAST_EXPECTED {
        cells.push(rest);
    } else if let Some(least) = cells.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1)) {
        *least = (least.0 + rest.0, least.1 + rest.1);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistic_is_the_textbook_one() {
        // 60 throws of a die: (5, 8, 9, 8, 10, 20) has chi-square 13.4 and P(> 13.4) = .01991.
        let verdict = chi_square("die", &[5, 8, 9, 8, 10, 20], &[1.0 / 6.0; 6]);
        assert!((verdict.p / 2.0 - 0.019_905).abs() < 1e-5, "{verdict:?}");
    }

    #[test]
    fn small_cells_are_pooled() {
        let cells = pool(&[50, 45, 3, 2], &[0.5, 0.4, 0.06, 0.04], 100.0);
        assert_eq!(cells, [(50.0, 50.0), (45.0, 40.0), (5.0, 10.0)]);
        let cells = pool(&[50, 49, 1], &[0.51, 0.48, 0.01], 100.0);
        assert_eq!(cells, [(50.0, 51.0), (50.0, 49.0)]);
    }

    #[test]
    fn it_sees_what_is_wrong() {
        chi_square("biased coin", &[505_000, 495_000], &[0.5, 0.5]).must_fail();
        chi_square("fair coin", &[500_600, 499_400], &[0.5, 0.5]).must_pass();
        chi_square("impossible", &[500_000, 500_000, 1], &[0.5, 0.5, 0.0]).must_fail();
        // Counts that were made to fit: 1,000 cells, each exactly as expected.
        chi_square("too good", &[1000; 1000], &[1e-3; 1000]).must_fail();
    }
}
