//! The categorical discrete Langevin proposal for sixteen chains: what [`Langevin`] does in each.

use super::super::langevin::{Parameters, curvatures};
use super::super::log_product::LogProducts;
use super::super::products::Products;
use super::super::sums::Change;
use super::super::{ALL, BatchInfo, BatchKernel, group};
use super::weights::{self, Weights};
use super::{PottsRing, PottsSite, REACH, site};
use crate::draw::LOGIT_LIMIT;
use crate::lane::{Block, F32s, LANES, Mask, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::Langevin;

/// Sums of up to 64 weights that stay below 2¹²⁷ together.
const SUMS: u32 = 20;
/// Weights of at least e^(−30) that stay above 2⁻¹²⁶ together.
const WEIGHTS: u32 = 2;

/// The kernels of sixteen chains.
struct Kernels<C> {
    balance: Block,
    /// c of a site.
    curvature: C,
    /// What a unit of a field is worth.
    scales: Block,
    /// The chains with a Metropolis test.
    adjusted: u32,
    key: u64,
}

/// The same kernel for every chain.
impl<const Q: usize> BatchKernel<PottsSite<Q>> for Langevin<'_> {
    fn step(&self, ring: PottsRing<'_, '_, Q>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain. A kernel may be too short for the model, or its c so large that a logit could be
/// infinite. Then the step of all chains is a fault.
impl<const Q: usize> BatchKernel<PottsSite<Q>> for [Langevin<'_>; LANES] {
    fn step(&self, ring: PottsRing<'_, '_, Q>, rng: &mut LaneRng) -> BatchInfo {
        let Some(all) = Parameters::of(self, ring.sites.len()) else { return ring.core.failed() };
        let Parameters { balance, curvature, uniform, adjusted, key } = all;
        let scales = ring.scales();
        let finite = |curvature: &Block| {
            let logits = curvature.iter().zip(&scales).map(|(c, scale)| c + scale * REACH);
            logits.fold(0.0, |sum, z| sum + 0.0 * z) == 0.0
        };
        let apart = if uniform { 1 } else { ring.sites.len() };
        if !(0..apart).all(|site| finite(&curvatures(self, site))) {
            return ring.core.failed();
        }
        if uniform {
            let curvature = |_, part| F32s::load(&curvature, part);
            Kernels { balance, curvature, scales, adjusted, key }.step(ring, rng)
        } else {
            let curvature = |site, part| F32s::load(&curvatures(self, site), part);
            Kernels { balance, curvature, scales, adjusted, key }.step(ring, rng)
        }
    }
}

impl<C: Fn(usize, usize) -> F32s> Kernels<C> {
    fn step<const Q: usize>(&self, mut ring: PottsRing<'_, '_, Q>, rng: &mut LaneRng) -> BatchInfo {
        if ring.core.weights_of != Some(self.key) {
            let (normalisers, _) = self.weigh(&mut ring);
            ring.core.normalisers = normalisers;
            ring.core.accepted = ALL;
            ring.core.weights_of = Some(self.key);
        }
        let (forward, Change { units, count: proposed }) = draw(&mut ring, rng);
        let (normalisers, backward) = self.weigh(&mut ring);
        let plain = units.totals().map(|units| ring.model.form().value(units));
        let differences = ring.core.tempered(plain);
        let log_ratios = ring.core.test((forward, backward), normalisers, &differences, self.adjusted, rng);
        let accepted = ring.core.accepted;
        site::undo(ring.model, ring.sites, !accepted);
        ring.core.close(BatchInfo { accepted, proposed, log_ratios, differences, fault: false }, &plain)
    }

    /// The weights of a site's values, given its values `x`: `z = −β(G_k − G_x) − c[k ≠ x]`.
    #[inline(always)]
    fn weights<const Q: usize>(&self, site: &PottsSite<Q>, x: U32s, number: usize, part: usize) -> Weights<Q> {
        let scale = F32s::load(&self.scales, part);
        let (balance, c) = (F32s::load(&self.balance, part), (self.curvature)(number, part));
        let mut logits = site.fields.each_ref().map(|field| F32s::from_i32(U32s::load(field, part)) * scale);
        let here = weights::at(&logits, x);
        for (k, z) in (0..).zip(&mut logits) {
            let move_there = balance * (*z - here) - c;
            *z = U32s::splat(k).eq(x).pick(F32s::splat(0.0), move_there);
        }
        let cut = F32s::splat(-LOGIT_LIMIT);
        Weights::new(logits, |below| below.max(cut).exp_bounded())
    }

    /// Weighs the states as they are, into there: Π (sum of weights), and Π (weight of the other values).
    #[inline]
    fn weigh<const Q: usize>(&self, ring: &mut PottsRing<'_, '_, Q>) -> (LogProducts, LogProducts) {
        let (mut normalisers, mut chosen) = (Products::of(SUMS), Products::of(WEIGHTS));
        for (group, sites) in ring.sites.chunks_mut(LANES).enumerate() {
            normalisers.next_group();
            chosen.next_group();
            for (offset, site) in sites.iter_mut().enumerate() {
                if site.clamped {
                    continue;
                }
                for part in 0..PARTS {
                    let x = U32s::load_bytes(&site.values, part);
                    let weights = self.weights(site, x, group * LANES + offset, part);
                    normalisers.times(offset, weights.sum(), part);
                    chosen.times(offset, weights::at(&weights.0, U32s::load_bytes(&site.others, part)), part);
                    for (there, weight) in site.there.iter_mut().zip(weights.0) {
                        weight.store(there, part);
                    }
                }
            }
        }
        (normalisers.finish(), chosen.finish())
    }
}

/// Draws proposals and moves there; Π (weight of the drawn values), and what the moves change.
#[inline]
fn draw<const Q: usize>(ring: &mut PottsRing<'_, '_, Q>, rng: &mut LaneRng) -> (LogProducts, Change) {
    let accepted = ring.core.accepted;
    let (mut chosen, mut change) = (Products::of(WEIGHTS), Change::none());
    for start in (0..ring.sites.len()).step_by(LANES) {
        let end = ring.sites.len().min(start + LANES);
        let sites = ring.sites.get_mut(start..end).unwrap_or_default();
        let u = group::uniforms(rng);
        chosen.next_group();
        for (offset, (site, u)) in sites.iter_mut().zip(&u).enumerate() {
            site.moved = 0;
            if site.clamped {
                continue;
            }
            for part in 0..PARTS {
                let accepted = Mask::from_bits(accepted, part);
                let mut weights = Weights([F32s::splat(1.0); Q]);
                for (weight, (here, there)) in weights.0.iter_mut().zip(site.here.iter().zip(&site.there)) {
                    *weight = accepted.pick(F32s::load(there, part), F32s::load(here, part));
                }
                let x = U32s::load_bytes(&site.values, part);
                let (y, weight) = weights.draw(F32s::load(u, part));
                chosen.times(offset, weight, part);
                y.store_bytes(&mut site.others, part);
                site.moved |= (!y.eq(x)).bits(part);
                // Last: next to where they are loaded these would become stores under a mask, which can double the
                // cost.
                for (here, weight) in site.here.iter_mut().zip(weights.0) {
                    weight.store(here, part);
                }
            }
        }
        site::go(ring.model, ring.sites, start..end, &mut change);
    }
    (chosen.finish(), change)
}
