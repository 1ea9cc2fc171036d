//! The discrete Langevin proposal, with and without its Metropolis test.

use super::Kernel;
use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::draw::{Domain, Shape, Weighed, draw, score, weigh};
use crate::energy::Energy;
use crate::lane::{Block, F32s, LogProduct};
use crate::packed::{Move, Packed, StateError};
use rand_core::Rng;

/// The discrete Langevin sampler (Zhang, Liu, Liu 2022, Algorithms 1–2; METHODS.md §1).
///
/// Every site moves on its own, given the state:
/// `q(y|x) ∝ Π exp(−β ∂ᵢE(x)(yᵢ−xᵢ) − ½cᵢ(yᵢ−xᵢ)²)` with balance β = ½ and curvature c = 1/α, α the step
/// size on the {0,1} scale.
///
/// * [`Langevin::adjusted`] (DMALA) keeps `p ∝ e^(−E)` exactly: every proposal passes the Metropolis test.
/// * [`Langevin::unadjusted`] (DULA) accepts every finite proposal. It converges to *another* law, near p
///   for small α: the bias falls like e^(−1/(2α)) (DLP Theorem 5.1).
///
/// The same type is the preconditioned sampler (one cᵢ a site, [`Curvature::Each`]) and, over an
/// [`Estimate`](crate::energy::Estimate), the stochastic-gradient one.
///
/// # Choosing α
/// Scan α and take the one with the largest [jump distance](crate::stats::Acceptance::jump_distance), not the
/// highest acceptance: near acceptance 1 hardly anything is proposed, near 0 nothing is accepted. A rate
/// between .4 and .7 is a usual sign of a good one. Strongly coupled energies have a narrow range.
///
/// Cost a step: one gradient, one uniform a site, and one exponential a site (categorical and ordinal: a
/// value).
#[derive(Clone, Copy, Debug)]
pub struct Langevin<'a> {
    balance: f32,
    curvature: Curvature<'a>,
    window: u32,
    adjusted: bool,
    /// Names the parameters that weights were made with.
    key: u64,
}

/// The curvature c of the proposal: the inverse step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curvature<'a> {
    /// The same at every site.
    Same(f32),
    /// One a site (DLP §6, preconditioning): `cᵢ = 1/(α pᵢ)`. Lanes past the last site are ignored. A chain
    /// with more blocks of sites than this refuses every step as a fault.
    Each(&'a [Block]),
}

/// Why a sampler's parameter is illegal.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ParameterError {
    /// A step size must be positive and finite, and so must its inverse.
    StepSize(f32),
    /// A balance must be in (0, 1].
    Balance(f32),
    /// A curvature must be finite and not negative.
    Curvature {
        /// The site (0 where all sites share one).
        site: usize,
        /// Its curvature.
        value: f32,
    },
}

impl core::fmt::Display for ParameterError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::StepSize(value) => write!(f, "step size {value} is not positive and finite"),
            Self::Balance(value) => write!(f, "balance {value} is not in (0, 1]"),
            Self::Curvature { site, value } => {
                write!(f, "curvature {value} of site {site} is not finite and at least 0")
            }
        }
    }
}

impl core::error::Error for ParameterError {}

/// A step that might be taken, with its probabilities: for tests, and for kernels built from this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// `log q(y|x)`; −∞ where a clamped site would move, or an ordinal one past its window.
    pub log_forward: f32,
    /// `log q(x|y)`; −∞ also where y is forbidden, so that no chain comes from there.
    pub log_reverse: f32,
    /// `E(y) − E(x)`.
    pub difference: f32,
    /// ln A, before it is cut at 0; 0 for an unadjusted sampler; −∞ for a move that is never made.
    pub log_ratio: f32,
    /// Whether the energy failed at y.
    pub fault: bool,
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
        Self::new(0.5, curvature_of(step_size)?, true)
    }

    /// Without the test, at step size α ([DULA](Langevin)): converges to a law *near* p.
    ///
    /// # Errors
    /// [`ParameterError::StepSize`] where α or 1/α is not positive and finite.
    pub fn unadjusted(step_size: f32) -> Result<Self, ParameterError> {
        Self::new(0.5, curvature_of(step_size)?, false)
    }

    /// With every parameter free: balance β, curvature, and whether to test.
    ///
    /// # Errors
    /// [`ParameterError`] where β is outside (0, 1] or a curvature is negative or not finite.
    pub fn new(balance: f32, curvature: Curvature<'a>, adjusted: bool) -> Result<Self, ParameterError> {
        if !(balance > 0.0 && balance <= 1.0) {
            return Err(ParameterError::Balance(balance));
        }
        let values = match &curvature {
            Curvature::Same(value) => core::slice::from_ref(value),
            Curvature::Each(blocks) => blocks.as_flattened(),
        };
        let mut key = mix(u64::from(balance.to_bits()), values.len() as u64);
        for (site, &value) in values.iter().enumerate() {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ParameterError::Curvature { site, value });
            }
            key = mix(key, u64::from(value.to_bits()));
        }
        Ok(Self { balance, curvature, window: Self::NO_WINDOW, adjusted, key })
    }

    const NO_WINDOW: u32 = i32::MAX as u32 - 1;

    /// Ordinal sites move by at most `distance` a step (DLP Appendix C), which makes large arities and
    /// windows on unbounded integers affordable. Other sites do not mind.
    #[must_use]
    pub fn within(mut self, distance: u32) -> Self {
        self.window = distance.min(Self::NO_WINDOW);
        self.key = mix(self.key, u64::from(self.window));
        self
    }

    /// The probabilities of a move from the chain's state to `to`, without making it. The cost of a step.
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        to: Packed<'_>,
    ) -> Result<Transition, StateError> {
        let to = to.of(ring.layout)?;
        for (slot, &word) in ring.there.words.iter_mut().zip(to.words()) {
            *slot = word;
        }
        let nan = self.weigh_here(&mut ring);
        let (here, there) = (ring.here_state(), ring.there_state());
        let forward = score(ring.here.weights, here, there);
        let possible = |log_q: LogProduct| if forward.is_some() { log_q.ln() } else { f32::NEG_INFINITY };
        let chosen = forward.unwrap_or(LogProduct::ONE);
        let log_forward = possible(chosen.over(ring.core.normaliser));
        let arrival = self.arrive(&mut ring);
        let reverse = arrival.weighed.chosen.over(arrival.weighed.normaliser);
        let forbidden = arrival.difference == f32::INFINITY;
        let log_reverse = if forbidden { f32::NEG_INFINITY } else { possible(reverse) };
        let fault = nan || arrival.fault();
        let never = fault || forward.is_none();
        let log_ratio = if never { f32::NEG_INFINITY } else { self.log_ratio(&ring, chosen, &arrival) };
        Ok(Transition { log_forward, log_reverse, difference: arrival.difference, log_ratio, fault })
    }

    /// Weights at `here`, unless they are there from the step before; true where there are none to be had: a
    /// gradient is NaN, or the curvatures are too few.
    fn weigh_here<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>) -> bool {
        if ring.core.weights_of == Some(self.key) {
            return false;
        }
        if matches!(self.curvature, Curvature::Each(blocks) if blocks.len() < ring.layout.blocks()) {
            return true;
        }
        let here = Packed::trusted(ring.layout, ring.here.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        let blocks = 0..ring.layout.blocks();
        ring.energy.gradient(here, ring.here.cache, blocks, ring.here.weights);
        // There is no move to score yet: `chosen` is not used.
        let weighed = self.weigh(ring.here.weights, here, here, domain);
        ring.core.normaliser = weighed.normaliser;
        ring.core.weights_of = if weighed.nan { None } else { Some(self.key) };
        weighed.nan
    }

    /// From a drawn y: its cache, its energy and its weights.
    fn arrive<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>) -> Arrival {
        ring.copy_cache();
        let here = Packed::trusted(ring.layout, ring.here.words);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let domain = Domain { free: Packed::trusted(ring.layout, ring.free), arities: ring.energy.arities() };
        let difference = ring.energy.shift(&Move::trusted(here, there), ring.there.cache);
        if difference == f32::INFINITY {
            // A wall: the move is rejected whatever the gradient there is.
            let one = LogProduct::ONE;
            return Arrival { difference, weighed: Weighed { normaliser: one, chosen: one, nan: false } };
        }
        let blocks = 0..ring.layout.blocks();
        ring.energy.gradient(there, ring.there.cache, blocks, ring.there.weights);
        Arrival { difference, weighed: self.weigh(ring.there.weights, there, here, domain) }
    }

    #[inline]
    fn weigh(&self, weights: &mut [Block], at: Packed<'_>, other: Packed<'_>, domain: Domain<'_>) -> Weighed {
        let shape = Shape { balance: self.balance, window: self.window };
        match self.curvature {
            Curvature::Same(c) => {
                let c = F32s::splat(c);
                weigh(weights, at, other, domain, shape, |_, _| c)
            }
            Curvature::Each(blocks) => weigh(weights, at, other, domain, shape, |block, part| {
                blocks.get(block).map_or(F32s::splat(0.0), |c| F32s::load(c, part))
            }),
        }
    }

    /// ln A = E(x) − E(y) + log q(x|y) − log q(y|x), as one quotient of products.
    fn log_ratio<E: ?Sized>(&self, ring: &Ring<'_, E>, chosen: LogProduct, arrival: &Arrival) -> f32 {
        if !self.adjusted {
            return if arrival.difference == f32::INFINITY { f32::NEG_INFINITY } else { 0.0 };
        }
        let reverse = arrival.weighed.chosen.times(ring.core.normaliser);
        let forward = chosen.times(arrival.weighed.normaliser);
        reverse.over(forward).ln() - arrival.difference
    }
}

impl<E: Energy + ?Sized> Kernel<E> for Langevin<'_> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        if self.weigh_here(&mut ring) {
            return ring.failed();
        }
        let here = Packed::trusted(ring.layout, ring.here.words);
        let chosen = draw(ring.here.weights, here, ring.there.words, rng);
        let proposed = ring.distance();
        let arrival = self.arrive(&mut ring);
        let fault = arrival.fault();
        let log_ratio = if fault { f32::NEG_INFINITY } else { self.log_ratio(&ring, chosen, &arrival) };
        // The uniform is drawn whatever happened, by an unadjusted sampler never.
        let accepted = if self.adjusted { accept(log_ratio, rng) } else { log_ratio == 0.0 };
        if accepted {
            ring.core.normaliser = arrival.weighed.normaliser;
        }
        ring.close(Info { accepted, proposed, log_ratio, difference: arrival.difference, fault })
    }
}

fn curvature_of<'a>(step_size: f32) -> Result<Curvature<'a>, ParameterError> {
    let curvature = 1.0 / step_size;
    if !(step_size > 0.0 && step_size.is_finite() && curvature.is_finite()) {
        return Err(ParameterError::StepSize(step_size));
    }
    Ok(Curvature::Same(curvature))
}

/// One round of a 64-bit hash (the finaliser of SplitMix64), to tell parameters apart.
fn mix(key: u64, value: u64) -> u64 {
    let z = key.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ value;
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
