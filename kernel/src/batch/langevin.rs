//! The binary discrete Langevin proposal for sixteen chains: what [`Langevin`] does in each.

use super::log_product::LogProducts;
use super::products::Products;
use super::site::{self, GROUP, Half, Level, VALUE, free, pass};
use super::{BatchInfo, BatchKernel, BatchRing, group};
use crate::draw::LOGIT_LIMIT;
use crate::lane::{Bits, Block, F32s, LANES, Line, Mask, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::langevin::mix;
use crate::step::{Curvature, Langevin};

/// The kernels of sixteen chains.
struct Kernels<C> {
    balance: Block,
    /// c/2 of a site.
    half_curvature: C,
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
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain. One that is too short for the model makes the step of all a fault.
impl BatchKernel for [Langevin<'_>; LANES] {
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        let Some(Parameters { balance, curvature, uniform, adjusted, .. }) =
            Parameters::of(self, ring.sites.len())
        else {
            return ring.core.failed();
        };
        if uniform {
            let same = curvature.map(|c| 0.5 * c);
            let half_curvature = |_, part| F32s::load(&same, part);
            Kernels { balance, half_curvature, adjusted }.step(ring, rng)
        } else {
            let half_curvature = |site, part| F32s::load(&curvatures(self, site).map(|c| 0.5 * c), part);
            Kernels { balance, half_curvature, adjusted }.step(ring, rng)
        }
    }
}

impl<C: Fn(usize, usize) -> F32s> Kernels<C> {
    fn step(&self, mut ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
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

    /// The odds of a site whose values and fields are these.
    #[inline(always)]
    fn odds(
        &self,
        scales: &Scales,
        number: usize,
        (one, free): (Mask, Mask),
        field: U32s,
        part: usize,
    ) -> Odds {
        let (zero, limit) = (F32s::splat(0.0), F32s::splat(LOGIT_LIMIT));
        let gradient = F32s::from_i32(field) * F32s::load(&scales.0, part);
        let uphill = one.pick(gradient, -gradient);
        let z = F32s::load(&self.balance, part) * uphill - (self.half_curvature)(number, part);
        let size = z.abs();
        let size = size.lt(limit).pick(size, limit);
        let e = free.keep((-size).exp_bounded().to_bits()).to_f32();
        Odds { e, likely: free & zero.lt(z) }
    }

    /// Goes over the proposed states: their energies, Π (1+e), and Π e over the unlikely outcomes of going back.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_>) -> (Level, LogProducts, LogProducts) {
        let (mut normalisers, mut unlikely) = (Products::one(), Products::one());
        let scales = Scales::of(ring);
        let level = pass(&ring.model.form(), ring.sites, |number, sites, fields, part| {
            if number % LANES == 0 && part == 0 {
                normalisers.next_group();
                unlikely.next_group();
            }
            let cells = sites.each_ref().map(|site| U32s::load(&site.cells, part));
            let mut all = [Odds::none(); GROUP];
            for ((odds, number), (&cells, field)) in all.iter_mut().zip(number..).zip(cells.iter().zip(fields))
            {
                *odds = self.odds(&scales, number, (cells.negative(), free(cells)), field, part);
            }
            for ((odds, number), cells) in all.into_iter().zip(number..).zip(cells) {
                normalisers.times(number, F32s::splat(1.0) + odds.e, part);
                let rare = free(cells) & (odds.likely ^ (cells ^ cells.shl::<16>()).negative());
                if rare.any() {
                    unlikely.times_where(number, rare, odds.e, part);
                }
            }
            [U32s::splat(0); GROUP]
        });
        (level, normalisers.finish(), unlikely.finish())
    }

    /// Draws the proposed states: Π (1+e), Π e over the unlikely outcomes, and how many sites change.
    #[inline]
    fn draw(&self, ring: &mut BatchRing<'_>, rng: &mut LaneRng) -> (LogProducts, LogProducts, Bits) {
        let (mut normalisers, mut unlikely) = (Products::one(), Products::one());
        let (scales, form, mut proposed) = (Scales::of(ring), ring.model.form(), [0; LANES]);
        let (mut rows, mut fields) = (form.rows(), Line([[0; LANES]; LANES]));
        for start in (0..ring.sites.len()).step_by(LANES) {
            let u = group::uniforms(rng);
            normalisers.next_group();
            unlikely.next_group();
            site::fields(&mut rows, ring.sites, Half::Low, &mut fields);
            let groups =
                (start..ring.sites.len()).step_by(GROUP).zip(u.chunks(GROUP)).zip(fields.chunks(GROUP));
            for ((first, u), fields) in groups {
                for part in 0..PARTS {
                    let sites = ring.sites.get_mut(first..).unwrap_or_default();
                    let mut all = [Odds::none(); GROUP];
                    for ((odds, number), (site, field)) in
                        all.iter_mut().zip(first..).zip(sites.iter().zip(fields))
                    {
                        let cells = U32s::load(&site.cells, part);
                        let one = cells.shl::<16>().negative();
                        let field = U32s::load(field, part);
                        *odds = self.odds(&scales, number, (one, free(cells)), field, part);
                    }
                    for ((odds, number), (site, u)) in all.into_iter().zip(first..).zip(sites.iter_mut().zip(u))
                    {
                        let sum = F32s::splat(1.0) + odds.e;
                        normalisers.times(number, sum, part);
                        let rare = (F32s::load(u, part) * sum).lt(odds.e);
                        if rare.any() {
                            unlikely.times_where(number, rare, odds.e, part);
                        }
                        let flips = rare ^ odds.likely;
                        let cells = U32s::load(&site.cells, part) ^ flips.keep(U32s::splat(VALUE << 16));
                        cells.store(&mut site.cells, part);
                        let count = U32s::load(&proposed, part) + flips.keep(U32s::splat(1));
                        count.store(&mut proposed, part);
                    }
                }
            }
        }
        (normalisers.finish(), unlikely.finish(), proposed)
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

/// What a unit of a field is worth in a gradient of each chain.
struct Scales(Block);

impl Scales {
    fn of(ring: &BatchRing<'_>) -> Self {
        let unit = ring.model.form().unit();
        Self(ring.core.betas.map(|beta| -unit * beta))
    }
}
