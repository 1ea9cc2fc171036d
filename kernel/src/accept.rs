//! The Metropolis test and what a step reports, once for all.

use crate::lane::exp;
use crate::random::uniform;
use rand_core::Rng;

/// What one step did.
///
/// Later versions may know more of a step: match it with `..`, make one from `Info::default()`, a step that stayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Info {
    /// Whether the chain moved to the proposed state (or stayed because it was proposed).
    pub accepted: bool,
    /// Sites that the proposal changed: its Hamming distance.
    pub proposed: u32,
    /// The log of the acceptance ratio, ln A; 0 for kernels without a test, −∞ for a forbidden state or a fault. Never NaN.
    pub log_ratio: f32,
    /// `E(y) − E(x)` of the proposal.
    pub difference: f32,
    /// Whether the energy gave NaN or −∞, or its gradient a NaN: the proposal was rejected for that. A sampler
    /// that draws from several energies never draws such a state, and goes on among the others.
    pub fault: bool,
}

impl Info {
    /// Sites that changed: the jump distance.
    #[must_use]
    pub fn moved(&self) -> u32 {
        if self.accepted { self.proposed } else { 0 }
    }
}

/// The Metropolis test: true with probability min(1, e^`log_ratio`). Draws one uniform whatever the ratio
/// is, so that a chain's stream does not depend on it; NaN is rejected.
#[inline]
pub fn accept<R: Rng + ?Sized>(log_ratio: f32, rng: &mut R) -> bool {
    accepts(log_ratio, uniform(rng))
}

/// The same by a uniform that was drawn before.
#[inline]
pub(crate) fn accepts(log_ratio: f32, uniform: f32) -> bool {
    log_ratio >= 0.0 || uniform < exp(log_ratio)
}

/// What [`accept`] is true with; 0 for NaN.
pub(crate) fn probability(log_ratio: f32) -> f32 {
    let probability = if log_ratio >= 0.0 { 1.0 } else { exp(log_ratio) };
    if probability >= 0.0 { probability } else { 0.0 }
}
