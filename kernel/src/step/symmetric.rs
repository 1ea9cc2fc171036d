//! The Metropolis test of a proposal that is as likely as its reverse.

use crate::accept::{Info, accepts};
use crate::chain::Ring;
use crate::energy::Energy;
use crate::random::uniform;
use rand_core::Rng;

/// What the test has to say of the state in `there`: `ln A = E(x) − E(y)`.
pub(super) struct Arrival {
    pub(super) difference: f32,
    pub(super) log_ratio: f32,
    pub(super) fault: bool,
}

/// Moves the cache there, and asks.
pub(super) fn arrive<E: Energy + ?Sized>(ring: &mut Ring<'_, E>) -> Arrival {
    arrival(ring.arrive())
}

fn arrival(difference: f32) -> Arrival {
    let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
    let log_ratio = if fault { f32::NEG_INFINITY } else { 0.0 - difference };
    Arrival { difference, log_ratio, fault }
}

/// Ends a step whose proposal is in `there`.
pub(super) fn close<E: Energy + ?Sized, R: Rng + ?Sized>(mut ring: Ring<'_, E>, rng: &mut R) -> Info {
    let difference = ring.arrive();
    test(ring, difference, uniform(rng))
}

/// The second half of a step: the test, by a uniform.
pub(crate) fn test<E: ?Sized>(ring: Ring<'_, E>, difference: f32, uniform: f32) -> Info {
    if ring.core.estimates {
        return ring.failed();
    }
    let proposed = ring.distance();
    let Arrival { difference, log_ratio, fault } = arrival(difference);
    let accepted = accepts(log_ratio, uniform) && !fault;
    ring.core.weights_of = None;
    ring.close(Info { accepted, proposed, log_ratio, difference, fault })
}
