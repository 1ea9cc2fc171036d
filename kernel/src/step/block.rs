//! A few sites with all others held: which ones, their states one after another, and a draw among those.

use crate::chain::Ring;
use crate::energy::Energy;
use crate::lane::{Total, exp, ln};
use crate::packed::{Move, Packed, set};
use crate::random::{below, other_value};
use rand_core::Rng;

/// The most sites of a block.
pub(super) const MAX_SITES: usize = 12;
/// The most states that a step visits.
pub(super) const MAX_STATES: u32 = 4096;

/// `counts[i][r]`: states of the sites from i on that differ from a given one in at most r of them.
pub(super) type Counts = [[u32; MAX_SITES + 1]; MAX_SITES + 1];

/// Distinct sites, how many values each has, and a value of each: the block's centre.
#[derive(Clone, Copy)]
pub(super) struct Block {
    places: [Place; MAX_SITES],
    len: usize,
}

#[derive(Clone, Copy)]
struct Place {
    site: usize,
    arity: u32,
    centre: u32,
}

impl Block {
    /// Given sites, at here. A clamped site has one value, and a site named twice counts once.
    pub(super) fn of<E: Energy + ?Sized>(ring: &Ring<'_, E>, sites: &[usize]) -> Self {
        let mut block = Self { places: [Place { site: 0, arity: 1, centre: 0 }; MAX_SITES], len: 0 };
        for &site in sites {
            block.push(ring, site);
        }
        block
    }

    /// `number` sites, every set of them as likely as any other (Floyd 1987), or all where there are fewer.
    pub(super) fn draw<E: Energy + ?Sized, R: Rng + ?Sized>(
        ring: &Ring<'_, E>,
        number: usize,
        rng: &mut R,
    ) -> Self {
        let mut block = Self::of(ring, &[]);
        let sites = ring.layout.sites();
        for last in sites.saturating_sub(number)..sites {
            let site = below(last as u32 + 1, rng) as usize;
            block.push(ring, if block.has(site) { last } else { site });
        }
        block
    }

    fn has(&self, site: usize) -> bool {
        self.each().any(|place| place.site == site)
    }

    fn push<E: Energy + ?Sized>(&mut self, ring: &Ring<'_, E>, site: usize) {
        let new = site < ring.layout.sites() && !self.has(site);
        if let Some(slot) = self.places.get_mut(self.len).filter(|_| new) {
            let arity = if ring.free(site) { ring.arity(site) } else { 1 };
            *slot = Place { site, arity, centre: ring.here_state().get(site) };
            self.len += 1;
        }
    }

    fn each(&self) -> impl Iterator<Item = Place> {
        self.places.iter().take(self.len).copied()
    }

    /// [`Counts`] of its sites.
    fn counts(&self) -> Counts {
        counts(&self.places.map(|place| place.arity))
    }

    /// The same block around the values of another state.
    pub(super) fn around(mut self, state: Packed<'_>) -> Self {
        self.places.iter_mut().for_each(|place| place.centre = state.get(place.site));
        self
    }

    /// The same block around a state drawn uniformly from the ball of `radius` around this one. The probability that
    /// a site keeps its value is the share of the states still possible that keep it.
    pub(super) fn scatter<R: Rng + ?Sized>(mut self, radius: usize, rng: &mut R) -> Self {
        let (mut left, counts) = (radius, self.counts());
        for (place, pair) in self.places.iter_mut().zip(counts.windows(2)).take(self.len) {
            let (all, keep) = ways(pair, left);
            if below(all, rng) >= keep {
                place.centre = other_value(place.centre, place.arity, rng);
                left = left.saturating_sub(1);
            }
        }
        self
    }

    /// The log-probability that [`Block::scatter`] leads from here to the values of a state.
    pub(super) fn log_scatter(&self, radius: usize, to: Packed<'_>) -> f32 {
        let (mut left, mut log) = (radius, 0.0);
        for (Place { site, arity, centre }, pair) in self.each().zip(self.counts().windows(2)) {
            let (all, keep) = ways(pair, left);
            let ways = if to.get(site) == centre {
                keep as f32
            } else {
                left = left.saturating_sub(1);
                (all - keep) as f32 / arity.saturating_sub(1) as f32
            };
            log += if ways > 0.0 { ln(ways) - ln(all as f32) } else { f32::NEG_INFINITY };
        }
        log
    }

    /// Whether two states differ at most at these sites.
    pub(super) fn joins(&self, a: Packed<'_>, b: Packed<'_>) -> bool {
        Move::trusted(a.layout(), a.words(), b.words()).changes().all(|change| self.has(change.site))
    }

    /// Visits the states within `radius` of the centre, in there: `visit` takes the digits of each and
    /// `E − E(here)`, +∞ also where the energy fails. Returns whether it failed anywhere.
    pub(super) fn visit<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        radius: usize,
        mut visit: impl FnMut(&Digits, f32),
    ) -> bool {
        ring.copy_words();
        let mut path = Path { energy: Total::new(0.0), lost: true, fault: false };
        for Place { site, centre, .. } in self.each() {
            path.set(ring, site, centre);
        }
        let mut digits = Digits { digits: [0; MAX_SITES], falling: 0 };
        loop {
            let difference = path.settle(ring);
            visit(&digits, difference);
            let more = if radius >= self.len {
                digits.gray(self, |site, value| path.set(ring, site, value))
            } else {
                digits.count(self, radius, |site, value| path.set(ring, site, value))
            };
            if !more {
                return path.fault;
            }
        }
    }

    /// Sets there to the state of some digits.
    pub(super) fn put<E: ?Sized>(&self, ring: &mut Ring<'_, E>, digits: &Digits) {
        for (Place { site, arity, centre }, &digit) in self.each().zip(&digits.digits) {
            // A legal value of a site that exists.
            let _ = set(ring.layout, ring.there.words, site, turned(centre, digit, arity));
        }
    }

    /// The digits of a state.
    pub(super) fn digits(&self, of: Packed<'_>) -> Digits {
        let mut digits = [0; MAX_SITES];
        for (digit, Place { site, arity, centre }) in digits.iter_mut().zip(self.each()) {
            let value = of.get(site);
            *digit = match (value < centre, value != centre && arity == 1) {
                (_, true) => u32::MAX, // a clamped site: no state of the block
                (true, _) => value + arity - centre,
                (false, _) => value - centre,
            };
        }
        Digits { digits, falling: 0 }
    }
}

/// Counts of all states and of those that keep the first site's value, with `left` changes to make.
fn ways(pair: &[[u32; MAX_SITES + 1]], left: usize) -> (u32, u32) {
    let at = |row: Option<&[u32; MAX_SITES + 1]>| row.and_then(|row| row.get(left)).copied().unwrap_or(1);
    (at(pair.first()), at(pair.get(1)))
}

/// [`Counts`] of sites with these arities; saturated where there are too many.
pub(super) fn counts(arities: &[u32; MAX_SITES]) -> Counts {
    let mut counts = [[1; MAX_SITES + 1]; MAX_SITES + 1];
    let mut after = [1u32; MAX_SITES + 1];
    let [rows @ .., _] = &mut counts;
    for (row, &arity) in rows.iter_mut().rev().zip(arities.iter().rev()) {
        let mut fewer = 0;
        for (count, &keep) in row.iter_mut().zip(&after) {
            *count = keep.saturating_add(arity.saturating_sub(1).saturating_mul(fewer));
            fewer = keep;
        }
        after = *row;
    }
    counts
}

/// A state of a block: how far each site's value is turned from the centre's.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    pub(super) digits: [u32; MAX_SITES],
    /// The places that count downwards.
    falling: u32,
}

impl Digits {
    /// The next state of all, in reflected Gray order: one site changes, by one.
    fn gray(&mut self, block: &Block, mut change: impl FnMut(usize, u32)) -> bool {
        for (place, (digit, Place { site, arity, centre })) in
            self.digits.iter_mut().zip(block.each()).enumerate()
        {
            let falls = (self.falling >> place) & 1 == 1;
            if (falls && *digit > 0) || (!falls && *digit + 1 < arity) {
                *digit = if falls { *digit - 1 } else { *digit + 1 };
                change(site, turned(centre, *digit, arity));
                return true;
            }
            self.falling ^= 1 << place;
        }
        false
    }

    /// The next state of the ball, counting upwards: two sites change, in the mean at most.
    fn count(&mut self, block: &Block, radius: usize, mut change: impl FnMut(usize, u32)) -> bool {
        // How many sites differ from the centre.
        let mut weight = self.digits.iter().filter(|&&digit| digit != 0).count();
        for (digit, Place { site, arity, centre }) in self.digits.iter_mut().zip(block.each()) {
            if *digit + 1 < arity && (*digit > 0 || weight < radius) {
                *digit += 1;
                change(site, turned(centre, *digit, arity));
                return true;
            }
            if *digit > 0 {
                (*digit, weight) = (0, weight - 1);
                change(site, centre);
            }
        }
        false
    }
}

/// The centre's value, turned by a digit. A clamped site has no other digit than 0, whatever its value.
fn turned(centre: u32, digit: u32, arity: u32) -> u32 {
    let sum = centre + digit;
    if digit == 0 || sum < arity { sum } else { sum - arity }
}

/// The energy along a walk of there. Behind a hard constraint or a fault the cache says nothing: it is made again.
struct Path {
    energy: Total,
    lost: bool,
    fault: bool,
}

/// Whether a state is so far away that a difference from it has lost the digits of those near by.
fn far(difference: f32) -> bool {
    difference.is_nan() || difference.abs() >= 4096.0
}

impl Path {
    fn set<E: Energy + ?Sized>(&mut self, ring: &mut Ring<'_, E>, site: usize, value: u32) {
        if self.lost {
            // A legal value of a site that exists.
            let _ = set(ring.layout, ring.there.words, site, value);
        } else {
            let difference = ring.set(site, value);
            self.energy.add(difference);
            self.lost = far(difference);
        }
    }

    fn settle<E: Energy + ?Sized>(&mut self, ring: &mut Ring<'_, E>) -> f32 {
        if self.lost {
            self.energy = Total::new(ring.arrive());
        }
        let difference = self.energy.value();
        self.lost = far(difference);
        self.fault |= difference.is_nan() || difference == f32::NEG_INFINITY;
        if difference.is_finite() { difference } else { f32::INFINITY }
    }
}

/// A draw from states that come one by one, `p ∝ e^(−E)`. Each replaces the chosen one with a probability: its share
/// of the sum so far. So only the chosen state and the sum are kept.
pub(super) struct Lottery {
    pub(super) chosen: Option<Digits>,
    least: f32,
    sum: f32,
}

impl Lottery {
    pub(super) const EMPTY: Self = Self { chosen: None, least: 0.0, sum: 0.0 };

    /// Takes a state, and one uniform.
    #[inline]
    pub(super) fn offer(&mut self, digits: &Digits, energy: f32, uniform: f32) {
        if energy == f32::INFINITY {
            return;
        }
        let mut weight = 1.0;
        if self.chosen.is_none() {
            self.least = energy;
        } else if energy < self.least {
            self.sum *= exp(energy - self.least);
            self.least = energy;
        } else {
            weight = exp(self.least - energy);
        }
        // The test is for the less likely outcome: relative precision on both sides.
        let at = uniform * (self.sum + weight);
        let taken = if weight < self.sum { at < weight } else { at >= self.sum };
        if taken || self.chosen.is_none() {
            self.chosen = Some(*digits);
        }
        self.sum += weight;
    }

    /// The log-probability of having drawn a state of this energy.
    pub(super) fn log_probability(&self, energy: f32) -> f32 {
        self.least - energy - ln(self.sum)
    }
}
