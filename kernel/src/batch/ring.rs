//! A batch taken apart for a kernel.

use super::common::Core;
use super::site::{BatchSite, Change, flip, undo};
use super::{ALL, chains, group};
use crate::energy::Ising;
use crate::lane::{Block, F32s, PARTS};
use crate::random::LaneRng;
use core::ops::Range;

/// A batch taken apart for a kernel.
#[derive(Debug)]
pub struct BatchRing<'a, M = Ising<'a>, T = BatchSite> {
    pub(super) model: &'a M,
    pub(super) sites: &'a mut [T],
    pub(super) core: &'a mut Core,
}

impl BatchRing<'_> {
    /// Makes the flips of some sites.
    #[inline]
    pub(super) fn flip(&mut self, sites: Range<usize>, change: &mut Change) {
        for site in sites {
            let flips = self.sites.get(site).map_or(0, |site| site.flips);
            if flips != 0 {
                flip(self.model, self.sites, site, flips, change);
            }
        }
    }

    /// Unmakes all flips in some chains.
    #[inline]
    pub(super) fn undo(&mut self, chains: u32) {
        for site in 0..self.sites.len() {
            let flips = self.sites.get(site).map_or(0, |site| site.flips & chains);
            if flips != 0 {
                undo(self.model, self.sites, site, flips);
            }
        }
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
