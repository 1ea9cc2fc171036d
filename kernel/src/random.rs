//! Random numbers: xoshiro128++ in sixteen lanes, and what samplers make of its words.
//!
//! Any generator of `rand_core` works everywhere in this crate: a block of sixteen words is asked for as
//! 64 bytes, and those bytes are the words in little-endian order.
//!
//! # Streams
//! Lane *l* of [`LaneRng::seed_from_u64`] is `rand_xoshiro`'s `Xoshiro128PlusPlus::seed_from_u64`
//! after *l* calls of its `jump()` (2⁶⁴ steps each). Chain *n* of [`LaneRng::stream`] starts after *n*
//! calls of `long_jump()` (2⁹⁶ steps each), so 2³² chains of 16 lanes never overlap.

use crate::lane::{Abreast, Bits, Block, F32s, LANES, PARTS, U32s};
use crate::layout::{Kind, Layout};
use crate::packed::set;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use core::convert::Infallible;
use rand_core::{Rng, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro128PlusPlus;

/// Words below this are refined by a second word: one in 4,096.
pub(crate) const REFINE: u32 = 1 << 20;
pub(crate) const TWO_POW_MINUS_31: f32 = 1.0 / 2_147_483_648.0;
const TWO_POW_MINUS_32: f32 = 1.0 / 4_294_967_296.0;

/// xoshiro128++ (Blackman and Vigna 2021) in sixteen lanes; 324 bytes, and 384 on cache lines of its own where the target
/// has vectors: registers that lie across two lines are loaded in two halves.
///
/// As a `rand_core` generator its words come lane by lane: lane 0 … lane 15, then the next step.
/// [`Rng::fill_bytes`] serves whole 64-byte pieces straight from the lanes, past the words that
/// [`Rng::next_u32`] still holds.
///
/// ```
/// use bitmc::random::LaneRng;
/// use rand_core::{Rng, SeedableRng};
/// let mut lanes = LaneRng::seed_from_u64(7);
/// let mut first = rand_xoshiro::Xoshiro128PlusPlus::seed_from_u64(7);
/// assert_eq!(lanes.next_u32(), first.next_u32());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    any(target_feature = "sse2", target_feature = "neon", target_feature = "simd128"),
    repr(C, align(64))
)]
pub struct LaneRng {
    state: [Bits; 4],
    held: Bits,
    used: u32,
}

impl LaneRng {
    /// The generator of chain `chain` under `seed`: `chain` long jumps past chain 0. O(chain).
    #[must_use]
    pub fn stream(seed: u64, chain: u32) -> Self {
        let mut first = Xoshiro128PlusPlus::seed_from_u64(seed);
        for _ in 0..chain {
            first.long_jump();
        }
        Self::from_first_lane(first)
    }

    fn from_first_lane(mut lane: Xoshiro128PlusPlus) -> Self {
        let mut state = [[0; LANES]; 4];
        for index in 0..LANES {
            let bytes = lane.state();
            let (words, _) = bytes.as_chunks::<4>();
            for (plane, word) in state.iter_mut().zip(words) {
                if let Some(slot) = plane.get_mut(index) {
                    *slot = u32::from_le_bytes(*word);
                }
            }
            lane.jump();
        }
        Self { state, held: [0; LANES], used: LANES as u32 }
    }

    /// The four state words of each lane, the held words, and how many of those are used: all there is.
    #[must_use]
    pub fn state(&self) -> ([Bits; 4], Bits, u32) {
        (self.state, self.held, self.used)
    }

    /// A generator that goes on where [`LaneRng::state`] was taken; `None` where a lane is all zero
    /// (it would stay zero) or `used` is over 16.
    #[must_use]
    pub fn from_state(state: [Bits; 4], held: Bits, used: u32) -> Option<Self> {
        let [a, b, c, d] = &state;
        let dead = a.iter().zip(b).zip(c.iter().zip(d)).any(|((a, b), (c, d))| a | b | c | d == 0);
        (!dead && used <= LANES as u32).then_some(Self { state, held, used })
    }

    /// One step of every lane.
    #[inline]
    pub fn block(&mut self) -> Bits {
        let mut out = [0; LANES];
        let [s0, s1, s2, s3] = &mut self.state;
        for part in 0..PARTS {
            let (a, b) = (U32s::load(s0, part), U32s::load(s1, part));
            let (c, d) = (U32s::load(s2, part), U32s::load(s3, part));
            let sum = a + d;
            ((sum.shl::<7>() | sum.shr::<25>()) + a).store(&mut out, part);
            let (c, d) = (c ^ a, d ^ b);
            (a ^ d).store(s0, part);
            (b ^ c).store(s1, part);
            (c ^ b.shl::<9>()).store(s2, part);
            (d.shl::<11>() | d.shr::<21>()).store(s3, part);
        }
        out
    }

    /// One step of one lane, below 16.
    pub(crate) fn word_of(&mut self, lane: usize) -> u32 {
        let [s0, s1, s2, s3] = &mut self.state;
        let (Some(a), Some(b), Some(c), Some(d)) =
            (s0.get_mut(lane), s1.get_mut(lane), s2.get_mut(lane), s3.get_mut(lane))
        else {
            return 0;
        };
        let word = a.wrapping_add(*d).rotate_left(7).wrapping_add(*a);
        let shifted = *b << 9;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(11);
        word
    }
}

impl LaneRng {
    /// Bytes of the generator in a snapshot.
    pub const SNAPSHOT_LEN: usize = 352;
}

impl Snapshot for LaneRng {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"lane");
        self.state.save(to);
        self.held.save(to);
        self.used.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut state, mut held, mut used) = (*from, self.state, self.held, 0);
        at.name(*b"lane")?;
        state.load(&mut at)?;
        held.load(&mut at)?;
        used.load(&mut at)?;
        *self = Self::from_state(state, held, used).ok_or(SnapshotError::Value)?;
        *from = at;
        Ok(())
    }
}

impl SeedableRng for LaneRng {
    type Seed = [u8; 16];

    fn from_seed(seed: Self::Seed) -> Self {
        Self::from_first_lane(Xoshiro128PlusPlus::from_seed(seed))
    }

    fn seed_from_u64(seed: u64) -> Self {
        Self::stream(seed, 0)
    }
}

impl TryRng for LaneRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if self.used >= LANES as u32 {
            self.held = self.block();
            self.used = 0;
        }
        let word = self.held.get(self.used as usize).copied().unwrap_or(0);
        self.used += 1;
        Ok(word)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        rand_core::utils::next_u64_via_u32(self)
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let (whole, rest) = bytes.as_chunks_mut::<64>();
        for piece in whole {
            *piece = to_bytes(&self.block());
        }
        let (words, tail) = rest.as_chunks_mut::<4>();
        for word in words {
            *word = self.try_next_u32()?.to_le_bytes();
        }
        if !tail.is_empty() {
            let last = self.try_next_u32()?.to_le_bytes();
            for (byte, value) in tail.iter_mut().zip(last) {
                *byte = value;
            }
        }
        Ok(())
    }
}

#[inline]
fn to_bytes(words: &Bits) -> [u8; 64] {
    let mut bytes = [0; 64];
    let (pieces, _) = bytes.as_chunks_mut::<4>();
    for (piece, word) in pieces.iter_mut().zip(words) {
        *piece = word.to_le_bytes();
    }
    bytes
}

/// Sixteen words from any generator.
#[inline]
pub fn words<R: Rng + ?Sized>(rng: &mut R) -> Bits {
    let mut bytes = [0; 64];
    rng.fill_bytes(&mut bytes);
    from_bytes(&bytes)
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
/// A word *r* gives ⌊r/2⌋ · 2⁻³¹; where r < 2²⁰ in any lane, a second block of words is drawn and gives
/// those lanes 32 more bits. So P(u < p) = p within a relative 2⁻¹⁹ for every p down to 2⁻⁴⁴, and a
/// generator stuck at any value ends the draw. 1 is reached by rounding, with probability 2⁻²⁶.
#[inline]
pub fn uniforms<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let mut block = [0.0; LANES];
    uniform_registers(rng).iter().enumerate().for_each(|(part, u)| u.store(&mut block, part));
    block
}

/// [`uniforms`], in registers.
#[inline]
pub(crate) fn uniform_registers<R: Rng + ?Sized>(rng: &mut R) -> [F32s; PARTS] {
    let (_, uniforms) = tails(rng);
    uniforms
}

/// The uniforms of words of which some are refined. All of them again: if they were lent here, every draw would put
/// them into memory and wait for them.
#[cold]
fn refine(high: Bits, low: Bits) -> Block {
    let mut out = [0.0; LANES];
    for ((u, high), low) in out.iter_mut().zip(high).zip(low) {
        *u = with_rest(high, || low);
    }
    out
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

/// Sixteen standard normals by inversion, one uniform and one sign each: no rejection, no loop.
///
/// The tail probability is uniform in (0, ½] with full relative precision; its quantile is accurate to
/// 2·10⁻⁶, and no value is beyond [`NORMAL_LIMIT`](crate::lane::NORMAL_LIMIT).
#[inline]
pub fn normals<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let signs = words(rng);
    let mut out = uniforms(rng);
    for part in 0..PARTS {
        let tail = F32s::load(&out, part) * F32s::splat(0.5);
        let sign = U32s::load(&signs, part) & U32s::splat(0x8000_0000);
        (tail.normal_quantile().to_bits() ^ sign).to_f32().store(&mut out, part);
    }
    out
}

/// Thirty-two standard normals, sixteen pairs from one uniform and one angle each (Box and Muller 1958): half the
/// work of [`normals`], which stand alone where few are needed.
///
/// A pair's length is `√(−2 ln u)`, u with full relative precision near 0, and at most 9.5; its angle has 32 bits.
#[inline]
pub fn normal_pairs<R: Rng + ?Sized>(rng: &mut R) -> [Block; 2] {
    let (angles, uniforms) = (words(rng), uniform_registers(rng));
    let mut pair = [[0.0; LANES]; 2];
    let [first, second] = &mut pair;
    for (part, u) in uniforms.into_iter().enumerate() {
        let (Abreast([cos]), Abreast([sin])) = polar(Abreast([U32s::load(&angles, part)]), Abreast([u]));
        cos.store(first, part);
        sin.store(second, part);
    }
    pair
}

/// [`normal_pairs`] twice, at less than twice the time.
#[inline]
pub(crate) fn normal_pairs_twice<R: Rng + ?Sized>(rng: &mut R, out: &mut [Block; 4]) {
    if PARTS > 1 {
        let (pairs, _) = out.as_chunks_mut::<2>();
        return pairs.iter_mut().for_each(|pair| *pair = normal_pairs(rng));
    }
    let (angles, uniforms) = (words(rng), uniform_registers(rng));
    let (more_angles, more_uniforms) = (words(rng), uniform_registers(rng));
    let [first, second, third, fourth] = out;
    for (part, (u, v)) in uniforms.into_iter().zip(more_uniforms).enumerate() {
        let angles = Abreast([U32s::load(&angles, part), U32s::load(&more_angles, part)]);
        let (Abreast([cos, more_cos]), Abreast([sin, more_sin])) = polar(angles, Abreast([u, v]));
        cos.store(first, part);
        sin.store(second, part);
        more_cos.store(third, part);
        more_sin.store(fourth, part);
    }
}

/// Pairs of normals from words and uniforms.
#[inline(always)]
fn polar<const N: usize>(
    angles: Abreast<U32s, N>,
    uniforms: Abreast<F32s, N>,
) -> (Abreast<F32s, N>, Abreast<F32s, N>) {
    let radius = uniforms.normal_radius();
    // A right angle to both sides by all bits, the side of the cosine by the last one, which it hardly feels.
    let (sin, cos) = (angles.i32_to_f32() * F32s::splat(TWO_POW_MINUS_31)).quarter_turns();
    (((radius * cos).to_bits() ^ angles.shl::<31>()).to_f32(), radius * sin)
}

/// Sixteen standard logistic numbers, `P(L < z) = 1/(1+e^(−z))`, by inversion: a threshold for log odds that are
/// not known yet.
///
/// One word a number: its lowest bit is the sign, the others are the tail probability v, uniform in [0, ½] as
/// half of one of [`uniforms`] (with the lowest bit of the second word where there is one), and
/// `|L| = ln((1−v)/v)`. So both tails have the relative precision of uniforms, and |L| < 89 whatever the
/// generator gives.
#[inline]
pub fn logistics<R: Rng + ?Sized>(rng: &mut R) -> Block {
    let mut block = [0.0; LANES];
    let (signs, uniforms) = tails(rng);
    for (part, (sign, u)) in signs.into_iter().zip(uniforms).enumerate() {
        logistic(sign, u).store(&mut block, part);
    }
    block
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
        let (refined, last) = (refine(high, low), last_words(high, low));
        for (part, (sign, out)) in signs.iter_mut().zip(&mut out).enumerate() {
            (*sign, *out) = (U32s::load(&last, part), F32s::load(&refined, part));
        }
    }
    (signs, out)
}

/// The second word where there is one.
#[cold]
fn last_words(high: Bits, low: Bits) -> Bits {
    let mut out = high;
    out.iter_mut().zip(low).filter(|(high, _)| **high < REFINE).for_each(|(word, low)| *word = low);
    out
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
        return bernoulli(layout, 0.5, rng, out);
    }
    for site in 0..layout.sites() {
        let arity = arities.and_then(|a| a.get(site)).map_or(layout.arity(), |&a| usize::from(a));
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
