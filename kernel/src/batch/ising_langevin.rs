//! What [`IsingLangevin`] does, in each of sixteen chains.

use super::core_state::accept;
use super::site::{BatchSite, Group, Level, Terms, VALUE, cell, free, pass};
use super::{ALL, BatchInfo, BatchKernel, BatchRing};
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use crate::random::LaneRng;
use crate::step::IsingLangevin;
use crate::step::fingerprint::mix;
use crate::step::ising_langevin::odds::{self, Odds};

/// The same kernel for every chain.
impl BatchKernel for IsingLangevin {
    fn step(&self, ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        [*self; LANES].step(ring, rng)
    }
}

/// A kernel for each chain.
impl BatchKernel for [IsingLangevin; LANES] {
    fn step(&self, mut ring: BatchRing<'_, '_>, rng: &mut LaneRng) -> BatchInfo {
        let unit = ring.model.form().unit();
        let odds = ChainOdds {
            half_units: ring.core.scales(0.5 * unit).map(odds::bits),
            half_curvatures: self.each_ref().map(|kernel| odds::bits(kernel.half_curvature())),
        };
        let key = self.iter().fold(0, |key, kernel| mix(key, kernel.key()));
        if ring.core.weights_of != Some(key) {
            ring.arrive();
            ring.sites.iter_mut().for_each(BatchSite::unweigh);
            ring.core.level = odds.weigh(&mut ring);
            ring.core.weights_of = Some(key);
        }
        let proposed = odds.draw(&mut ring, rng);
        let there = odds.weigh(&mut ring);
        let mut log_ratios = [0.0; LANES];
        let softplus = ring.core.level.own.iter().zip(&there.own);
        for (ratio, (here, there)) in log_ratios.iter_mut().zip(softplus) {
            *ratio = odds::value(here - there);
        }
        ring.core.accepted = accept(&log_ratios, ALL, rng);
        let plain = ring.plain(&there);
        ring.close(&there, &plain, proposed, log_ratios)
    }
}

/// The [`Odds`] of the chains.
struct ChainOdds {
    half_units: Block,
    half_curvatures: Block,
}

impl ChainOdds {
    /// Weighs all sites at the proposed states: Z of each chain, with its energy.
    #[inline]
    fn weigh(&self, ring: &mut BatchRing<'_, '_>) -> Level {
        pass(&ring.model.form(), ring.sites, &mut { self })
    }

    /// Draws the proposed states; how many sites they change.
    #[inline]
    fn draw(&self, ring: &mut BatchRing<'_, '_>, rng: &mut LaneRng) -> Bits {
        let mut proposed = [0; LANES];
        let accepted = ring.core.accepted;
        let mut noise = [[0; LANES]; LANES];
        for start in (0..ring.sites.len()).step_by(2 * LANES) {
            // A chain alone draws whole blocks, a word for two sites.
            noise.iter_mut().for_each(|words| *words = rng.block());
            let (mut flips, mut ties): (Bits, Bits) = ([0; LANES], [0; LANES]);
            let group = ring.sites.get_mut(start..).unwrap_or_default();
            for (number, site) in group.iter_mut().enumerate().take(2 * LANES) {
                let words = words(&noise, number);
                for part in 0..PARTS {
                    let here = site.half(Mask::from_bits(accepted, part), part);
                    // Next to its value a weight draws the new one.
                    let (there, tied) = odds::draw(here, U32s::load(&words, part));
                    (here | (there & U32s::splat(VALUE)).shl::<16>()).store(&mut site.cells, part);
                    (U32s::load(&ties, part) | tied).store(&mut ties, part);
                    let flip = (here ^ there) & U32s::splat(VALUE);
                    (U32s::load(&flips, part) + flip).store(&mut flips, part);
                }
            }
            proposed.iter_mut().zip(flips).for_each(|(count, flips)| *count += flips >> 15);
            let tied = (0..PARTS).fold(0, |tied, part| tied | U32s::load(&ties, part).shl::<16>().signs(part));
            if tied != 0 {
                self.settle(ring, (start, tied), &noise, rng, &mut proposed);
            }
        }
        proposed
    }

    /// Decides the ties of the group that begins at a site, in the chains of `tied`.
    #[cold]
    fn settle(
        &self,
        ring: &mut BatchRing<'_, '_>,
        (start, tied): (usize, u32),
        noise: &[Bits; LANES],
        rng: &mut LaneRng,
        proposed: &mut Bits,
    ) {
        let (form, end) = (ring.model.form(), ring.sites.len().min(start + 2 * LANES));
        for (chain, count) in proposed.iter_mut().enumerate().filter(|(chain, _)| (tied >> chain) & 1 != 0) {
            let of = |block: &Block| block.get(chain).copied().unwrap_or(0.0);
            let odds = Odds { half_unit: of(&self.half_units), half_curvature: of(&self.half_curvatures) };
            for number in start..end {
                let word = words(noise, number - start).get(chain).copied().unwrap_or(0);
                let here = cell(ring.sites, number, chain) & 0xFFFF;
                let (_, ties) = odds::draw(U32s::splat(here), U32s::splat(word));
                if odds::tops(ties, 0) & 1 == 0 {
                    continue;
                }
                let mut field = form.linear().get(number).map_or(0, |&linear| linear as u32);
                for entry in form.row(number) {
                    let site = entry.site as usize;
                    // Behind the group the states are still where the last step left them.
                    let high = site >= end && (ring.core.accepted >> chain) & 1 != 0;
                    if (cell(ring.sites, site, chain) >> if high { 31 } else { 15 }) & 1 != 0 {
                        field = field.wrapping_add(entry.coupling as u32);
                    }
                }
                if odds.flips(field, here / VALUE, || rng.word_of(chain)) {
                    let cell = ring.sites.get_mut(number).and_then(|site| site.cells.get_mut(chain));
                    cell.into_iter().for_each(|cell| *cell ^= VALUE << 16);
                    *count += 1;
                }
            }
        }
    }
}

/// Weighs sites; their terms are softpluses.
impl Terms for &ChainOdds {
    #[inline(always)]
    fn terms<const N: usize>(&mut self, group: Group<'_, N>) -> [U32s; N] {
        let Group { sites, fields, part, .. } = group;
        let (unit, curvature) = (F32s::load(&self.half_units, part), F32s::load(&self.half_curvatures, part));
        let mut cells = [U32s::splat(0); N];
        cells.iter_mut().zip(&*sites).for_each(|(cells, site)| *cells = U32s::load(&site.cells, part));
        let (weights, mut terms) = odds::weigh(fields, cells, unit, curvature);
        for (((site, term), weight), cells) in sites.iter_mut().zip(&mut terms).zip(weights).zip(cells) {
            let free = free(cells);
            (cells | free.keep(weight).shl::<16>()).store(&mut site.cells, part);
            *term = free.keep(*term);
        }
        terms
    }
}

/// The words by whose low halves site `number` of a group is drawn, as a chain alone takes them.
#[inline(always)]
fn words(noise: &[Bits; LANES], number: usize) -> Bits {
    let words = noise.get(number % LANES).copied().unwrap_or_default();
    if number < LANES { words } else { words.map(|word| word >> 16) }
}
