//! Newtonian comparators: Hamiltonian Monte Carlo, and the Langevin samplers as its shortest form.

use super::room::{Parts, Room, X, evaluate};
use super::vector::{add, copy, dot};
use super::{FlowError, Potential, StepSize};
use crate::accept::accept;
use crate::lane::Block;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer, list_len};
use rand_core::Rng;

const PLANES: usize = 5;

/// Hamiltonian Monte Carlo (Neal 2011): a fresh momentum v ~ N(0, I), `steps` leapfrog steps of ε, and the
/// Metropolis test on `E(x) + ½v²`. A path that meets a hard constraint (E = +∞) or a fault ends there, and is rejected.
///
/// One step of it is the Langevin proposal `x − ½ε²g + εn`: with the test it is MALA
/// ([`Hmc::langevin`]), without it ULA ([`Hmc::unadjusted_langevin`]).
///
/// Cost a proposal: `steps` gradients, one normal a dimension, 4 + 3·`steps` passes, and two to go back where it is
/// rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hmc {
    step_size: StepSize,
    steps: u32,
    adjusted: bool,
}

impl Hmc {
    /// With so many leapfrog steps a proposal; keeps `p ∝ e^(−E)` exactly.
    ///
    /// # Errors
    /// [`FlowError::NoSteps`].
    pub fn new(step_size: StepSize, steps: u32) -> Result<Self, FlowError> {
        if steps == 0 { Err(FlowError::NoSteps) } else { Ok(Self { step_size, steps, adjusted: true }) }
    }

    /// MALA: one step, with the test; keeps `p ∝ e^(−E)` exactly.
    #[must_use]
    pub fn langevin(step_size: StepSize) -> Self {
        Self { step_size, steps: 1, adjusted: true }
    }

    /// ULA: one step, every finite proposal accepted. Converges to a distribution *near* p; on a Gaussian its variance
    /// is too large by a factor 1/(1 − ε²/4σ²).
    #[must_use]
    pub fn unadjusted_langevin(step_size: StepSize) -> Self {
        Self { step_size, steps: 1, adjusted: false }
    }
}

/// What one proposal did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    /// Whether the chain moved.
    pub accepted: bool,
    /// The fall of `E + ½v²` over the proposal: ln A.
    pub log_ratio: f32,
    /// Whether it met NaN, −∞ or a gradient that is not finite, and was rejected for that.
    pub fault: bool,
}

/// A Markov chain of [`Hmc`] proposals in caller-provided memory.
#[derive(Debug)]
pub struct HmcChain<'e, P: ?Sized, B> {
    room: Room<'e, P, B, PLANES>,
    energy: f32,
    faults: u32,
}

impl<P: ?Sized, B> HmcChain<'_, P, B> {
    /// Bytes in a snapshot, for vectors of `dim` numbers.
    #[must_use]
    pub const fn snapshot_len(dim: usize) -> usize {
        list_len(dim, 4).saturating_add(8)
    }

    /// Blocks of memory for vectors of so many [`blocks`](super::blocks) and a potential's scratch.
    #[must_use]
    pub const fn memory_len(blocks: usize, scratch: usize) -> usize {
        Room::<P, B, PLANES>::memory_len(blocks, scratch)
    }
}

impl<'e, P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> HmcChain<'e, P, B> {
    /// A chain from a point.
    ///
    /// # Errors
    /// [`FlowError`] where the memory is short, the start is not finite or of another length, or the energy
    /// or its gradient there is not finite.
    pub fn new(potential: &'e P, memory: B, start: &[f32]) -> Result<Self, FlowError> {
        let mut room = Room::new(potential, memory, start)?;
        Ok(Self { energy: room.start()?, room, faults: 0 })
    }

    /// One transition. An adjusted one draws its uniform whatever happened, an unadjusted one never.
    pub fn step<R: Rng + ?Sized>(&mut self, kernel: &Hmc, rng: &mut R) -> Proposal {
        let epsilon = kernel.step_size.get();
        self.room.fill_normal(rng);
        let Parts { potential, planes: [x, v, g, kept_x, kept_g], scratch } = self.room.parts();
        copy(kept_x, x);
        copy(kept_g, g);
        let kinetic = 0.5 * dot(v, v);
        let mut energy = self.energy;
        for _ in 0..kernel.steps {
            add(v, -0.5 * epsilon, g);
            add(x, epsilon, v);
            energy = evaluate(potential, x, scratch, g);
            if !energy.is_finite() {
                // The way back comes here too, so both are rejected, whatever the gradient is here.
                break;
            }
            add(v, -0.5 * epsilon, g);
        }
        let after = 0.5 * dot(v, v);
        let finite = after.is_finite();
        let log_ratio = (self.energy - energy) + (kinetic - after);
        let fault = log_ratio.is_nan() || log_ratio == f32::INFINITY || (!finite && energy != f32::INFINITY);
        let possible = !fault && energy.is_finite() && finite;
        let log_ratio = if possible { log_ratio } else { f32::NEG_INFINITY };
        let accepted = if kernel.adjusted { accept(log_ratio, rng) } else { possible };
        if accepted {
            self.energy = energy;
        } else {
            copy(x, kept_x);
            copy(g, kept_g);
        }
        self.faults = self.faults.saturating_add(u32::from(fault));
        Proposal { accepted, log_ratio, fault }
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

    /// Proposals that were rejected for a fault.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.faults
    }
}

/// x and the faults; energy and gradient are computed again. Over the same potential it goes on bit for bit. Where
/// the energy at x is not finite over another one, the snapshot is refused and the chain is left at x.
impl<P: Potential + ?Sized, B: AsMut<[Block]> + AsRef<[Block]>> Snapshot for HmcChain<'_, P, B> {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"hmc_");
        self.faults.save(to);
        self.room.save::<1>(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut faults, mut at) = (0, *from);
        at.name(*b"hmc_")?;
        faults.load(&mut at)?;
        self.room.load::<1>(&mut self.energy, &mut at)?;
        (self.faults, *from) = (faults, at);
        Ok(())
    }
}
