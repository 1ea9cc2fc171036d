//! Binary sites that flip with probability min(1, e^z), in place of 1/(1 + e^(−z)).
//!
//! A weight is e = e^(−|z|) as for [`binary`](super::binary), its sign bit set where e^z rounds to 1 or more. A site
//! with this bit flips. Any other flips with probability e and stays with 1 − e. So a site that stays has no way back
//! where its sign bit is set at the other end.

use super::Weighed;
use super::binary::{SIGN, likely, odds};
use crate::lane::{Block, F32s, LogProduct, Mask, PARTS, Product, U32s};
use crate::packed::Packed;
use crate::random::uniforms;
use rand_core::Rng;

/// As [`binary::weigh`](super::binary::weigh); there is no normaliser.
#[inline]
pub(crate) fn weigh(
    weights: &mut [Block],
    at: Packed<'_>,
    other: Packed<'_>,
    free: Packed<'_>,
    balance: f32,
    curvature: impl Fn(usize, usize) -> F32s,
) -> Weighed {
    let (balance, one, zero) = (F32s::splat(balance), F32s::splat(1.0), F32s::splat(0.0));
    let (mut chosen, mut nan, mut possible) = (Product::one(), false, true);
    for (block, weight) in weights.iter_mut().enumerate() {
        chosen.next_block();
        let (x, free) = (at.bits(block), free.bits(block));
        let moved = x ^ other.bits(block);
        for part in 0..PARTS {
            let [x, free, moved] = [x, free, moved].map(|bits| Mask::from_bits(bits, part));
            let (z, e) = odds(F32s::load(weight, part), x, free, balance, curvature(block, part));
            nan |= (!z.eq(z)).any();
            let sure = free & (zero.lt(z) | !e.lt(one));
            possible &= !(sure & !moved).any();
            chosen.times_where(free & !sure, moved.pick(e, one - e), part);
            (e.to_bits() | sure.keep(U32s::splat(SIGN))).to_f32().store(weight, part);
        }
    }
    Weighed { normaliser: LogProduct::ONE, chosen: chosen.finish(), nan, possible }
}

/// Returns the probability of what was drawn.
#[inline]
pub(crate) fn draw<R: Rng + ?Sized>(weights: &[Block], x: &[u32], y: &mut [u32], rng: &mut R) -> LogProduct {
    let (one, mut chosen) = (F32s::splat(1.0), Product::one());
    // Not `chunks(2)`: where it is not inlined, its division by two is a panic path.
    let mut blocks = weights.iter();
    for (&x, y) in x.iter().zip(y) {
        let mut flips = 0;
        for (half, weight) in blocks.by_ref().take(2).enumerate() {
            chosen.next_block();
            let u = uniforms(rng);
            let mut block = 0;
            for part in 0..PARTS {
                let weight = F32s::load(weight, part);
                let (e, sure) = (weight.abs(), likely(weight));
                let rare = F32s::load(&u, part).lt(e);
                chosen.times_where(!sure, rare.pick(e, one - e), part);
                block |= (rare | sure).bits(part);
            }
            flips |= block << (16 * half);
        }
        *y = x ^ flips;
    }
    chosen.finish()
}

/// What [`draw`] would have returned, had it drawn y; `None` where it never draws y.
pub(crate) fn score(weights: &[Block], x: Packed<'_>, y: Packed<'_>) -> Option<LogProduct> {
    let (one, zero, mut chosen) = (F32s::splat(1.0), F32s::splat(0.0), Product::one());
    for (block, weight) in weights.iter().enumerate() {
        chosen.next_block();
        let moved = x.bits(block) ^ y.bits(block);
        for part in 0..PARTS {
            let weight = F32s::load(weight, part);
            let (moved, sure, e) = (Mask::from_bits(moved, part), likely(weight), weight.abs());
            if ((moved & !zero.lt(e)) | (sure & !moved)).any() {
                return None;
            }
            chosen.times_where(!sure, moved.pick(e, one - e), part);
        }
    }
    Some(chosen.finish())
}
