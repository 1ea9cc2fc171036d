//! Gibbs sampling, one site at a time.

use super::{Kernel, ParameterError, sequential_gibbs};
use crate::accept::Info;
use crate::chain::Ring;
use crate::draw::conditional::Conditional;
use crate::energy::{Energy, Potts};
use crate::lane::{Block, F32s, LANES, Total, U32s, ln_1p_exp};
use crate::layout::Kind;
use crate::packed::set;
use crate::random::{below, gumbels_of, logistics, uniform, uniforms};
use rand_core::Rng;

/// Gibbs sampling (Geman and Geman 1984; METHODS.md §2): a site takes a value drawn from its conditional
/// given all others, `p(xᵢ = k | rest) ∝ e^(−(E(x with xᵢ = k) − E(x)))`, from exact differences of the energy.
/// For a binary site that is a flip with probability `1/(1 + e^(E(flipped) − E(x)))`. Every draw is accepted.
///
/// * [`Gibbs::systematic`]: a step is one sweep, every free site once, in the order of the sites. It keeps
///   the distribution exactly, and is not reversible.
/// * [`Gibbs::random`]: a step is a number of updates of sites drawn uniformly, with replacement; reversible.
///
/// Values whose energy is `+∞` are never drawn. Those at NaN or `−∞` are not drawn either, and count as a fault of
/// the step. The field `proposed` is the number of sites at which the step's ends differ.
///
/// Sweeps of an energy that is an [Ising model](Energy::ising) are those of [`SequentialGibbs`](super::SequentialGibbs),
/// which asks at no site. Sweeps of a [Potts model](Energy::potts) of up to 64 values read its fields likewise. There a site
/// takes the value of which the field and a Gumbel number add up to most (Maddison, Tarlow and Minka 2014), so that noise is
/// made ahead: one number a value.
///
/// Cost an update elsewhere: [`Energy::differences`] at one site, and a [`Energy::shift`] where the site changes. A binary
/// site takes one of sixteen logistic numbers made together. Another takes one uniform and one exponential a value. A site of
/// [`Layout::MANY`](crate::Layout::MANY) values or more takes 192 random bits besides. A step copies the state and its cache
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gibbs {
    /// Updates of random sites a step; none for a sweep.
    updates: Option<u32>,
}

impl Gibbs {
    /// Sweeps over the sites in their order.
    #[must_use]
    pub const fn systematic() -> Self {
        Self { updates: None }
    }

    /// `updates` updates a step, each of a site drawn uniformly. (A clamped site that is drawn stays.)
    ///
    /// # Errors
    /// [`ParameterError::NoUpdates`] where `updates` is 0.
    pub const fn random(updates: u32) -> Result<Self, ParameterError> {
        if updates == 0 { Err(ParameterError::NoUpdates) } else { Ok(Self { updates: Some(updates) }) }
    }

    /// Whether a step is a sweep.
    pub(crate) fn sweeps(&self) -> bool {
        self.updates.is_none()
    }

    /// The log-probability of every value of one site given the rest of the chain's state, into `out`, as an update draws it. A
    /// clamped site keeps its value. Returns whether the energy failed at one of them.
    pub fn conditional<E: Energy + ?Sized>(mut ring: Ring<'_, E>, site: usize, out: &mut [f32]) -> bool {
        ring.copy_words();
        ring.copy_cache();
        if !ring.free(site) {
            let here = ring.here_state().get(site);
            (0..).zip(out).for_each(|(k, out)| *out = if k == here { 0.0 } else { f32::NEG_INFINITY });
            return false;
        }
        if ring.layout.kind() == Kind::Binary {
            let (log_odds, fault) = log_odds(&mut ring, site);
            for (sign, out) in [1.0, -1.0].into_iter().zip(out) {
                *out = -ln_1p_exp(sign * log_odds);
            }
            return fault;
        }
        let found = condition(&mut ring, site);
        for (value, out) in out.iter_mut().enumerate() {
            *out = found.log_probability(values(&ring, site), value);
        }
        found.fault
    }
}

/// Room for the values of one site.
fn values<'r, E: Energy + ?Sized>(ring: &'r Ring<'_, E>, site: usize) -> &'r [Block] {
    let blocks = (ring.arity(site) as usize).div_ceil(LANES);
    ring.there.weights.get(..blocks).unwrap_or_default()
}

/// The conditional of a site, at there.
#[inline]
fn condition<E: Energy + ?Sized>(ring: &mut Ring<'_, E>, site: usize) -> Conditional {
    let arity = ring.arity(site) as usize;
    let here = ring.there_state().get(site) as usize;
    let weights = ring.there.weights.get_mut(..arity.div_ceil(LANES)).unwrap_or_default();
    let differences = weights.as_flattened_mut().get_mut(..arity).unwrap_or_default();
    ring.energy.differences(ring.there.words, ring.there.cache, site, differences);
    Conditional::weigh(weights, arity, here)
}

/// The log odds of a binary site being 1, at there, and whether the energy failed; then it keeps its value.
#[inline]
fn log_odds<E: Energy + ?Sized>(ring: &mut Ring<'_, E>, site: usize) -> (f32, bool) {
    let here = ring.there_state().get(site);
    let mut differences = [0.0; 2];
    ring.energy.differences(ring.there.words, ring.there.cache, site, &mut differences);
    let [to_zero, to_one] = differences;
    let (difference, towards) = if here == 0 { (to_one, -1.0) } else { (to_zero, 1.0) };
    let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
    (towards * if fault { f32::INFINITY } else { difference }, fault)
}

/// A step under way: updates of there, in place.
pub(super) struct Updates {
    difference: Total,
    pub(super) fault: bool,
    all_free: bool,
}

impl Updates {
    /// From a copy of here.
    pub(super) fn begin<E: ?Sized>(ring: &mut Ring<'_, E>) -> Self {
        ring.copy_words();
        ring.copy_cache();
        ring.core.weights_of = None;
        Self { difference: Total::new(0.0), fault: false, all_free: ring.all_free() }
    }

    /// Counts a difference of energies.
    pub(super) fn add(&mut self, difference: f32) {
        self.difference.add(difference);
    }

    /// An update of a binary site: 1 where a logistic number is below its log odds.
    #[inline]
    fn update_binary<E: Energy + ?Sized>(&mut self, ring: &mut Ring<'_, E>, site: usize, noise: f32) {
        if !(self.all_free || ring.free(site)) {
            return;
        }
        let (log_odds, fault) = log_odds(ring, site);
        self.fault |= fault;
        let value = u32::from(noise < log_odds);
        if value != ring.there_state().get(site) {
            self.add(ring.set(site, value));
        }
    }

    #[inline(always)]
    fn update<E: Energy + ?Sized, R: Rng + ?Sized>(
        &mut self,
        ring: &mut Ring<'_, E>,
        site: usize,
        uniform: f32,
        rng: &mut R,
    ) {
        if !(self.all_free || ring.free(site)) {
            return;
        }
        let found = condition(ring, site);
        self.fault |= found.fault;
        let value = found.draw(values(ring, site), uniform, rng) as u32;
        if value != ring.there_state().get(site) {
            self.add(ring.set(site, value));
        }
    }

    /// A sweep of a chain over `model`, or over an energy whose answers and cache are those of it. Does nothing, and returns
    /// false, where a site has [many values](crate::Layout::MANY).
    #[inline(never)] // chains over any energy have the other sweep beside it
    fn sweep_potts<E: ?Sized, R: Rng + ?Sized>(
        &mut self,
        ring: &mut Ring<'_, E>,
        model: &Potts<'_>,
        rng: &mut R,
    ) -> bool {
        if model.layout().many_values() {
            return false;
        }
        let (layout, all_free) = (ring.layout, self.all_free);
        let (arity, blocks, shift) = (layout.arity(), layout.blocks(), model.noise_shift());
        let room = core::mem::take(&mut ring.there.weights);
        let (mut noise, mut next) = room.split_at_mut(arity.min(room.len()));
        let mut difference = 0;
        fill(noise, rng);
        for block in 0..blocks {
            // A block ahead: the processor computes it while it waits for the sites of the block before.
            if block + 1 < blocks {
                fill(next.get_mut(..arity).unwrap_or_default(), rng);
            }
            for (site, lane) in (block * LANES..layout.sites()).zip(0..LANES) {
                if all_free || ring.free(site) {
                    let here = ring.there_state().get(site);
                    let change = model.draw(ring.there.cache, (block, lane), here, noise, shift);
                    if change.to != here {
                        // The value is one of the site.
                        let _ = set(layout, ring.there.words, site, change.to);
                        difference += model.change(change, ring.there.cache);
                    }
                }
            }
            core::mem::swap(&mut noise, &mut next);
        }
        ring.there.weights = room;
        self.add(model.form().value(difference));
        true
    }

    /// Ends the step. An energy whose moves deny its differences leaves the chain where it was.
    pub(super) fn end<E: ?Sized>(self, ring: Ring<'_, E>) -> Info {
        ring.close_untested(self.difference.value(), self.fault)
    }
}

/// Gumbel numbers of sixteen sites for [`Potts::draw`], a block for each value. 2⁶ is added to all, so that none is negative, and
/// their bits are no NaN.
#[inline(never)] // its registers are those of the sites otherwise
fn fill<R: Rng + ?Sized>(noise: &mut [Block], rng: &mut R) {
    const UNITS: f32 = (1 << Potts::NOISE_BITS) as f32;
    noise.iter_mut().for_each(|value| *value = uniforms(rng));
    gumbels_of(noise, |gumbel| {
        let units = (gumbel * F32s::splat(UNITS)).trunc_i32();
        (units + U32s::splat(64 << Potts::NOISE_BITS)).to_f32()
    });
}

impl<E: Energy + ?Sized> Kernel<E> for Gibbs {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        if ring.core.estimates {
            return ring.failed();
        }
        let mut updates = Updates::begin(&mut ring);
        if let (None, Some(model)) = (self.updates, ring.energy.ising()) {
            // The fields say what the energy would be asked at each site.
            let add = |units| updates.add(model.form().value(units));
            sequential_gibbs::sweep(&mut ring, model, 0..usize::MAX, rng, add);
            return updates.end(ring);
        }
        if let (None, Some(model)) = (self.updates, ring.energy.potts())
            && updates.sweep_potts(&mut ring, model, rng)
        {
            return updates.end(ring);
        }
        let sites = ring.layout.sites();
        let binary = ring.layout.kind() == Kind::Binary;
        match self.updates {
            Some(number) if binary => {
                let mut noise = [0.0; LANES];
                for update in 0..number {
                    let lane = update as usize % LANES;
                    if lane == 0 {
                        noise = logistics(rng);
                    }
                    let site = below(sites as u32, rng) as usize;
                    updates.update_binary(&mut ring, site, noise.get(lane).copied().unwrap_or(0.0));
                }
            }
            None if binary => {
                for block in 0..ring.layout.blocks() {
                    let noise = logistics(rng);
                    let of = (block * LANES..sites).zip(noise);
                    of.for_each(|(site, noise)| updates.update_binary(&mut ring, site, noise));
                }
            }
            Some(number) => {
                for _ in 0..number {
                    let site = below(sites as u32, rng) as usize;
                    let u = uniform(rng);
                    updates.update(&mut ring, site, u, rng);
                }
            }
            None => {
                for block in 0..ring.layout.blocks() {
                    let u = uniforms(rng);
                    (block * LANES..sites).zip(u).for_each(|(site, u)| updates.update(&mut ring, site, u, rng));
                }
            }
        }
        updates.end(ring)
    }
}
