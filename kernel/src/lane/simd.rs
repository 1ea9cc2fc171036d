//! Registers of sixteen lanes, over `wide`, which this file and `halves` alone name.

use super::{Bits, Block, LANES};
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};
use wide::{bytemuck::cast, f32x16, i16x32, i32x16, u32x16};

/// A register of floats.
#[derive(Clone, Copy, Debug)]
pub struct F32s(f32x16);

/// A register of words; arithmetic wraps.
#[derive(Clone, Copy, Debug)]
pub struct U32s(u32x16);

/// The outcome of a comparison, lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Mask(u32x16);

impl F32s {
    /// Lanes in a register.
    pub const WIDTH: usize = LANES;

    /// The same value in every lane.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: f32) -> Self {
        Self(f32x16::splat(value))
    }

    /// Register `part` of a block.
    #[inline(always)]
    #[must_use]
    pub fn load(block: &Block, _part: usize) -> Self {
        Self(f32x16::new(*block))
    }

    /// Writes register `part` of a block.
    #[inline(always)]
    pub fn store(self, block: &mut Block, _part: usize) {
        *block = self.0.to_array();
    }

    /// The first lane.
    #[inline(always)]
    #[must_use]
    pub fn first(self) -> f32 {
        let [first, ..] = self.0.to_array();
        first
    }

    /// The same bits as words.
    #[inline(always)]
    #[must_use]
    pub fn to_bits(self) -> U32s {
        U32s(cast(self.0))
    }

    /// Words read as signed integers, each rounded to the nearest float, ties to even.
    #[inline(always)]
    #[must_use]
    pub fn from_i32(words: U32s) -> Self {
        Self(f32x16::from_i32x16(cast(words.0)))
    }

    /// The integer next to zero, as a word; for magnitudes below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn trunc_i32(self) -> U32s {
        U32s(cast(self.0.fast_trunc_int()))
    }

    /// The largest integer that is not above, as a word; for magnitudes below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn floor_i32(self) -> U32s {
        let whole = self.0.fast_trunc_int();
        let above: u32x16 = cast(self.0.simd_lt(f32x16::from_i32x16(whole)));
        let whole: u32x16 = cast(whole);
        U32s(whole + above) // all ones where the truncated number is above
    }

    /// `self < other`; false where either is NaN.
    #[inline(always)]
    #[must_use]
    pub fn lt(self, other: Self) -> Mask {
        Mask(cast(self.0.simd_lt(other.0)))
    }

    /// `self == other`; false where either is NaN.
    #[inline(always)]
    #[must_use]
    pub fn eq(self, other: Self) -> Mask {
        Mask(cast(self.0.simd_eq(other.0)))
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
        Self(self.0.fast_max(other.0))
    }

    /// The square root, correctly rounded.
    #[inline(always)]
    #[must_use]
    pub fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
}

impl U32s {
    /// The same value in every lane.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: u32) -> Self {
        Self(u32x16::splat(value))
    }

    /// Register `part` of sixteen words.
    #[inline(always)]
    #[must_use]
    pub fn load(block: &Bits, _part: usize) -> Self {
        Self(u32x16::new(*block))
    }

    /// Writes register `part` of sixteen words.
    #[inline(always)]
    pub fn store(self, block: &mut Bits, _part: usize) {
        *block = self.0.to_array();
    }

    /// Register `part` of sixteen bytes, one a word.
    #[inline(always)]
    #[must_use]
    pub fn load_bytes(bytes: &[u8; LANES], _part: usize) -> Self {
        Self(u32x16::new(bytes.map(u32::from)))
    }

    /// Writes the low bytes of the words to register `part` of sixteen bytes.
    #[inline(always)]
    pub fn store_bytes(self, bytes: &mut [u8; LANES], _part: usize) {
        *bytes = self.0.to_array().map(|word| word as u8);
    }

    /// The same bits as floats.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> F32s {
        F32s(cast(self.0))
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
        let signed: i32x16 = cast(self.0);
        Self(cast(signed >> N))
    }

    /// The sign bit of lane `l` to bit `part · WIDTH + l`.
    #[inline(always)]
    #[must_use]
    pub fn signs(self, _part: usize) -> u32 {
        let signed: i32x16 = cast(self.0);
        signed.to_bitmask()
    }

    /// Each word read as two signed integers of 16 bits: the product of the low halves and that of the high ones,
    /// in one word; exact unless all four are −2¹⁵.
    #[inline(always)]
    #[must_use]
    pub fn dot(self, other: Self) -> Self {
        let (a, b): (i16x32, i16x32) = (cast(self.0), cast(other.0));
        Self(cast(a.dot(b)))
    }

    /// Each word read as two signed integers of 16 bits: all ones in a half where it is less.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_lt(self, other: Self) -> Self {
        let (a, b): (i16x32, i16x32) = (cast(self.0), cast(other.0));
        Self(cast(a.simd_lt(b)))
    }

    /// Whether a half is less, each word read as two signed integers of 16 bits.
    #[inline(always)]
    #[must_use]
    pub(crate) fn any_half_lt(self, other: Self) -> bool {
        let (a, b): (i16x32, i16x32) = (cast(self.0), cast(other.0));
        a.simd_lt(b).any()
    }

    /// Each word read as two integers of 16 bits: their sums, which wrap.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_add(self, other: Self) -> Self {
        let (a, b): (i16x32, i16x32) = (cast(self.0), cast(other.0));
        Self(cast(a + b))
    }

    /// Halves of words, the low one of each first, all ones where a bit is set.
    #[inline(always)]
    #[must_use]
    pub(crate) fn halves_from_bits(bits: u32, _part: usize) -> Self {
        // Bits 0 and 1, 2 and 3, …: those of sixteen halves, twice.
        const BIT: [[u32; LANES / 2]; 2] = [[
            0x0002_0001,
            0x0008_0004,
            0x0020_0010,
            0x0080_0040,
            0x0200_0100,
            0x0800_0400,
            0x2000_1000,
            0x8000_4000,
        ]; 2];
        let (low, high) = ((bits & 0xFFFF) * 0x1_0001, (bits >> 16) * 0x1_0001);
        let both = [[low; LANES / 2], [high; LANES / 2]];
        let (all, bit): (i16x32, i16x32) = (cast(both), cast(BIT));
        Self(cast((all & bit).simd_eq(bit)))
    }

    /// Register `part` of thirty-two numbers of 16 bits, two a word, the first in its low half.
    #[inline(always)]
    #[must_use]
    pub(crate) fn load_halves(numbers: &[i16; 2 * LANES], _part: usize) -> Self {
        let (pairs, mut words) = (numbers.as_chunks::<2>().0, [0; LANES]);
        for (word, &[low, high]) in words.iter_mut().zip(pairs) {
            *word = u32::from(low as u16) | (u32::from(high as u16) << 16);
        }
        Self(u32x16::new(words))
    }

    /// Writes register `part` of thirty-two numbers of 16 bits.
    #[inline(always)]
    pub(crate) fn store_halves(self, numbers: &mut [i16; 2 * LANES], _part: usize) {
        let (pairs, _) = numbers.as_chunks_mut::<2>();
        pairs
            .iter_mut()
            .zip(self.0.to_array())
            .for_each(|(pair, word)| *pair = [word as i16, (word >> 16) as i16]);
    }

    /// Sixteen numbers as words of 32 bits, with their signs.
    #[inline(always)]
    #[must_use]
    pub(crate) fn load_i16s(numbers: &[i16; LANES], _part: usize) -> Self {
        Self(u32x16::new(numbers.map(|number| i32::from(number) as u32)))
    }

    /// The sum over the lanes; integers that wrap, so that their order does not matter.
    #[inline(always)]
    #[must_use]
    pub fn total(self) -> u32 {
        self.0.reduce_add() // of u32x16: additions modulo 2³², exact in any order
    }

    /// Where the sign bit is set.
    #[inline(always)]
    #[must_use]
    pub fn negative(self) -> Mask {
        let signed: i32x16 = cast(self.0);
        Mask(cast(signed.simd_lt(i32x16::splat(0))))
    }

    /// `self == other`.
    #[inline(always)]
    #[must_use]
    pub fn eq(self, other: Self) -> Mask {
        Mask(self.0.simd_eq(other.0))
    }

    /// `self < other` for words below 2³¹.
    #[inline(always)]
    #[must_use]
    pub fn lt_i32(self, other: Self) -> Mask {
        let (a, b): (i32x16, i32x16) = (cast(self.0), cast(other.0));
        Mask(cast(a.simd_lt(b)))
    }
}

impl Mask {
    /// Lane `l` from bit `part · WIDTH + l`.
    #[inline(always)]
    #[must_use]
    pub fn from_bits(bits: u32, _part: usize) -> Self {
        const LANE: u32x16 =
            u32x16::new([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]);
        Self((u32x16::splat(bits) & LANE).simd_eq(LANE))
    }

    /// Lane `l` to bit `part · WIDTH + l`, the others zero.
    #[inline(always)]
    #[must_use]
    pub fn bits(self, _part: usize) -> u32 {
        self.0.to_bitmask()
    }

    /// Whether any lane is set.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.0.any()
    }

    /// `yes` where set, `no` elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn pick(self, yes: F32s, no: F32s) -> F32s {
        let mask: f32x16 = cast(self.0);
        F32s(mask.select(yes.0, no.0))
    }

    /// `yes` where set, `no` elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn choose(self, yes: U32s, no: U32s) -> U32s {
        U32s(self.0.select(yes.0, no.0))
    }

    /// `word` where set, zero elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn keep(self, word: U32s) -> U32s {
        U32s(self.0 & word.0)
    }
}

macro_rules! operators {
    ($($type:ident: $($trait:ident $name:ident $op:tt),+;)+) => {$($(
        impl $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(self.0 $op other.0)
            }
        }
    )+)+};
}

operators! {
    F32s: Add add +, Sub sub -, Mul mul *, Div div /;
    U32s: Add add +, Sub sub -, BitAnd bitand &, BitOr bitor |, BitXor bitxor ^;
    Mask: BitAnd bitand &, BitOr bitor |, BitXor bitxor ^;
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
