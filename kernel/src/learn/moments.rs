//! A mean and a variance in one pass.

use crate::snapshot::plain;

/// Mean and variance of numbers as they come (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    count: u64,
    mean: f32,
    squares: f32,
}

impl Moments {
    pub(crate) fn add(&mut self, value: f32) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f32;
        self.squares += off * (value - self.mean);
    }

    /// All numbers so far times a factor.
    pub(crate) fn scale(&mut self, factor: f32) {
        self.mean *= factor;
        self.squares *= factor * factor;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn mean(&self) -> f32 {
        self.mean
    }

    /// The variance of one number; 0 with fewer than two.
    pub(crate) fn variance(&self) -> f32 {
        if self.count < 2 { 0.0 } else { self.squares / (self.count - 1) as f32 }
    }
}

plain! { Moments, b"mmnt", { count, mean, squares }, |kept| kept.count <= u64::MAX / 2 }
