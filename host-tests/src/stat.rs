//! Statistics: tests with a known rate of false alarms.
//!
//! Every test comes down to a p-value, and a right sampler fails with probability [`FALSE_FAIL`]. A check is
//! a function that returns its [`Verdict`], so that the right sampler and a broken variant go through the same
//! lines: one must pass, the other must fail.

mod chi_square;
pub mod mmd;
pub mod models;
pub mod replicas;
mod series;
pub mod table;

pub use chi_square::chi_square;
pub use series::{Batches, Moments};

use statrs::function::erf::erfc;

/// The probability that a check fails a right sampler, two-sided.
pub const FALSE_FAIL: f64 = 1e-6;

/// The standard errors that go with it: P(|z| > 4.8916) = 10⁻⁶ for a normal z.
pub const Z_LIMIT: f64 = 4.8916;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was compared.
    pub what: String,
    /// The probability that a right sampler looks this wrong.
    pub p: f64,
}

impl Verdict {
    /// A verdict of one test.
    pub fn new(what: impl Into<String>, p: f64) -> Self {
        Self { what: what.into(), p }
    }

    /// A normal deviate that should be standard.
    pub fn z(what: impl Into<String>, z: f64) -> Self {
        Self::new(format!("{} (z = {z:+.2})", what.into()), erfc(z.abs() / std::f64::consts::SQRT_2))
    }

    /// The worst of several tests, their p-values multiplied by their number (Bonferroni).
    ///
    /// # Panics
    /// Where there is no test.
    pub fn worst(tests: impl IntoIterator<Item = Self>) -> Self {
        let mut tests: Vec<Self> = tests.into_iter().collect();
        let number = tests.len();
        // A NaN sorts first and stays one: it is worse than any number.
        tests.sort_by(|a, b| b.p.is_nan().cmp(&a.p.is_nan()).then(a.p.total_cmp(&b.p)));
        let worst = tests.into_iter().next().expect("a check of nothing");
        Self {
            what: format!("{}, worst of {number}", worst.what),
            p: (worst.p * number as f64).clamp(0.0, 1.0),
        }
    }

    /// Whether a right sampler could look like this.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.p >= FALSE_FAIL
    }

    /// For the right sampler.
    ///
    /// # Panics
    /// Where the check fails.
    pub fn must_pass(&self) {
        println!("right  p = {:<9.2e} {}", self.p, self.what);
        assert!(self.passes(), "{}: p = {:e}", self.what, self.p);
    }

    /// For a broken variant: shows that the check can see.
    ///
    /// # Panics
    /// Where the check passes, or its p-value is NaN.
    pub fn must_fail(&self) {
        println!("broken p = {:<9.2e} {}", self.p, self.what);
        assert!(self.p < FALSE_FAIL, "the check cannot see: {}: p = {:e}", self.what, self.p);
    }
}
