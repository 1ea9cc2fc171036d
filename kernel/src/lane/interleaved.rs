//! Several registers, computed interleaved.

use super::{F32s, Mask, U32s};
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// Registers on which each operation is done in turn, before the next one is.
///
/// For formulas that are a long row of operations, each of which waits for the one before. A processor does not look
/// past that row. Here what it can do meanwhile comes right after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interleaved<T, const N: usize>(pub(crate) [T; N]);

/// For each of up to four places. Written out where registers have one lane, since a build that minds its size leaves
/// loops of two turns as loops. Elsewhere they are loops, which come out up to 3 % shorter.
macro_rules! in_turn {
    ($place:ident => $body:block) => {
        // Read on every build, so it says itself where it holds.
        const { assert!(F32s::WIDTH > 1 || N <= 4) };
        if F32s::WIDTH == 1 {
            in_turn!($place $body 0 1 2 3);
        } else {
            for $place in 0..N {
                $body
            }
        }
    };
    ($place:ident $body:block $($number:literal)+) => {$({
        let $place = $number;
        $body
    })+};
}

impl<T: Copy, const N: usize> Interleaved<T, N> {
    #[inline(always)]
    pub(crate) fn splat(one: T) -> Self {
        Self([one; N])
    }

    #[inline(always)]
    fn each<R: Copy>(self, start: R, with: impl Fn(T) -> R) -> Interleaved<R, N> {
        let mut out = [start; N];
        in_turn!(place => {
            if let (Some(out), Some(&one)) = (out.get_mut(place), self.0.get(place)) {
                *out = with(one);
            }
        });
        Interleaved(out)
    }
}

/// What [`F32s`] does, in each.
impl<const N: usize> Interleaved<F32s, N> {
    #[inline(always)]
    pub(crate) fn to_bits(self) -> Interleaved<U32s, N> {
        self.each(U32s::splat(0), F32s::to_bits)
    }

    #[inline(always)]
    pub(crate) fn trunc_i32(self) -> Interleaved<U32s, N> {
        self.each(U32s::splat(0), F32s::trunc_i32)
    }

    #[inline(always)]
    pub(crate) fn sqrt(self) -> Self {
        self.each(F32s::splat(0.0), F32s::sqrt)
    }

    #[inline(always)]
    pub(crate) fn max(self, other: F32s) -> Self {
        self.each(other, |one| one.max(other))
    }

    /// Where it is above 0.
    #[inline(always)]
    pub(crate) fn positive(self) -> Interleaved<Mask, N> {
        let zero = F32s::splat(0.0);
        self.each(zero.lt(zero), |one| zero.lt(one))
    }
}

/// What [`U32s`] does, in each.
impl<const N: usize> Interleaved<U32s, N> {
    #[inline(always)]
    pub(crate) fn to_f32(self) -> Interleaved<F32s, N> {
        self.each(F32s::splat(0.0), U32s::to_f32)
    }

    #[inline(always)]
    pub(crate) fn i32_to_f32(self) -> Interleaved<F32s, N> {
        self.each(F32s::splat(0.0), F32s::from_i32)
    }

    #[inline(always)]
    pub(crate) fn shl<const BY: u32>(self) -> Self {
        self.each(U32s::splat(0), U32s::shl::<BY>)
    }
}

impl<const N: usize> Interleaved<Mask, N> {
    #[inline(always)]
    pub(crate) fn keep(self, mut words: Interleaved<U32s, N>) -> Interleaved<U32s, N> {
        in_turn!(place => {
            if let (Some(mask), Some(word)) = (self.0.get(place), words.0.get_mut(place)) {
                *word = mask.keep(*word);
            }
        });
        words
    }
}

macro_rules! operators {
    ($($type:ident: $($trait:ident $name:ident),+;)+) => {$($(
        impl<const N: usize> $trait for Interleaved<$type, N> {
            type Output = Self;
            #[inline(always)]
            fn $name(mut self, other: Self) -> Self {
                in_turn!(place => {
                    if let (Some(one), Some(&other)) = (self.0.get_mut(place), other.0.get(place)) {
                        *one = one.$name(other);
                    }
                });
                self
            }
        }

        impl<const N: usize> $trait<$type> for Interleaved<$type, N> {
            type Output = Self;
            #[inline(always)]
            fn $name(mut self, other: $type) -> Self {
                in_turn!(place => {
                    if let Some(one) = self.0.get_mut(place) {
                        *one = one.$name(other);
                    }
                });
                self
            }
        }
    )+)+};
}

operators! {
    F32s: Add add, Sub sub, Mul mul, Div div;
    U32s: Add add, Sub sub, BitAnd bitand, BitOr bitor, BitXor bitxor;
}
