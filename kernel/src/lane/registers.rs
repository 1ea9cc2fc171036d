//! Registers of one lane or of sixteen: each operation once, with its code for both.

use super::backend::*;
use super::{Bits, Block, LANES};
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A register of floats.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct F32s(Floats);

/// A register of words; arithmetic wraps.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct U32s(Words);

/// The outcome of a comparison, lane by lane.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Mask(Flags);

/// Methods with two bodies: `one` for registers of one lane, `all` for those of sixteen, where `part` is 0.
macro_rules! operations {
    ($($type:ident {$(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident $(<const $bits:ident: u32>)? ($($arguments:tt)*) $(-> $out:ident)?
            one $one:block
            all $all:block
    )+})+) => {$(impl $type {$(
        $(#[$doc])*
        #[inline(always)]
        #[allow(unused_variables, reason = "one of the bodies knows one part only")]
        $vis fn $name $(<const $bits: u32>)? ($($arguments)*) $(-> $out)? {
            choose!($one $all)
        }
    )+})+};
}

operations! {
    F32s {
        /// The same value in every lane.
        pub fn splat(value: f32) -> Self
            one { Self(value) }
            all { Self(f32x16::splat(value)) }

        /// Register `part` of a block.
        pub fn load(block: &Block, part: usize) -> Self
            one { Self(block.get(part).copied().unwrap_or(0.0)) }
            all { Self(f32x16::new(*block)) }

        /// Writes register `part` of a block.
        pub fn store(self, block: &mut Block, part: usize)
            one {
                if let Some(lane) = block.get_mut(part) {
                    *lane = self.0;
                }
            }
            all { *block = self.0.to_array(); }

        /// The first lane.
        pub fn first(self) -> f32
            one { self.0 }
            all {
                let [first, ..] = self.0.to_array();
                first
            }

        /// The same bits as words.
        pub fn to_bits(self) -> U32s
            one { U32s(self.0.to_bits()) }
            all { U32s(cast(self.0)) }

        /// Words read as signed integers, each rounded to the nearest float, ties to even.
        pub fn from_i32(words: U32s) -> Self
            one { Self(words.0 as i32 as f32) }
            all { Self(f32x16::from_i32x16(cast(words.0))) }

        /// The integer next to zero, as a word; for magnitudes below 2³¹.
        pub fn trunc_i32(self) -> U32s
            one { U32s(self.0 as i32 as u32) }
            all { U32s(cast(self.0.fast_trunc_int())) }

        /// The largest integer that is not above, as a word; for magnitudes below 2³¹.
        pub fn floor_i32(self) -> U32s
            one {
                let whole = self.0 as i32;
                U32s(whole.wrapping_sub(i32::from(self.0 < whole as f32)) as u32)
            }
            all {
                let whole = self.0.fast_trunc_int();
                let above: u32x16 = cast(self.0.simd_lt(f32x16::from_i32x16(whole)));
                let whole: u32x16 = cast(whole);
                U32s(whole + above) // all ones where the truncated number is above
            }

        /// `self < other`; false where either is NaN.
        pub fn lt(self, other: Self) -> Mask
            one { Mask(self.0 < other.0) }
            all { Mask(cast(self.0.simd_lt(other.0))) }

        /// `self == other`; false where either is NaN.
        pub fn eq(self, other: Self) -> Mask
            one { Mask(self.0 == other.0) }
            all { Mask(cast(self.0.simd_eq(other.0))) }

        /// The larger of two numbers. Of 0 and −0 it is either, and with a NaN anything: for what does not tell them apart.
        pub(crate) fn max(self, other: Self) -> Self
            one { if self.0 > other.0 { self } else { other } }
            all { Self(self.0.fast_max(other.0)) }

        /// The smaller of two numbers, likewise.
        pub(crate) fn min(self, other: Self) -> Self
            one { if self.0 < other.0 { self } else { other } }
            all { Self(self.0.fast_min(other.0)) }

        /// The square root, correctly rounded.
        pub fn sqrt(self) -> Self
            one { Self(libm::sqrtf(self.0)) }
            all { Self(self.0.sqrt()) }
    }

    U32s {
        /// The same value in every lane.
        pub fn splat(value: u32) -> Self
            one { Self(value) }
            all { Self(u32x16::splat(value)) }

        /// Register `part` of sixteen words.
        pub fn load(block: &Bits, part: usize) -> Self
            one { Self(block.get(part).copied().unwrap_or(0)) }
            all { Self(u32x16::new(*block)) }

        /// Writes register `part` of sixteen words.
        pub fn store(self, block: &mut Bits, part: usize)
            one {
                if let Some(lane) = block.get_mut(part) {
                    *lane = self.0;
                }
            }
            all { *block = self.0.to_array(); }

        /// Register `part` of sixteen bytes, one a word.
        pub fn load_bytes(bytes: &[u8; LANES], part: usize) -> Self
            one { Self(bytes.get(part).map_or(0, |&byte| u32::from(byte))) }
            all { Self(u32x16::new(bytes.map(u32::from))) }

        /// Writes the low bytes of the words to register `part` of sixteen bytes.
        pub fn store_bytes(self, bytes: &mut [u8; LANES], part: usize)
            one {
                if let Some(lane) = bytes.get_mut(part) {
                    *lane = self.0 as u8;
                }
            }
            all { *bytes = self.0.to_array().map(|word| word as u8); }

        /// The same bits as floats.
        pub fn to_f32(self) -> F32s
            one { F32s(f32::from_bits(self.0)) }
            all { F32s(cast(self.0)) }

        /// Each word shifted right by `N`, sign in.
        pub fn sar<const N: u32>(self) -> Self
            one { Self(((self.0 as i32) >> N) as u32) }
            all { Self(cast(signed(self.0) >> N)) }

        /// The sign bit of lane `l` to bit `part · WIDTH + l`.
        pub fn signs(self, part: usize) -> u32
            one { (self.0 >> 31) << part }
            all { signed(self.0).to_bitmask() }

        /// Each word read as two signed integers of 16 bits: the product of the low halves plus that of the high
        /// ones. The sum in one word is exact unless all four are −2¹⁵.
        pub fn dot(self, other: Self) -> Self
            one {
                let low = i32::from(self.0 as i16) * i32::from(other.0 as i16);
                let high = i32::from((self.0 >> 16) as i16) * i32::from((other.0 >> 16) as i16);
                Self(low.wrapping_add(high) as u32)
            }
            all { Self(cast(halves(self.0).dot(halves(other.0)))) }

        /// Each word read as two signed integers of 16 bits: all ones in a half where it is less.
        pub(crate) fn halves_lt(self, other: Self) -> Self
            one {
                let low = ((self.0 as i16) < other.0 as i16).then_some(0xFFFF);
                let high = ((self.0 as i32) >> 16 < (other.0 as i32) >> 16).then_some(0xFFFF_0000);
                Self(low.unwrap_or(0) | high.unwrap_or(0))
            }
            all { Self(cast(halves(self.0).simd_lt(halves(other.0)))) }

        /// Whether a half is less, each word read as two signed integers of 16 bits.
        pub(crate) fn any_half_lt(self, other: Self) -> bool
            one { self.halves_lt(other).0 != 0 }
            all { halves(self.0).simd_lt(halves(other.0)).any() }

        /// Each word read as two integers of 16 bits: their sums, which wrap.
        pub(crate) fn halves_add(self, other: Self) -> Self
            one {
                let high = (self.0 & 0xFFFF_0000).wrapping_add(other.0 & 0xFFFF_0000);
                Self(high | (self.0.wrapping_add(other.0) & 0xFFFF))
            }
            all { Self(cast(halves(self.0) + halves(other.0))) }

        /// Halves of words, the low one of each first, all ones where a bit is set.
        pub(crate) fn halves_from_bits(bits: u32, part: usize) -> Self
            one {
                let half = |bit: usize| if (bits >> bit) & 1 == 1 { 0xFFFF } else { 0 };
                Self(half(2 * part) | half(2 * part + 1) << 16)
            }
            all {
                // Bits 0 and 1, 2 and 3, …: those of sixteen halves, twice.
                const TWO: u32 = 0x0002_0001;
                const BIT: [[u32; LANES / 2]; 2] =
                    [[TWO, TWO << 2, TWO << 4, TWO << 6, TWO << 8, TWO << 10, TWO << 12, TWO << 14]; 2];
                let (low, high) = ((bits & 0xFFFF) * 0x1_0001, (bits >> 16) * 0x1_0001);
                let both = [[low; LANES / 2], [high; LANES / 2]];
                let (all, bit): (i16x32, i16x32) = (cast(both), cast(BIT));
                Self(cast((all & bit).simd_eq(bit)))
            }

        /// Register `part` of thirty-two numbers of 16 bits, two a word, the first in its low half.
        pub(crate) fn load_halves(numbers: &[i16; 2 * LANES], part: usize) -> Self
            one {
                let [low, high] = numbers.as_chunks::<2>().0.get(part).copied().unwrap_or_default();
                Self(u32::from(low as u16) | (u32::from(high as u16) << 16))
            }
            all {
                let (pairs, mut words) = (numbers.as_chunks::<2>().0, [0; LANES]);
                for (word, &[low, high]) in words.iter_mut().zip(pairs) {
                    *word = u32::from(low as u16) | (u32::from(high as u16) << 16);
                }
                Self(u32x16::new(words))
            }

        /// Writes register `part` of thirty-two numbers of 16 bits.
        pub(crate) fn store_halves(self, numbers: &mut [i16; 2 * LANES], part: usize)
            one {
                if let Some(pair) = numbers.as_chunks_mut::<2>().0.get_mut(part) {
                    *pair = [self.0 as i16, (self.0 >> 16) as i16];
                }
            }
            all {
                for (pair, word) in numbers.as_chunks_mut::<2>().0.iter_mut().zip(self.0.to_array()) {
                    *pair = [word as i16, (word >> 16) as i16];
                }
            }

        /// Sixteen numbers as words of 32 bits, with their signs.
        pub(crate) fn load_i16s(numbers: &[i16; LANES], part: usize) -> Self
            one { Self(numbers.get(part).map_or(0, |&number| i32::from(number) as u32)) }
            all { Self(u32x16::new(numbers.map(|number| i32::from(number) as u32))) }

        /// The sum over the lanes: additions modulo 2³², the same in any order.
        pub fn total(self) -> u32
            one { self.0 }
            all { self.0.reduce_add() }

        /// Where the sign bit is set.
        pub fn negative(self) -> Mask
            one { Mask((self.0 as i32) < 0) }
            all { Mask(cast(signed(self.0).simd_lt(i32x16::splat(0)))) }

        /// `self == other`.
        pub fn eq(self, other: Self) -> Mask
            one { Mask(self.0 == other.0) }
            all { Mask(self.0.simd_eq(other.0)) }

        /// `self < other` for words below 2³¹.
        pub fn lt_i32(self, other: Self) -> Mask
            one { Mask((self.0 as i32) < other.0 as i32) }
            all { Mask(cast(signed(self.0).simd_lt(signed(other.0)))) }
    }

    Mask {
        /// Lane `l` from bit `part · WIDTH + l`.
        pub fn from_bits(bits: u32, part: usize) -> Self
            one { Self((bits >> (part & 15)) & 1 != 0) }
            all {
                const LANE: u32x16 =
                    u32x16::new([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]);
                Self((u32x16::splat(bits) & LANE).simd_eq(LANE))
            }

        /// Lane `l` to bit `part · WIDTH + l`, the others zero.
        pub fn bits(self, part: usize) -> u32
            one { u32::from(self.0) << (part & 15) }
            all { self.0.to_bitmask() }

        /// Whether any lane is set.
        pub fn any(self) -> bool
            one { self.0 }
            all { self.0.any() }

        /// `yes` where set, `no` elsewhere.
        pub fn pick(self, yes: F32s, no: F32s) -> F32s
            one { if self.0 { yes } else { no } }
            all {
                let mask: f32x16 = cast(self.0);
                F32s(mask.select(yes.0, no.0))
            }

        /// `yes` where set, `no` elsewhere.
        pub fn choose(self, yes: U32s, no: U32s) -> U32s
            one { if self.0 { yes } else { no } }
            all { U32s(self.0.select(yes.0, no.0)) }

        /// `word` where set, zero elsewhere.
        pub fn keep(self, word: U32s) -> U32s
            one { if self.0 { word } else { U32s(0) } }
            all { U32s(self.0 & word.0) }
    }
}

impl F32s {
    /// Lanes in a register.
    pub const WIDTH: usize = WIDTH;

    /// The magnitude: the sign bit cleared.
    #[inline(always)]
    pub fn abs(self) -> Self {
        (self.to_bits() & U32s::splat(0x7FFF_FFFF)).to_f32()
    }
}

impl U32s {
    /// Each word shifted left by `N`.
    #[inline(always)]
    pub fn shl<const N: u32>(self) -> Self {
        Self(self.0 << N)
    }

    /// Each word shifted right by `N`, zeros in.
    #[inline(always)]
    pub fn shr<const N: u32>(self) -> Self {
        Self(self.0 >> N)
    }
}

macro_rules! operators {
    ($($type:ident: $($trait:ident $name:ident $one:ident $all:tt),+;)+) => {$($(
        impl $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                choose!({ Self(self.0.$one(other.0)) } { Self(self.0 $all other.0) })
            }
        }
    )+)+};
}

operators! {
    F32s: Add add add +, Sub sub sub -, Mul mul mul *, Div div div /;
    U32s: Add add wrapping_add +, Sub sub wrapping_sub -, BitAnd bitand bitand &, BitOr bitor bitor |, BitXor bitxor bitxor ^;
    Mask: BitAnd bitand bitand &, BitOr bitor bitor |, BitXor bitxor bitxor ^;
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
