//! Matrices as rows of whole blocks.

use super::{Rbm, RbmError};
use crate::lane::Block;

/// Writes a row-major matrix as rows of whole blocks, zero past the last column.
///
/// # Errors
/// [`RbmError::Length`] where `out` is not [`Rbm::row_blocks`] blocks for each row.
pub fn pack_rows(matrix: &[f32], columns: usize, out: &mut [Block]) -> Result<(), RbmError> {
    if columns == 0 {
        return Err(RbmError::Units);
    }
    let blocks = Rbm::row_blocks(columns);
    let rows = matrix.chunks_exact(columns);
    let (need, rest) = (rows.len() * blocks, rows.remainder().len());
    if rest != 0 {
        return Err(RbmError::Length { need: matrix.len() + columns - rest, got: matrix.len() });
    }
    if out.len() != need {
        return Err(RbmError::Length { need, got: out.len() });
    }
    for (row, out) in rows.zip(out.chunks_exact_mut(blocks)) {
        let padded = row.iter().copied().chain(core::iter::repeat(0.0));
        for (slot, value) in out.as_flattened_mut().iter_mut().zip(padded) {
            *slot = value;
        }
    }
    Ok(())
}
