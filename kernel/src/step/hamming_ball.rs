//! The Hamming ball sampler.

use super::block::Block;
use super::enumerated_gibbs::{check, draw, log_draw};
use super::{Kernel, ParameterError};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use crate::layout::Layout;
use crate::packed::{Packed, StateError};
use rand_core::Rng;

/// The Hamming ball sampler HB-B-R (Titsias and Yau 2017; METHODS.md §2). In a block of B sites drawn uniformly, u is uniform
/// in the ball of radius R around the state. The new state is drawn from the distribution restricted to the ball around u.
/// Every draw is accepted; reversible. Clamped sites keep their value.
///
/// Uniform in the ball means that a radius comes with the probability of the *number* of states at it. Taken for logits, those
/// numbers give a sampler of another distribution.
///
/// Cost a step: for every state of a ball one [`Energy::shift`] or two of one site, an exponential and a uniform.
/// There are `Σ_{r≤R} (B choose r)(S−1)^r` states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HammingBall {
    sites: usize,
    radius: usize,
    arity: usize,
}

/// The log-probabilities of a step of [`HammingBall`], given its block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallTransition {
    /// Of drawing the centre u around the chain's state.
    pub log_centre: f32,
    /// Of drawing the new state around u.
    pub log_draw: f32,
}

impl HammingBall {
    /// Blocks of `sites` sites and balls of `radius` in them (cut to `sites`), for states of this layout. A chain
    /// of a larger arity refuses every step as a fault.
    ///
    /// # Errors
    /// [`ParameterError::Radius`] where the radius is 0; [`ParameterError::Block`] where a block has no site or
    /// more than 12, or a ball more than 4,096 states.
    pub fn new(layout: Layout, sites: usize, radius: usize) -> Result<Self, ParameterError> {
        if radius == 0 {
            return Err(ParameterError::Radius(0.0));
        }
        let radius = radius.min(sites);
        check(layout, sites, radius)?;
        Ok(Self { sites, radius, arity: layout.arity() })
    }

    /// The log-probabilities of going to `to` by way of `centre` where the block is `sites` (no more than the
    /// kernel's).
    ///
    /// # Errors
    /// [`StateError`] where one of them is not a state of the chain's layout.
    pub fn transition<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        sites: &[usize],
        centre: Packed<'_>,
        to: Packed<'_>,
    ) -> Result<BallTransition, StateError> {
        let (centre, to) = (centre.of(ring.layout)?, to.of(ring.layout)?);
        let block = Block::of(&ring, sites.get(..self.sites).unwrap_or(sites));
        let reached = block.joins(ring.here_state(), centre);
        let log_centre = if reached { block.log_scatter(self.radius, centre) } else { f32::NEG_INFINITY };
        let log_draw = log_draw(&mut ring, &block.around(centre), self.radius, to);
        Ok(BallTransition { log_centre, log_draw })
    }
}

impl<E: Energy + ?Sized> Kernel<E> for HammingBall {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        if ring.layout.arity() > self.arity {
            return ring.failed();
        }
        let block = Block::draw(&ring, self.sites, rng);
        let block = block.scatter(self.radius, rng);
        draw(ring, &block, self.radius, rng)
    }
}
