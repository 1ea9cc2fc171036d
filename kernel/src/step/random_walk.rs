//! Random-walk Metropolis.

use super::symmetric::{Arrival, arrive, test};
use super::{Kernel, ParameterError, Transition};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use crate::lane::{LANES, ln, ln_1p};
use crate::packed::{Packed, StateError, set};
use crate::random::{bernoulli_block, other_value, uniform};
use rand_core::Rng;

/// Random-walk Metropolis (Metropolis et al. 1953; METHODS.md §2): of d sites every free one changes with probability r/d, to a
/// uniform other value. A move is as likely as its reverse, so the Metropolis test takes `A = e^(E(x) − E(y))`. It knows no
/// gradient; others are compared with it.
///
/// # Choosing r
/// The radius r is the mean number of changed sites. An acceptance rate of .234 is a usual sign of a good one. Where
/// single changes are accepted less often than that, no radius above 1 helps. Keep r well below d, and a tuner's
/// upper bound too. From d on every site changes at every step, and a symmetric energy always accepts that, between
/// two states.
///
/// Cost a step: one uniform a site, and one difference of energies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWalk {
    radius: f32,
}

impl RandomWalk {
    /// With radius r, the mean number of sites that a proposal changes; one above the number of sites counts
    /// as that.
    ///
    /// # Errors
    /// [`ParameterError::Radius`] where r is not positive and finite.
    pub fn new(radius: f32) -> Result<Self, ParameterError> {
        let legal = radius > 0.0 && radius.is_finite();
        if legal { Ok(Self { radius }) } else { Err(ParameterError::Radius(radius)) }
    }

    /// The radius.
    #[must_use]
    pub fn radius(&self) -> f32 {
        self.radius
    }

    /// The probability that a site changes.
    fn rate<E: ?Sized>(&self, ring: &Ring<'_, E>) -> f32 {
        let rate = self.radius / ring.layout.sites() as f32;
        if rate < 1.0 { rate } else { 1.0 }
    }

    /// The probabilities of a move from the chain's state to `to`, without making it. O(sites).
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        to: Packed<'_>,
    ) -> Result<Transition, StateError> {
        ring.put(to)?;
        let rate = self.rate(&ring);
        let (change, stay) = (ln(rate), ln_1p(-rate));
        let mut log_q = 0.0;
        for site in 0..ring.layout.sites() {
            let (changes, others) = (ring.here_state().get(site) != to.get(site), ring.arity(site) - 1);
            log_q += match (changes, ring.free(site) && others > 0) {
                (true, true) => change - ln(others as f32),
                (false, true) => stay,
                (true, false) => f32::NEG_INFINITY,
                (false, false) => 0.0,
            };
        }
        let Arrival { difference, log_ratio, fault } = arrive(&mut ring);
        let forbidden = difference == f32::INFINITY;
        let log_reverse = if forbidden { f32::NEG_INFINITY } else { log_q };
        let log_ratio = if log_q == f32::NEG_INFINITY { f32::NEG_INFINITY } else { log_ratio };
        Ok(Transition { log_forward: log_q, log_reverse, difference, log_ratio, fault })
    }

    /// The first half of a step: draws y, and the uniform of its test.
    pub(crate) fn ask<E: Energy + ?Sized, R: Rng + ?Sized>(&self, ring: &mut Ring<'_, E>, rng: &mut R) -> f32 {
        let rate = self.rate(ring);
        ring.copy_words();
        for block in 0..ring.layout.blocks() {
            let mut chosen = bernoulli_block(rate, rng);
            while chosen != 0 {
                let site = block * LANES + chosen.trailing_zeros() as usize;
                chosen &= chosen - 1;
                if ring.free(site) {
                    let value = other_value(ring.here_state().get(site), ring.arity(site), rng);
                    // A legal value of a site that exists.
                    let _ = set(ring.layout, ring.there.words, site, value);
                }
            }
        }
        uniform(rng)
    }
}

impl<E: Energy + ?Sized> Kernel<E> for RandomWalk {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        let uniform = self.ask(&mut ring, rng);
        let difference = ring.arrive();
        test(ring, difference, uniform)
    }
}
