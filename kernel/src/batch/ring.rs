//! A batch taken apart for a kernel.

use super::core_state::Core;
use super::site::{BatchSite, Level};
use super::{ALL, BatchCell, BatchInfo};
use crate::lane::{Bits, Block};

/// A batch taken apart for a kernel.
#[derive(Debug)]
pub struct BatchRing<'a, 'e, T: BatchCell = BatchSite> {
    pub(super) model: &'e T::Model<'e>,
    pub(super) sites: &'a mut [T],
    pub(super) core: &'a mut Core,
}

impl BatchRing<'_, '_> {
    /// Makes the states of all chains those that a step begins at, and the proposed ones too: all count as accepted.
    pub(super) fn arrive(&mut self) {
        let accepted = core::mem::replace(&mut self.core.accepted, ALL);
        self.sites.iter_mut().for_each(|site| site.arrive(accepted));
    }

    /// `E(there) − E(here)` of each chain at β = 1.
    pub(super) fn plain(&self, there: &Level) -> Block {
        there.differences(&self.core.level).map(|units| self.model.form().value(units))
    }

    /// Ends a step whose proposed states have these sums, and differ in energy by `plain`.
    pub(super) fn close(
        &mut self,
        there: &Level,
        plain: &Block,
        proposed: Bits,
        log_ratios: Block,
    ) -> BatchInfo {
        let (accepted, differences) = (self.core.accepted, self.core.tempered(*plain));
        self.core.level.take(accepted, there);
        self.core.close(BatchInfo { accepted, proposed, log_ratios, differences, fault: false }, plain)
    }
}
