//! Sixteen weights of ±1 from the bits of a state.

use crate::lane::{F32s, Mask, U32s};
use crate::packed::Packed;

/// Up to sixteen weights: +1 where `plus` has a bit, −1 where `minus` has one, else 0.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    plus: u32,
    minus: u32,
}

impl Signs {
    /// The weights of `count` sites from `site` on; they need not begin a block.
    pub(super) fn at(x: Packed<'_>, site: usize, count: usize) -> Self {
        let word = |index: usize| x.words().get(index).copied().unwrap_or(0);
        let shift = (site % 32) as u32;
        let above = if shift == 0 { 0 } else { word(site / 32 + 1) << (32 - shift) };
        let plus = (word(site / 32) >> shift) | above;
        let inside = (1u32 << (count & 31)) - 1;
        Self { plus: plus & inside, minus: !plus & inside }
    }

    /// The weight in a lane.
    pub(super) fn get(self, lane: usize) -> f32 {
        let bit = |word: u32| (word >> (lane & 31)) & 1;
        bit(self.plus) as f32 - bit(self.minus) as f32
    }

    /// The weights as floats.
    #[inline]
    pub(super) fn floats(self, part: usize) -> F32s {
        let minus = Mask::from_bits(self.minus, part).pick(F32s::splat(-1.0), F32s::splat(0.0));
        Mask::from_bits(self.plus, part).pick(F32s::splat(1.0), minus)
    }

    /// The weights times an integer.
    #[inline]
    pub(super) fn times(self, number: U32s, part: usize) -> U32s {
        Mask::from_bits(self.plus, part).keep(number) - Mask::from_bits(self.minus, part).keep(number)
    }
}
