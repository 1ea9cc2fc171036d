//! The scaled leapfrog of energy-sampling Hamiltonian dynamics.

use super::room::{Parts, Room, V, X, evaluate};
use super::turn::{Turn, Way, log_time, normalise};
use super::vector::{add, dot, hold, inverse_norm, mix, mix_and_move, scale};
use super::{FlowError, Potential, StepSize};
use crate::lane::{Block, Total};
use crate::snapshot::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, list_len, plain};
use rand_core::Rng;

const PLANES: usize = 3;
/// Angles of one direction to one gradient are as near as this, whatever their roundings.
const SAME: f32 = 1e-3;

/// A trajectory of energy-sampling Hamiltonian dynamics (Ver Steeg and Galstyan 2021, Algorithm 1).
///
/// x moves at speed 1 in direction u, and `r = ln|v|` records the unscaled speed. The dynamics
/// `ẋ = u, u̇ = −(1 − uuᵀ)g/d, ṙ = −u·g/d` conserve `H = E(x) + d·r`. Over the *unscaled* time `dt = e^r/d` the
/// trajectory visits x with frequency `e^(−E)`, if it is ergodic. So weight the point after a step with
/// [`Leap::log_time`]. One step is a half turn, `x ← x + εu`, the only gradient, a half turn: second order,
/// reversible, and preserving `dx dv/|v|`.
///
/// **In one dimension the direction never turns**, so a trajectory leaves x distributed evenly, whatever E is, with
/// [`Esh::refresh`] too. One dimension is refused.
///
/// **Not every target makes it ergodic.** On Gaussians trajectories are regular. On the plane with correlation .99
/// the variance along the valley comes out as .86 ± .09 for 1.99, after 20,000 steps of .1 from N(0, I). With
/// [`Esh::refresh`] every 100 steps it is 1.93 ± .03.
///
/// Nothing is random but the start. A step that meets a hard constraint (E = +∞) or a fault turns back. The direction
/// is reversed, and the trajectory returns the way it came, to the rounding of a step. It has stayed where it is for the
/// time of that step, so the step has a weight as others do. Without it averages near a constraint would be off by the
/// first power of the step size. Where steps are so large that ln|v| leaves the floats, it goes on without a weight.
///
/// Cost of a step: one gradient and three passes. Memory: 12 bytes a dimension, and the potential's scratch.
#[derive(Debug)]
pub struct Esh<'e, P: ?Sized, B> {
    room: Room<'e, P, B, PLANES>,
    core: Core,
}

/// All that a trajectory knows, without x and u: plain data to copy and keep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Core {
    energy: f32,
    r: Total,
    way: Way,
    /// Σ uᵢ² as it is rounded.
    square: f32,
    faults: u32,
}

/// What one step of a continuous trajectory did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Leap {
    /// The logarithm of the unscaled time that the step took. This time is the weight of the point after the step, and
    /// of the one that a step turned back to; −∞ where a step has no weight.
    pub log_time: f32,
    /// E at the point after the step.
    pub energy: f32,
    /// The growth of the conserved Hamiltonian: the integrator's error in this step.
    pub error: f32,
    /// Whether the step met NaN, −∞, a gradient that is not finite, or a hard constraint, and turned back. Also
    /// whether ln|v| has left the floats, where steps are far too large. After that no step has a weight.
    pub fault: bool,
}

impl<P: ?Sized, B> Esh<'_, P, B> {
    /// Bytes in a snapshot, for vectors of `dim` numbers.
    #[must_use]
    pub const fn snapshot_len(dim: usize) -> usize {
        list_len(dim, 4).saturating_mul(2).saturating_add(Core::LEN)
    }

    /// Blocks of memory for vectors of so many [`blocks`](super::blocks) and a potential's scratch.
    #[must_use]
    pub const fn memory_len(blocks: usize, scratch: usize) -> usize {
        Room::<P, B, PLANES>::memory_len(blocks, scratch)
    }
}

impl<'e, P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Esh<'e, P, B> {
    /// A trajectory from a point in a direction, which is normalised; r = 0.
    ///
    /// # Errors
    /// [`FlowError`] where the potential has one dimension, the memory is short, or a vector is not finite or of
    /// another length. Also where the direction is zero, or the energy or its gradient at the start is not finite.
    pub fn new(potential: &'e P, memory: B, start: &[f32], direction: &[f32]) -> Result<Self, FlowError> {
        let mut room = Room::new(potential, memory, start)?;
        room.write(V, direction)?;
        Self::start(room)
    }

    /// A trajectory from a point in a random direction, uniform on the sphere; r = 0.
    ///
    /// # Errors
    /// As [`Esh::new`].
    pub fn random<R: Rng + ?Sized>(
        potential: &'e P,
        memory: B,
        start: &[f32],
        rng: &mut R,
    ) -> Result<Self, FlowError> {
        let mut room = Room::new(potential, memory, start)?;
        room.fill_direction(rng);
        Self::start(room)
    }

    /// A trajectory that goes on from what was kept of another. Over the same potential it is bit for bit as if it
    /// had never stopped. Over another one it takes that one's energy and gradient, with the r that it had.
    ///
    /// # Errors
    /// As [`Esh::new`].
    pub fn resume(potential: &'e P, memory: B, x: &[f32], u: &[f32], core: Core) -> Result<Self, FlowError> {
        let mut chain = Self::new(potential, memory, x, u)?;
        chain.room.write(V, u)?;
        chain.adopt(core, chain.core.energy);
        Ok(chain)
    }

    /// Goes on from a core at the present x, u and gradient, where the energy is `energy`.
    fn adopt(&mut self, core: Core, energy: f32) {
        let Parts { planes: [_, u, g], .. } = self.room.parts();
        // That of u: what was kept is its, unless somebody has forged it.
        let square = dot(u, u);
        let square = if square.is_normal() { square } else { normalise(u).unwrap_or(1.0) };
        let way = Way::of(u, g, inverse_norm(square));
        self.core = Core { square, ..core };
        // The angle that was kept comes from that before the last half turn, and has other roundings.
        let is_same = energy.to_bits() == core.energy.to_bits()
            && way.steepness.to_bits() == core.way.steepness.to_bits()
            && (way.down - core.way.down).abs() < SAME;
        if !is_same {
            // It was kept over another potential.
            (self.core.energy, self.core.way) = (energy, way);
        }
    }

    fn start(mut room: Room<'e, P, B, PLANES>) -> Result<Self, FlowError> {
        if room.dim() < 2 {
            return Err(FlowError::Dimension(room.dim()));
        }
        let Parts { potential, planes: [x, u, g], scratch } = room.parts();
        let square = normalise(u).ok_or(FlowError::NoDirection)?;
        let energy = evaluate(potential, x, scratch, g);
        let way = Way::of(u, g, inverse_norm(square));
        if !(energy.is_finite() && way.steepness.is_finite()) {
            return Err(FlowError::Energy(energy));
        }
        let core = Core { energy, r: Total::new(0.0), way, square, faults: 0 };
        Ok(Self { room, core })
    }

    /// One step of the scaled leapfrog.
    pub fn step(&mut self, step_size: StepSize) -> Leap {
        let dim = self.room.dim() as f32;
        let (epsilon, rate) = (step_size.get(), 0.5 * step_size.get() / dim);
        let core = &mut self.core;
        let Parts { potential, planes: [x, u, g], scratch } = self.room.parts();

        let first = Turn::new(core.way, rate);
        let square = mix_and_move(u, first.keep * inverse_norm(core.square), first.push, g, x, epsilon);
        let norm = inverse_norm(square);
        let mut energy = evaluate(potential, x, scratch, g);
        let mut way = Way::of(u, g, norm);
        let turned = !(energy.is_finite() && way.steepness.is_finite());
        if turned {
            // Back to where the step began; the second half turn then undoes the first.
            add(x, -epsilon, u);
            hold(x);
            scale(u, -1.0);
            energy = evaluate(potential, x, scratch, g);
            way = first.way.reversed();
            // x is where it was to a rounding. A snapshot knows its potential by the gradient there, bit for bit.
            let steepness = Way::of(u, g, norm).steepness;
            way.steepness = if steepness.is_finite() { steepness } else { way.steepness };
        }
        let second = Turn::new(way, rate);
        core.square = mix(u, second.keep * norm, second.push, g);
        core.way = second.way;

        let time = log_time(core.r.value(), &first, &second);
        let error = (energy - core.energy) + dim * (first.gain + second.gain);
        core.r.add(first.gain);
        core.r.add(second.gain);
        core.energy = energy;
        let fault = turned || !core.r.value().is_finite();
        core.faults = core.faults.saturating_add(u32::from(fault));
        let log_time = if core.r.value().is_finite() { time } else { f32::NEG_INFINITY };
        Leap { log_time, energy, error, fault }
    }

    /// Turns round: the following steps lead back the way the trajectory came.
    pub fn reverse(&mut self) {
        scale(self.room.plane_mut(V), -1.0);
        self.core.way = self.core.way.reversed();
    }

    /// A new direction, uniform on the sphere. r and so H stay, and with them the weights. A time average goes on
    /// over it, and cannot be caught in a part of the space where the dynamics are regular.
    pub fn refresh<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        self.room.fill_direction(rng);
        let Parts { planes: [_, u, g], .. } = self.room.parts();
        self.core.square = normalise(u).unwrap_or(self.core.square);
        self.core.way = Way::of(u, g, inverse_norm(self.core.square));
    }

    /// x.
    #[must_use]
    pub fn position(&self) -> &[f32] {
        self.room.numbers(X)
    }

    /// x in blocks, padding zero.
    #[must_use]
    pub fn position_blocks(&self) -> &[Block] {
        self.room.plane(X)
    }

    /// u, the direction: |u| = 1 to rounding.
    #[must_use]
    pub fn direction(&self) -> &[f32] {
        self.room.numbers(V)
    }

    /// r = ln|v|, 0 at the start.
    #[must_use]
    pub fn log_speed(&self) -> f32 {
        self.core.r.value()
    }

    /// E(x).
    #[must_use]
    pub fn energy(&self) -> f32 {
        self.core.energy
    }

    /// `H = E(x) + d·r`, which the exact dynamics conserve.
    #[must_use]
    pub fn hamiltonian(&self) -> f32 {
        self.core.energy + self.room.dim() as f32 * self.core.r.value()
    }

    /// Steps that turned back or have no weight: see [`Leap::fault`].
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.core.faults
    }

    /// What to keep with x and u, for [`Esh::resume`].
    #[must_use]
    pub fn core(&self) -> Core {
        self.core
    }

    /// Takes the memory back.
    #[must_use]
    pub fn into_memory(self) -> B {
        self.room.into_memory()
    }
}

plain! { Way, b"way_", { steepness, down, up }, |way| way.steepness.is_finite() }
plain! { Core, b"esh_", { energy, r, way, square, faults }, |core| core.energy.is_finite() }

/// x, u and the [`Core`]; the gradient at x is computed again. Over the same potential it goes on bit for bit. Over
/// another one it goes on from that one's energy and gradient at x. Where the energy there is not finite, the
/// snapshot is refused and the trajectory is left at x.
impl<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Snapshot for Esh<'_, P, B> {
    fn save(&self, to: &mut Writer<'_>) {
        self.core.save(to);
        self.room.save::<2>(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut core, mut at) = (self.core, *from);
        core.load(&mut at)?;
        let mut energy = core.energy;
        self.room.load::<2>(&mut energy, &mut at)?;
        self.adopt(core, energy);
        *from = at;
        Ok(())
    }
}
