//! One lane a register, for cores without vectors: the same bits, one site at a time.

pub(super) type Floats = f32;
pub(super) type Words = u32;
pub(super) type Flags = bool;

/// Lanes in a register.
pub(super) const WIDTH: usize = 1;

/// The first of two bodies.
macro_rules! choose {
    ($one:block $all:block) => {
        $one
    };
}

pub(super) use choose;
