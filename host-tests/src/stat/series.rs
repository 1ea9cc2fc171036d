//! Means with their standard errors.

use super::Verdict;

/// Sums of a scalar and of its square.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// Takes a value. Values should be small deviations where precision matters.
    pub fn push(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (count, sum) = (self.count + other.count, self.sum + other.sum);
        Self { count, sum, squares: self.squares + other.squares }
    }

    /// Values.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The variance of single values, n − 1 in the denominator.
    #[must_use]
    pub fn variance(&self) -> f64 {
        (self.squares - self.sum * self.sum / self.count) / (self.count - 1.0)
    }

    /// The standard error of the mean of independent values.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        (self.variance() / self.count).sqrt()
    }

    /// Whether the mean of independent values can be `exact`.
    #[must_use]
    pub fn against(&self, what: &str, exact: f64) -> Verdict {
        let (mean, error) = (self.mean(), self.standard_error());
        Verdict::z(format!("{what} {mean:.6} ± {error:.6}, exact {exact:.6}"), (mean - exact) / error)
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// A mean from batches: long pieces of a chain, or whole chains, so nearly independent of one another.
///
/// The limit is that of a normal deviate, [`Z_LIMIT`](super::Z_LIMIT) standard errors. With 64 batches the
/// error is itself uncertain, the deviate has Student's t distribution with 63 degrees of freedom, and a right sampler
/// fails with probability 7.3·10⁻⁶.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches(pub Vec<f64>);

impl Batches {
    /// The mean, and its standard error from the spread of the batches.
    #[must_use]
    pub fn moments(&self) -> Moments {
        self.0.iter().copied().collect()
    }

    /// Whether the mean can be `exact`.
    #[must_use]
    pub fn against(&self, what: &str, exact: f64) -> Verdict {
        self.moments().against(&format!("{what}, {} batches:", self.0.len()), exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::{FALSE_FAIL, Z_LIMIT};

    #[test]
    fn moments_by_hand() {
        let moments: Moments = [1.0, 2.0, 3.0, 6.0].into_iter().collect();
        assert_eq!((moments.mean(), moments.variance()), (3.0, 14.0 / 3.0));
        let halves = [1.0, 2.0].into_iter().collect::<Moments>().and([3.0, 6.0].into_iter().collect());
        assert_eq!(halves, moments);
    }

    #[test]
    fn the_limit_is_the_quantile() {
        assert!((Verdict::z("limit", Z_LIMIT).p / FALSE_FAIL - 1.0).abs() < 1e-3);
    }

    #[test]
    fn bonferroni_multiplies() {
        let many = (0..784).map(|site| Verdict::z("pixel", if site == 3 { 6.07 } else { 0.1 }));
        let worst = Verdict::worst(many);
        assert!((worst.p / FALSE_FAIL - 1.0).abs() < 0.01, "{worst:?}"); // z 6.07 is the limit for 784 pixels
        assert!(!Verdict::worst([Verdict::new("nan", f64::NAN), Verdict::new("fine", 0.5)]).passes());
    }
}
