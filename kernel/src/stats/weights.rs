//! Sums and means of weights given by their logarithms, in fixed memory.

use crate::lane::{F32s, Total, exp, ln};
use crate::snapshot::plain;

/// How far a weight may be above the reference before the sum is rescaled: e⁴⁰ is 2⁵⁸.
const HEADROOM: f32 = 40.0;

/// A sum of weights of any size, `Σ e^(wᵢ)`, with the rounding errors of a [`Total`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogSum {
    reference: f32,
    sum: Total,
}

impl LogSum {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { reference: f32::NEG_INFINITY, sum: Total::new(0.0) }
    }

    /// Adds `e^log_weight`. Weights that are not finite count as 0.
    pub fn add(&mut self, log_weight: f32) {
        self.weigh(log_weight);
    }

    /// Adds `e^log_weight`; raises the reference where the weight is too high above it. Returns the weight over the
    /// reference, and the factor of what was added before; `None` for a weight that counts as 0.
    fn weigh(&mut self, log_weight: f32) -> Option<(f32, f32)> {
        if !log_weight.is_finite() {
            return None;
        }
        let mut rescale = 1.0;
        let fits = log_weight <= self.reference + HEADROOM;
        if !fits {
            rescale = if self.reference.is_finite() { exp(self.reference - log_weight) } else { 0.0 };
            self.reference = log_weight;
            self.sum = Total::new(self.sum.value() * rescale);
        }
        let weight = exp(log_weight - self.reference);
        self.sum.add_one_of_many(weight);
        Some((weight, rescale))
    }

    /// The logarithm of the sum; −∞ before the first weight.
    #[must_use]
    pub fn log(&self) -> f32 {
        self.reference + ln(self.sum.value())
    }

    /// `e^log_weight` as a share of the sum; 0 where there is none.
    #[must_use]
    pub fn share(&self, log_weight: f32) -> f32 {
        let sum = self.sum.value();
        if sum > 0.0 { exp(log_weight - self.reference) / sum } else { 0.0 }
    }
}

impl Default for LogSum {
    fn default() -> Self {
        Self::new()
    }
}

/// The weighted mean of a scalar, weights by their logarithms: a time average with
/// [`Leap::log_time`](crate::flow::Leap::log_time), a self-normalised estimate with
/// [`log_weight`](crate::flow::log_weight).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Average {
    weights: LogSum,
    values: Total,
    /// Of the weights times `SCALE`.
    squares: Total,
}

/// 2⁻²⁹: of weights from 1 to e⁴⁰ no square, nor the square of a sum, is too large or too small.
const SCALE: f32 = 1.0 / 536_870_912.0;

impl Average {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { weights: LogSum::new(), values: Total::new(0.0), squares: Total::new(0.0) }
    }

    /// Takes a value. Weights that are not finite count as 0.
    pub fn add(&mut self, log_weight: f32, value: f32) {
        let Some((weight, rescale)) = self.weights.weigh(log_weight) else { return };
        if rescale < 1.0 {
            self.values = Total::new(self.values.value() * rescale);
            self.squares = Total::new(self.squares.value() * rescale * rescale);
        }
        self.values.add_one_of_many(weight * value);
        self.squares.add_one_of_many(SCALE * weight * (SCALE * weight));
    }

    /// Σ wᵢhᵢ / Σ wᵢ; 0 before the first value.
    #[must_use]
    pub fn mean(&self) -> f32 {
        let sum = self.weights.sum.value();
        if sum > 0.0 { self.values.value() / sum } else { 0.0 }
    }

    /// The weights.
    #[must_use]
    pub fn weights(&self) -> LogSum {
        self.weights
    }

    /// (Σ wᵢ)² / Σ wᵢ²: how many equal weights would say as much (Kish); 0 before the first value.
    #[must_use]
    pub fn equal_weights(&self) -> f32 {
        let (sum, squares) = (SCALE * self.weights.sum.value(), self.squares.value());
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }
}

/// Z/Z₀ from many log weights, with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Evidence {
    weights: Average,
    count: u32,
}

impl Evidence {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { weights: Average::new(), count: 0 }
    }

    /// Takes a log weight; one that is not finite counts as w = 0. The 2³²nd and later are ignored.
    pub fn add(&mut self, log_weight: f32) {
        if self.count < u32::MAX {
            self.weights.add(log_weight, 1.0);
            self.count += 1;
        }
    }

    /// Weights seen, those of 0 too.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// (Σ w)² / Σ w²: how many equal weights would say as much, the effective number of runs.
    #[must_use]
    pub fn equal_weights(&self) -> f32 {
        self.weights.equal_weights()
    }

    /// ln Z/Z₀: the logarithm of the mean weight; NaN before the first, −∞ where all are 0.
    #[must_use]
    pub fn log_z(&self) -> f32 {
        self.weights.weights().log() - ln(self.count as f32)
    }

    /// The standard error of Z/Z₀ relative to it, √((n/K − 1)/(n − 1)) with K of [`Average::equal_weights`]. Where it is small,
    /// it is that of ln Z. ∞ before the second weight, and where all are 0.
    #[must_use]
    pub fn relative_error(&self) -> f32 {
        let (n, equal) = (self.count as f32, self.weights.equal_weights());
        if equal > 0.0 && self.count > 1 {
            F32s::splat((n / equal - 1.0).max(0.0) / (n - 1.0)).sqrt().first()
        } else {
            f32::INFINITY
        }
    }
}

plain! { LogSum, b"logs", { reference, sum }, |_| true }
plain! { Average, b"aver", { weights, values, squares }, |_| true }
plain! { Evidence, b"evid", { weights, count }, |_| true }
