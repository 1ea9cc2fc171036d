//! Block Gibbs for restricted Boltzmann machines.

use super::Kernel;
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::{Energy, Rbm};
use crate::lane::{F32s, PARTS};
use crate::packed::{Move, Packed};
use crate::random::uniforms;
use rand_core::Rng;

/// Block Gibbs (METHODS.md §2): all hidden units given the visible ones, then all visible units given the
/// hidden ones: `h ~ Bernoulli(σ(Wᵀv + b))`, `v ~ Bernoulli(σ(Wh + a))`. Every draw is accepted; the law is
/// exact. Clamped sites keep their value.
///
/// Cost: one product Wh, `hidden` additions a changed site, a uniform a unit. Where a weight passes 64 or a bias some
/// thousands, the product is a sum of whole numbers, one by one: see [`Rbm::new`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGibbs;

impl Kernel<Rbm<'_>> for BlockGibbs {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Rbm<'_>>, rng: &mut R) -> Info {
        ring.copy_cache();
        ring.energy.draw_hidden(ring.there.cache, rng, ring.there.weights);
        let one = F32s::splat(1.0);
        let words = ring.there.words.iter_mut().zip(ring.here.words.iter()).zip(ring.free);
        for (logits, ((y, &x), &free)) in ring.there.weights.chunks(2).zip(words) {
            let mut drawn = 0;
            for (half, logits) in logits.iter().enumerate() {
                let u = uniforms(rng);
                let mut bits = 0;
                for part in 0..PARTS {
                    let odds = (-F32s::load(logits, part)).exp();
                    bits |= (F32s::load(&u, part) * (one + odds)).lt(one).bits(part);
                }
                drawn |= bits << (16 * half);
            }
            *y = (x & !free) | (drawn & free);
        }
        let here = Packed::trusted(ring.layout, ring.here.words);
        let there = Packed::trusted(ring.layout, ring.there.words);
        let difference = ring.energy.shift(&Move::trusted(here, there), ring.there.cache);
        let fault = difference.is_nan() || difference == f32::NEG_INFINITY;
        ring.core.weights_of = None;
        let log_ratio = if fault { f32::NEG_INFINITY } else { 0.0 };
        let proposed = ring.distance();
        ring.close(Info { accepted: !fault, proposed, log_ratio, difference, fault })
    }
}
