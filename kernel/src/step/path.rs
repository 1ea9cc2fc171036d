//! What samplers that draw indices share: a step along a path of single-site moves.
//!
//! ```text
//! weights here → a path of indices → there, E → weights there → the path back → accept?
//! ```
//! Detailed balance holds path by path: `π(x) q(path|x) A = π(y) q(path back|y) A'`.

mod many;

use super::{ParameterError, Transition};
use crate::accept::{Info, accepts};
use crate::chain::{Point, Ring};
use crate::draw::Domain;
use crate::draw::index::{MAX_INDICES, Order, Path, draw, score, total};
use crate::draw::logits::{weigh, weigh_exactly};
use crate::energy::Energy;
use crate::lane::{Block, LogProduct};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, StateError, check, set};
use crate::random::uniform;
use rand_core::Rng;

/// One index of a path: a site, and the value that it takes. For tests, which enumerate paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The site.
    pub site: usize,
    /// Its new value.
    pub value: u32,
}

/// How a path is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Indices of a path.
    pub(crate) indices: u32,
    /// Whether weights come from gradients, or from exact differences (then one index only).
    pub(crate) order: Order,
    /// Whether a binary site may be drawn again.
    pub(crate) replace: bool,
    /// Whether the way back takes the indices in reverse order.
    pub(crate) backwards: bool,
}

/// A sampler of paths of R indices that are drawn by the gradient.
macro_rules! of_indices {
    ($(#[$doc:meta])* $name:ident { replace: $replace:literal, backwards: $backwards:literal }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            pub(crate) paths: crate::step::path::Paths,
        }

        impl $name {
            /// With R indices a step.
            ///
            /// # Errors
            /// [`ParameterError::Indices`](crate::step::ParameterError::Indices) where R is not from 1 to 64.
            pub fn new(indices: u32) -> Result<Self, crate::step::ParameterError> {
                let indices = crate::step::path::Paths::indices(indices)?;
                let order = crate::draw::index::Order::Planes;
                let (replace, backwards) = ($replace, $backwards);
                Ok(Self { paths: crate::step::path::Paths { indices, order, replace, backwards } })
            }

            /// The probabilities of one sequence of draws from the chain's state, without making the move. They are
            /// log q of the sequence, and of the sequence back from where it leads. The cost of a step.
            ///
            /// # Errors
            /// [`StateError`](crate::StateError) where a site or value does not exist.
            pub fn transition<E: crate::Energy + ?Sized>(
                &self,
                ring: crate::chain::Ring<'_, E>,
                path: &[crate::step::Choice],
            ) -> Result<crate::step::Transition, crate::StateError> {
                self.paths.transition(ring, path)
            }
        }

        impl<E: crate::Energy + ?Sized> crate::Kernel<E> for $name {
            fn step<R: rand_core::Rng + ?Sized>(
                &self,
                ring: crate::chain::Ring<'_, E>,
                rng: &mut R,
            ) -> crate::Info {
                self.paths.step(ring, rng)
            }
        }
    };
}

pub(crate) use of_indices;

/// What weights at a state were made of, beside the parameters that other samplers make theirs with.
const KEY_GRADIENT: u64 = u64::from_le_bytes(*b"gradient");
const KEY_EXACT: u64 = u64::from_le_bytes(*b"exactly.");

/// What a step keeps from its path to its test.
pub(crate) struct Asked<S, F> {
    /// The sites of the path, in its order.
    pub(crate) sites: S,
    /// The probability of the path, if it can be drawn; its logarithm among sites of many values.
    pub(crate) forward: F,
    pub(crate) proposed: u32,
    /// The uniform of the test.
    pub(crate) uniform: f32,
}

/// The far end of a path.
struct Arrival {
    difference: f32,
    /// The probability of the path back, if it is possible.
    reverse: Option<LogProduct>,
    fault: bool,
}

impl Arrival {
    /// ln A = log q(path back|y) − log q(path|x) − (E(y) − E(x)).
    fn log_ratio(&self, forward: Option<LogProduct>) -> f32 {
        match (forward, self.reverse) {
            (Some(forward), Some(reverse)) if !self.fault => reverse.over(forward).ln() - self.difference,
            _ => f32::NEG_INFINITY,
        }
    }
}

impl Paths {
    /// Checks a number of indices.
    pub(crate) fn indices(indices: u32) -> Result<u32, ParameterError> {
        let legal = indices >= 1 && indices as usize <= MAX_INDICES;
        if legal { Ok(indices) } else { Err(ParameterError::Indices(indices)) }
    }

    /// One transition.
    pub(super) fn step<E: Energy + ?Sized, R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        if ring.core.estimates {
            return ring.failed();
        }
        // Of the energy itself: where its layout is a constant, what is not for it is left out of the image.
        if ring.energy.layout().many_values() {
            let Some(asked) = self.ask_by_sites(&mut ring, rng) else {
                return ring.failed();
            };
            let difference = ring.shift();
            return self.tell_by_sites(ring, asked, difference);
        }
        self.step_by_weights(ring, rng)
    }

    #[inline(never)] // its path must not weigh on the stack of sites of many values
    fn step_by_weights<E: Energy + ?Sized, R: Rng + ?Sized>(&self, mut ring: Ring<'_, E>, rng: &mut R) -> Info {
        let Some(asked) = self.ask(&mut ring, rng) else {
            return ring.failed();
        };
        let difference = ring.shift();
        self.tell(ring, asked, difference)
    }

    /// The first half of a step: draws a path, and the uniform of its test. `None` where there are no weights to be had.
    pub(crate) fn ask<E: Energy + ?Sized, R: Rng + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        rng: &mut R,
    ) -> Option<Asked<impl DoubleEndedIterator<Item = usize> + Clone + use<E, R>, Option<LogProduct>>> {
        if !self.weigh_here(ring) {
            return None;
        }
        let (planes, replace) = self.shape(ring);
        let sums = ring.there.weights.as_flattened_mut();
        let (path, all) = draw(ring.here.weights, planes, (self.indices, replace), sums, rng);
        let forward = self.score(ring.here.weights, (planes, replace), all, &path);
        self.go(ring, &path);
        // The uniform is drawn whatever happened.
        let uniform = uniform(rng);
        Some(Asked { sites: self.sites(ring.layout, path), forward, proposed: ring.distance(), uniform })
    }

    /// The second half of a step: the energy, the way back, the test.
    pub(crate) fn tell<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        asked: Asked<impl DoubleEndedIterator<Item = usize>, Option<LogProduct>>,
        difference: f32,
    ) -> Info {
        let arrival = self.arrive(&mut ring, asked.sites, difference);
        let log_ratio = arrival.log_ratio(asked.forward);
        let accepted = accepts(log_ratio, asked.uniform);
        let Asked { proposed, .. } = asked;
        ring.close(Info { accepted, proposed, log_ratio, difference, fault: arrival.fault })
    }

    /// The sites of a path, in its order.
    fn sites(&self, layout: Layout, path: Path) -> impl DoubleEndedIterator<Item = usize> + Clone + use<> {
        let (order, len) = (self.order, path.places().len());
        (0..len).map(move |index| path.places().get(index).map_or(0, |&place| order.site(layout, place)))
    }

    /// The probabilities of a path of the chain's choice, without taking it. Nothing is computed at the far
    /// end of a path that is never drawn.
    pub(super) fn transition<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        choices: &[Choice],
    ) -> Result<Transition, StateError> {
        let (layout, mut path, mut possible) = (ring.layout, Path::EMPTY, true);
        for &Choice { site, value } in choices {
            check(layout, site, value)?;
            possible &= value != ring.here_state().get(site);
            possible &= path.push(self.order.place(layout, site, value));
        }
        if ring.energy.layout().many_values() {
            return Ok(self.transition_by_sites(ring, choices, possible));
        }
        if !self.weigh_here(&mut ring) {
            return Ok(Transition { fault: true, ..Transition::NEVER });
        }
        let (weights, shape) = (&*ring.here.weights, self.shape(&ring));
        let Some(forward) = self.score(weights, shape, total(weights), &path).filter(|_| possible) else {
            return Ok(Transition::NEVER);
        };
        self.go(&mut ring, &path);
        let difference = ring.shift();
        let sites = self.sites(layout, path);
        let arrival = self.arrive(&mut ring, sites, difference);
        Ok(Transition {
            log_forward: forward.ln(),
            log_reverse: arrival.reverse.map_or(f32::NEG_INFINITY, LogProduct::ln),
            difference,
            log_ratio: arrival.log_ratio(Some(forward)),
            fault: arrival.fault,
        })
    }

    /// Planes of a row of weights, and whether a site may be drawn again. If two values of one site were drawn, one
    /// of them would have no way back.
    fn shape<E: ?Sized>(&self, ring: &Ring<'_, E>) -> (usize, bool) {
        (self.order.planes(ring.layout), self.replace && ring.layout.kind() == Kind::Binary)
    }

    /// Weights at `here`, unless they are there from the step before; false where there are none to be had.
    fn weigh_here<E: Energy + ?Sized>(&self, ring: &mut Ring<'_, E>) -> bool {
        let key = if self.order == Order::Planes { KEY_GRADIENT } else { KEY_EXACT };
        if ring.core.weights_of != Some(key) {
            if self.order == Order::Planes {
                ring.gradient_here();
            }
            let found = self.weigh(ring.energy, &mut ring.here, ring.free);
            ring.core.weights_of = found.map(|_| key);
        }
        ring.core.weights_of.is_some()
    }

    /// The weights of every move from a point, made of the gradient that is in their place, and their sum.
    fn weigh<E: Energy + ?Sized>(&self, energy: &E, at: &mut Point<'_>, free: &[u32]) -> Option<u128> {
        let layout = energy.layout();
        let domain = Domain { free: Packed::trusted(layout, free), arities: energy.arities() };
        match self.order {
            Order::Planes => weigh(at.weights, Packed::trusted(layout, at.words), domain),
            Order::Sites => weigh_exactly(at.weights, energy, at.words, at.cache, domain),
        }
    }

    /// The probability of a whole path among these weights, which add up to `all`; `None` where it is never drawn, or ends
    /// too early.
    fn score(&self, weights: &[Block], shape: (usize, bool), all: u128, path: &Path) -> Option<LogProduct> {
        let (q, left) = score(weights, shape.0, all, path.places(), shape.1)?;
        let missing = (self.indices as usize).checked_sub(path.places().len())?;
        (missing == 0 || left == 0).then_some(q)
    }

    /// Writes the end of a path from `here` to `there`.
    fn go<E: ?Sized>(&self, ring: &mut Ring<'_, E>, path: &Path) {
        ring.copy_words();
        let here = Packed::trusted(ring.layout, ring.here.words);
        for &place in path.places() {
            let (site, value) = self.order.choice(here, place);
            // The places of weights are sites and values of the layout: there is nothing to refuse.
            let _ = set(ring.layout, ring.there.words, site, value);
        }
    }

    /// From the end of a path: its weights, and the probability of the way back.
    fn arrive<E: Energy + ?Sized>(
        &self,
        ring: &mut Ring<'_, E>,
        sites: impl DoubleEndedIterator<Item = usize>,
        difference: f32,
    ) -> Arrival {
        if difference == f32::INFINITY {
            // A hard constraint: the move is rejected whatever the weights there are.
            return Arrival { difference, reverse: None, fault: false };
        }
        let here = Packed::trusted(ring.layout, ring.here.words);
        let (layout, order, mut back) = (ring.layout, self.order, Path::EMPTY);
        let mut push = |site| _ = back.push(order.place(layout, site, here.get(site)));
        if self.backwards {
            sites.rev().for_each(push)
        } else {
            sites.for_each(&mut push)
        }
        if order == Order::Planes {
            ring.gradient_there(false);
        }
        let Some(all) = self.weigh(ring.energy, &mut ring.there, ring.free) else {
            return Arrival { difference, reverse: None, fault: true };
        };
        let reverse = self.score(ring.there.weights, self.shape(ring), all, &back);
        let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
        Arrival { difference, reverse, fault }
    }
}
