//! Binary sites: one weight a site.
//!
//! A site flips with log odds z. Its weight is e = e^(−|z|) in (0, 1], with the sign bit set where z > 0. There
//! flipping is the likelier outcome, whose weight is 1. The unlikely outcome, staying there and flipping elsewhere,
//! has probability e/(1+e). The draw is `u(1+e) < e` for one uniform u: relative precision on both sides.

use super::{LOGIT_LIMIT, Weighed};
use crate::lane::{Block, F32s, LogProduct, Mask, PARTS, Product, U32s};
use crate::packed::Packed;
use crate::random::uniforms;
use rand_core::Rng;

/// `z = −β(1−2x) ∂E/∂x − c/2` (METHODS.md §1, binary).
#[inline]
pub(crate) fn weigh(
    weights: &mut [Block],
    at: Packed<'_>,
    other: Packed<'_>,
    free: Packed<'_>,
    balance: f32,
    curvature: impl Fn(usize, usize) -> F32s,
) -> Weighed {
    let balance = F32s::splat(balance);
    let (zero, one) = (F32s::splat(0.0), F32s::splat(1.0));
    let (mut normaliser, mut unlikely) = (Product::one(), Product::one());
    let mut numbers = [Mask::from_bits(u32::MAX, 0); PARTS];
    for (first, weights) in (0..).step_by(Product::BLOCKS).zip(weights.chunks_mut(Product::BLOCKS)) {
        if first > 0 {
            normaliser.renormalise();
            unlikely.renormalise();
        }
        for (block, weight) in (first..).zip(weights) {
            let (x, free) = (at.bits(block), free.bits(block));
            let moved = x ^ other.bits(block);
            for (part, numbers) in numbers.iter_mut().enumerate() {
                let free = Mask::from_bits(free, part);
                let (x, gradient) = (Mask::from_bits(x, part), F32s::load(weight, part));
                let (z, e) = odds(gradient, x, free, balance, curvature(block, part));
                *numbers = *numbers & z.eq(z);
                let likely = zero.lt(z);
                normaliser.times(one + e, part);
                let rare = free & (likely ^ Mask::from_bits(moved, part));
                if rare.any() {
                    unlikely.times_where(rare, e, part);
                }
                (e.to_bits() | likely.keep(U32s::splat(SIGN))).to_f32().store(weight, part);
            }
        }
    }
    let nan = numbers.into_iter().any(|numbers| (!numbers).any());
    Weighed { normaliser: normaliser.finish(), chosen: unlikely.finish(), nan, possible: true }
}

/// z and e^(−|z|), of a site that is not free both 0.
#[inline(always)]
pub(super) fn odds(gradient: F32s, x: Mask, free: Mask, balance: F32s, curvature: F32s) -> (F32s, F32s) {
    let limit = F32s::splat(-LOGIT_LIMIT);
    let uphill = x.pick(gradient, -gradient);
    let z = balance * uphill - F32s::splat(0.5) * curvature;
    let z = free.keep(z.to_bits()).to_f32();
    let below = (z.to_bits() | U32s::splat(SIGN)).to_f32(); // −|z|
    let e = free.keep(limit.lt(below).pick(below, limit).exp_bounded().to_bits());
    (z, e.to_f32())
}

pub(super) const SIGN: u32 = 0x8000_0000;

/// Returns Π e over the unlikely outcomes.
#[inline]
pub(super) fn draw<R: Rng + ?Sized>(weights: &[Block], x: &[u32], y: &mut [u32], rng: &mut R) -> LogProduct {
    let mut unlikely = Product::one();
    for ((weights, &x), y) in weights.chunks(2).zip(x).zip(y) {
        let mut flips = 0;
        for (half, weight) in weights.iter().enumerate() {
            unlikely.next_block();
            let u = uniforms(rng);
            let mut block = 0;
            for part in 0..PARTS {
                let weight = F32s::load(weight, part);
                let e = weight.abs();
                let rare = (F32s::load(&u, part) * (F32s::splat(1.0) + e)).lt(e);
                if rare.any() {
                    unlikely.times_where(rare, e, part);
                }
                block |= (rare ^ likely(weight)).bits(part);
            }
            flips |= block << (16 * half);
        }
        *y = x ^ flips;
    }
    unlikely.finish()
}

pub(super) fn score(weights: &[Block], x: Packed<'_>, y: Packed<'_>) -> Option<LogProduct> {
    let mut unlikely = Product::one();
    for (block, weight) in weights.iter().enumerate() {
        unlikely.next_block();
        let moved = x.bits(block) ^ y.bits(block);
        for part in 0..PARTS {
            let weight = F32s::load(weight, part);
            let free = F32s::splat(0.0).lt(weight.abs());
            let moved = Mask::from_bits(moved, part);
            if (moved & !free).any() {
                return None;
            }
            unlikely.times_where(free & (likely(weight) ^ moved), weight.abs(), part);
        }
    }
    Some(unlikely.finish())
}

/// Where the sign bit is set.
#[inline(always)]
pub(super) fn likely(weight: F32s) -> Mask {
    weight.to_bits().negative()
}
