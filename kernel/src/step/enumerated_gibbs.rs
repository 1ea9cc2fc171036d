//! Block Gibbs by enumeration.

use super::block::{Block, Lottery, MAX_SITES, MAX_STATES, counts};
use super::{Kernel, ParameterError};
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Energy;
use crate::layout::Layout;
use crate::packed::{Packed, StateError};
use crate::random::uniform;
use rand_core::Rng;

/// Block Gibbs-B (Hamze and de Freitas 2004; METHODS.md §2): B sites drawn uniformly take values from their joint
/// conditional given all others, summed over all their `S^B` states. Every draw is accepted; reversible.
/// Clamped sites of a block keep their value.
///
/// The states are visited in Gray order, each a single-site move from the one before. They are drawn from as they
/// come, and nothing is kept but the sum. States at `+∞` are never drawn. Those at NaN or `−∞` are not drawn either,
/// and count as a fault.
///
/// Cost a step: `S^B` times an [`Energy::shift`] of one site, an exponential and a uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumeratedGibbs {
    sites: usize,
    arity: usize,
}

impl EnumeratedGibbs {
    /// Blocks of `sites` sites, for states of this layout. A chain of a larger arity refuses every step as a
    /// fault.
    ///
    /// # Errors
    /// [`ParameterError::Block`] where a block has no site, more than 12, or more than 4,096 states.
    pub fn new(layout: Layout, sites: usize) -> Result<Self, ParameterError> {
        check(layout, sites, sites)?;
        Ok(Self { sites, arity: layout.arity() })
    }

    /// The log-probability that a step draws `to` where its block is `sites` (no more than the kernel's).
    ///
    /// # Errors
    /// [`StateError`] where `to` is not a state of the chain's layout.
    pub fn log_probability<E: Energy + ?Sized>(
        &self,
        mut ring: Ring<'_, E>,
        sites: &[usize],
        to: Packed<'_>,
    ) -> Result<f32, StateError> {
        let to = to.of(ring.layout)?;
        let block = Block::of(&ring, sites.get(..self.sites).unwrap_or(sites));
        Ok(log_draw(&mut ring, &block, MAX_SITES, to))
    }
}

/// The log-probability of drawing `to` among the states of a block within a radius.
pub(super) fn log_draw<E: Energy + ?Sized>(
    ring: &mut Ring<'_, E>,
    block: &Block,
    radius: usize,
    to: Packed<'_>,
) -> f32 {
    let wanted = block.digits(to);
    let (mut lottery, mut energy) = (Lottery::EMPTY, f32::INFINITY);
    block.visit(ring, radius, |digits, difference| {
        energy = if digits.digits == wanted.digits { difference } else { energy };
        lottery.offer(digits, difference, 0.5);
    });
    let reached = block.joins(ring.here_state(), to);
    if reached { lottery.log_probability(energy) } else { f32::NEG_INFINITY }
}

/// Draws among the states of a block within a radius, and ends the step.
pub(super) fn draw<E: Energy + ?Sized, R: Rng + ?Sized>(
    mut ring: Ring<'_, E>,
    block: &Block,
    radius: usize,
    rng: &mut R,
) -> Info {
    if ring.core.estimates {
        return ring.failed();
    }
    let mut lottery = Lottery::EMPTY;
    let failed = block.visit(&mut ring, radius, |digits, energy| lottery.offer(digits, energy, uniform(rng)));
    ring.core.weights_of = None;
    ring.copy_words();
    if let Some(digits) = lottery.chosen {
        block.put(&mut ring, &digits);
    }
    let difference = ring.arrive();
    ring.close_untested(difference, failed)
}

/// Refuses blocks of too many sites, and balls with more states than a step may visit.
pub(super) fn check(layout: Layout, sites: usize, radius: usize) -> Result<(), ParameterError> {
    let mut arities = [1; MAX_SITES];
    arities.iter_mut().take(sites).for_each(|arity| *arity = layout.arity() as u32);
    let [all, ..] = counts(&arities);
    let few = all.get(radius).is_some_and(|&states| states <= MAX_STATES);
    if few && (1..=MAX_SITES).contains(&sites) { Ok(()) } else { Err(ParameterError::Block(sites)) }
}

impl<E: Energy + ?Sized> Kernel<E> for EnumeratedGibbs {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, E>, rng: &mut R) -> Info {
        if ring.layout.arity() > self.arity {
            return ring.failed();
        }
        let block = Block::draw(&ring, self.sites, rng);
        draw(ring, &block, MAX_SITES, rng)
    }
}
