//! Registers abreast.

use super::{F32s, Mask, U32s};
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// Registers on which each operation is done in turn, before the next one is.
///
/// Where a formula is a long row of operations that wait for each other, a processor looks ahead less far than it is:
/// here the ones that it can do meanwhile stand beside each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abreast<T, const N: usize>(pub(crate) [T; N]);

impl<T: Copy, const N: usize> Abreast<T, N> {
    #[inline(always)]
    pub(crate) fn splat(one: T) -> Self {
        Self([one; N])
    }

    // Written out: loops of two turns stay loops where a build minds its size, and what `array::map` is given is not
    // always inlined.
    #[inline(always)]
    fn each<R: Copy>(self, start: R, with: impl Fn(T) -> R) -> Abreast<R, N> {
        const { assert!(N <= 2) };
        let mut out = [start; N];
        if let (Some(out), Some(&one)) = (out.first_mut(), self.0.first()) {
            *out = with(one);
        }
        if let (Some(out), Some(&one)) = (out.get_mut(1), self.0.get(1)) {
            *out = with(one);
        }
        Abreast(out)
    }

    #[inline(always)]
    fn zip<U: Copy, R: Copy>(self, other: Abreast<U, N>, start: R, with: impl Fn(T, U) -> R) -> Abreast<R, N> {
        const { assert!(N <= 2) };
        let mut out = [start; N];
        if let (Some(out), Some(&one), Some(&other)) = (out.first_mut(), self.0.first(), other.0.first()) {
            *out = with(one, other);
        }
        if let (Some(out), Some(&one), Some(&other)) = (out.get_mut(1), self.0.get(1), other.0.get(1)) {
            *out = with(one, other);
        }
        Abreast(out)
    }
}

/// What [`F32s`] does, in each.
impl<const N: usize> Abreast<F32s, N> {
    #[inline(always)]
    pub(crate) fn to_bits(self) -> Abreast<U32s, N> {
        self.each(U32s::splat(0), F32s::to_bits)
    }

    #[inline(always)]
    pub(crate) fn trunc_i32(self) -> Abreast<U32s, N> {
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
    pub(crate) fn positive(self) -> Abreast<Mask, N> {
        let zero = F32s::splat(0.0);
        self.each(zero.lt(zero), |one| zero.lt(one))
    }
}

/// What [`U32s`] does, in each.
impl<const N: usize> Abreast<U32s, N> {
    #[inline(always)]
    pub(crate) fn to_f32(self) -> Abreast<F32s, N> {
        self.each(F32s::splat(0.0), U32s::to_f32)
    }

    #[inline(always)]
    pub(crate) fn i32_to_f32(self) -> Abreast<F32s, N> {
        self.each(F32s::splat(0.0), F32s::from_i32)
    }

    #[inline(always)]
    pub(crate) fn shl<const BY: u32>(self) -> Self {
        self.each(U32s::splat(0), U32s::shl::<BY>)
    }
}

impl<const N: usize> Abreast<Mask, N> {
    #[inline(always)]
    pub(crate) fn keep(self, words: Abreast<U32s, N>) -> Abreast<U32s, N> {
        self.zip(words, U32s::splat(0), Mask::keep)
    }
}

macro_rules! operators {
    ($($type:ident: $($trait:ident $name:ident),+;)+) => {$($(
        impl<const N: usize> $trait for Abreast<$type, N> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                self.zip(other, $type::splat(Default::default()), $type::$name)
            }
        }

        impl<const N: usize> $trait<$type> for Abreast<$type, N> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: $type) -> Self {
                self.each(other, |one| one.$name(other))
            }
        }
    )+)+};
}

operators! {
    F32s: Add add, Sub sub, Mul mul, Div div;
    U32s: Add add, Sub sub, BitAnd bitand, BitOr bitor, BitXor bitxor;
}
