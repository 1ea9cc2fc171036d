//! Sequential Gibbs for sixteen chains: what [`SequentialGibbs`] does in each.

use super::site::{Change, flip};
use super::{ALL, BatchInfo, BatchKernel, BatchRing, chains, group};
use crate::lane::{F32s, LANES, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::SequentialGibbs;
use crate::step::fields::threshold;

/// At any β: a site becomes 1 where its field is above ⌊noise / (β · unit)⌋.
impl BatchKernel for SequentialGibbs {
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        ring.core.weights_of = None;
        let per_unit = ring.core.betas.map(|beta| ring.model.form().per_unit() / beta);
        let mut change = Change::none();
        for start in (0..ring.sites.len()).step_by(LANES) {
            let noise = group::logistics(rng);
            for (number, noise) in (start..ring.sites.len()).zip(&noise) {
                let Some(site) = ring.sites.get(number) else { break };
                let mut flips = 0;
                for part in 0..PARTS {
                    let threshold = threshold(F32s::load(noise, part), F32s::load(&per_unit, part));
                    let one = threshold.lt_i32(U32s::load(&site.field, part));
                    flips |= (one ^ chains(site.values, part)).bits(part);
                }
                let flips = flips & site.free;
                if flips != 0 {
                    flip(ring.model, ring.sites, number, flips, &mut change);
                }
            }
        }
        let (proposed, units) = (change.count, change.units.totals());
        let plain = units.map(|units| ring.model.form().value(units));
        let (log_ratios, differences) = ([0.0; LANES], ring.core.tempered(plain));
        ring.core.close(BatchInfo { accepted: ALL, proposed, log_ratios, differences, fault: false }, &plain)
    }
}
