//! Samplers: one a file, each a configuration with a `step`.

mod block_gibbs;
mod langevin;

pub use block_gibbs::BlockGibbs;
pub use langevin::{Curvature, Langevin, ParameterError, Transition};

use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use rand_core::Rng;

/// A transition of a Markov chain. `&self` is configuration; what changes is the chain's.
pub trait Kernel<E: Energy + ?Sized> {
    /// One transition. It ends, and leaves a legal state, whatever the energy and the generator do.
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info;
}
