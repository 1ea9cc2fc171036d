//! Trajectories as weighted samples: an estimate that needs no ergodicity.

use super::{Average, Esh, Potential};
use crate::lane::Block;

/// The log weight of a trajectory that started at x₀ ~ `e^(−E₀)/Z₀` in a uniform direction at r = 0:
/// `ln w = E₀(x₀) − E(x_T) − (d − 1)·r(T)`. Then `⟨w⟩ = Z/Z₀` and `⟨w h(x_T)⟩ = Z/Z₀ ⟨h⟩_p`.
///
/// The leapfrog is volume-preserving in (x, v), and (x, u) shrinks by `e^((d−1)r)`, step by step and for
/// any step size: so this weight is exact for the discrete map. The paper's (Ver Steeg and Galstyan 2021,
/// Eq. 8), `E₀(x₀) − E(x₀) + r(T)`, is equal to it where H is conserved exactly.
pub fn log_weight<P, B>(start_energy: f32, chain: &Esh<'_, P, B>) -> f32
where
    P: Potential + ?Sized,
    B: AsMut<[Block]> + AsRef<[Block]>,
{
    let d = chain.position().len() as f32;
    (start_energy - chain.energy()) - (d - 1.0) * chain.log_speed()
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

    /// Takes a log weight; one that is not finite counts as w = 0.
    pub fn add(&mut self, log_weight: f32) {
        self.weights.add(log_weight, 1.0);
        self.count = self.count.saturating_add(1);
    }

    /// ln Z/Z₀: the logarithm of the mean weight.
    #[must_use]
    pub fn log_z(&self) -> f32 {
        self.weights.weights().log() - crate::lane::ln(self.count as f32)
    }

    /// The standard error of Z/Z₀ relative to it, √((n/K − 1)/n) with K of [`Average::equal_weights`]: the
    /// standard error of ln Z where it is small.
    #[must_use]
    pub fn relative_error(&self) -> f32 {
        let (n, equal) = (self.count as f32, self.weights.equal_weights());
        if equal > 0.0 {
            super::vector::sqrt((n / equal - 1.0).max(0.0) / (n - 1.0).max(1.0))
        } else {
            f32::INFINITY
        }
    }
}
