//! Memory for words and floats that holds numbers of sixteen bits, two in each.

use super::LANES;
use wide::bytemuck::{Pod, try_cast_slice, try_cast_slice_mut};

/// Blocks read as numbers of sixteen bits, in the order of memory.
#[inline]
pub(crate) fn i16s<T: Pod>(blocks: &[[T; LANES]]) -> &[i16] {
    try_cast_slice(blocks).unwrap_or_default() // they are longer, and begin where such numbers may
}

/// The same, to write.
#[inline]
pub(crate) fn i16s_mut<T: Pod>(blocks: &mut [[T; LANES]]) -> &mut [i16] {
    try_cast_slice_mut(blocks).unwrap_or_default()
}

/// Numbers as bytes, to write.
#[inline]
pub(crate) fn bytes_mut<T: Pod>(numbers: &mut [T]) -> &mut [u8] {
    try_cast_slice_mut(numbers).unwrap_or_default()
}
