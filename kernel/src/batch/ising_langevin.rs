//! What [`IsingLangevin`] does, in each of sixteen chains.

use super::ring::accept;
use super::site::{BatchSite, Change};
use super::sums::Sums;
use super::{ALL, BatchInfo, BatchKernel, BatchRing, chains};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::IsingLangevin;
use crate::step::ising_langevin::law::{self, Law};

/// The same kernel for every chain.
impl BatchKernel for IsingLangevin {
    fn step(&self, ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain.
impl BatchKernel for [IsingLangevin; LANES] {
    fn step(&self, mut ring: BatchRing<'_>, rng: &mut LaneRng) -> BatchInfo {
        let unit = ring.model.form().unit();
        let laws = Laws {
            half_units: ring.core.betas.map(|beta| 0.5 * unit * beta),
            half_curvatures: self.each_ref().map(IsingLangevin::half_curvature),
        };
        let key = self.iter().fold(0, |key: u64, kernel| key.rotate_left(7).wrapping_add(kernel.key()));
        if ring.core.weights_of != Some(key) {
            ring.sites.iter_mut().for_each(|site| site.touched = true);
            laws.weigh(&mut ring);
            ring.core.accepted = ALL;
            ring.core.weights_of = Some(key);
        }
        let mut change = Change::none();
        laws.draw(&mut ring, rng, &mut change);
        let log_ratios = laws.weigh(&mut ring).map(law::value);
        let accepted = accept(&log_ratios, ALL, rng);
        ring.core.accepted = accepted;
        ring.undo(!accepted);
        let (proposed, units) = (change.count, change.units.totals());
        let plain = units.map(|units| ring.model.form().value(units));
        let differences = ring.core.tempered(plain);
        ring.core.close(BatchInfo { accepted, proposed, log_ratios, differences, fault: false }, &plain)
    }
}

/// The laws of the chains.
struct Laws {
    half_units: Block,
    half_curvatures: Block,
}

impl Laws {
    /// Weighs the touched sites at the states as they are, into there: Z(here) − Z(there) of each chain.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_>) -> [i64; LANES] {
        let mut sums = Sums::zero();
        for site in ring.sites.iter_mut().filter(|site| site.touched) {
            sums.next();
            for part in 0..PARTS {
                let (unit, curvature) =
                    (F32s::load(&self.half_units, part), F32s::load(&self.half_curvatures, part));
                let one = chains(site.values, part);
                let (mut weight, mut softplus) =
                    law::weigh(U32s::load(&site.field, part), one, unit, curvature);
                if site.free != ALL {
                    let free = chains(site.free, part);
                    (weight, softplus) = (free.keep(weight), free.keep(softplus));
                }
                weight.to_f32().store(&mut site.there, part);
                softplus.store(&mut site.softplus_there, part);
                sums.add(U32s::load(&site.softplus, part) - softplus, part);
            }
        }
        sums.totals()
    }

    /// Takes over the weights of accepted proposals, draws new ones and moves there.
    #[inline]
    fn draw(&self, ring: &mut BatchRing<'_>, rng: &mut LaneRng, change: &mut Change) {
        let mut noise = [[0; LANES]; LANES];
        let accepted = ring.core.accepted;
        for group in ring.sites.chunks_mut(2 * LANES) {
            // A chain alone draws whole blocks, a word for two sites.
            noise.iter_mut().for_each(|words| *words = rng.block());
            let mut tied = 0;
            for (number, site) in group.iter_mut().enumerate() {
                if site.touched {
                    take_over(site, accepted);
                }
                let noise = halves(&noise, number);
                site.flips = 0;
                for part in 0..PARTS {
                    let weights = F32s::load(&site.here, part).to_bits();
                    let (flips, ties) = law::draw(weights, U32s::load(&noise, part));
                    site.flips |= flips.shl::<16>().signs(part);
                    tied |= ties.shl::<16>().signs(part);
                }
            }
            if tied != 0 {
                self.settle(group, tied, &noise, rng);
            }
        }
        // Only now: a field that changes touches its site for the next step.
        ring.flip(0..ring.sites.len(), change);
    }

    /// Decides the ties of a group in the chains of `tied`.
    #[cold]
    fn settle(&self, group: &mut [BatchSite], tied: u32, noise: &[Bits; LANES], rng: &mut LaneRng) {
        for chain in (0..LANES).filter(|chain| (tied >> chain) & 1 != 0) {
            let of = |block: &Block| block.get(chain).copied().unwrap_or(0.0);
            let law = Law { half_unit: of(&self.half_units), half_curvature: of(&self.half_curvatures) };
            for (number, site) in group.iter_mut().enumerate() {
                let word = |words: &Bits| words.get(chain).copied().unwrap_or(0);
                let noise = U32s::splat(word(&halves(noise, number)));
                let (_, ties) = law::draw(F32s::splat(of(&site.here)).to_bits(), noise);
                let draw = || rng.word_of(chain);
                if law::tops(ties, 0) & 1 != 0 && law.flips(word(&site.field), (site.values >> chain) & 1, draw)
                {
                    site.flips |= 1 << chain;
                }
            }
        }
    }
}

/// The halves of the words that site `number` of a group is drawn by, as a chain alone takes them.
#[inline(always)]
fn halves(noise: &[Bits; LANES], number: usize) -> Bits {
    let words = noise.get(number % LANES).copied().unwrap_or_default();
    if number < LANES { words } else { words.map(|word| word >> 16) }
}

/// The weights at the proposed states become those at the states, in the chains of `accepted`.
#[inline(always)]
fn take_over(site: &mut BatchSite, accepted: u32) {
    site.touched = false;
    for part in 0..PARTS {
        let accepted = chains(accepted, part);
        let weight = F32s::load(&site.there, part);
        accepted.pick(weight, F32s::load(&site.here, part)).store(&mut site.here, part);
        let there = U32s::load(&site.softplus_there, part);
        let softplus = accepted.keep(there) | (!accepted).keep(U32s::load(&site.softplus, part));
        softplus.store(&mut site.softplus, part);
    }
}
