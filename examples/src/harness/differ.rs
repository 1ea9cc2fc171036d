//! Whether two samplers differ.

use bitmc_desktop::diagnose::welch;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::cmp::Ordering;

/// The rate of false differences of a whole table.
const FALSE: f64 = 0.01;

/// Whether the mean behind some independent values is above or below that behind others: Welch's test, two-sided, at 1 % over so
/// many comparisons together (Bonferroni). [`Ordering::Equal`] where it does not tell them apart. `None` where it cannot say: a
/// set of fewer than two values, or two without a spread.
///
/// ```
/// use bitmc_examples::harness::differ;
/// use std::cmp::Ordering;
///
/// let (a, b) = ([3.0, 3.1, 2.9, 3.2], [2.0, 2.1, 1.9, 2.2]);
/// assert_eq!(differ(&a, &b, 1), Some(Ordering::Greater));
/// // p = 3.4e-5: among a thousand comparisons it is no difference.
/// assert_eq!(differ(&a, &b, 1000), Some(Ordering::Equal));
/// assert_eq!(differ(&a, &b[..1], 1), None);
/// ```
#[must_use]
pub fn differ(a: &[f64], b: &[f64], comparisons: usize) -> Option<Ordering> {
    if a.len().min(b.len()) < 2 {
        return None;
    }
    let (t, degrees) = welch(a, b);
    // Not where neither has a spread.
    let student = t.is_finite().then(|| StudentsT::new(0.0, 1.0, degrees).ok())??;
    let p = 2.0 * student.cdf(-t.abs());
    let order = if t > 0.0 { Ordering::Greater } else { Ordering::Less };
    Some(if p * (comparisons.max(1) as f64) < FALSE { order } else { Ordering::Equal })
}
