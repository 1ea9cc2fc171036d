//! Trajectories as weighted samples: an estimate that needs no ergodicity.

use super::{Esh, Potential};
use crate::lane::Block;

/// The log weight of a trajectory that started at x₀ ~ `e^(−E₀)/Z₀` in a uniform direction at r = 0:
/// `ln w = E₀(x₀) − E(x_T) − (d − 1)·r(T)`. Then `⟨w⟩ = Z/Z₀` and `⟨w h(x_T)⟩ = Z/Z₀ ⟨h⟩_p`.
///
/// The leapfrog preserves `dx dv/|v|`, and (x, u) shrinks by `e^((d−1)r)`, step by step and for any step size. So
/// this weight is exact for the discrete map. The paper's (Ver Steeg and Galstyan 2021, Eq. 8),
/// `E₀(x₀) − E(x₀) + r(T)`, is equal to it where H is conserved exactly.
pub fn log_weight<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>>(
    start_energy: f32,
    chain: &Esh<'_, P, B>,
) -> f32 {
    let d = chain.position().len() as f32;
    (start_energy - chain.energy()) - (d - 1.0) * chain.log_speed()
}
