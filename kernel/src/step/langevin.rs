//! The discrete Langevin proposal, with and without its Metropolis test, of first and second order.

mod curvature;
mod second_order;
mod site_by_site;
mod together;
mod weights;

pub use curvature::Curvature;
pub(super) use curvature::per_step_size;
pub(super) use second_order::{inverse, precision_value};

use super::fingerprint::mix;
use super::momentum::Momentum;
use super::{Kernel, ParameterError, Transition};
use crate::accept::{Info, accepts};
use crate::chain::{Momenta, Ring, copy, momentum};
use crate::draw::{Weighed, draw, metropolis, score};
use crate::energy::Energy;
use crate::lane::{Block, LANES, LogProduct};
use crate::noise::{Noise, Still};
use crate::packed::{Packed, StateError};
use crate::random::uniform;
use rand_core::Rng;

/// The discrete Langevin sampler (Zhang, Liu, Liu 2022, Algorithms 1–2; METHODS.md §1).
///
/// Every site moves on its own, given the state. The proposal is `q(y|x) ∝ Π exp(−β ∂ᵢE(x)(yᵢ−xᵢ) − ½cᵢ(yᵢ−xᵢ)²)`
/// with balance β = ½ and curvature c = 1/α, α the step size on the {0,1} scale.
///
/// * [`Langevin::adjusted`] (DMALA) keeps `p ∝ e^(−E)` exactly: every proposal passes the Metropolis test.
/// * [`Langevin::unadjusted`] (DULA) accepts every finite proposal. It converges to *another* distribution. For quadratic
///   energies that is near p at small α: the bias falls like e^(−1/(2α)) (DLP Theorem 5.1). For multilinear ones over bits
///   it does so too. For others a bias may stay at any α, as large as the gradient fails to predict differences of energy
///   (DLP §5.2). On its counterexample, `f = 2ε sin(πs/2)` over one spin, DULA has .50 at ε = 1 and every α, where .98 is
///   right.
///
/// The same type is three more samplers. With one cᵢ a site ([`Curvature::Each`]) it is the preconditioned one. Over
/// an [`Estimate`](crate::energy::Estimate) it is the stochastic-gradient one. With a [`Noise`] `N` it is the
/// second-order one ([`Langevin::second_order`]).
///
/// Gradients of ±∞ are legal: such a move is proposed with the least probability there is
/// ([`LOGIT_LIMIT`](crate::draw::LOGIT_LIMIT)), or with the largest. A chain may hardly move there. Where two
/// infinities cancel, a step is a fault, and so is one that would lead there.
///
/// # Choosing α
/// Scan α and take the one with the largest [jump distance](crate::stats::Acceptance::jump_distance), not the
/// highest acceptance. Near acceptance 1 hardly anything is proposed, near 0 nothing is accepted. A rate between .4
/// and .7 is a usual sign of a good one. Strongly coupled energies have a narrow range.
///
/// Cost a step: one gradient, one uniform a site, and one exponential a site (categorical and ordinal: a
/// value). A site of [`Layout::MANY`](crate::Layout::MANY) values or more takes 192 random bits in place of the uniform.
#[derive(Clone, Copy, Debug)]
pub struct Langevin<'a, N = Still> {
    pub(crate) balance: f32,
    pub(crate) curvature: Curvature<'a>,
    pub(crate) window: u32,
    pub(crate) adjusted: bool,
    noise: N,
    /// κ: the precision of the auxiliary variable of which η is made.
    precision: f32,
    /// How much of η is kept from step to step.
    momentum: Option<Momentum>,
    /// Whether bits flip with min(1, e^z).
    metropolis: bool,
    /// Names the parameters that weights were made with.
    key: u64,
}

/// What a step keeps from its proposal to its test.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// The product of the weights that were drawn.
    pub(crate) chosen: LogProduct,
    /// The auxiliary variable's share in ln A (METHODS.md §3); 0 where there is no noise.
    pub(crate) auxiliary: f32,
    /// Sites that differ.
    pub(crate) proposed: u32,
    /// The uniform of the test.
    pub(crate) uniform: f32,
}

/// How the noise of a proposal goes on, and bits flip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rule {
    pub(crate) momentum: bool,
    pub(crate) metropolis: bool,
}

/// The far end of a proposal.
struct Arrival {
    difference: f32,
    weighed: Weighed,
}

impl Arrival {
    fn fault(&self) -> bool {
        self.weighed.nan || self.difference.is_nan() || self.difference == f32::NEG_INFINITY
    }
}

impl<'a> Langevin<'a> {
    /// With the Metropolis test, at step size α ([DMALA](Langevin)).
    ///
    /// # Errors
    /// [`ParameterError::StepSize`] where α or 1/α is not positive and finite.
    pub fn adjusted(step_size: f32) -> Result<Self, ParameterError> {
        Self::new(0.5, Curvature::Same(per_step_size(1.0, step_size)?), true)
    }

    /// Without the test, at step size α ([DULA](Langevin)): converges to a distribution *near* p.
    ///
    /// # Errors
    /// [`ParameterError::StepSize`] where α or 1/α is not positive and finite.
    pub fn unadjusted(step_size: f32) -> Result<Self, ParameterError> {
        Self::new(0.5, Curvature::Same(per_step_size(1.0, step_size)?), false)
    }

    /// With every parameter free: balance β, curvature, and whether to test.
    ///
    /// # Errors
    /// [`ParameterError`] where β is outside (0, 1] or a curvature is negative or not finite.
    pub fn new(balance: f32, curvature: Curvature<'a>, adjusted: bool) -> Result<Self, ParameterError> {
        Self::with_noise(Still, balance, curvature, adjusted)
    }

    /// Balance, curvature, whether to test, and the key of these.
    pub(crate) fn parameters(&self) -> (f32, Curvature<'a>, bool, u64) {
        (self.balance, self.curvature, self.adjusted, self.key)
    }

    /// The probabilities of a move from the chain's state to `to`, without making it. The cost of a step.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        ring: Ring<'_, E>,
        to: Packed<'_>,
    ) -> Result<Transition, StateError> {
        self.transition_given(ring, to, &[])
    }
}

const NO_WINDOW: u32 = i32::MAX as u32 - 1;

impl<'a, N: Noise> Langevin<'a, N> {
    fn with_noise(
        noise: N,
        balance: f32,
        curvature: Curvature<'a>,
        adjusted: bool,
    ) -> Result<Self, ParameterError> {
        if !(balance > 0.0 && balance <= 1.0) {
            return Err(ParameterError::Balance(balance));
        }
        let (factor, values) = match &curvature {
            Curvature::Same(value) => (1.0, core::slice::from_ref(value)),
            Curvature::Each(blocks) => (1.0, blocks.as_flattened()),
            Curvature::Times(factor, blocks) => (*factor, blocks.as_flattened()),
        };
        let mut key = mix(u64::from(balance.to_bits()), values.len() as u64);
        for (site, &value) in values.iter().enumerate() {
            let value = factor * value;
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ParameterError::Curvature { site, value });
            }
            key = mix(key, u64::from(value.to_bits()));
        }
        for &d in noise.d().unwrap_or_default().as_flattened() {
            key = mix(key, u64::from(d.to_bits()));
        }
        Ok(Self { key, ..Self::trusted(noise, balance, curvature, NO_WINDOW, adjusted, Rule::default()) })
    }

    /// Ordinal sites move by at most `distance` a step (DLP Appendix C), which makes large arities and
    /// windows on unbounded integers affordable. Other sites do not mind.
    #[must_use]
    pub fn within(mut self, distance: u32) -> Self {
        self.window = distance.min(NO_WINDOW);
        self.key = mix(self.key, u64::from(self.window));
        self
    }

    /// A sampler whose parameters were checked before, as for the second half of a step.
    pub(crate) fn trusted(
        noise: N,
        balance: f32,
        curvature: Curvature<'a>,
        window: u32,
        adjusted: bool,
        rule: Rule,
    ) -> Self {
        let (momentum, metropolis) = (rule.momentum.then_some(Momentum::SOME), rule.metropolis);
        Self { balance, curvature, window, adjusted, noise, precision: 1.0, momentum, metropolis, key: 0 }
    }

    /// What else it looks at.
    pub(crate) fn rule(&self) -> Rule {
        Rule { momentum: self.momentum.is_some(), metropolis: self.metropolis }
    }

    /// c of every site, D included.
    pub(crate) fn curvatures(&self, out: &mut [Block], sites: usize) {
        let lanes = out.as_flattened_mut().iter_mut();
        lanes.take(sites).enumerate().for_each(|(site, c)| *c = self.curvature_at(site));
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> &N {
        &self.noise
    }

    /// The probabilities of a move from the chain's state to `to`, without making it. The cost of a step.
    /// With a noise, those given that it drew `eta` ([`Noise::draw`]; blocks that are missing are 0); without
    /// one, `eta` is not looked at.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition_given<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        to: Packed<'_>,
        eta: &[Block],
    ) -> Result<Transition, StateError> {
        ring.put(to)?;
        let given = |slots: &mut [Block], _: Momenta<'_>| {
            slots.fill([0.0; LANES]);
            copy(slots, eta);
        };
        let (nan, forward) = if ring.layout.many_values() {
            self.retrace(&mut ring, given)
        } else {
            let nan = self.weigh_here(&mut ring, given);
            let score = if N::SOME && self.metropolis { metropolis::score } else { score };
            (nan, score(ring.here.weights, ring.here_state(), ring.there_state()))
        };
        let possible = |log_q: LogProduct| if forward.is_some() { log_q.ln() } else { f32::NEG_INFINITY };
        let chosen = forward.unwrap_or(LogProduct::ONE);
        let log_forward = possible(chosen.over(ring.core.normaliser));
        let auxiliary = self.follow(&mut ring);
        let difference = ring.shift();
        let arrival = self.arrive(&mut ring, difference, true);
        let reverse = arrival.weighed.chosen.over(arrival.weighed.normaliser);
        let forbidden = arrival.difference == f32::INFINITY || !arrival.weighed.possible;
        let log_reverse = if forbidden { f32::NEG_INFINITY } else { possible(reverse) };
        let log_ratio = self.log_ratio(chosen, ring.core.normaliser, auxiliary, &arrival);
        let fault = nan || arrival.fault() || (log_ratio.is_nan() && forward.is_some());
        let log_ratio = if fault || forward.is_none() { f32::NEG_INFINITY } else { log_ratio };
        Ok(Transition { log_forward, log_reverse, difference: arrival.difference, log_ratio, fault })
    }

    /// The first half of a step: draws y, and the uniform of its test. `None` where there are no weights to be had.
    #[inline]
    pub(crate) fn ask<E: Energy + ?Sized, R: Rng + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        rng: &mut R,
    ) -> Option<Asked> {
        let no_room = N::SOME
            && self.momentum.is_some()
            && momentum(ring.layout, ring.planes).len() < ring.layout.gradient_blocks();
        if no_room || (ring.core.estimates && self.adjusted) {
            return None;
        }
        let chosen = if ring.layout.many_values() {
            self.depart(ring, rng)?
        } else {
            let planes = ring.layout.row_blocks();
            if self.weigh_here(ring, |eta, kept| self.draw(rng, eta, kept, planes)) {
                return None;
            }
            let here = Packed::trusted(ring.layout, ring.here.words);
            if N::SOME && self.metropolis {
                metropolis::draw(ring.here.weights, here.words(), ring.there.words, rng)
            } else {
                draw(ring.here.weights, here, ring.there.words, rng)
            }
        };
        // An unadjusted sampler never draws it, an adjusted one whatever happens.
        let uniform = if self.adjusted { uniform(rng) } else { 0.0 };
        Some(Asked { chosen, auxiliary: self.follow(ring), proposed: ring.distance(), uniform })
    }

    /// From a drawn y and its energy: the weights there. An unadjusted sampler needs none that it does not keep,
    /// unless `all` are wanted.
    #[inline]
    fn arrive<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>, difference: f32, all: bool) -> Arrival {
        let many = ring.layout.many_values();
        // Past a hard constraint the move is rejected whatever the gradient there is.
        if difference == f32::INFINITY || (many && !self.adjusted && !all) {
            // The way back does not matter.
            let one = LogProduct::ONE;
            let weighed = Weighed { normaliser: one, chosen: one, nan: false, possible: true };
            return Arrival { difference, weighed };
        }
        // With a noise, `there` holds η; the weights here have been drawn from, and their place is free.
        if !ring.layout.row_is_site() {
            ring.gradient_there(N::SOME);
        }
        self.weigh_there(ring, difference)
    }

    /// ln A = E(x) − E(y) + log q(x|y) − log q(y|x), as one quotient of products, and the auxiliary share. −∞ for a fault.
    fn log_ratio(&self, chosen: LogProduct, normaliser: LogProduct, auxiliary: f32, arrival: &Arrival) -> f32 {
        if arrival.fault() {
            return f32::NEG_INFINITY;
        }
        if !self.adjusted {
            return if arrival.difference == f32::INFINITY { f32::NEG_INFINITY } else { 0.0 };
        }
        if N::SOME && !arrival.weighed.possible {
            return f32::NEG_INFINITY;
        }
        let reverse = arrival.weighed.chosen.times(normaliser);
        let forward = chosen.times(arrival.weighed.normaliser);
        let log_ratio = reverse.over(forward).ln() - arrival.difference;
        if N::SOME { log_ratio + auxiliary } else { log_ratio }
    }

    /// The second half of a step: accepts the proposal or not, and ends the step.
    #[inline]
    pub(crate) fn tell<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        asked: Asked,
        difference: f32,
    ) -> Info {
        let arrival = self.arrive(&mut ring, difference, false);
        self.settle(ring, asked, &arrival)
    }

    #[inline]
    fn settle<E: Energy + ?Sized>(&self, ring: Ring<'_, E>, asked: Asked, arrival: &Arrival) -> Info {
        let Asked { chosen, auxiliary, proposed, uniform } = asked;
        let log_ratio = self.log_ratio(chosen, ring.core.normaliser, auxiliary, arrival);
        let accepted = if self.adjusted { accepts(log_ratio, uniform) } else { log_ratio == 0.0 };
        if accepted {
            ring.core.normaliser = arrival.weighed.normaliser;
            if N::SOME && self.momentum.is_some() {
                copy(momentum(ring.layout, ring.planes), ring.there.weights);
            }
        }
        let (difference, fault) = (arrival.difference, arrival.fault());
        ring.close(Info { accepted, proposed, log_ratio, difference, fault })
    }
}

impl<E: Energy + ?Sized, N: Noise> Kernel<E> for Langevin<'_, N> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        let Some(asked) = self.ask(&mut ring, rng) else {
            return ring.failed();
        };
        let difference = ring.shift();
        self.tell(ring, asked, difference)
    }
}
