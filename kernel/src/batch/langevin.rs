//! The binary discrete Langevin proposal for sixteen chains: what [`Langevin`] does in each.

use super::log_product::LogProducts;
use super::products::Products;
use super::site::{self, Group, Half, Level, Terms, VALUE, pass};
use super::{BatchInfo, BatchKernel, BatchRing, group};
use crate::draw::LOGIT_LIMIT;
use crate::lane::{Bits, Block, F32s, Interleaved, LANES, LaneSums, Line, Mask, U32s};
use crate::random::LaneRng;
use crate::step::fingerprint::mix;
use crate::step::{Curvature, Langevin};

/// The kernels of sixteen chains.
struct Kernels<C> {
    balance: Block,
    /// c/2 of a site.
    half_curvature: C,
    /// What a unit of a field is worth in log odds, before the balance.
    scales: Block,
    /// The chains with a Metropolis test.
    adjusted: u32,
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
            all.key = mix(all.key, name);
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
    fn step(&self, ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain. One that is too short for the model makes the step of all a fault.
impl BatchKernel for [Langevin<'_>; LANES] {
    fn step(&self, ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        let Some(all) = Parameters::of(self, ring.sites.len()) else { return ring.core.failed() };
        let Parameters { balance, curvature, uniform, adjusted, .. } = all;
        let scales = ring.core.scales(ring.model.form().unit());
        if uniform {
            let same = curvature.map(|c| 0.5 * c);
            let half_curvature = |_, part| F32s::load(&same, part);
            Kernels { balance, half_curvature, scales, adjusted }.step(ring, rng)
        } else {
            let half_curvature = |site, part| F32s::load(&curvatures(self, site).map(|c| 0.5 * c), part);
            Kernels { balance, half_curvature, scales, adjusted }.step(ring, rng)
        }
    }
}

impl<C: Fn(usize, usize) -> F32s> Kernels<C> {
    fn step(&self, mut ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        ring.arrive();
        ring.core.weights_of = None;
        let (here, forward, proposed) = self.draw(&mut ring, rng);
        let (level, there, backward) = self.weigh(&mut ring);
        ring.core.normalisers = here;
        let plain = ring.plain(&level);
        let differences = ring.core.tempered(plain);
        let log_ratios = ring.core.test((forward, backward), there, &differences, self.adjusted, rng);
        ring.close(&level, &plain, proposed, log_ratios)
    }

    /// The odds of sites whose values are in this half.
    #[inline(always)]
    fn odds<const N: usize>(&self, group: &Group<'_, N>, half: Half) -> [Odds; N] {
        let &Group { first, ref sites, fields, part } = group;
        let (mut values, mut frees) = ([U32s::splat(0); N], [Odds::none().likely; N]);
        for (site, (value, free)) in sites.iter().zip(values.iter_mut().zip(&mut frees)) {
            let cells = U32s::load(&site.cells, part);
            (*value, *free) = (half.of(cells), site::free(cells));
        }
        let sign = U32s::splat(0x8000_0000);
        let gradient = Interleaved(fields).i32_to_f32() * F32s::load(&self.scales, part);
        let uphill = (gradient.to_bits() ^ (Interleaved(values) & sign)).to_f32();
        let mut half_curvature = [F32s::splat(0.0); N];
        half_curvature.iter_mut().zip(first..).for_each(|(c, site)| *c = (self.half_curvature)(site, part));
        let z = uphill * F32s::load(&self.balance, part) - Interleaved(half_curvature);
        let e = (z.to_bits() | sign).to_f32().max(F32s::splat(-LOGIT_LIMIT)).exp_bounded();
        let mut odds = [Odds::none(); N];
        for ((odds, free), (e, likely)) in odds.iter_mut().zip(frees).zip(e.0.into_iter().zip(z.positive().0)) {
            *odds = Odds { e: free.keep(e.to_bits()).to_f32(), likely: free & likely };
        }
        odds
    }

    /// Goes over the proposed states: their energies, Π (1+e), and Π e over the unlikely outcomes of going back.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_, '_>) -> (Level, LogProducts, LogProducts) {
        let (normalisers, unlikely) = (Products::one(), Products::one());
        let mut back = Back { kernels: self, normalisers, unlikely };
        let level = pass(&ring.model.form(), ring.sites, &mut back);
        (level, back.normalisers.finish(), back.unlikely.finish())
    }

    /// Draws the proposed states: Π (1+e), Π e over the unlikely outcomes, and how many sites change.
    #[inline]
    fn draw(&self, ring: &mut BatchRing<'_, '_>, rng: &mut LaneRng) -> (LogProducts, LogProducts, Bits) {
        let (normalisers, unlikely) = (Products::one(), Products::one());
        let (proposed, u) = ([0; LANES], [[0.0; LANES]; LANES]);
        let mut there = There { kernels: self, normalisers, unlikely, proposed, u };
        let form = ring.model.form();
        let (mut rows, mut fields) = (form.rows(), Line([[0; LANES]; LANES]));
        for start in (0..ring.sites.len()).step_by(LANES) {
            there.u = group::uniforms(rng);
            there.normalisers.next_group();
            there.unlikely.next_group();
            site::fields(&mut rows, ring.sites, Half::Low, &mut fields);
            // There are no terms.
            site::in_groups(&mut there, start, ring.sites, &fields, &mut { LaneSums::ZERO });
        }
        (there.normalisers.finish(), there.unlikely.finish(), there.proposed)
    }
}

/// What draws the proposed states, and what they multiply.
struct There<'a, C> {
    kernels: &'a Kernels<C>,
    normalisers: Products,
    unlikely: Products,
    proposed: Bits,
    /// For the sixteen sites that are drawn.
    u: [Block; LANES],
}

impl<C: Fn(usize, usize) -> F32s> Terms for There<'_, C> {
    #[inline(always)]
    fn terms<const N: usize>(&mut self, group: Group<'_, N>) -> [U32s; N] {
        let odds = self.kernels.odds(&group, Half::Low);
        let Group { first, sites, part, .. } = group;
        let u = self.u.get(first % LANES..).unwrap_or_default();
        for ((odds, number), (site, u)) in odds.into_iter().zip(first..).zip(sites.iter_mut().zip(u)) {
            let sum = F32s::splat(1.0) + odds.e;
            self.normalisers.times(number, sum, part);
            let rare = (F32s::load(u, part) * sum).lt(odds.e);
            if rare.any() {
                self.unlikely.times_where(number, rare, odds.e, part);
            }
            let flips = rare ^ odds.likely;
            let cells = U32s::load(&site.cells, part) ^ flips.keep(U32s::splat(VALUE << 16));
            cells.store(&mut site.cells, part);
            let count = U32s::load(&self.proposed, part) + flips.keep(U32s::splat(1));
            count.store(&mut self.proposed, part);
        }
        [U32s::splat(0); N]
    }
}

/// What going back has to multiply.
struct Back<'a, C> {
    kernels: &'a Kernels<C>,
    normalisers: Products,
    unlikely: Products,
}

impl<C: Fn(usize, usize) -> F32s> Terms for Back<'_, C> {
    #[inline(always)]
    fn terms<const N: usize>(&mut self, group: Group<'_, N>) -> [U32s; N] {
        let Self { kernels, normalisers, unlikely } = self;
        if group.first.is_multiple_of(LANES) && group.part == 0 {
            normalisers.next_group();
            unlikely.next_group();
        }
        let odds = kernels.odds(&group, Half::High);
        let Group { first, sites, part, .. } = group;
        for ((odds, number), site) in odds.into_iter().zip(first..).zip(sites.iter()) {
            let cells = U32s::load(&site.cells, part);
            normalisers.times(number, F32s::splat(1.0) + odds.e, part);
            let rare = site::free(cells) & (odds.likely ^ (cells ^ cells.shl::<16>()).negative());
            if rare.any() {
                unlikely.times_where(number, rare, odds.e, part);
            }
        }
        [U32s::splat(0); N]
    }
}

/// The log odds z of flipping, or nothing where the site is clamped.
#[derive(Clone, Copy)]
struct Odds {
    /// e^(−|z|), or 0.
    e: F32s,
    /// z > 0.
    likely: Mask,
}

impl Odds {
    #[inline(always)]
    fn none() -> Self {
        Self { e: F32s::splat(0.0), likely: U32s::splat(0).negative() }
    }
}
