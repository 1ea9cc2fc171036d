//! The binary discrete Langevin proposal for sixteen chains: what [`Langevin`] does in each.

use super::log_product::LogProducts;
use super::products::Products;
use super::site::{GROUP, Level, VALUE, free, pass};
use super::{BatchInfo, BatchKernel, BatchRing, chains, group};
use crate::draw::LOGIT_LIMIT;
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
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
            ring.arrive();
            (ring.core.level, ring.core.normalisers, _) = self.weigh(&mut ring);
            ring.core.weights_of = Some(self.key);
        }
        let (forward, proposed) = draw(&mut ring, rng);
        let (there, normalisers, backward) = self.weigh(&mut ring);
        let differences = ring.core.tempered(ring.plain(&there));
        let products = (forward, backward);
        let log_ratios = ring.core.test(products, normalisers, &differences, self.adjusted, rng);
        ring.close(&there, proposed, log_ratios)
    }

    /// Weights at the proposed states, and their energies; Π (1+e), and Π e over the unlikely outcomes of going back.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_>) -> (Level, LogProducts, LogProducts) {
        let (zero, one, limit) = (F32s::splat(0.0), F32s::splat(1.0), F32s::splat(LOGIT_LIMIT));
        let unit = F32s::splat(-ring.model.form().unit());
        let (mut normalisers, mut unlikely) = (Products::one(), Products::one());
        let betas = ring.core.betas;
        let level = pass(&ring.model.form(), ring.sites, |number, sites, fields, part| {
            if number % LANES == 0 && part == 0 {
                normalisers.next_group();
                unlikely.next_group();
            }
            for ((number, site), &field) in (number..).zip(sites).zip(fields) {
                let cells = U32s::load(&site.cells, part);
                let (free, flipped) = (free(cells), (cells ^ cells.shl::<16>()).negative());
                let gradient = F32s::from_i32(field) * (unit * F32s::load(&betas, part));
                let uphill = cells.negative().pick(gradient, -gradient);
                let half_c = (self.half_curvature)(number, part);
                let z = F32s::load(&self.balance, part) * uphill - half_c;
                let likely = free & zero.lt(z);
                let size = z.abs();
                let size = size.lt(limit).pick(size, limit);
                let e = free.keep((-size).exp_bounded().to_bits());
                normalisers.times(number, one + e.to_f32(), part);
                let rare = free & (likely ^ flipped);
                if rare.any() {
                    unlikely.times_where(number, rare, e.to_f32(), part);
                }
                (e | likely.keep(U32s::splat(SIGN))).to_f32().store(&mut site.there, part);
            }
            [U32s::splat(0); GROUP]
        });
        (level, normalisers.finish(), unlikely.finish())
    }
}

/// Draws the proposed states: Π e over the unlikely outcomes, and how many sites change.
#[inline]
fn draw(ring: &mut BatchRing<'_>, rng: &mut LaneRng) -> (LogProducts, Bits) {
    let (mut unlikely, mut proposed) = (Products::one(), [0; LANES]);
    let accepted = ring.core.accepted;
    for sites in ring.sites.chunks_mut(LANES) {
        let u = group::uniforms(rng);
        unlikely.next_group();
        for (offset, (site, u)) in sites.iter_mut().zip(&u).enumerate() {
            for part in 0..PARTS {
                let accepted = chains(accepted, part);
                let there = F32s::load(&site.there, part);
                let weight = accepted.pick(there, F32s::load(&site.here, part));
                weight.store(&mut site.here, part);
                let e = weight.abs();
                let rare = (F32s::load(u, part) * (F32s::splat(1.0) + e)).lt(e);
                if rare.any() {
                    unlikely.times_where(offset, rare, e, part);
                }
                let flips = rare ^ weight.to_bits().negative();
                let half = site.half(accepted, part);
                let there = half ^ flips.keep(U32s::splat(VALUE));
                (half | there.shl::<16>()).store(&mut site.cells, part);
                let count = U32s::load(&proposed, part) + flips.keep(U32s::splat(1));
                count.store(&mut proposed, part);
            }
        }
    }
    (unlikely.finish(), proposed)
}
