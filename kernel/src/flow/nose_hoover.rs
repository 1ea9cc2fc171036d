//! A Newtonian comparator without random numbers: the Nosé–Hoover thermostat.

use super::esh::Leap;
use super::room::{Parts, Room, X, evaluate};
use super::vector::{add, dot, fits, hold, scale, sqrt};
use super::{FlowError, Potential, StepSize};
use crate::lane::{Block, exp, ln};
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, list_len};
use rand_core::Rng;

const PLANES: usize = 3;

/// Newtonian dynamics with one thermostat at temperature 1, integrated as Martyna et al. (1996) do: a half
/// step of the thermostat, a leapfrog step, a half step of the thermostat. Reversible.
///
/// `ẋ = v, v̇ = −g − ξv, ξ̇ = (v² − d)/Q`, which conserves `E + ½v² + ½Qξ² + d∫ξ`. Over time x is
/// visited with frequency `e^(−E)` if the dynamics are ergodic, which one thermostat often is not. A step
/// that is not finite is undone, to the rounding of its own length, and v and ξ are reversed.
#[derive(Debug)]
pub struct NoseHoover<'e, P: ?Sized, B> {
    room: Room<'e, P, B, PLANES>,
    energy: f32,
    friction: f32,
    mass: f32,
}

impl<P: ?Sized, B> NoseHoover<'_, P, B> {
    /// Bytes in a snapshot, for vectors of `dim` numbers.
    #[must_use]
    pub const fn snapshot_len(dim: usize) -> usize {
        list_len(dim, 4).saturating_mul(2).saturating_add(12)
    }

    /// Blocks of memory for vectors of so many [`blocks`](super::blocks) and a potential's scratch.
    #[must_use]
    pub const fn memory_len(blocks: usize, scratch: usize) -> usize {
        Room::<P, B, PLANES>::memory_len(blocks, scratch)
    }
}

impl<'e, P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> NoseHoover<'e, P, B> {
    /// A trajectory from a point with v ~ N(0, I), ξ = 0, and a thermostat of mass Q. Q = d gives the
    /// thermostat a period near that of a unit Gaussian.
    ///
    /// # Errors
    /// [`FlowError::Parameter`] where Q is not positive and finite; otherwise as
    /// [`Esh::new`](super::Esh::new).
    pub fn new<R: Rng + ?Sized>(
        potential: &'e P,
        memory: B,
        start: &[f32],
        mass: f32,
        rng: &mut R,
    ) -> Result<Self, FlowError> {
        if !(mass > 0.0 && mass.is_normal()) {
            return Err(FlowError::Parameter(mass));
        }
        let mut room = Room::new(potential, memory, start)?;
        room.fill_normal(rng);
        Ok(Self { energy: room.start()?, room, friction: 0.0, mass })
    }

    /// One step. The weight of every point is the same, of one to which a step is undone too. A step that could not be
    /// undone is not begun, and has none.
    pub fn step(&mut self, step_size: StepSize) -> Leap {
        let (epsilon, dim, mass) = (step_size.get(), self.room.dim() as f32, self.mass);
        let Parts { potential, planes: [x, v, g], scratch } = self.room.parts();
        let square = dot(v, v);
        let before = self.energy + 0.5 * square + 0.5 * mass * self.friction * self.friction;

        let first = Bath::new(square, self.friction, mass, dim, epsilon);
        if !(first.is_finite() && fits(first.square, 0.5 * epsilon, dot(g, g))) {
            // Not to be undone, so not begun.
            scale(v, -1.0);
            self.friction = -self.friction;
            return Leap { log_time: f32::NEG_INFINITY, energy: self.energy, error: 0.0, fault: true };
        }
        scale(v, first.factor);
        add(v, -0.5 * epsilon, g);
        let (mut energy, mut second, along) = (self.energy, None, dot(v, v));
        if (epsilon * sqrt(along)).is_finite() {
            add(x, epsilon, v);
            energy = evaluate(potential, x, scratch, g);
            if energy.is_finite() && fits(along, 0.5 * epsilon, dot(g, g)) {
                add(v, -0.5 * epsilon, g);
                second = Some(Bath::new(dot(v, v), first.friction, mass, dim, epsilon)).filter(Bath::is_finite);
                if second.is_none() {
                    add(v, 0.5 * epsilon, g);
                }
            }
            if second.is_none() {
                add(x, -epsilon, v);
                hold(x);
                energy = evaluate(potential, x, scratch, g);
            }
        }
        let fault = second.is_none();
        let second = second.unwrap_or_else(|| {
            scale(v, -1.0);
            if fits(along, 0.5 * epsilon, dot(g, g)) {
                add(v, -0.5 * epsilon, g);
            }
            let back = Bath::new(dot(v, v), -first.friction, mass, dim, epsilon);
            if back.is_finite() { back } else { Bath { friction: -self.friction, factor: 1.0, ..back } }
        });
        scale(v, second.factor);

        let after = energy + 0.5 * dot(v, v) + 0.5 * mass * second.friction * second.friction;
        (self.energy, self.friction) = (energy, second.friction);
        let error = (after - before) + dim * (first.heat + second.heat);
        Leap { log_time: ln(epsilon), energy, error, fault }
    }

    /// x.
    #[must_use]
    pub fn position(&self) -> &[f32] {
        self.room.numbers(X)
    }

    /// E(x).
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.energy
    }
}

/// Half a step of the thermostat: what it makes of ξ, of v and of v², and ∫ξ over it.
#[derive(Clone, Copy)]
struct Bath {
    friction: f32,
    factor: f32,
    square: f32,
    heat: f32,
}

impl Bath {
    fn new(square: f32, friction: f32, mass: f32, dim: f32, epsilon: f32) -> Self {
        let quarter = 0.25 * epsilon / mass;
        let halfway = friction + quarter * (square - dim);
        let heat = 0.5 * epsilon * halfway;
        let factor = exp(-heat);
        let square = square * factor * factor;
        Self { friction: halfway + quarter * (square - dim), factor, square, heat }
    }

    fn is_finite(&self) -> bool {
        self.friction.is_finite() && self.factor.is_finite() && self.square.is_finite()
    }
}

/// x, v and the thermostat; energy and gradient are computed again. Over the same potential it goes on bit for bit.
/// Where the energy at x is not finite over another one, the snapshot is refused and the trajectory is left at x.
impl<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Snapshot for NoseHoover<'_, P, B> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"nose");
        (self.friction, self.mass).save(to);
        self.room.save::<2>(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut bath, mut at) = ((0.0f32, 0.0f32), *from);
        at.name(*b"nose")?;
        bath.load(&mut at)?;
        if !(bath.0.is_finite() && bath.1 > 0.0 && bath.1.is_normal()) {
            return Err(SnapshotError::Value);
        }
        self.room.load::<2>(&mut self.energy, &mut at)?;
        (self.friction, self.mass, *from) = (bath.0, bath.1, at);
        Ok(())
    }
}
