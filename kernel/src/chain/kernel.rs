//! What moves a chain.

use super::Ring;
use crate::accept::Info;
use crate::energy::Energy;
use rand_core::Rng;

/// A transition of a Markov chain. `&self` is configuration; what changes is the chain's.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not sample the energy `{E}`",
    label = "this kernel does not fit the energy of the chain",
    note = "kernels for any energy are `Langevin`, `Gibbs`, `GibbsWithGradients`, `PathAuxiliary` and others; some are for one energy, as `BlockGibbs` is for `Rbm`: the table in `bitmc::step` has them all",
    note = "constructors of kernels return a `Result`: add `?`"
)]
pub trait Kernel<E: Energy + ?Sized> {
    /// One transition. It ends, and leaves a legal state, whatever the energy and the generator do.
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info;
}
