//! The Metropolis test of a proposal that is as likely as its reverse.

use crate::accept::{Info, accept};
use crate::chain::Ring;
use crate::energy::Energy;
use rand_core::Rng;

/// What the test has to say of the state that stands there: `ln A = E(x) − E(y)`.
pub(super) struct Arrival {
    pub(super) difference: f32,
    pub(super) log_ratio: f32,
    pub(super) fault: bool,
}

/// Moves the cache there, and asks.
pub(super) fn arrive<E: Energy + ?Sized>(ring: &mut Ring<'_, E>) -> Arrival {
    let difference = ring.arrive();
    let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
    let log_ratio = if fault { f32::NEG_INFINITY } else { 0.0 - difference };
    Arrival { difference, log_ratio, fault }
}

/// Ends a step whose proposal stands there.
pub(super) fn close<E: Energy + ?Sized, R: Rng + ?Sized>(mut ring: Ring<'_, E>, rng: &mut R) -> Info {
    let proposed = ring.distance();
    let Arrival { difference, log_ratio, fault } = arrive(&mut ring);
    let accepted = accept(log_ratio, rng) && !fault;
    ring.core.weights_of = None;
    ring.close(Info { accepted, proposed, log_ratio, difference, fault })
}
