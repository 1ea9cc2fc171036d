//! The binary discrete Langevin proposal for sixteen chains: what [`Langevin`] does in each.

use super::log_product::LogProducts;
use super::products::{Products, times, times_where};
use super::site::Change;
use super::{ALL, BatchInfo, BatchKernel, BatchRing, chains, group};
use crate::draw::LOGIT_LIMIT;
use crate::lane::{Block, F32s, LANES, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::{Curvature, Langevin};

const SIGN: u32 = 0x8000_0000;

/// The kernels of sixteen chains.
struct Kernels<C> {
    balance: Block,
    /// c/2 of a site.
    half_curvature: C,
    /// The chains with a Metropolis test.
    adjusted: u32,
    key: u64,
}

/// The parameters of sixteen kernels.
pub(super) struct Parameters {
    pub(super) balance: Block,
    /// c of the first site.
    pub(super) curvature: Block,
    /// Whether that is c of every site.
    pub(super) uniform: bool,
    /// The chains with a Metropolis test.
    pub(super) adjusted: u32,
    pub(super) key: u64,
}

impl Parameters {
    /// `None` where a kernel is too short for so many sites.
    pub(super) fn of(kernels: &[Langevin<'_>; LANES], sites: usize) -> Option<Self> {
        let (balance, curvature) = ([0.0; LANES], [0.0; LANES]);
        let mut all = Self { balance, curvature, uniform: true, adjusted: 0, key: 0 };
        let slots = all.balance.iter_mut().zip(&mut all.curvature);
        for (chain, (kernel, (balance, first))) in kernels.iter().zip(slots).enumerate() {
            let (b, c, test, name) = kernel.parameters();
            curvature_at(c, sites.saturating_sub(1))?;
            *balance = b;
            *first = curvature_at(c, 0)?;
            all.adjusted |= u32::from(test) << chain;
            all.key = all.key.rotate_left(7).wrapping_add(name);
            all.uniform &= matches!(c, Curvature::Same(_));
        }
        Some(all)
    }
}

/// c of a site of every chain.
pub(super) fn curvatures(kernels: &[Langevin<'_>; LANES], site: usize) -> Block {
    kernels.each_ref().map(|kernel| curvature_at(kernel.parameters().1, site).unwrap_or(0.0))
}

/// c of a site; `None` where the kernel does not reach it.
fn curvature_at(of: Curvature<'_>, site: usize) -> Option<f32> {
    let at = |blocks: &[Block]| blocks.get(site / LANES)?.get(site % LANES).copied();
    match of {
        Curvature::Same(c) => Some(c),
        Curvature::Each(blocks) => at(blocks),
        Curvature::Times(factor, blocks) => Some(factor * at(blocks)?),
    }
}

/// The same kernel for every chain.
impl BatchKernel for Langevin<'_> {
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain. One that is too short for the model makes the step of all a fault.
impl BatchKernel for [Langevin<'_>; LANES] {
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        let Some(Parameters { balance, curvature, uniform, adjusted, key }) =
            Parameters::of(self, ring.sites.len())
        else {
            return ring.core.failed();
        };
        if uniform {
            let same = curvature.map(|c| 0.5 * c);
            let half_curvature = |_, part| F32s::load(&same, part);
            Kernels { balance, half_curvature, adjusted, key }.step(ring, rng)
        } else {
            let half_curvature = |site, part| F32s::load(&curvatures(self, site).map(|c| 0.5 * c), part);
            Kernels { balance, half_curvature, adjusted, key }.step(ring, rng)
        }
    }
}

impl<C: Fn(usize, usize) -> F32s> Kernels<C> {
    fn step(&self, mut ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        if ring.core.weights_of != Some(self.key) {
            ring.sites.iter_mut().for_each(|site| site.flips = 0);
            let (normalisers, _) = self.weigh(&mut ring);
            ring.core.normalisers = normalisers;
            ring.core.accepted = ALL;
            ring.core.weights_of = Some(self.key);
        }
        let mut change = Change::none();
        let forward = draw(&mut ring, rng, &mut change);
        let (normalisers, backward) = self.weigh(&mut ring);

        let (proposed, units) = (change.count, change.units.totals());
        let plain = units.map(|units| ring.model.form().value(units));
        let differences = ring.core.tempered(plain);
        let products = (forward, backward);
        let (log_ratios, accepted) = ring.core.test(products, normalisers, &differences, self.adjusted, rng);
        ring.undo(!accepted);
        ring.core.close(BatchInfo { accepted, proposed, log_ratios, differences, fault: false }, &plain)
    }

    /// Weights at the states as they are; Π (1+e), and Π e over the unlikely outcomes of going back.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_>) -> (LogProducts, LogProducts) {
        let (zero, one, limit) = (F32s::splat(0.0), F32s::splat(1.0), F32s::splat(LOGIT_LIMIT));
        let unit = F32s::splat(-ring.model.form().unit());
        let (mut normalisers, mut unlikely) = (Products::one(), Products::one());
        for (number, group) in ring.sites.chunks_mut(LANES).enumerate() {
            let (normalisers, _) = normalisers.next_group();
            let (unlikely, exponents) = unlikely.next_group();
            let products = normalisers.iter_mut().zip(unlikely);
            for (offset, (site, (normaliser, unlikely))) in group.iter_mut().zip(products).enumerate() {
                for part in 0..PARTS {
                    let free = chains(site.free, part);
                    let scale = unit * F32s::load(&ring.core.betas, part);
                    let gradient = F32s::from_i32(U32s::load(&site.field, part)) * scale;
                    let uphill = chains(site.values, part).pick(gradient, -gradient);
                    let half_c = (self.half_curvature)(number * LANES + offset, part);
                    let z = F32s::load(&self.balance, part) * uphill - half_c;
                    let likely = free & zero.lt(z);
                    let size = z.abs();
                    let size = size.lt(limit).pick(size, limit);
                    let e = free.keep((-size).exp_bounded().to_bits());
                    times(normaliser, one + e.to_f32(), part);
                    let rare = free & (likely ^ chains(site.flips, part));
                    if rare.any() {
                        times_where((unlikely, exponents), rare, e.to_f32(), part);
                    }
                    (e | likely.keep(U32s::splat(SIGN))).to_f32().store(&mut site.there, part);
                }
            }
        }
        (normalisers.finish(), unlikely.finish())
    }
}

/// Draws proposals and moves there; Π e over the unlikely outcomes.
#[inline]
fn draw(ring: &mut BatchRing<'_>, rng: &mut LaneRng, change: &mut Change) -> LogProducts {
    let mut unlikely = Products::one();
    let mut start = 0;
    while let Some(group) = ring.sites.get_mut(start..).filter(|rest| !rest.is_empty()) {
        let group = group.chunks_mut(LANES).next().unwrap_or_default();
        let end = start + group.len();
        let u = group::uniforms(rng);
        let mut moved = 0;
        let (parts, exponents) = unlikely.next_group();
        for ((site, u), unlikely) in group.iter_mut().zip(&u).zip(parts) {
            let mut flips = 0;
            for part in 0..PARTS {
                let there = F32s::load(&site.there, part);
                let weight = chains(ring.core.accepted, part).pick(there, F32s::load(&site.here, part));
                weight.store(&mut site.here, part);
                let e = weight.abs();
                let rare = (F32s::load(u, part) * (F32s::splat(1.0) + e)).lt(e);
                if rare.any() {
                    times_where((unlikely, exponents), rare, e, part);
                }
                let likely = weight.to_bits().lt_i32(U32s::splat(0));
                flips |= (rare ^ likely).bits(part);
            }
            site.flips = flips;
            moved |= flips;
        }
        if moved != 0 {
            ring.flip(start..end, change);
        }
        start = end;
    }
    unlikely.finish()
}
