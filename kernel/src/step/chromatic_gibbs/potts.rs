//! Chromatic Gibbs for Potts models.

use super::ChromaticGibbs;
use crate::accept::Info;
use crate::chain::Ring;
use crate::energy::Potts;
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use crate::packed::{Change, Packed, set};
use crate::random::uniforms;
use crate::step::Kernel;
use crate::step::gibbs::Updates;
use rand_core::Rng;

/// Weights of every value, `e^(field − largest)`, plane by plane, from a block's fields.
#[inline]
fn weigh(fields: &[Bits], unit: f32, weights: &mut [Block]) {
    let unit = F32s::splat(unit);
    for part in 0..PARTS {
        let mut most = F32s::splat(f32::NEG_INFINITY);
        for (fields, weights) in fields.iter().zip(weights.iter_mut()) {
            let z = F32s::from_i32(U32s::load(fields, part)) * unit;
            most = most.lt(z).pick(z, most);
            z.store(weights, part);
        }
        for weights in weights.iter_mut() {
            (F32s::load(weights, part) - most).exp().store(weights, part);
        }
    }
}

/// Draws a value in every lane: first whether it is another than the likeliest, then along the running sum.
#[inline]
fn draw(weights: &[Block], u: &Block, values: &mut Bits) {
    let (zero, one, never) = (F32s::splat(0.0), F32s::splat(1.0), Mask::from_bits(0, 0));
    for part in 0..PARTS {
        let (mut likeliest, mut found, mut others) = (U32s::splat(0), never, zero);
        for (k, weights) in (0..).zip(weights) {
            let w = F32s::load(weights, part);
            let first = !found & w.eq(one);
            likeliest = likeliest | first.keep(U32s::splat(k));
            found = found | first;
            others = others + first.pick(zero, w);
        }
        let at = F32s::load(u, part) * (one + others);
        let mut walking = at.lt(others);
        let (mut value, mut sum) = ((!walking).keep(likeliest), zero);
        for (k, weights) in (0..).zip(weights) {
            let here = U32s::splat(k).eq(likeliest);
            sum = sum + here.pick(zero, F32s::load(weights, part));
            let stop = walking & !here & at.lt(sum);
            value = value | stop.keep(U32s::splat(k));
            walking = walking & !stop;
        }
        value.store(values, part);
    }
}

impl ChromaticGibbs<'_> {
    /// Writes to `out` the log-probability of every value of a Potts site given the rest of the chain's state. It is
    /// made from the weights that a sweep draws by. (Those of an Ising site follow from
    /// [`SequentialGibbs::log_odds`](super::super::SequentialGibbs::log_odds).)
    pub fn conditional(ring: Ring<'_, Potts<'_>>, site: usize, out: &mut [f32]) {
        let arity = ring.layout.arity();
        let planes = ring.here.cache.chunks_exact(arity).nth(site / LANES).unwrap_or_default();
        let weights = ring.there.weights.get_mut(..arity).unwrap_or_default();
        weigh(planes, ring.energy.form().unit(), weights);
        let of = |plane: &Block| plane.get(site % LANES).copied().unwrap_or(0.0);
        let sum: f32 = weights.iter().map(of).sum();
        for (out, plane) in out.iter_mut().zip(weights.iter()) {
            *out = crate::lane::ln(of(plane)) - crate::lane::ln(sum);
        }
    }
}

impl Kernel<Potts<'_>> for ChromaticGibbs<'_> {
    fn step<R: Rng + ?Sized>(&self, mut ring: Ring<'_, Potts<'_>>, rng: &mut R) -> Info {
        // Fields of many values are laid out the other way round.
        if ring.layout.many_values() || !self.colouring.fits(ring.energy.form()) {
            return ring.failed();
        }
        let mut updates = Updates::begin(&mut ring);
        let (layout, unit) = (ring.layout, ring.energy.form().unit());
        let (mut difference, mut values) = (0, [0; LANES]);
        for class in self.colouring.classes() {
            for block in 0..layout.blocks() {
                let mut among = class.bits(block);
                if among == 0 {
                    continue;
                }
                let fields = ring.there.cache.get(block * layout.arity()..(block + 1) * layout.arity());
                let weights = ring.there.weights.get_mut(..layout.arity()).unwrap_or_default();
                weigh(fields.unwrap_or_default(), unit, weights);
                draw(weights, &uniforms(rng), &mut values);
                while among != 0 {
                    let lane = among.trailing_zeros() as usize;
                    among &= among - 1;
                    let site = block * LANES + lane;
                    let to = values.get(lane).copied().unwrap_or(0);
                    let from = Packed::trusted(layout, ring.there.words).get(site);
                    if from != to && ring.free(site) {
                        // A legal value of a site that exists.
                        let _ = set(layout, ring.there.words, site, to);
                        difference += ring.energy.change(Change { site, from, to }, ring.there.cache);
                    }
                }
            }
        }
        updates.add(ring.energy.form().value(difference));
        updates.end(ring)
    }
}
