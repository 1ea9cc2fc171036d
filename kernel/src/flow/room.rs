//! The memory of one chain: planes of one vector each, and what its potential works in.

use super::vector::clear_padding;
use super::{FlowError, Potential, blocks};
use crate::lane::{Block, LANES};
use crate::random::normals;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use rand_core::Rng;

/// A potential with `N` planes in caller-provided memory. Plane 0 is x.
#[derive(Debug)]
pub(crate) struct Room<'e, P: ?Sized, B, const N: usize> {
    potential: &'e P,
    memory: B,
}

impl<P: ?Sized, B, const N: usize> Room<'_, P, B, N> {
    pub(crate) const fn memory_len(blocks: usize, scratch: usize) -> usize {
        N.saturating_mul(blocks).saturating_add(scratch)
    }
}

/// A room taken apart.
pub(crate) struct Parts<'a, P: ?Sized, const N: usize> {
    pub(crate) potential: &'a P,
    pub(crate) planes: [&'a mut [Block]; N],
    pub(crate) scratch: &'a mut [Block],
}

impl<'e, P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>, const N: usize> Room<'e, P, B, N> {
    pub(crate) fn new(potential: &'e P, mut memory: B, start: &[f32]) -> Result<Self, FlowError> {
        let dim = potential.dim();
        if dim == 0 || dim > 1 << 24 {
            return Err(FlowError::Dimension(dim));
        }
        let (need, got) = (Self::memory_len(blocks(dim), potential.scratch_len()), memory.as_ref().len());
        if got < need {
            return Err(FlowError::Memory { need, got });
        }
        memory.as_mut().fill([0.0; LANES]);
        let mut room = Self { potential, memory };
        room.write(0, start)?;
        Ok(room)
    }

    /// Writes some planes, without padding.
    pub(crate) fn save(&self, planes: &[usize], to: &mut Writer<'_>) {
        planes.iter().for_each(|&plane| self.numbers(plane).save(to));
    }

    /// Reads some planes, all of them or none.
    pub(crate) fn load(&mut self, planes: &[usize], from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (need, mut look) = (self.dim(), *from);
        for _ in planes {
            let got = u32::from_le_bytes(look.array()?) as usize;
            if got != need {
                return Err(SnapshotError::Length { need, got });
            }
            for _ in 0..need {
                if !f32::from_le_bytes(look.array()?).is_finite() {
                    return Err(SnapshotError::Value);
                }
            }
        }
        for &number in planes {
            let parts = self.parts();
            if let Some(plane) = parts.planes.into_iter().nth(number) {
                plane.as_flattened_mut().get_mut(..need).unwrap_or_default().load(from)?;
                clear_padding(plane, need);
            }
        }
        Ok(())
    }

    /// Copies a vector into a plane.
    pub(crate) fn write(&mut self, plane: usize, vector: &[f32]) -> Result<(), FlowError> {
        let dim = self.dim();
        if vector.len() != dim {
            return Err(FlowError::Length { need: dim, got: vector.len() });
        }
        if let Some(index) = vector.iter().position(|value| !value.is_finite()) {
            return Err(FlowError::NotFinite { index });
        }
        let parts = self.parts();
        if let Some(plane) = parts.planes.into_iter().nth(plane) {
            for (slot, &value) in plane.as_flattened_mut().iter_mut().zip(vector) {
                *slot = value;
            }
            clear_padding(plane, dim);
        }
        Ok(())
    }

    pub(crate) fn dim(&self) -> usize {
        self.potential.dim()
    }

    pub(crate) fn parts(&mut self) -> Parts<'_, P, N> {
        let size = blocks(self.potential.dim());
        let mut rest = self.memory.as_mut();
        let planes = core::array::from_fn(|_| {
            let (plane, after) = core::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
            rest = after;
            plane
        });
        let (scratch, _) = rest.split_at_mut_checked(self.potential.scratch_len()).unwrap_or_default();
        Parts { potential: self.potential, planes, scratch }
    }

    pub(crate) fn plane(&self, number: usize) -> &[Block] {
        let size = blocks(self.potential.dim());
        self.memory.as_ref().get(number * size..(number + 1) * size).unwrap_or_default()
    }

    /// The numbers of a plane, without padding.
    pub(crate) fn numbers(&self, number: usize) -> &[f32] {
        self.plane(number).as_flattened().get(..self.dim()).unwrap_or_default()
    }

    pub(crate) fn into_memory(self) -> B {
        self.memory
    }
}

/// E and its gradient at x, padding cleared.
#[inline]
pub(crate) fn evaluate<P: Potential + ?Sized>(
    potential: &P,
    x: &[Block],
    scratch: &mut [Block],
    g: &mut [Block],
) -> f32 {
    let energy = potential.gradient(x, scratch, g);
    clear_padding(g, potential.dim());
    energy
}

/// Fills a vector with standard normals.
pub(crate) fn fill_normal<R: Rng + ?Sized>(vector: &mut [Block], dim: usize, rng: &mut R) {
    for block in vector.iter_mut() {
        *block = normals(rng);
    }
    clear_padding(vector, dim);
}
