//! The adjusted discrete Langevin sampler for Ising models.

pub(crate) mod odds;
mod touched;

use super::{Kernel, ParameterError, Transition};
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Ising;
use crate::lane::{Bits, Block, F32s, LANES, LogProduct, Mask, PARTS, U32s};
use crate::packed::{Packed, StateError};
use crate::random::words;
use odds::{Odds, Sum};
use rand_core::Rng;

/// DMALA for Ising models: the distribution of [`Langevin::adjusted`](super::Langevin::adjusted) with other draws, several
/// times as fast on large sparse models (Zhang, Liu, Liu 2022, Algorithm 2; METHODS.md §1).
///
/// A site's log odds of flipping are `z = ½(1−2x)·(b + Kx) − 1/(2α)`. For a quadratic energy with zero diagonal the log of the
/// acceptance ratio is `Z(x) − Z(y)`, `Z = Σ ln(1 + e^z)`: energies and proposals cancel. Z is added up in fixed point, so that
/// only sites whose field changed need be looked at, in any order. Where few flip, only those are weighed, before and after.
/// Where many flip, all are. The bits do not depend on which.
///
/// The draw compares fourteen bits of the generator with a threshold that is kept from step to step. A tie, one in 2¹⁴, is
/// decided by 62 more. Log odds are cut to ±80, Z is right to 2·10⁻⁷ a site.
///
/// Cost a step: half a word a site, O(degree) a flip, and two exponentials a change of a field.
///
/// ```
/// use bitmc::step::IsingLangevin;
/// use bitmc::{memory, torus, Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory};
/// const L: Layout = Layout::binary(25);
/// let mut memory = SparseMemory::<25, 100>::new();
/// let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], memory.borrow())?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
/// let sampler = IsingLangevin::adjusted(0.6)?;
/// let moved: u32 = (0..1000).map(|_| chain.step(&sampler, &mut rng).moved()).sum();
/// assert!(moved > 2500 && moved < 4000); // about 3.2 sites a step
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsingLangevin {
    half_curvature: f32,
}

impl IsingLangevin {
    /// At step size α.
    ///
    /// # Errors
    /// [`ParameterError::StepSize`] where α or 1/α is not positive and finite.
    pub fn adjusted(step_size: f32) -> Result<Self, ParameterError> {
        super::langevin::per_step_size(1.0, step_size).map(|c| Self { half_curvature: 0.5 * c })
    }

    /// Names the weights, apart from those of every other kernel.
    pub(crate) fn key(&self) -> u64 {
        u64::from(self.half_curvature.to_bits()) | (0x1_5146 << 40)
    }

    /// c/2.
    pub(crate) fn half_curvature(&self) -> f32 {
        self.half_curvature
    }

    fn odds(&self, model: &Ising<'_>) -> Odds {
        Odds {
            half_unit: odds::bits(0.5 * model.form().unit()),
            half_curvature: odds::bits(self.half_curvature),
        }
    }

    /// The probabilities of a move from the chain's state to `to`, without making it. The cost of a step where all
    /// sites are weighed.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition(&self, mut ring: Ring<'_, Ising<'_>>, to: Packed<'_>) -> Result<Transition, StateError> {
        ring.put(to)?;
        let odds = self.odds(ring.energy);
        ring.core.weights_of = None;
        let difference = ring.arrive();
        let free = Packed::trusted(ring.layout, ring.free);
        let [here, there] =
            [&*ring.here.words, &*ring.there.words].map(|words| Packed::trusted(ring.layout, words));
        let log_forward = log_q(odds, ring.here.cache, (here, there), free);
        let log_reverse = log_q(odds, ring.there.cache, (there, here), free);
        let z = weigh(odds, ring.here.cache, here, free, ring.here.weights);
        let difference_of_z = z - weigh(odds, ring.there.cache, there, free, ring.there.weights);
        let possible = log_forward > f32::NEG_INFINITY;
        let log_ratio = if possible { odds::value(difference_of_z) } else { f32::NEG_INFINITY };
        Ok(Transition { log_forward, log_reverse, difference, log_ratio, fault: false })
    }
}

/// The weights of all sites; their Z.
#[inline]
fn weigh(odds: Odds, fields: &[Bits], at: Packed<'_>, free: Packed<'_>, weights: &mut [Block]) -> i64 {
    let mut sum = Sum::new();
    for (index, (fields, weights)) in fields.chunks(2).zip(weights).enumerate() {
        let (low, high) = match fields {
            [low, high] => (low, high),
            [low] => (low, &[0; LANES]),
            _ => break,
        };
        let (x, y) = (at.bits(2 * index), at.bits(2 * index + 1));
        let (free, beside) = (free.bits(2 * index), free.bits(2 * index + 1));
        for part in 0..PARTS {
            let ones = |bits| Mask::from_bits(bits, part).keep(U32s::splat(u32::MAX));
            let (free, beside) = (Mask::from_bits(free, part), Mask::from_bits(beside, part));
            let (x, y) = (ones(x), ones(y));
            let ([low, high], [here, next]) =
                odds.weigh([U32s::load(low, part), U32s::load(high, part)], [x, y]);
            let halves = free.keep(low) | beside.keep(high).shl::<16>();
            halves.to_f32().store(weights, part);
            sum.add(free.keep(here), part);
            sum.add(beside.keep(next), part);
        }
        sum.next();
        sum.next();
    }
    sum.total()
}

/// log q(y|x).
fn log_q(odds: Odds, fields: &[Bits], (x, y): (Packed<'_>, Packed<'_>), free: Packed<'_>) -> f32 {
    let mut product = LogProduct::ONE;
    for (site, &field) in fields.as_flattened().iter().enumerate().take(x.layout().sites()) {
        let moved = x.get(site) != y.get(site);
        if free.get(site) == 0 {
            if moved {
                return f32::NEG_INFINITY;
            }
            continue;
        }
        let (e, likely) = odds.of(field, x.get(site));
        let normaliser = LogProduct::new(1.0 + e, 0);
        product = if moved == likely { product } else { product.times(LogProduct::new(e, 0)) };
        product = product.over(normaliser);
    }
    product.ln()
}

impl Kernel<Ising<'_>> for IsingLangevin {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Ising<'_>>, rng: &mut R) -> Info {
        let odds = self.odds(ring.energy);
        let free = Packed::trusted(ring.layout, ring.free);
        if ring.core.weights_of != Some(self.key()) {
            let here = Packed::trusted(ring.layout, ring.here.words);
            ring.core.softplus = weigh(odds, ring.here.cache, here, free, ring.here.weights);
            ring.core.weights_of = Some(self.key());
        }
        let proposed = draw(odds, &mut ring, rng);
        if touched::pays(ring.energy, proposed)
            && let Some(info) = touched::step(odds, &mut ring, proposed, rng)
        {
            return info;
        }
        ring.copy_cache();
        let flips = ring.here.words.iter().zip(ring.there.words.iter()).enumerate();
        let flips = flips.map(|(index, (&here, &flips))| (index, here, flips));
        let units = ring.energy.follow(ring.there.cache.as_flattened_mut(), flips);
        ring.there.words.iter_mut().zip(ring.here.words.iter()).for_each(|(there, &here)| *there ^= here);
        let difference = ring.energy.form().value(units);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let softplus = weigh(odds, ring.there.cache, there, free, ring.there.weights);
        let log_ratio = odds::value(ring.core.softplus - softplus);
        let accepted = accept(log_ratio, rng);
        if accepted {
            ring.core.softplus = softplus;
        }
        ring.close(Info { accepted, proposed, log_ratio, difference, fault: false })
    }
}

/// Leaves the sites that flip in there's words; how many.
#[inline]
fn draw<R: Rng + ?Sized>(odds: Odds, ring: &mut Ring<'_, Ising<'_>>, rng: &mut R) -> u32 {
    let mut count = 0;
    let cells = ring.here.weights.iter().zip(ring.there.words.iter_mut());
    for (index, (weights, slot)) in cells.enumerate() {
        let noise = words(rng);
        let (mut flips, mut tied) = (0, [0; LANES]);
        for part in 0..PARTS {
            let weights = F32s::load(weights, part).to_bits();
            let (flip, ties) = odds::draw(weights, U32s::load(&noise, part));
            flips |= odds::tops(flip, part);
            ties.store(&mut tied, part);
        }
        if tied.iter().fold(0, |any, word| any | word) != 0 {
            let ties = (0..PARTS).fold(0, |ties, part| ties | odds::tops(U32s::load(&tied, part), part));
            let x = ring.here.words.get(index).copied().unwrap_or(0);
            flips |= settle(odds, ties, ring.here.cache.get(2 * index..).unwrap_or_default(), x, rng);
        }
        *slot = flips;
        count += flips.count_ones();
    }
    count
}

/// The sites of a word that flip among those that are tied.
#[cold]
fn settle<R: Rng + ?Sized>(odds: Odds, ties: u32, fields: &[Bits], x: u32, rng: &mut R) -> u32 {
    let tied = fields.as_flattened().iter().zip(0..32).filter(|(_, site)| (ties >> site) & 1 != 0);
    tied.fold(0, |flips, (&field, site)| {
        flips | u32::from(odds.flips(field, (x >> site) & 1, || rng.next_u32())) << site
    })
}
