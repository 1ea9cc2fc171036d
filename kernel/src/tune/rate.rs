//! The acceptance rate of a few steps, with its standard error.

use crate::accept::{Info, probability};
use crate::lane::{F32s, Total};
use crate::snapshot::plain;

/// The mean of the acceptance probabilities `min(1, A)` of a known number of steps, with its standard error from the means of
/// eight batches. It is right for one chain whose memory is short against a batch, and for steps of independent chains one
/// after another. With eight batches the error itself is known to a quarter.
///
/// The probabilities say more than the yes and no of the steps: their mean has the smaller variance. It looks at the first
/// 2²⁰ steps, and what comes after changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate {
    length: u32,
    count: u32,
    sum: Total,
    filled: u32,
    filling: Total,
    batches: u32,
    mean: f32,
    squares: f32,
}

impl Rate {
    /// Steps that are looked at, at the most.
    const MOST: u32 = 1 << 20;

    /// For about so many steps.
    #[must_use]
    pub fn new(steps: u32) -> Self {
        Self { length: steps.min(Self::MOST).div_ceil(8).max(1), ..Self::default() }
    }

    /// Takes a step.
    pub fn observe(&mut self, info: &Info) {
        if self.count >= Self::MOST {
            return;
        }
        let probability = probability(info.log_ratio);
        self.count += 1;
        self.sum.add_one_of_many(probability);
        self.filling.add_one_of_many(probability);
        self.filled += 1;
        if self.filled >= self.length {
            // Welford's update of the batch means.
            let batch = self.filling.value() / self.filled as f32;
            self.batches += 1;
            let off = batch - self.mean;
            self.mean += off / self.batches as f32;
            self.squares += off * (batch - self.mean);
            (self.filling, self.filled) = (Total::default(), 0);
        }
    }

    /// Steps looked at.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The mean; 0 before the first step.
    #[must_use]
    pub fn mean(&self) -> f32 {
        if self.count == 0 { 0.0 } else { self.sum.value() / self.count as f32 }
    }

    /// The standard error of the mean; 1, the width of the range, before there are two batches.
    #[must_use]
    pub fn standard_error(&self) -> f32 {
        if self.batches < 2 {
            return 1.0;
        }
        let (batches, freedom) = (self.batches as f32, (self.batches - 1) as f32);
        F32s::splat(self.squares / (freedom * batches)).sqrt().first()
    }
}

/// Whether a total is of so many probabilities.
fn up_to(count: u32, total: Total) -> bool {
    [total.parts().0, total.value()].iter().all(|sum| (0.0..=count as f32).contains(sum))
}

plain! {
    Rate, b"rate", { length, count, sum, filled, filling, batches, mean, squares },
    |rate| rate.filled < rate.length.max(1)
        && rate.filled <= rate.count
        && rate.batches <= rate.count
        // Sums of probabilities: none passes its number, and what follows stays finite.
        && up_to(rate.count, rate.sum)
        && up_to(rate.filled, rate.filling)
        && (0.0..=2.0).contains(&rate.mean)
        && (0.0..=4.0 * rate.batches as f32).contains(&rate.squares)
}
