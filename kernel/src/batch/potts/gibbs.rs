//! Sweeps of Gibbs sampling for sixteen chains: what [`Gibbs::systematic`] does in each replica.

use super::super::sums::Change;
use super::super::{ALL, BatchInfo, BatchKernel, group};
use super::weights::Weights;
use super::{PottsRing, PottsSite, site};
use crate::lane::{Block, F32s, LANES, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::Gibbs;

/// Logits in whose range [`F32s::exp_bounded`] has the bits of [`F32s::exp`].
const BOUNDED: f32 = 80.0;

/// Sweeps; [`Gibbs::random`] is a fault, for its chains draw sites of their own.
impl<const Q: usize> BatchKernel<PottsSite<Q>> for Gibbs {
    fn step(&self, ring: PottsRing<'_, '_, Q>, rng: &mut LaneRng) -> BatchInfo {
        if !self.sweeps() {
            return ring.core.failed();
        }
        // Differences have fewer than 2³¹ units.
        let bounded = ring.scales().iter().all(|&scale| scale * 2_147_483_648.0 <= BOUNDED);
        if bounded { sweep(ring, rng, F32s::exp_bounded) } else { sweep(ring, rng, F32s::exp) }
    }
}

#[inline]
fn sweep<const Q: usize>(
    ring: PottsRing<'_, '_, Q>,
    rng: &mut LaneRng,
    exponential: impl Fn(F32s) -> F32s + Copy,
) -> BatchInfo {
    ring.core.weights_of = None;
    let (scales, unit) = (ring.scales(), ring.model.form().unit());
    let (mut change, mut plain, mut differences) = (Change::none(), Totals::ZERO, Totals::ZERO);
    let tempered = ring.core.betas.iter().any(|&beta| beta != 1.0);
    for start in (0..ring.sites.len()).step_by(LANES) {
        let uniforms = group::uniforms(rng);
        for (number, u) in (start..ring.sites.len()).zip(&uniforms) {
            let Some(here) = ring.sites.get_mut(number) else { break };
            here.moved = 0;
            if here.clamped {
                continue;
            }
            for part in 0..PARTS {
                let x = U32s::load_bytes(&here.values, part);
                let present = here.field_at(x, part);
                let scale = F32s::load(&scales, part);
                let logit = |field| F32s::from_i32(U32s::load(field, part) - present) * scale;
                let weights = Weights::new(here.fields.each_ref().map(logit), exponential);
                let (y, _) = weights.draw(F32s::load(u, part));
                y.store_bytes(&mut here.others, part);
                here.moved |= (!y.eq(x)).bits(part);
                let difference = F32s::from_i32(present - here.field_at(y, part)) * F32s::splat(unit);
                plain.add(difference, part);
                if tempered {
                    differences.add(difference * F32s::load(&ring.core.betas, part), part);
                }
            }
            if here.moved != 0 {
                site::go_one(ring.model, ring.sites, number, &mut change);
            }
        }
    }
    let plain = plain.values();
    let (proposed, log_ratios) = (change.count, [0.0; LANES]);
    let differences = if tempered { differences.values() } else { plain };
    ring.core.close(BatchInfo { accepted: ALL, proposed, log_ratios, differences, fault: false }, &plain)
}

/// A [`Total`](crate::lane::Total) a chain.
struct Totals {
    sum: Block,
    rest: Block,
}

impl Totals {
    const ZERO: Self = Self { sum: [0.0; LANES], rest: [0.0; LANES] };

    /// Adds a term; 0 changes nothing.
    #[inline(always)]
    fn add(&mut self, term: F32s, part: usize) {
        let before = F32s::load(&self.sum, part);
        let sum = before + term;
        let came = sum - before;
        let rest = F32s::load(&self.rest, part) + ((before - (sum - came)) + (term - came));
        sum.store(&mut self.sum, part);
        rest.store(&mut self.rest, part);
    }

    fn values(&self) -> Block {
        let mut values = self.sum;
        let finite = values.iter_mut().zip(&self.rest).filter(|(sum, _)| !sum.is_infinite());
        finite.for_each(|(sum, rest)| *sum += rest);
        values
    }
}
