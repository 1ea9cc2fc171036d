//! Logits of single-site moves, from gradients or from exact differences, and their weights: what an
//! [index](super::index) is drawn from.

use super::Domain;
use super::index::units;
use super::planes::{arities, at_value, first, spread};
use crate::energy::Energy;
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s, sum};
use crate::layout::Kind;
use crate::packed::Packed;

/// Logits are cut at 50 below the largest: e^(−50) and all its multiples lie on the grid. The cut is part of
/// the proposal, in the draw and in its probability alike.
const CUT: f32 = 50.0;
/// Turns gradients ∂E/∂x at `at` into weights in place, by the logits −½ ∂E/∂x · (change), in
/// [`Order::Planes`](super::index::Order). Their sum, or `None` where a logit is NaN.
#[inline]
pub(crate) fn weigh(weights: &mut [Block], at: Packed<'_>, domain: Domain<'_>) -> Option<u128> {
    let largest = match at.layout().kind() {
        Kind::Binary => flips(weights, at, domain.free),
        Kind::Categorical | Kind::Ordinal => changes(weights, at, domain),
    };
    Some(exponentials(weights, largest?))
}

/// The same from exact differences, in [`Order::Sites`](super::index::Order), by the logits −½(E(y) − E(x)). A
/// forbidden state has weight 0. The result is `None` also where a difference is −∞. The energy borrows `words`, the
/// state.
pub(crate) fn weigh_exactly<E: Energy + ?Sized>(
    weights: &mut [Block],
    energy: &E,
    words: &mut [u32],
    cache: &[Bits],
    domain: Domain<'_>,
) -> Option<u128> {
    let layout = energy.layout();
    let room = if layout.kind() == Kind::Binary { 1 } else { layout.arity() };
    let mut slots = weights.as_flattened_mut().chunks_exact_mut(room);
    let mut largest = f32::NEG_INFINITY;
    for (site, slot) in (0..layout.sites()).zip(slots.by_ref()) {
        let x = Packed::trusted(layout, words).get(site) as usize;
        let free = domain.free.get(site) != 0;
        let arity = layout.arity_at(domain.arities, site);
        let mut pair = [f32::INFINITY; 2];
        let found = if layout.kind() == Kind::Binary { &mut pair[..] } else { &mut *slot };
        found.fill(f32::INFINITY);
        if let (true, Some(found)) = (free, found.get_mut(..arity)) {
            energy.differences(words, cache, site, found);
        }
        if let Some(stay) = found.get_mut(x) {
            *stay = f32::INFINITY;
        }
        for difference in found.iter_mut() {
            if difference.is_nan() || *difference == f32::NEG_INFINITY {
                return None;
            }
            *difference *= -0.5;
            largest = if largest < *difference { *difference } else { largest };
        }
        if let (Kind::Binary, [flip]) = (layout.kind(), slot) {
            // The other value's logit is −∞.
            let [zero, one] = pair;
            *flip = if zero < one { one } else { zero };
        }
    }
    slots.for_each(|padding| padding.fill(f32::NEG_INFINITY));
    Some(exponentials(weights, largest))
}

/// Logits of flips; the largest of them. −∞ where a site is clamped.
fn flips(weights: &mut [Block], at: Packed<'_>, free: Packed<'_>) -> Option<f32> {
    let (half, never) = (F32s::splat(0.5), F32s::splat(f32::NEG_INFINITY));
    let mut largest = [f32::NEG_INFINITY; LANES];
    let mut nan = false;
    for (block, weight) in weights.iter_mut().enumerate() {
        let (x, free) = (at.bits(block), free.bits(block));
        for part in 0..PARTS {
            let free = Mask::from_bits(free, part);
            let gradient = half * F32s::load(weight, part);
            let z = Mask::from_bits(x, part).pick(gradient, -gradient);
            nan |= (free & !z.eq(z)).any();
            let z = free.pick(z, never);
            z.store(weight, part);
            let most = F32s::load(&largest, part);
            most.lt(z).pick(z, most).store(&mut largest, part);
        }
    }
    if nan { None } else { Some(most(&largest)) }
}

/// Logits of new values; the largest of them. −∞ where a value may not be taken, or is the present one.
#[inline(never)] // its buffers must not weigh on the stack of binary chains
fn changes(weights: &mut [Block], at: Packed<'_>, domain: Domain<'_>) -> Option<f32> {
    let layout = at.layout();
    let ordinal = layout.kind() == Kind::Ordinal;
    if ordinal {
        spread(weights, layout);
    }
    let (half, never) = (F32s::splat(0.5), F32s::splat(f32::NEG_INFINITY));
    let mut largest = [f32::NEG_INFINITY; LANES];
    let mut nan = false;
    for (block, planes) in weights.chunks_exact_mut(layout.arity()).enumerate() {
        let (x, free) = (at.lanes(block), domain.free.lanes(block));
        let arities = arities(domain, layout, block);
        for part in 0..PARTS {
            let (x, arity) = (U32s::load(&x, part), U32s::load(&arities, part));
            let free = !U32s::load(&free, part).eq(U32s::splat(0));
            let slope = half * if ordinal { first(planes, part) } else { at_value(planes, x, part) };
            let mut most = F32s::load(&largest, part);
            for (k, plane) in (0..).zip(planes.iter_mut()) {
                let value = U32s::splat(k);
                let legal = free & !value.eq(x) & value.lt_i32(arity);
                let z = if ordinal {
                    -(slope * F32s::from_i32(value - x))
                } else {
                    slope - half * F32s::load(plane, part)
                };
                nan |= (legal & !z.eq(z)).any();
                let z = legal.pick(z, never);
                z.store(plane, part);
                most = most.lt(z).pick(z, most);
            }
            most.store(&mut largest, part);
        }
    }
    if nan { None } else { Some(most(&largest)) }
}

fn most(lanes: &Block) -> f32 {
    lanes.iter().fold(f32::NEG_INFINITY, |most, &z| if most < z { z } else { most })
}

/// Logits to weights, in place; their sum. −∞ has weight 0.
fn exponentials(weights: &mut [Block], largest: f32) -> u128 {
    let (largest, cut) = (F32s::splat(largest), F32s::splat(-CUT));
    let (zero, never) = (F32s::splat(0.0), F32s::splat(f32::NEG_INFINITY));
    let mut total = 0u128;
    for weight in weights {
        for part in 0..PARTS {
            let z = F32s::load(weight, part);
            // ∞ − ∞ is not below the cut, and not above it either.
            let below = z - largest;
            let below = cut.lt(below).pick(below, cut);
            let below = z.eq(largest).pick(zero, below);
            never.lt(z).pick(below.exp_bounded(), zero).store(weight, part);
        }
        total = total.saturating_add(units(sum(weight)));
    }
    total
}
