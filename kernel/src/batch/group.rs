//! Noise for a group of sixteen sites of sixteen chains. Each chain draws as [`random`](crate::random) does for a
//! block of its own, from its own lane of the generator.

use super::ALL;
use crate::lane::{Bits, Block, F32s, LANES, Mask, PARTS, U32s};
use crate::random::{LaneRng, REFINE, TWO_POW_MINUS_31, logistic, refined};

/// [`random::uniforms`](crate::random::uniforms) of every chain: one block a site.
#[inline]
pub(super) fn uniforms(rng: &mut LaneRng) -> [Block; LANES] {
    draw(rng).1
}

/// [`random::logistics`](crate::random::logistics) of every chain: one block a site.
#[inline]
pub(super) fn logistics(rng: &mut LaneRng) -> [Block; LANES] {
    let (signs, mut out) = draw(rng);
    for (out, signs) in out.iter_mut().zip(&signs) {
        for part in 0..PARTS {
            logistic(U32s::load(signs, part), F32s::load(out, part)).store(out, part);
        }
    }
    out
}

/// [`random::uniform`](crate::random::uniform) of every chain in `chains`; the others draw nothing.
#[inline]
pub(super) fn one_uniform(rng: &mut LaneRng, chains: u32) -> Block {
    let words = if chains == ALL { rng.block() } else { some_words(rng, chains) };
    let mut out = [[0.0; LANES]];
    let small = convert(&[words], &mut out);
    let [mut out] = out;
    if small != 0 {
        for (chain, (u, &high)) in out.iter_mut().zip(&words).enumerate() {
            if high < REFINE && (chains >> chain) & 1 != 0 {
                *u = refined(high, rng.word_of(chain));
            }
        }
    }
    out
}

#[cold]
fn some_words(rng: &mut LaneRng, chains: u32) -> Bits {
    let mut words = [0; LANES];
    for (chain, word) in words.iter_mut().enumerate().filter(|(chain, _)| (chains >> chain) & 1 != 0) {
        *word = rng.word_of(chain);
    }
    words
}

/// Uniforms, and the last word that each of them took.
#[inline(always)]
fn draw(rng: &mut LaneRng) -> ([Bits; LANES], [Block; LANES]) {
    let (mut words, mut out) = ([[0; LANES]; LANES], [[0.0; LANES]; LANES]);
    words.iter_mut().for_each(|words| *words = rng.block());
    let small = convert(&words, &mut out);
    if small != 0 {
        refine(rng, small, &mut words, &mut out);
    }
    (words, out)
}

/// ⌊r/2⌋ · 2⁻³¹; the chains in which a word is to be refined.
#[inline]
fn convert(words: &[Bits], out: &mut [Block]) -> u32 {
    let mut chains = 0;
    for part in 0..PARTS {
        let mut small = Mask::from_bits(0, part);
        for (words, out) in words.iter().zip(out.iter_mut()) {
            let r = U32s::load(words, part);
            small = small | r.shr::<20>().eq(U32s::splat(0));
            (F32s::from_i32(r.shr::<1>()) * F32s::splat(TWO_POW_MINUS_31)).store(out, part);
        }
        if small.any() {
            chains |= small.bits(part);
        }
    }
    chains
}

/// Every chain in `chains` draws a second word for each of its sites, which takes the place of a small first one.
#[cold]
fn refine(rng: &mut LaneRng, chains: u32, words: &mut [Bits; LANES], out: &mut [Block; LANES]) {
    for chain in (0..LANES).filter(|chain| (chains >> chain) & 1 != 0) {
        for (words, out) in words.iter_mut().zip(out.iter_mut()) {
            let low = rng.word_of(chain);
            let (Some(word), Some(u)) = (words.get_mut(chain), out.get_mut(chain)) else { continue };
            if *word < REFINE {
                *u = refined(*word, low);
                *word = low;
            }
        }
    }
}
