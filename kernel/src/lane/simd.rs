//! Sixteen lanes a register, over `wide`, which this file and `halves` alone name.

pub(super) use wide::{bytemuck::cast, f32x16, i16x32, i32x16, u32x16};

pub(super) type Floats = f32x16;
pub(super) type Words = u32x16;
pub(super) type Flags = u32x16;

/// Lanes in a register.
pub(super) const WIDTH: usize = super::LANES;

/// Words read as signed ones.
#[inline(always)]
pub(super) fn signed(words: Words) -> i32x16 {
    cast(words)
}

/// Words read as two signed numbers of 16 bits each.
#[inline(always)]
pub(super) fn halves(words: Words) -> i16x32 {
    cast(words)
}

/// The second of two bodies.
macro_rules! choose {
    ($one:block $all:block) => {
        $all
    };
}

pub(super) use choose;
