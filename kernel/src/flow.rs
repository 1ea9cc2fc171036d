//! The continuous side: samplers of `p(x) ∝ exp(−E(x))` over vectors of reals, energy-sampling Hamiltonian
//! dynamics first.
//!
//! A [`Potential`] gives E and its gradient. [`PlainPotential`] makes one of a function of your own over plain slices.
//!
//! [`Esh`] moves through it without random numbers. What it visits is weighted by the time spent there
//! ([`Average`](crate::stats::Average), [`Reservoir`], [`Replay`]), or by the distribution that it started from
//! ([`log_weight`]). The baselines are [`Unscaled`], [`Hmc`] with the Langevin samplers, and [`NoseHoover`].
//!
//! ```
//! use bitmc::flow::{DiagonalGaussian, Esh, StepSize, blocks};
//! use bitmc::stats::Average;
//! use bitmc::{LaneRng, SeedableRng};
//!
//! let precision = [[1.0, 4.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]];
//! let model = DiagonalGaussian::new(3, &[[0.0; 16]], &precision)?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! const N: usize = Esh::<(), ()>::memory_len(blocks(3), 0);
//! let mut chain = Esh::random(&model, [[0.0; 16]; N], &[1.0, 1.0, 1.0], &mut rng)?;
//! let mut square = Average::new();
//! for number in 0..20_000 {
//!     if number % 50 == 0 {
//!         chain.refresh(&mut rng); // on a Gaussian trajectories are regular: they need it
//!     }
//!     let leap = chain.step(StepSize::new(0.1)?);
//!     square.add(leap.log_time, chain.position()[0].powi(2));
//! }
//! assert!((square.mean() - 1.0).abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Words and scales
//! x has `d` dimensions, sixteen to a [`Block`]; lanes past the last are zero. Energies are in nats, step
//! sizes in units of x (for [`Unscaled`] of its time). [`Esh`] moves by exactly its step size each step.

mod control;
mod ergodic;
mod esh;
mod funnel;
mod gaussian;
mod hmc;
mod jarzynski;
mod mixture;
mod mlp;
mod nose_hoover;
mod plain;
mod reservoir;
mod room;
mod turn;
mod unscaled;
pub(crate) mod vector;

pub use control::StepControl;
pub use ergodic::Replay;
pub use esh::{Core, Esh, Leap};
pub use funnel::Funnel;
pub use gaussian::{DenseGaussian, DiagonalGaussian};
pub use hmc::{Hmc, HmcChain, Proposal};
pub use jarzynski::log_weight;
pub use mixture::Mixture;
pub use mlp::Mlp;
pub use nose_hoover::NoseHoover;
pub use plain::PlainPotential;
pub use reservoir::Reservoir;
pub use turn::{Turn, Way};
pub use unscaled::Unscaled;

use crate::lane::{Block, LANES};
use crate::snapshot::plain;

/// An energy over vectors of reals, `p(x) ∝ exp(−E(x))`. Object safe; called once a step.
///
/// [`PlainPotential`] makes one of a function over plain slices.
pub trait Potential {
    /// The dimension d of x.
    fn dim(&self) -> usize;

    /// Blocks that [`Potential::gradient`] needs to work in.
    fn scratch_len(&self) -> usize {
        0
    }

    /// `E(x)`, and `∂E/∂x` into `out`. `x` and `out` have [`blocks`]`(d)` blocks; what is written to lanes
    /// past the last dimension is ignored.
    ///
    /// `E = +∞` is a legal hard constraint. NaN, `−∞` and gradients that are not finite are faults.
    fn gradient(&self, x: &[Block], scratch: &mut [Block], out: &mut [Block]) -> f32;
}

/// Blocks that hold a vector of `dim` numbers.
#[must_use]
pub const fn blocks(dim: usize) -> usize {
    dim.div_ceil(LANES)
}

/// A step size ε: positive, finite, and large enough that half of it is not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepSize(f32);

impl StepSize {
    /// A step size.
    ///
    /// # Errors
    /// [`FlowError::StepSize`] where it is not normal, positive and finite.
    pub fn new(value: f32) -> Result<Self, FlowError> {
        if value.is_normal() && value > 0.0 { Ok(Self(value)) } else { Err(FlowError::StepSize(value)) }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f32 {
        self.0
    }
}

plain! { StepSize, b"size", { 0 }, |size| StepSize::new(size.0).is_ok() }

crate::error::errors! {
    /// Why a continuous chain cannot start.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum FlowError {
        /// The potential has no dimensions, or more than 2²⁴, which f32 cannot count; for [`Esh`] one, too.
        Dimension(d: usize) =>
            "{d} dimensions: there must be at most 2^24, at least 1, and 2 where a direction must turn";
        /// A vector has `got` numbers, the potential has `need` dimensions.
        Length {
            /// Dimensions of the potential.
            need: usize,
            /// Numbers given.
            got: usize,
        } => "the vector has {got} numbers, the potential {need}";
        /// A component of the start or of its direction is not finite.
        NotFinite {
            /// Its place.
            index: usize,
        } => "component {index} is not finite";
        /// The direction is the zero vector.
        NoDirection => "the direction is the zero vector";
        /// The memory is short.
        Memory {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "the memory needs {need} blocks, {got} were given";
        /// The energy of the start, or its gradient there, is not finite.
        Energy(value: f32) => "energy {value} of the start, or its gradient, is not finite";
        /// A step size must be normal, positive and finite.
        StepSize(value: f32) => "step size {value} is not normal, positive and finite";
        /// A number of steps must not be 0.
        NoSteps => "no steps a proposal";
        /// A thermostat's mass, or the tolerance of a step size control, must be positive and finite.
        Parameter(value: f32) => "parameter {value} is not positive and finite";
    }
}

crate::error::errors! {
    /// Why a potential cannot be built.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum PotentialError {
        /// It would have no dimensions, components or layers.
        Empty => "a potential of nothing";
        /// A buffer has another length than it must have.
        Length {
            /// Elements needed.
            need: usize,
            /// Elements given.
            got: usize,
        } => "a buffer of {got} elements where {need} are needed";
        /// A parameter is out of its range.
        Value {
            /// Its place in its buffer.
            index: usize,
            /// The parameter.
            value: f32,
        } => "parameter {index} is {value}, out of its range";
        /// A precision matrix is not symmetric.
        NotSymmetric {
            /// A row.
            row: usize,
            /// A column where it differs from its mirror image.
            column: usize,
        } => "the precision at ({row}, {column}) is not its mirror image";
    }
}
