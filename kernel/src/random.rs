//! Random numbers: xoshiro128++ in sixteen lanes, and what samplers make of its words.
//!
//! Any generator of `rand_core` 0.10 works everywhere in this crate. Words are requested as bytes, in blocks of 64 or
//! several of them at once. Those bytes are the words in little-endian order.
//!
//! # Streams
//! Lane *l* of [`LaneRng::seed_from_u64`](rand_core::SeedableRng::seed_from_u64) is `rand_xoshiro`'s
//! `Xoshiro128PlusPlus::seed_from_u64`
//! after *l* calls of its `jump()` (2⁶⁴ steps each). Chain *n* of [`LaneRng::stream`] starts after *n*
//! calls of `long_jump()` (2⁹⁶ steps each), so 2³² chains of 16 lanes never overlap.

mod discrete;
mod generator;
mod normal;

pub use discrete::DiscreteGaussian;
pub(crate) use discrete::twice;
pub use generator::LaneRng;
pub(crate) use normal::normal_pairs_twice;
pub use normal::{normal_pairs, normals};

use crate::lane::{Bits, Block, F32s, Interleaved, LANES, PARTS, U32s, bytes_mut};
use crate::layout::{Kind, Layout};
use crate::packed::{clear_single, set};
use rand_core::Rng;

/// A generator of random numbers: everything that implements `rand_core`'s [`Rng`], of its version 0.10. There is nothing to
/// implement; it is there for what the compiler says of generators of other versions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no generator of `rand_core` 0.10",
    label = "this generator has not the traits of `rand_core` 0.10",
    note = "generators of that version are `LaneRng`, and those of rand 0.10, rand_xoshiro 0.8 and others; one of an older version needs a wrapper that implements `bitmc::Rng`"
)]
pub trait Generator: Rng {}

#[diagnostic::do_not_recommend]
impl<R: Rng + ?Sized> Generator for R {}

/// Words below this are refined by a second word: one in 4,096.
pub(crate) const REFINE: u32 = 1 << 20;
pub(crate) const TWO_POW_MINUS_31: f32 = 1.0 / 2_147_483_648.0;
const TWO_POW_MINUS_32: f32 = 1.0 / 4_294_967_296.0;

/// Sixteen words from any generator.
#[inline]
pub fn words<R: Rng + ?Sized>(rng: &mut R) -> Bits {
    let mut words = [0; LANES];
    rng.fill_bytes(bytes_mut(&mut words));
    words.iter_mut().for_each(|word| *word = u32::from_le(*word));
    words
}

/// Sixteen words from their bytes.
#[inline]
pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Bits {
    let mut words = [0; LANES];
    let (pieces, _) = bytes.as_chunks::<4>();
    for (word, piece) in words.iter_mut().zip(pieces) {
        *word = u32::from_le_bytes(*piece);
    }
    words
}

/// Sixteen uniforms in [0, 1] that keep their relative precision near 0.
///
/// A word *r* gives ⌊r/2⌋ · 2⁻³¹. Where r < 2²⁰ in any lane, a second block of words is drawn and gives those lanes
/// 32 more bits. So P(u < p) = p within a relative 2⁻¹⁹ for every p down to 2⁻⁴⁴. A generator stuck at any value ends
/// the draw. The value 1 occurs by rounding, with probability 2⁻²⁵.
#[inline]
pub fn uniforms<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let mut block = [0.0; LANES];
    uniform_registers(rng).iter().enumerate().for_each(|(part, u)| u.store(&mut block, part));
    block
}

/// [`uniforms`], in registers.
#[inline]
pub(crate) fn uniform_registers<R: Rng + ?Sized>(rng: &mut R) -> [F32s; PARTS] {
    tails(rng).1
}

/// The second words where there are some, and the uniforms of both. All of them again: if they were borrowed here, every
/// draw would put them into memory and wait for them.
#[cold]
fn refine(high: Bits, low: Bits) -> (Bits, Block) {
    let (mut last, mut uniforms) = (high, [0.0; LANES]);
    for ((uniform, last), low) in uniforms.iter_mut().zip(&mut last).zip(low) {
        *uniform = with_rest(*last, || low);
        *last = if *last < REFINE { low } else { *last };
    }
    (last, uniforms)
}

pub(crate) fn refined(high: u32, low: u32) -> f32 {
    (high as i32 as f32) * TWO_POW_MINUS_32 + ((low >> 1) as i32 as f32) * TWO_POW_MINUS_31 * TWO_POW_MINUS_32
}

/// One uniform in [0, 1], as [`uniforms`] makes sixteen.
#[inline]
pub fn uniform<R: Rng + ?Sized>(rng: &mut R) -> f32 {
    with_rest(rng.next_u32(), || rng.next_u32())
}

#[inline]
fn with_rest(high: u32, low: impl FnOnce() -> u32) -> f32 {
    if high < REFINE { refined(high, low()) } else { ((high >> 1) as i32 as f32) * TWO_POW_MINUS_31 }
}

/// Sixteen standard logistic numbers, `P(L < z) = 1/(1+e^(−z))`, by inversion: a threshold for log odds that are
/// not known yet.
///
/// One word a number. Its lowest bit is the sign (of the second word where there is one). The others are the tail probability
/// v, uniform in [0, ½] as half of one of [`uniforms`], and `|L| = ln((1−v)/v)`. So both tails have the relative precision of
/// uniforms, and |L| < 89 whatever the generator gives.
#[inline]
pub fn logistics<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let mut block = [0.0; LANES];
    let (signs, uniforms) = tails(rng);
    for (part, (sign, u)) in signs.into_iter().zip(uniforms).enumerate() {
        logistic(sign, u).store(&mut block, part);
    }
    block
}

/// Sixteen standard Gumbel numbers, `P(G < z) = e^(−e^(−z))`, by inversion. Added to the log-probabilities of some values
/// they make the largest sum that of a value drawn from these: noise for probabilities that are not known yet.
///
/// One word a number: its [uniform](uniforms) is the probability of a larger number. So the upper tail has the relative
/// precision of uniforms. The numbers are between −3.9 and 45.1 whatever the generator gives.
#[inline]
pub fn gumbels<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let mut block = [uniforms(rng)];
    gumbels_of(&mut block, |gumbel| gumbel);
    let [block] = block;
    block
}

/// [`gumbels`] from uniforms, in place, as `write` writes them. Two blocks at once take less than twice the time of one.
#[inline]
pub(crate) fn gumbels_of(uniforms: &mut [Block], write: impl Fn(F32s) -> F32s) {
    let (pairs, rest) = if PARTS > 1 { (&mut [][..], uniforms) } else { uniforms.as_chunks_mut::<2>() };
    for [one, other] in pairs {
        let Interleaved([u, v]) = Interleaved([F32s::load(one, 0), F32s::load(other, 0)]).gumbel_above();
        write(u).store(one, 0);
        write(v).store(other, 0);
    }
    for block in rest {
        (0..PARTS).for_each(|part| write(F32s::load(block, part).gumbel_above()).store(block, part));
    }
}

/// Words whose lowest bits are signs, and [`uniforms`].
#[inline]
fn tails<R: Rng + ?Sized>(rng: &mut R) -> ([U32s; PARTS], [F32s; PARTS]) {
    let high = words(rng);
    let (mut signs, mut out) = ([U32s::splat(0); PARTS], [F32s::splat(0.0); PARTS]);
    let mut small = false;
    for (part, (sign, out)) in signs.iter_mut().zip(&mut out).enumerate() {
        *sign = U32s::load(&high, part);
        small |= sign.shr::<20>().eq(U32s::splat(0)).any();
        *out = F32s::from_i32(sign.shr::<1>()) * F32s::splat(TWO_POW_MINUS_31);
    }
    if small {
        let low = words(rng);
        let (last, refined) = refine(high, low);
        for (part, (sign, out)) in signs.iter_mut().zip(&mut out).enumerate() {
            (*sign, *out) = (U32s::load(&last, part), F32s::load(&refined, part));
        }
    }
    (signs, out)
}

/// Logistic numbers from [`tails`].
#[inline(always)]
pub(crate) fn logistic(sign: U32s, u: F32s) -> F32s {
    let size = (u * F32s::splat(0.5)).log_odds_against();
    (size.to_bits() ^ sign.shl::<31>()).to_f32()
}

/// Fills a binary state with independent sites, each 1 with probability `p`; leaves any other state alone.
pub fn bernoulli<R: Rng + ?Sized>(layout: Layout, p: f32, rng: &mut R, out: &mut [u32]) {
    if layout.kind() != Kind::Binary {
        return;
    }
    let last = layout.words().saturating_sub(1);
    for (index, word) in out.iter_mut().enumerate().take(layout.words()) {
        let (low, high) = (bernoulli_block(p, rng), bernoulli_block(p, rng));
        *word = (low | (high << 16)) & if index == last { layout.last_word() } else { u32::MAX };
    }
}

/// Fills a state with independent uniform values.
pub(crate) fn uniform_state<R: Rng + ?Sized>(
    layout: Layout,
    arities: Option<&[u16]>,
    rng: &mut R,
    out: &mut [u32],
) {
    if layout.kind() == Kind::Binary {
        bernoulli(layout, 0.5, rng, out);
        return clear_single(layout, arities, out);
    }
    for site in 0..layout.sites() {
        let arity = layout.arity_at(arities, site);
        let value = below(arity as u32, rng);
        // Both are within the layout: there is nothing to refuse.
        let _ = set(layout, out, site, value);
    }
}

/// Uniform below `limit`, from one word: each outcome within a relative `limit`·2⁻³².
#[inline]
pub(crate) fn below<R: Rng + ?Sized>(limit: u32, rng: &mut R) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(limit)) >> 32) as u32
}

/// Uniform among the other values of a site that has `value`, from one word; none is drawn for two values.
#[inline]
pub(crate) fn other_value<R: Rng + ?Sized>(value: u32, arity: u32, rng: &mut R) -> u32 {
    match arity {
        0 | 1 => value,
        2 => 1 ^ value,
        _ => {
            let drawn = below(arity - 1, rng);
            if drawn < value { drawn } else { drawn + 1 }
        }
    }
}

/// Sixteen bits, each 1 with probability `p`.
#[inline]
pub(crate) fn bernoulli_block<R: Rng + ?Sized>(p: f32, rng: &mut R) -> u32 {
    let u = uniforms(rng);
    (0..PARTS).fold(0, |bits, part| bits | F32s::load(&u, part).lt(F32s::splat(p)).bits(part))
}
