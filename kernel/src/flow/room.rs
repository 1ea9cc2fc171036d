//! The memory of one chain: planes of one vector each, and what its potential works in.

use super::vector::{clear_padding, copy, dot, largest};
use super::{FlowError, Potential, blocks};
use crate::lane::{Block, LANES};
use crate::random::normals;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, lists};
use rand_core::Rng;

/// The planes of x, of its direction or velocity, and of the gradient.
pub(crate) const X: usize = 0;
pub(crate) const V: usize = 1;
const G: usize = 2;

/// A potential with `N` planes in caller-provided memory, three or more.
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
        room.write(X, start)?;
        Ok(room)
    }

    /// Writes the first planes, without padding.
    pub(crate) fn save<const PLANES: usize>(&self, to: &mut Writer<'_>) {
        (0..PLANES).for_each(|plane| self.numbers(plane).save(to));
    }

    /// Reads the first planes, all of them or none, and computes the energy and its gradient there.
    pub(crate) fn load<const PLANES: usize>(
        &mut self,
        energy: &mut f32,
        from: &mut Reader<'_>,
    ) -> Result<(), SnapshotError> {
        let dim = self.dim();
        let mut parts = self.parts();
        let mut planes = parts.planes.iter_mut();
        let vectors = core::array::from_fn::<_, PLANES, _>(|_| {
            planes.next().and_then(|plane| plane.as_flattened_mut().get_mut(..dim)).unwrap_or_default()
        });
        lists(vectors, |_, value: &f32| value.is_finite(), from)?;
        parts.planes.into_iter().for_each(|plane| clear_padding(plane, dim));
        *energy = self.evaluate();
        if energy.is_finite() { Ok(()) } else { Err(SnapshotError::Value) }
    }

    /// E at x, and its gradient in its plane.
    fn evaluate(&mut self) -> f32 {
        let Parts { potential, mut planes, scratch } = self.parts();
        let [x, _, g, ..] = planes.as_mut_slice() else { return f32::NAN };
        evaluate(potential, x, scratch, g)
    }

    /// E at the start; an error where it or its gradient is not finite.
    pub(crate) fn start(&mut self) -> Result<f32, FlowError> {
        let energy = self.evaluate();
        let g = self.plane(G);
        if energy.is_finite() && dot(g, g).is_finite() { Ok(energy) } else { Err(FlowError::Energy(energy)) }
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
        let plane = self.plane_mut(plane);
        copy(plane.as_flattened_mut(), vector);
        clear_padding(plane, dim);
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

    pub(crate) fn plane_mut(&mut self, number: usize) -> &mut [Block] {
        self.parts().planes.into_iter().nth(number).unwrap_or_default()
    }

    /// Fills the plane of the velocity with standard normals.
    pub(crate) fn fill_normal<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let dim = self.dim();
        let v = self.plane_mut(V);
        v.iter_mut().for_each(|block| *block = normals(rng));
        clear_padding(v, dim);
    }

    /// Fills it with a direction uniform on the sphere, of any length; the first axis where a broken generator gives
    /// none.
    pub(crate) fn fill_direction<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        self.fill_normal(rng);
        let u = self.plane_mut(V);
        if largest(u) <= 0.0
            && let Some([first, ..]) = u.first_mut()
        {
            *first = 1.0;
        }
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
