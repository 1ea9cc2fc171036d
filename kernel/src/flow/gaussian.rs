//! Gaussians by their precision: diagonal and dense.

use super::vector::{add, clear_padding, dot};
use super::{Potential, PotentialError, blocks};
use crate::lane::{Block, F32s, LANES, PARTS};

/// `E(x) = ½ Σ pᵢ(xᵢ − μᵢ)²`. One pass a gradient.
#[derive(Clone, Copy, Debug)]
pub struct DiagonalGaussian<'a> {
    dim: usize,
    mean: &'a [Block],
    precision: &'a [Block],
}

impl<'a> DiagonalGaussian<'a> {
    /// From μ and p (1/variance), each in [`blocks`]`(dim)` blocks. Their padding is not looked at.
    ///
    /// # Errors
    /// [`PotentialError`] where a length is wrong, a mean is not finite, or a precision is not positive and
    /// finite.
    pub fn new(dim: usize, mean: &'a [Block], precision: &'a [Block]) -> Result<Self, PotentialError> {
        checked_vector(dim, mean, |value| value.is_finite())?;
        checked_vector(dim, precision, |value| value.is_finite() && value > 0.0)?;
        Ok(Self { dim, mean, precision })
    }
}

impl Potential for DiagonalGaussian<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, x: &[Block], _scratch: &mut [Block], out: &mut [Block]) -> f32 {
        let mut total = [0.0; LANES];
        let mut pass = |x: &Block, out: &mut Block, mean: &Block, precision: &Block| {
            for part in 0..PARTS {
                let away = F32s::load(x, part) - F32s::load(mean, part);
                let slope = F32s::load(precision, part) * away;
                slope.store(out, part);
                (F32s::load(&total, part) + slope * away).store(&mut total, part);
            }
        };
        let parameters = self.mean.iter().zip(self.precision);
        let full = self.dim / LANES;
        for ((x, out), (mean, precision)) in x.iter().zip(out.iter_mut()).zip(parameters.clone()).take(full) {
            pass(x, out, mean, precision);
        }
        // The last block: what a caller left in its padding is no part of E.
        for ((x, out), (mean, precision)) in x.iter().zip(out).zip(parameters).skip(full) {
            let mut last = [*mean, *precision];
            last.iter_mut().for_each(|block| clear_padding(core::slice::from_mut(block), self.dim % LANES));
            let [mean, precision] = &last;
            pass(x, out, mean, precision);
        }
        0.5 * crate::lane::sum(&total)
    }
}

/// `E(x) = ½ (x − μ)ᵀP(x − μ)`. d²/16 block operations a gradient.
#[derive(Clone, Copy, Debug)]
pub struct DenseGaussian<'a> {
    dim: usize,
    mean: &'a [Block],
    rows: &'a [Block],
}

impl<'a> DenseGaussian<'a> {
    /// From the mean μ and the precision P. The mean has [`blocks`]`(dim)` blocks, whose padding is not looked at.
    /// The precision is given row by row, each row so many blocks long with zeros for padding.
    ///
    /// P must be positive definite; that is not checked. A P that is not has no distribution.
    ///
    /// # Errors
    /// [`PotentialError`] where a length is wrong, a number is not finite, padding is not zero, or P is not
    /// symmetric.
    pub fn new(dim: usize, mean: &'a [Block], rows: &'a [Block]) -> Result<Self, PotentialError> {
        checked_vector(dim, mean, |value| value.is_finite())?;
        let width = blocks(dim);
        checked_len(dim.saturating_mul(width), rows)?;
        let flat = rows.as_flattened();
        let columns = (width * LANES).max(1);
        for (row, values) in flat.chunks(columns).enumerate() {
            for (column, &value) in values.iter().enumerate() {
                let legal = if column < dim { value.is_finite() } else { value.abs() <= 0.0 };
                if !legal {
                    return Err(PotentialError::Value { index: row * columns + column, value });
                }
                let mirror = flat.get(column * columns + row);
                if column < dim && mirror.is_some_and(|&mirror| mirror != value) {
                    return Err(PotentialError::NotSymmetric { row, column });
                }
            }
        }
        Ok(Self { dim, mean, rows })
    }
}

impl Potential for DenseGaussian<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn scratch_len(&self) -> usize {
        blocks(self.dim)
    }

    fn gradient(&self, x: &[Block], scratch: &mut [Block], out: &mut [Block]) -> f32 {
        for ((away, x), mean) in scratch.iter_mut().zip(x).zip(self.mean) {
            for part in 0..PARTS {
                (F32s::load(x, part) - F32s::load(mean, part)).store(away, part);
            }
        }
        clear_padding(scratch, self.dim);
        out.fill([0.0; LANES]);
        // P is symmetric: the sum over rows times components needs no horizontal sums.
        let rows = self.rows.chunks(blocks(self.dim).max(1));
        for (&away, row) in scratch.as_flattened().iter().zip(rows) {
            add(out, away, row);
        }
        0.5 * dot(scratch, out)
    }
}

/// A vector of `dim` numbers in blocks, each legal.
fn checked_vector(dim: usize, vector: &[Block], legal: impl Fn(f32) -> bool) -> Result<(), PotentialError> {
    if dim == 0 {
        return Err(PotentialError::Empty);
    }
    checked_len(blocks(dim), vector)?;
    checked(vector.as_flattened().get(..dim).unwrap_or_default(), |_, value| legal(value))
}

/// Whether a buffer is as long as it must be.
pub(super) fn checked_len(need: usize, buffer: &[Block]) -> Result<(), PotentialError> {
    let got = buffer.len();
    if need == got { Ok(()) } else { Err(PotentialError::Length { need, got }) }
}

/// Whether all numbers are legal at their places.
pub(super) fn checked(numbers: &[f32], legal: impl Fn(usize, f32) -> bool) -> Result<(), PotentialError> {
    match numbers.iter().enumerate().find(|&(index, &value)| !legal(index, value)) {
        Some((index, &value)) => Err(PotentialError::Value { index, value }),
        None => Ok(()),
    }
}
