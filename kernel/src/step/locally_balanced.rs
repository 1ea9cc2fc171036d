//! The locally balanced sampler: an index drawn by exact differences.

use super::path::{Choice, Paths};
use super::{Kernel, Transition};
use crate::accept::Info;
use crate::chain::Ring;
use crate::draw::index::Order;
use crate::energy::Energy;
use crate::packed::StateError;
use rand_core::Rng;

/// The locally balanced sampler with balancing function √t (Zanella 2020, §2; METHODS.md §2).
///
/// One move out of all single-site ones is drawn with probability `√(p(y)/p(x)) / Z(x)`, from exact
/// differences of E, and accepted with probability `min(1, Z(x)/Z(y))`. (The test takes the ratio of the
/// probabilities that were really used. Where no weight was cut, it is that quotient.) Hard constraints are never
/// proposed. For energies that are linear in every site it is [`GibbsWithGradients`](crate::GibbsWithGradients) with
/// one index, at a higher price; for others it proposes better moves.
///
/// Sites of [many values](crate::Layout::many_values): one pass over the sites draws, and another scores the way back.
/// Nothing is kept from step to step. So a step costs the differences of all sites twice, two exponentials a value,
/// and two uniforms a site.
///
/// Cost a step: the exact differences of every site: O(sites) for a sparse model, O(sites × hidden) and as
/// many exponentials for an RBM, `sites × (values − 1)` totals for a [`Plain`](crate::Plain) energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocallyBalanced;

impl LocallyBalanced {
    const PATHS: Paths = Paths { indices: 1, order: Order::Sites, replace: false, backwards: false };

    /// The probabilities of one move from the chain's state, without making it. An empty `path` is for staying, which
    /// happens only where every move is impossible. The cost of a step.
    ///
    /// # Errors
    /// [`StateError`] where the site or value does not exist.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        ring: Ring<'_, E>,
        path: &[Choice],
    ) -> Result<Transition, StateError> {
        Self::PATHS.transition(ring, path)
    }
}

impl<E: Energy + ?Sized> Kernel<E> for LocallyBalanced {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        Self::PATHS.step(ring, rng)
    }
}
