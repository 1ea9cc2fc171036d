//! Categorical and ordinal sites: a plane of weights for every value, one site a lane.
//!
//! The weights of value k in block b are `weights[b · arity + k]`. At least one value of a site has weight 1. The
//! draw first decides whether it is another one, `u(1+E) < E` with E the sum of the others, and then walks along
//! their running sum. A value past a site's arity or window has weight 0. Any other has at least e^(−30), so that
//! what can be proposed has a way back.

use super::{Domain, LOGIT_LIMIT, Shape, Weighed};
use crate::lane::{Bits, Block, F32s, LANES, LogProduct, Mask, PARTS, Product, U32s};
use crate::layout::{Kind, Layout};
use crate::packed::{Packed, store_lanes};
use crate::random::uniforms;
use rand_core::Rng;

/// Logits relative to staying (METHODS.md §1), G = ∂E/∂x: `−β(G_k − G_x) − c[k ≠ x]` for one-hot values,
/// `−βGv − ½cv²`, v = k − x, for ordinal ones. One copy of the code does for every `curvature(block, part)`, which is c.
#[inline(never)] // its buffers must not weigh on the stack of binary chains
pub(crate) fn weigh(
    weights: &mut [Block],
    at: Packed<'_>,
    other: Packed<'_>,
    domain: Domain<'_>,
    shape: Shape,
    curvature: &dyn Fn(usize, usize) -> F32s,
) -> Weighed {
    let layout = at.layout();
    let ordinal = layout.kind() == Kind::Ordinal;
    if ordinal {
        spread(weights, layout);
    }
    let (balance, half) = (F32s::splat(shape.balance), F32s::splat(0.5));
    let window = U32s::splat(shape.window + 1);
    // A value that may not be drawn has no logit; one of −∞ is cut as others are.
    let (zero, never) = (F32s::splat(0.0), F32s::splat(f32::NAN));
    let most_finite = F32s::splat(f32::MAX);
    let (mut normaliser, mut chosen) = (Product::one(), Product::one());
    let mut nan = false;
    for (block, planes) in weights.chunks_exact_mut(layout.arity()).enumerate() {
        normaliser.next_block();
        chosen.next_block();
        let (x, y, free) = (at.lanes(block), other.lanes(block), domain.free.lanes(block));
        let arities = arities(domain, layout, block);
        for part in 0..PARTS {
            let (x, arity) = (U32s::load(&x, part), U32s::load(&arities, part));
            let free = !U32s::load(&free, part).eq(U32s::splat(0));
            let c = curvature(block, part);
            let gradient = if ordinal { first(planes, part) } else { at_value(planes, x, part) };
            let mut largest = zero;
            for (k, plane) in (0..).zip(planes.iter_mut()) {
                let value = U32s::splat(k);
                let stay = value.eq(x);
                let mut legal = free & value.lt_i32(arity);
                let z = if ordinal {
                    let v = value - x;
                    legal = legal & v.lt_i32(window) & (x - value).lt_i32(window);
                    let v = F32s::from_i32(v);
                    -(balance * gradient * v) - half * c * (v * v)
                } else {
                    -(balance * (F32s::load(plane, part) - gradient)) - c
                };
                let z = stay.pick(zero, z);
                nan |= (legal & !z.eq(z)).any();
                let z = most_finite.lt(z).pick(most_finite, z);
                let z = (legal | stay).pick(z, never);
                largest = largest.lt(z).pick(z, largest);
                z.store(plane, part);
            }
            let mut sum = zero;
            for plane in planes.iter_mut() {
                let z = F32s::load(plane, part);
                let (below, cut) = (z - largest, F32s::splat(-LOGIT_LIMIT));
                let w = cut.lt(below).pick(below, cut).exp_bounded();
                let w = z.eq(z).pick(w, zero);
                w.store(plane, part);
                sum = sum + w;
            }
            normaliser.times_where(Mask::from_bits(0xFFFF, part), sum, part);
            let w = at_value(planes, U32s::load(&y, part), part);
            chosen.times_where(zero.lt(w), w, part);
        }
    }
    Weighed { normaliser: normaliser.finish(), chosen: chosen.finish(), nan, possible: true }
}

/// Draws y, block by block; returns Π (weight of the drawn value).
#[inline(never)] // its buffers must not weigh on the stack of binary chains
pub(super) fn draw<R: Rng + ?Sized>(
    weights: &[Block],
    layout: Layout,
    y: &mut [u32],
    rng: &mut R,
) -> LogProduct {
    let (zero, one) = (F32s::splat(0.0), F32s::splat(1.0));
    let mut chosen = Product::one();
    for (block, planes) in weights.chunks_exact(layout.arity()).enumerate() {
        chosen.next_block();
        let u = uniforms(rng);
        let mut values: Bits = [0; LANES];
        for part in 0..PARTS {
            // The likeliest value, and E: the sum of all others.
            let (mut likeliest, mut found, mut others) = (U32s::splat(0), never(), zero);
            for (k, plane) in (0..).zip(planes) {
                let w = F32s::load(plane, part);
                let first = !found & w.eq(one);
                likeliest = likeliest | first.keep(U32s::splat(k));
                found = found | first;
                others = others + first.pick(zero, w);
            }
            let v = F32s::load(&u, part) * (one + others);
            let mut walking = v.lt(others);
            let (mut value, mut weight, mut sum) = ((!walking).keep(likeliest), one, zero);
            for (k, plane) in (0..).zip(planes) {
                let w = F32s::load(plane, part);
                let here = U32s::splat(k).eq(likeliest);
                sum = sum + here.pick(zero, w);
                let stop = walking & !here & v.lt(sum);
                value = value | stop.keep(U32s::splat(k));
                weight = stop.pick(w, weight);
                walking = walking & !stop;
            }
            chosen.times_where(zero.lt(weight), weight, part);
            value.store(&mut values, part);
        }
        store_lanes(layout, &values, block, y);
    }
    chosen.finish()
}

/// Π (weight of y's values).
pub(super) fn score(weights: &[Block], y: Packed<'_>) -> Option<LogProduct> {
    let (zero, mut chosen) = (F32s::splat(0.0), Product::one());
    for (block, planes) in weights.chunks_exact(y.layout().arity()).enumerate() {
        chosen.next_block();
        let y = y.lanes(block);
        for part in 0..PARTS {
            let w = at_value(planes, U32s::load(&y, part), part);
            if w.eq(zero).any() {
                return None;
            }
            chosen.times_where(zero.lt(w), w, part);
        }
    }
    Some(chosen.finish())
}

/// Moves the gradients of ordinal sites, one block each, to the first plane of their block, last one first.
pub(super) fn spread(weights: &mut [Block], layout: Layout) {
    for block in (0..layout.blocks()).rev() {
        let gradient = weights.get(block).copied().unwrap_or([0.0; LANES]);
        if let Some(plane) = weights.get_mut(block * layout.arity()) {
            *plane = gradient;
        }
    }
}

/// The arities of a block's sites; padding has arity 1.
pub(super) fn arities(domain: Domain<'_>, layout: Layout, block: usize) -> Bits {
    let mut lanes = [1; LANES];
    for (lane, site) in lanes.iter_mut().zip(block * LANES..layout.sites()) {
        *lane = domain.arity(layout, site);
    }
    lanes
}

/// No lane.
fn never() -> Mask {
    Mask::from_bits(0, 0)
}

pub(super) fn first(planes: &[Block], part: usize) -> F32s {
    planes.first().map_or(F32s::splat(0.0), |plane| F32s::load(plane, part))
}

/// In every lane the number in the plane of that lane's value.
#[inline]
pub(super) fn at_value(planes: &[Block], value: U32s, part: usize) -> F32s {
    (0..).zip(planes).fold(F32s::splat(0.0), |found, (k, plane)| {
        U32s::splat(k).eq(value).pick(F32s::load(plane, part), found)
    })
}
