//! xoshiro128++ in sixteen lanes.

use crate::lane::{Bits, LANES, PARTS, U32s};
use crate::snapshot::{BoundedSnapshot, plain};
use core::convert::Infallible;
use rand_core::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro128PlusPlus;

/// xoshiro128++ (Blackman and Vigna 2021) in sixteen lanes. It takes 324 bytes. Where the target has vectors, it
/// takes 384 on cache lines of its own: registers that lie across two lines are loaded in two halves.
///
/// As a `rand_core` generator its words come lane by lane: lane 0 … lane 15, then the next step.
/// The method [`Rng::fill_bytes`](rand_core::Rng::fill_bytes) serves whole 64-byte pieces straight from the lanes,
/// past the words that [`Rng::next_u32`](rand_core::Rng::next_u32) still holds.
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

/// The polynomial whose application is 2⁹⁶ steps (Blackman and Vigna 2021).
const LONG_JUMP: [u32; 4] = [0xb523_952e, 0x0b6f_099f, 0xccf5_a0ef, 0x1c58_0662];

impl LaneRng {
    /// Bytes of the generator in a snapshot.
    pub const SNAPSHOT_LEN: usize = <Self as BoundedSnapshot>::LEN;

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

    /// Jumps 2⁹⁶ steps ahead in every lane, and drops the words that are held. [`LaneRng::stream`] of a chain, before it
    /// has drawn, becomes that of the next chain. Cost: 128 steps, where `stream` takes some 2,000 and more.
    ///
    /// ```
    /// use bitmc::LaneRng;
    /// let mut rng = LaneRng::stream(7, 2);
    /// rng.long_jump();
    /// assert_eq!(rng, LaneRng::stream(7, 3));
    /// ```
    pub fn long_jump(&mut self) {
        let mut sum = [[0; LANES]; 4];
        for word in LONG_JUMP {
            for bit in 0..32 {
                if word >> bit & 1 != 0 {
                    let words = sum.as_flattened_mut().iter_mut().zip(self.state.as_flattened());
                    words.for_each(|(sum, &word)| *sum ^= word);
                }
                self.block();
            }
        }
        *self = Self { state: sum, held: [0; LANES], used: LANES as u32 };
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

plain! { LaneRng, b"lane", { state, held, used }, |rng| {
    LaneRng::from_state(rng.state, rng.held, rng.used).is_some()
} }

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
