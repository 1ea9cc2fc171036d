//! A batch taken apart for a kernel.

use super::common::Core;
use super::site::{BatchSite, Level};
use super::{ALL, BatchInfo, chains, group};
use crate::energy::Ising;
use crate::lane::{Bits, Block, F32s, PARTS};
use crate::random::LaneRng;

/// A batch taken apart for a kernel.
#[derive(Debug)]
pub struct BatchRing<'a, M = Ising<'a>, T = BatchSite> {
    pub(super) model: &'a M,
    pub(super) sites: &'a mut [T],
    pub(super) core: &'a mut Core,
}

impl BatchRing<'_> {
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

/// [`accept`](crate::accept::accept) in the chains of `tested`; the others accept without a draw.
pub(super) fn accept(log_ratios: &Block, tested: u32, rng: &mut LaneRng) -> u32 {
    let u = group::one_uniform(rng, tested);
    let mut accepted = !tested & ALL;
    for part in 0..PARTS {
        let (zero, ratio) = (F32s::splat(0.0), F32s::load(log_ratios, part));
        let better = zero.lt(ratio) | ratio.eq(zero);
        let lucky = F32s::load(&u, part).lt(ratio.exp());
        accepted |= (chains(tested, part) & (better | lucky)).bits(part);
    }
    accepted
}
