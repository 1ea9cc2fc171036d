//! One parameter, moved until the wished share of proposals is accepted.

use super::{TuneError, bounds as ordered, share};
use crate::accept::{Info, probability};
use crate::lane::{exp, ln};
use crate::snapshot::plain;

/// A positive parameter θ, such as a step size, that follows the acceptance rate. After the k-th step
/// `ln θ ← ln θ + k^(−0.6)(A − A*)` (Robbins and Monro 1951). Here A is the acceptance probability of the step, and
/// A* is the target rate. The method [`RateTuner::freeze`] leaves the mean of ln θ over steps, with more weight on
/// later ones (Polyak and Juditsky 1992).
///
/// A* = .574 suits locally balanced proposals such as Langevin's, .234 random walks. It expects the
/// acceptance rate to fall as θ rises: where it rises again, θ runs on to its upper bound. The radius of a
/// [`RandomWalk`](crate::RandomWalk) does so near the number of sites d, where every site changes at every step: bound
/// it by d/4. For one chain or many: feed it every step in a fixed order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateTuner {
    target: f32,
    bounds: (f32, f32),
    log: f32,
    mean_log: f32,
    steps: u32,
    frozen: bool,
}

impl RateTuner {
    /// The rate for locally balanced proposals.
    pub const LOCALLY_BALANCED: f32 = 0.574;
    /// The rate for random walks.
    pub const RANDOM_WALK: f32 = 0.234;

    /// From a first value of the parameter towards a rate; the parameter stays within the bounds.
    ///
    /// # Errors
    /// * [`TuneError::Share`] where the rate is not in (0, 1).
    /// * [`TuneError::Bound`] and [`TuneError::Order`] where the bounds are not positive, finite and in order.
    /// * [`TuneError::First`] where the first value is not between them.
    pub fn new(first: f32, bounds: (f32, f32), target: f32) -> Result<Self, TuneError> {
        share(target)?;
        ordered(bounds)?;
        if !(first >= bounds.0 && first <= bounds.1) {
            return Err(TuneError::First(first));
        }
        let log = ln(first);
        Ok(Self { target, bounds, log, mean_log: log, steps: 0, frozen: false })
    }

    /// The parameter for the next step.
    #[must_use]
    pub fn parameter(&self) -> f32 {
        let value = exp(if self.frozen { self.mean_log } else { self.log });
        // The logarithm's rounding must not leave the bounds.
        value.max(self.bounds.0).min(self.bounds.1)
    }

    /// Looks at a step that was made with [`RateTuner::parameter`].
    pub fn observe(&mut self, info: &Info) {
        if self.frozen {
            return;
        }
        self.steps = self.steps.saturating_add(1);
        let ln_step = ln(self.steps as f32);
        let off = probability(info.log_ratio) - self.target;
        self.log = (self.log + exp(-0.6 * ln_step) * off).max(ln(self.bounds.0)).min(ln(self.bounds.1));
        self.mean_log += exp(-0.75 * ln_step) * (self.log - self.mean_log);
    }

    /// Steps seen while it was tuning.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Stops adapting, at the mean.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Whether it has stopped adapting: say so beside samples.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }
}

plain! {
    RateTuner, b"tune", { target, bounds, log, mean_log, steps, frozen },
    |tuner| RateTuner::new(tuner.bounds.0, tuner.bounds, tuner.target).is_ok()
        && tuner.log.is_finite()
        && tuner.mean_log.is_finite()
}
