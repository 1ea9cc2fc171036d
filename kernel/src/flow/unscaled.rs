//! The leapfrog in the original, unscaled time: for comparison.

use super::esh::Leap;
use super::room::{Parts, Room, V, X, evaluate};
use super::turn::normalise;
use super::vector::{add, dot, fits, hold, scale, sqrt};
use super::{FlowError, Potential, StepSize};
use crate::lane::{Block, ln};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, list_len};

const PLANES: usize = 3;

/// The least v² by which a step is divided.
const FLOOR: f32 = 1e-30;

/// Energy-sampling dynamics in the original time (Ver Steeg and Galstyan 2021, Eq. 5). One step is a half step in v,
/// `x ← x + ε·d/v²·v`, the gradient, a half step in v.
///
/// Every step has the same weight. The distance it covers is ε·d/|v|, far where |v| is small. So steps must be tiny
/// to be safe anywhere, which is why [`Esh`](super::Esh) scales the time. Conserves `H = E(x) + d·ln|v|`. A step that
/// is not finite is undone, to the rounding of its own length, and v is reversed. It has its weight. One that could not
/// be undone is not begun, and has none.
#[derive(Debug)]
pub struct Unscaled<'e, P: ?Sized, B> {
    room: Room<'e, P, B, PLANES>,
    energy: f32,
    square: f32,
}

impl<P: ?Sized, B> Unscaled<'_, P, B> {
    /// Bytes in a snapshot, for vectors of `dim` numbers.
    #[must_use]
    pub const fn snapshot_len(dim: usize) -> usize {
        list_len(dim, 4).saturating_mul(2).saturating_add(8)
    }

    /// Blocks of memory for vectors of so many [`blocks`](super::blocks) and a potential's scratch.
    #[must_use]
    pub const fn memory_len(blocks: usize, scratch: usize) -> usize {
        Room::<P, B, PLANES>::memory_len(blocks, scratch)
    }
}

impl<'e, P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Unscaled<'e, P, B> {
    /// A trajectory from a point in a direction, at |v| = 1.
    ///
    /// # Errors
    /// As [`Esh::new`](super::Esh::new).
    pub fn new(potential: &'e P, memory: B, start: &[f32], direction: &[f32]) -> Result<Self, FlowError> {
        let mut room = Room::new(potential, memory, start)?;
        if room.dim() < 2 {
            return Err(FlowError::Dimension(room.dim()));
        }
        room.write(V, direction)?;
        let square = normalise(room.plane_mut(V)).ok_or(FlowError::NoDirection)?;
        Ok(Self { energy: room.start()?, room, square })
    }

    /// One step of ε in unscaled time.
    pub fn step(&mut self, step_size: StepSize) -> Leap {
        let (epsilon, dim) = (step_size.get(), self.room.dim() as f32);
        let Parts { potential, planes: [x, v, g], scratch } = self.room.parts();
        if !fits(self.square, 0.5 * epsilon, dot(g, g)) {
            // Not to be undone, so not begun.
            scale(v, -1.0);
            return Leap { log_time: f32::NEG_INFINITY, energy: self.energy, error: 0.0, fault: true };
        }
        add(v, -0.5 * epsilon, g);
        let along = dot(v, v);
        let reach = epsilon * dim / along.max(FLOOR);
        let (mut energy, mut fault) = (self.energy, true);
        if (reach * sqrt(along)).is_finite() {
            add(x, reach, v);
            energy = evaluate(potential, x, scratch, g);
            fault = !(energy.is_finite() && fits(along, 0.5 * epsilon, dot(g, g)));
            if fault {
                add(x, -reach, v);
                hold(x);
                energy = evaluate(potential, x, scratch, g);
            }
        }
        if fault {
            scale(v, -1.0);
        }
        if fits(along, 0.5 * epsilon, dot(g, g)) {
            add(v, -0.5 * epsilon, g);
        }
        let square = dot(v, v);
        let error = (energy - self.energy) + 0.5 * dim * ln(square / self.square);
        (self.energy, self.square) = (energy, square);
        Leap { log_time: ln(epsilon), energy, error, fault }
    }

    /// x.
    #[must_use]
    pub fn position(&self) -> &[f32] {
        self.room.numbers(X)
    }

    /// v.
    #[must_use]
    pub fn velocity(&self) -> &[f32] {
        self.room.numbers(V)
    }

    /// E(x).
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.energy
    }
}

/// x and v; energy and gradient are computed again. Over the same potential it goes on bit for bit. Where the energy
/// at x is not finite over another one, the snapshot is refused and the trajectory is left at x.
impl<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Snapshot for Unscaled<'_, P, B> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"unsc");
        self.square.save(to);
        self.room.save::<2>(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut square, mut at) = (0.0, *from);
        at.name(*b"unsc")?;
        square.load(&mut at)?;
        self.room.load::<2>(&mut self.energy, &mut at)?;
        (self.square, *from) = (square, at);
        Ok(())
    }
}
