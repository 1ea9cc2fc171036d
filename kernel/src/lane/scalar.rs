//! Registers of one lane, for cores without vectors: the same bits, one site at a time.

use super::{Bits, Block, LANES};
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A register of floats.
#[derive(Clone, Copy, Debug)]
pub struct F32s(f32);

/// A register of words; arithmetic wraps.
#[derive(Clone, Copy, Debug)]
pub struct U32s(u32);

/// The outcome of a comparison, lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Mask(bool);

impl F32s {
    /// Lanes in a register.
    pub const WIDTH: usize = 1;

    /// The same value in every lane.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: f32) -> Self {
        Self(value)
    }

    /// Register `part` of a block.
    #[inline(always)]
    #[must_use]
    pub fn load(block: &Block, part: usize) -> Self {
        Self(block.get(part).copied().unwrap_or(0.0))
    }

    /// Writes register `part` of a block.
    #[inline(always)]
    pub fn store(self, block: &mut Block, part: usize) {
        if let Some(lane) = block.get_mut(part) {
            *lane = self.0;
        }
    }

    /// The first lane.
    #[inline(always)]
    #[must_use]
    pub fn first(self) -> f32 {
        self.0
    }

    /// The same bits as words.
    #[inline(always)]
    #[must_use]
    pub fn to_bits(self) -> U32s {
        U32s(self.0.to_bits())
    }

    /// Words read as signed integers, each rounded to the nearest float, ties to even.
    #[inline(always)]
    #[must_use]
    pub fn from_i32(words: U32s) -> Self {
        Self(words.0 as i32 as f32)
    }

    /// The integer next to zero, as a word; for magnitudes below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn trunc_i32(self) -> U32s {
        U32s(self.0 as i32 as u32)
    }

    /// The largest integer that is not above, as a word; for magnitudes below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn floor_i32(self) -> U32s {
        let whole = self.0 as i32;
        U32s(whole.wrapping_sub(i32::from(self.0 < whole as f32)) as u32)
    }

    /// `self < other`; false where either is NaN.
    #[inline(always)]
    #[must_use]
    pub fn lt(self, other: Self) -> Mask {
        Mask(self.0 < other.0)
    }

    /// `self == other`; false where either is NaN.
    #[inline(always)]
    #[must_use]
    pub fn eq(self, other: Self) -> Mask {
        Mask(self.0 == other.0)
    }

    /// The magnitude: the sign bit cleared.
    #[inline(always)]
    #[must_use]
    pub fn abs(self) -> Self {
        (self.to_bits() & U32s::splat(0x7FFF_FFFF)).to_f32()
    }

    /// The larger of two numbers, neither NaN; of 0 and −0 either, so for what does not tell them apart.
    #[inline(always)]
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        if self.0 > other.0 { self } else { other }
    }

    /// The square root, correctly rounded.
    #[inline(always)]
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self(libm::sqrtf(self.0))
    }
}

impl U32s {
    /// The same value in every lane.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: u32) -> Self {
        Self(value)
    }

    /// Register `part` of sixteen words.
    #[inline(always)]
    #[must_use]
    pub fn load(block: &Bits, part: usize) -> Self {
        Self(block.get(part).copied().unwrap_or(0))
    }

    /// Writes register `part` of sixteen words.
    #[inline(always)]
    pub fn store(self, block: &mut Bits, part: usize) {
        if let Some(lane) = block.get_mut(part) {
            *lane = self.0;
        }
    }

    /// Register `part` of sixteen bytes, one a word.
    #[inline(always)]
    #[must_use]
    pub fn load_bytes(bytes: &[u8; LANES], part: usize) -> Self {
        Self(bytes.get(part).map_or(0, |&byte| u32::from(byte)))
    }

    /// Writes the low bytes of the words to register `part` of sixteen bytes.
    #[inline(always)]
    pub fn store_bytes(self, bytes: &mut [u8; LANES], part: usize) {
        if let Some(lane) = bytes.get_mut(part) {
            *lane = self.0 as u8;
        }
    }

    /// The same bits as floats.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> F32s {
        F32s(f32::from_bits(self.0))
    }

    /// Each word shifted left by `N`.
    #[inline(always)]
    #[must_use]
    pub fn shl<const N: u32>(self) -> Self {
        Self(self.0 << N)
    }

    /// Each word shifted right by `N`, zeros in.
    #[inline(always)]
    #[must_use]
    pub fn shr<const N: u32>(self) -> Self {
        Self(self.0 >> N)
    }

    /// Each word shifted right by `N`, sign in.
    #[inline(always)]
    #[must_use]
    pub fn sar<const N: u32>(self) -> Self {
        Self(((self.0 as i32) >> N) as u32)
    }

    /// The sign bit of lane `l` to bit `part · WIDTH + l`.
    #[inline(always)]
    #[must_use]
    pub fn signs(self, part: usize) -> u32 {
        (self.0 >> 31) << part
    }

    /// Each word read as two signed integers of 16 bits: the product of the low halves and that of the high ones,
    /// in one word; exact unless all four are −2¹⁵.
    #[inline(always)]
    #[must_use]
    pub fn dot(self, other: Self) -> Self {
        let low = i32::from(self.0 as i16) * i32::from(other.0 as i16);
        let high = i32::from((self.0 >> 16) as i16) * i32::from((other.0 >> 16) as i16);
        Self(low.wrapping_add(high) as u32)
    }

    /// Each word read as two signed integers of 16 bits: all ones in a half where it is less.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_lt(self, other: Self) -> Self {
        let low = ((self.0 as i16) < other.0 as i16).then_some(0xFFFF);
        let high = ((self.0 as i32) >> 16 < (other.0 as i32) >> 16).then_some(0xFFFF_0000);
        Self(low.unwrap_or(0) | high.unwrap_or(0))
    }

    /// Whether a half is less, each word read as two signed integers of 16 bits.
    #[inline(always)]
    #[must_use]
    pub(crate) fn any_half_lt(self, other: Self) -> bool {
        self.halves_lt(other).0 != 0
    }

    /// Each word read as two integers of 16 bits: their sums, which wrap.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_add(self, other: Self) -> Self {
        let high = (self.0 & 0xFFFF_0000).wrapping_add(other.0 & 0xFFFF_0000);
        Self(high | (self.0.wrapping_add(other.0) & 0xFFFF))
    }

    /// Halves of words, the low one of each first, all ones where a bit is set.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_from_bits(bits: u32, part: usize) -> Self {
        let half = |bit: usize| if (bits >> bit) & 1 == 1 { 0xFFFF } else { 0 };
        Self(half(2 * part) | half(2 * part + 1) << 16)
    }

    /// Register `part` of thirty-two numbers of 16 bits, two a word, the first in its low half.
    #[inline(always)]
    #[must_use]
    pub(crate) fn load_halves(numbers: &[i16; 2 * LANES], part: usize) -> Self {
        let [low, high] = numbers.as_chunks::<2>().0.get(part).copied().unwrap_or_default();
        Self(u32::from(low as u16) | (u32::from(high as u16) << 16))
    }

    /// Writes register `part` of thirty-two numbers of 16 bits.
    #[inline(always)]
    pub(crate) fn store_halves(self, numbers: &mut [i16; 2 * LANES], part: usize) {
        if let Some(pair) = numbers.as_chunks_mut::<2>().0.get_mut(part) {
            *pair = [self.0 as i16, (self.0 >> 16) as i16];
        }
    }

    /// Sixteen numbers as words of 32 bits, with their signs.
    #[inline(always)]
    #[must_use]
    pub(crate) fn load_i16s(numbers: &[i16; LANES], part: usize) -> Self {
        Self(numbers.get(part).map_or(0, |&number| i32::from(number) as u32))
    }

    /// The sum over the lanes; it wraps.
    #[inline(always)]
    #[must_use]
    pub fn total(self) -> u32 {
        self.0
    }

    /// Where the sign bit is set.
    #[inline(always)]
    #[must_use]
    pub fn negative(self) -> Mask {
        Mask((self.0 as i32) < 0)
    }

    /// `self == other`.
    #[inline(always)]
    #[must_use]
    pub fn eq(self, other: Self) -> Mask {
        Mask(self.0 == other.0)
    }

    /// `self < other` for words below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn lt_i32(self, other: Self) -> Mask {
        Mask((self.0 as i32) < other.0 as i32)
    }
}

impl Mask {
    /// Lane `l` from bit `part · WIDTH + l`.
    #[inline(always)]
    #[must_use]
    pub fn from_bits(bits: u32, part: usize) -> Self {
        Self((bits >> (part & 15)) & 1 != 0)
    }

    /// Lane `l` to bit `part · WIDTH + l`, the others zero.
    #[inline(always)]
    #[must_use]
    pub fn bits(self, part: usize) -> u32 {
        u32::from(self.0) << (part & 15)
    }

    /// Whether any lane is set.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.0
    }

    /// `yes` where set, `no` elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn pick(self, yes: F32s, no: F32s) -> F32s {
        if self.0 { yes } else { no }
    }

    /// `yes` where set, `no` elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn choose(self, yes: U32s, no: U32s) -> U32s {
        if self.0 { yes } else { no }
    }

    /// `word` where set, zero elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn keep(self, word: U32s) -> U32s {
        if self.0 { word } else { U32s(0) }
    }
}

macro_rules! operators {
    ($($type:ident: $($trait:ident $name:ident $method:expr),+;)+) => {$($(
        impl $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self($method(self.0, other.0))
            }
        }
    )+)+};
}

operators! {
    F32s: Add add Add::add, Sub sub Sub::sub, Mul mul Mul::mul, Div div Div::div;
    U32s: Add add u32::wrapping_add, Sub sub u32::wrapping_sub,
        BitAnd bitand BitAnd::bitand, BitOr bitor BitOr::bitor, BitXor bitxor BitXor::bitxor;
    Mask: BitAnd bitand BitAnd::bitand, BitOr bitor BitOr::bitor, BitXor bitxor BitXor::bitxor;
}

impl Neg for F32s {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        (self.to_bits() ^ U32s::splat(0x8000_0000)).to_f32()
    }
}

impl Not for Mask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}
