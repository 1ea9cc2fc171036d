//! When to explore and when to settle while learning.

use crate::snapshot::plain;
use crate::step::{Curvature, Langevin, ParameterError};
use crate::tune::Trial;

/// The sampler of persistent contrastive divergence with a cyclical schedule (Pynadath, Bhattacharya, Hariharan,
/// Zhang 2024, Algorithm 6; METHODS.md §6). Of every `period` iterations the first takes `large.1` steps at (α_max,
/// β_max), which moves the chains to other modes. All others take `small.1` steps at (α_min, ½) with the Metropolis
/// test, which lets them settle.
///
/// The paper takes the large steps without the test. Their chains are then no samples of the model, and the gradient
/// of that iteration is wrong. Without the test six coupled spins learn another distribution, and a network of nine
/// pixels diverges. With it both learn at small rates. Set `adjusted`, unless you repeat the paper.
///
/// The ends α_min and α_max are found by a [`CycleTuner`](crate::tune::CycleTuner) on the energy of the moment. The
/// energy changes as it is learned, so [`CyclicalLearning::is_due`] asks for that again after every `retune` cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CyclicalLearning {
    /// Iterations of a cycle; 0 counts as 1.
    pub period: u32,
    /// (α_max, β_max), and steps of the first iteration.
    pub large: (f32, f32, u64),
    /// α_min, and steps of the others.
    pub small: (f32, u64),
    /// Cycles between tunings; 0 for never.
    pub retune: u32,
    /// Whether the large steps have the Metropolis test; false in the paper.
    pub adjusted: bool,
}

impl CyclicalLearning {
    /// The kernel of an iteration, and its steps.
    ///
    /// # Errors
    /// [`ParameterError`] where a step size or β is illegal.
    pub fn at(&self, iteration: u64) -> Result<(Langevin<'static>, u64), ParameterError> {
        if iteration.is_multiple_of(u64::from(self.period.max(1))) {
            let (step_size, balance, steps) = self.large;
            Ok((Langevin::new(balance, Curvature::Same(1.0 / step_size), self.adjusted)?, steps))
        } else {
            Ok((Langevin::adjusted(self.small.0)?, self.small.1))
        }
    }

    /// Whether the step sizes are to be tuned before an iteration.
    #[must_use]
    pub fn is_due(&self, iteration: u64) -> bool {
        let cycle = u64::from(self.period.max(1));
        let between = cycle.saturating_mul(u64::from(self.retune));
        iteration.checked_rem(between) == Some(0)
    }

    /// Takes over the ends that a tuner has found ([`CycleTuner::ends`](crate::tune::CycleTuner::ends)).
    pub fn set_ends(&mut self, (smallest, largest): (Trial, Trial)) {
        self.small.0 = smallest.step_size;
        (self.large.0, self.large.1) = (largest.step_size, largest.balance);
    }
}

plain! {
    CyclicalLearning, b"cycp", { period, large, small, retune, adjusted },
    |kept| kept.at(0).is_ok() && kept.at(1).is_ok()
}
