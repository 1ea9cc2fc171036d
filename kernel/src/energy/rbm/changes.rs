//! Sums on the grid that follow a state: rows or columns of the units that changed are added to them or taken away.

use super::Rbm;
use crate::energy::{Grid, ones};
use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s};

/// Blocks of sums that stay in registers while all changes pass. The bits do not depend on it.
pub(super) const TILE: usize =
    if cfg!(any(bitmc_scalar, not(any(target_feature = "sse2", target_feature = "neon")))) {
        1
    } else if cfg!(target_feature = "avx512f") {
        8
    } else if cfg!(any(target_feature = "avx2", target_feature = "neon")) {
        4
    } else {
        2
    };

impl<'a> Rbm<'a> {
    /// Where in the columns the weights of a block of visible units and a hidden unit are. Whole tiles come first, each
    /// hidden unit by hidden unit, so that a pass over a tile reads one region of memory.
    pub(super) fn column_at(&self, block: usize, unit: usize) -> usize {
        let wide = self.visible.len().div_ceil(LANES) / TILE * TILE;
        let (first, width) = if block < wide { (block / TILE * TILE, TILE) } else { (block, 1) };
        first * self.units + unit * width + (block - first)
    }

    /// Moves pre-activations of the hidden units along with changes of the visible ones, at several points. The only
    /// place where rows meet the grid.
    pub(super) fn add_rows<const N: usize>(&self, points: [(&mut [Bits], impl Words); N]) {
        let magic = F32s::splat(Grid::MAGIC * self.grid.unit);
        let (rows, len) = (self.weights, self.hidden.len());
        let units = |row: &Block, part| (F32s::load(row, part) + magic).to_bits();
        follow(points, rows, |first, _, unit| first + unit * len, &(units, magic.first().to_bits()));
    }

    /// Moves pre-activations of the visible units along with changes of the hidden ones, by the columns.
    pub(super) fn add_columns<const N: usize>(&self, points: [(&mut [Bits], impl Words); N]) {
        let (columns, units) = (self.columns, self.units);
        follow(points, columns, |first, width, unit| first * units + unit * width, &(U32s::load, 0));
    }
}

/// Words of bits that may differ: `(number, before, after)`.
pub(super) trait Words: Iterator<Item = (usize, u32, u32)> + Clone {}

impl<I: Iterator<Item = (usize, u32, u32)> + Clone> Words for I {}

/// Adds to the sums of each point the rows of a table at all bits that rise, less those at all bits that fall. A
/// bit's row has its `width` blocks from block `first` on at `at(first, width, bit)`. `units` reads a register of
/// them, and knows by how much it is too high. All points take a tile of the table while it is in a near cache.
#[inline(always)]
fn follow<T, const N: usize>(
    mut points: [(&mut [Bits], impl Words); N],
    table: &[T],
    at: impl Fn(usize, usize, usize) -> usize,
    units: &(impl Fn(&T, usize) -> U32s, u32),
) {
    let blocks = points.first().map_or(0, |(sums, _)| sums.len());
    let wide = blocks / TILE * TILE;
    for first in (0..wide).step_by(TILE) {
        for (sums, changes) in &mut points {
            let sums = sums.get_mut(first..).unwrap_or_default();
            follow_tile::<T, TILE>(sums, changes.clone(), |bit| table.get(at(first, TILE, bit)..), units);
        }
    }
    for first in wide..blocks {
        for (sums, changes) in &mut points {
            let sums = sums.get_mut(first..).unwrap_or_default();
            follow_tile::<T, 1>(sums, changes.clone(), |bit| table.get(at(first, 1, bit)..), units);
        }
    }
}

#[inline(always)]
fn follow_tile<'t, T: 't, const N: usize>(
    sums: &mut [Bits],
    changes: impl Words,
    row: impl Fn(usize) -> Option<&'t [T]>,
    (units, offset): &(impl Fn(&T, usize) -> U32s, u32),
) {
    let Some(sums) = sums.first_chunk_mut::<N>() else { return };
    let mut running =
        sums.each_ref().map(|sums| core::array::from_fn::<_, PARTS, _>(|part| U32s::load(sums, part)));
    let mut too_high = 0u32; // taken away once, not at every bit
    for (number, before, after) in changes {
        for bit in ones(after & !before, 32 * number) {
            let Some(row) = row(bit).and_then(|row| row.first_chunk::<N>()) else { continue };
            too_high = too_high.wrapping_add(*offset);
            for (running, block) in running.iter_mut().zip(row) {
                for (part, sum) in running.iter_mut().enumerate() {
                    *sum = *sum + units(block, part);
                }
            }
        }
        for bit in ones(before & !after, 32 * number) {
            let Some(row) = row(bit).and_then(|row| row.first_chunk::<N>()) else { continue };
            too_high = too_high.wrapping_sub(*offset);
            for (running, block) in running.iter_mut().zip(row) {
                for (part, sum) in running.iter_mut().enumerate() {
                    *sum = *sum - units(block, part);
                }
            }
        }
    }
    for (sums, running) in sums.iter_mut().zip(running) {
        for (part, sum) in running.into_iter().enumerate() {
            (sum - U32s::splat(too_high)).store(sums, part);
        }
    }
}
