//! Samplers: one a file, each a configuration with a `step`.

mod block_gibbs;
mod chromatic_gibbs;
mod colouring;
mod cycle;
mod fields;
mod gibbs;
mod gibbs_with_gradients;
mod langevin;
mod locally_balanced;
mod path;
mod path_auxiliary;
mod random_walk;
mod sequential_gibbs;
mod symmetric;

pub use block_gibbs::BlockGibbs;
pub use chromatic_gibbs::ChromaticGibbs;
pub use colouring::{Colouring, ColouringError};
pub use cycle::{Cycle, langevin_cycle};
pub use gibbs::Gibbs;
pub use gibbs_with_gradients::GibbsWithGradients;
pub use langevin::{Curvature, Langevin, ParameterError, Transition};
pub use locally_balanced::LocallyBalanced;
pub use path::Choice;
pub use path_auxiliary::PathAuxiliary;
pub use random_walk::RandomWalk;
pub use sequential_gibbs::SequentialGibbs;

use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use rand_core::Rng;

/// A transition of a Markov chain. `&self` is configuration; what changes is the chain's.
pub trait Kernel<E: Energy + ?Sized> {
    /// One transition. It ends, and leaves a legal state, whatever the energy and the generator do.
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info;
}
