//! A step size that follows the error of the Hamiltonian.

use super::vector::sqrt;
use super::{FlowError, Leap, StepSize};
use crate::lane::{exp, ln};
use crate::snapshot::plain;

/// Steps that are looked at together.
const WINDOW: u32 = 16;

/// Keeps the integrator's error a step near a tolerance (the paper's Sec. 3.1 suggests it, and leaves it
/// open).
///
/// The error of H in one step of a second-order integrator grows like ε³. After the k-th window of sixteen steps with
/// mean squared error s² and tolerance τ, `ε ← ε·(τ²/s²)^(1/(6√k))`, by a factor of 2 at most. The gain falls, so ε
/// settles (Robbins and Monro 1951). While ε changes, a trajectory is no longer reversible: [`StepControl::freeze`]
/// before samples are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepControl {
    step_size: StepSize,
    tolerance: f32,
    squares: f32,
    seen: u32,
    windows: u32,
    frozen: bool,
}

impl StepControl {
    /// From a first step size towards an error of `tolerance` nats a step.
    ///
    /// # Errors
    /// [`FlowError::Parameter`] where the tolerance or its square is not positive and finite.
    pub fn new(step_size: StepSize, tolerance: f32) -> Result<Self, FlowError> {
        let square = tolerance * tolerance;
        if !(tolerance > 0.0 && square.is_normal()) {
            return Err(FlowError::Parameter(tolerance));
        }
        Ok(Self { step_size, tolerance, squares: 0.0, seen: 0, windows: 0, frozen: false })
    }

    /// The step size for the next step.
    #[must_use]
    pub fn step_size(&self) -> StepSize {
        self.step_size
    }

    /// Looks at a step. A fault halves the step size at once.
    pub fn observe(&mut self, leap: &Leap) {
        if self.frozen {
            return;
        }
        if leap.fault || !leap.error.is_finite() {
            self.adjust(0.5);
            return;
        }
        self.squares += leap.error * leap.error;
        self.seen += 1;
        if self.seen == WINDOW {
            let excess = self.squares / (WINDOW as f32 * self.tolerance * self.tolerance);
            // An error of 0 or +∞ is cut by the limits.
            self.windows = self.windows.saturating_add(1);
            let factor = exp(ln(excess) / (-6.0 * sqrt(self.windows as f32)));
            self.adjust(factor.clamp(0.5, 2.0));
        }
    }

    fn adjust(&mut self, factor: f32) {
        if let Ok(next) = StepSize::new(self.step_size.get() * factor) {
            self.step_size = next;
        }
        (self.squares, self.seen) = (0.0, 0);
    }

    /// Stops adapting.
    pub fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Whether it has stopped adapting: report this with the samples.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }
}

plain! {
    StepControl, b"ctrl", { step_size, tolerance, squares, seen, windows, frozen },
    |kept| kept.seen < WINDOW && kept.squares >= 0.0 && StepControl::new(kept.step_size, kept.tolerance).is_ok()
}
