//! Fixed point: sums that do not depend on their order.

use super::sparse::FINE;
use crate::lane::{Bits, Block, F32s, LANES, PARTS};

/// The part of itself that a number may be rounded by.
pub(super) const PART: f32 = 1.0 / 4096.0;

/// A fixed-point grid for terms and their sums. Sums on it are exact: they do not depend on the order of
/// their terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) unit: f32,
    pub(super) per_unit: f32,
}

impl Grid {
    /// How many times what one coupling may be rounded by, all couplings of a site may be rounded by.
    pub(super) const TOGETHER: f32 = 32.0;

    /// 1.5 · 2²³: adding it leaves the nearest integer of a small float in the low bits of the sum.
    pub(super) const MAGIC: f32 = 12_582_912.0;

    /// The pair (`fine`, `most`) of [`Grid::keeps`] for a field or a coupling, in nats. It may be rounded by `fine`
    /// whatever its size. It may be rounded by the share [`PART`] of itself up to the size `most`.
    pub(super) const NATS: (f32, f32) = (FINE, 1.0);

    /// The grid of unit 2^`exponent`, for −100 ..= 100.
    pub(super) const fn new(exponent: i32) -> Self {
        const fn power(k: i32) -> f32 {
            f32::from_bits(((127 + k) as u32) << 23)
        }
        Self { unit: power(exponent), per_unit: power(-exponent) }
    }

    /// Whether a number may be rounded by more than `fine`.
    pub(super) fn coarse(self, fine: f32) -> bool {
        0.5 * self.unit > fine
    }

    /// Whether a number is rounded by at most `fine`, by at most 2⁻²⁰ of itself, or by at most 1/4,096 of itself and
    /// of `most`.
    pub(super) fn keeps(self, value: f32, fine: f32, most: f32) -> bool {
        self.lost(value, most) <= fine
    }

    /// What rounding takes of a number or adds to it; 0 where that is at most 2⁻²⁰ of itself, or 1/4,096 of itself and of
    /// `most`.
    pub(super) fn lost(self, value: f32, most: f32) -> f32 {
        let (off, size) = ((self.round(value) as f32 * self.unit - value).abs(), value.abs());
        let share = PART * if size < most { size } else { most };
        if off <= size / 1_048_576.0 || off <= share { 0.0 } else { off }
    }

    /// The finest grid on which every number up to `reach` has at most `bits` bits.
    pub(super) fn covering(reach: f32, bits: i32) -> Self {
        let exponent = (reach.to_bits() >> 23) as i32 - 126; // reach < 2^exponent
        Self::new((exponent - bits).clamp(-100, 100))
    }

    /// Of some numbers the first that rounding would lose; `fine` and `most` as in [`Grid::keeps`].
    pub(super) fn loses<'v>(
        self,
        values: impl IntoIterator<Item = &'v f32>,
        (fine, most): (f32, f32),
    ) -> Option<usize> {
        let mut values = values.into_iter();
        if self.coarse(fine) { values.position(|&value| !self.keeps(value, fine, most)) } else { None }
    }

    /// The pair (`fine`, `most`) of [`Grid::keeps`] for a number whose field reaches up to `reach`. Far from 0 and 1
    /// the smallest row says what is little, and any number may be rounded in proportion.
    pub(super) fn fine(reach: f32, least: f32) -> (f32, f32) {
        if reach > 1.0 { (least * PART, f32::INFINITY) } else { Self::NATS }
    }

    /// The grid of tables: numbers up to `largest` have at most 22 bits, sums up to `reach` at most 30.
    pub(super) fn of_tables(largest: f32, reach: f32) -> Self {
        let (fine, wide) = (Self::covering(largest, 22), Self::covering(reach, 30));
        if fine.unit > wide.unit { fine } else { wide }
    }

    /// The nearest point of the grid, in units, for a value of at most 30 bits.
    #[inline]
    pub(super) fn round(self, value: f32) -> i32 {
        let units = value * self.per_unit;
        if units.abs() < 4_194_304.0 {
            self.round_small(value)
        } else {
            units as i32 // has at most one bit behind the point
        }
    }

    /// [`Grid::round`] for at most 22 bits, in two operations.
    #[inline]
    pub(super) fn round_small(self, value: f32) -> i32 {
        let magic = Self::MAGIC * self.unit;
        (value + magic).to_bits().wrapping_sub(magic.to_bits()) as i32
    }

    /// The value of a sum of points.
    #[inline]
    pub(super) fn value(self, units: i64) -> f32 {
        units as f32 * self.unit
    }
}

/// Adds `times` a row of floats to sums on the grid: the floats are rounded to it, at most 22 bits each.
#[inline]
pub(super) fn add_row(grid: Grid, row: &[Block], times: i32, sums: &mut [Bits]) {
    let magic = F32s::splat(Grid::MAGIC * grid.unit);
    for (sums, row) in sums.iter_mut().zip(row) {
        let mut units = [0; LANES];
        for part in 0..PARTS {
            ((F32s::load(row, part) + magic).to_bits() - magic.to_bits()).store(&mut units, part);
        }
        for (sum, unit) in sums.iter_mut().zip(units) {
            *sum = sum.wrapping_add(unit.wrapping_mul(times as u32));
        }
    }
}
