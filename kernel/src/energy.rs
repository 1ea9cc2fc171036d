//! Energies: what a sampler may ask of a model, `p(x) ∝ exp(−E(x))`.
//!
//! The trait is object safe, and samplers call it a few times a step, never once a site: totals only at
//! the start, then differences. Each model is a file; [`Plain`] makes one of any two functions.

mod bernoulli;
mod estimate;
mod ising;
mod plain;
mod rbm;
mod sparse;

pub use bernoulli::Bernoulli;
pub use estimate::Estimate;
pub use ising::{Ising, torus};
pub use plain::{Function, Plain};
pub use rbm::{Rbm, RbmError, pack_rows};
pub use sparse::{Edge, Entry, Sparse, SparseError, SparseLent, SparseMemory};

use crate::lane::{Bits, Block};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;

/// An energy over packed states, `p(x) ∝ exp(−E(x))`.
///
/// A chain lends every energy a *cache* that belongs to its state: whatever makes the next answer cheap
/// (fields, pre-activations). It is words, mostly integers: sums in fixed point do not depend on the order
/// of the moves that led here, so nothing drifts and equal states have equal caches.
///
/// `E = +∞` is a legal hard constraint; NaN and `−∞` are faults, and so is a NaN in a gradient.
pub trait Energy {
    /// Sites and arity.
    fn layout(&self) -> Layout;

    /// The length of the cache, in [`Bits`].
    fn cache_len(&self) -> usize;

    /// `E(x)`, and the cache of `x` from nothing: the only total.
    ///
    /// # Errors
    /// [`EnergyError`] where `E(x)` is NaN or `−∞`, or the cache is too short.
    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError>;

    /// `∂E/∂xᵢ` at `x` for the sites of some blocks, of the natural continuous extension of `E` on the
    /// {0,1} scale. `out` has one block for each in `blocks`; lanes past the last site are ignored.
    fn gradient(&self, x: Packed<'_>, cache: &[Bits], blocks: Range<usize>, out: &mut [Block]);

    /// `E(y) − E(x)` for a move from x to y; the cache is moved along.
    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32;

    /// `E(x with xᵢ = k) − E(x)` for every value k of one site, at the state of the cache: exact local
    /// differences, for Gibbs and its relatives. `words` is the state, lent to be changed and put back.
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]);
}

/// Why an energy cannot start at a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EnergyError {
    /// `E(x)` is NaN.
    Nan,
    /// `E(x)` is `−∞`.
    MinusInfinity,
    /// `E(x)` is `+∞`: the state breaks a hard constraint, so no chain can start there.
    Forbidden,
    /// A component of the gradient at the start is NaN.
    NanGradient,
    /// The cache has `got` blocks, [`Energy::cache_len`] is `need`.
    Cache {
        /// Blocks needed.
        need: usize,
        /// Blocks given.
        got: usize,
    },
}

impl core::fmt::Display for EnergyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Nan => write!(f, "the energy of the start is NaN"),
            Self::MinusInfinity => write!(f, "the energy of the start is minus infinity"),
            Self::Forbidden => write!(f, "the start has infinite energy: it breaks a hard constraint"),
            Self::NanGradient => write!(f, "the gradient at the start has a NaN"),
            Self::Cache { need, got } => write!(f, "the cache needs {need} blocks, {got} were given"),
        }
    }
}

impl core::error::Error for EnergyError {}

/// `total`, unless it is a fault.
fn checked(total: f32) -> Result<f32, EnergyError> {
    if total.is_nan() {
        Err(EnergyError::Nan)
    } else if total == f32::NEG_INFINITY {
        Err(EnergyError::MinusInfinity)
    } else {
        Ok(total)
    }
}

/// A fixed-point grid for terms and their sums. Sums on it are exact: they do not depend on the order of
/// their terms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grid {
    unit: f32,
    per_unit: f32,
}

impl Grid {
    /// 1.5 · 2²³: adding it leaves the nearest integer of a small float in the low bits of the sum.
    const MAGIC: f32 = 12_582_912.0;

    /// The grid of unit 2^`exponent`, for −100 ..= 100.
    fn new(exponent: i32) -> Self {
        let power = |k: i32| f32::from_bits(((127 + k) as u32) << 23);
        Self { unit: power(exponent), per_unit: power(-exponent) }
    }

    /// The finest grid on which every number up to `reach` has at most `bits` bits.
    fn covering(reach: f32, bits: i32) -> Self {
        let exponent = (reach.to_bits() >> 23) as i32 - 126; // reach < 2^exponent
        Self::new((exponent - bits).clamp(-100, 100))
    }

    /// The nearest point of the grid, in units, for a value of at most 30 bits.
    fn round(self, value: f32) -> i32 {
        let units = value * self.per_unit;
        if units.abs() < 4_194_304.0 {
            self.round_small(value)
        } else {
            units as i32 // has at most one bit behind the point
        }
    }

    /// [`Grid::round`] for at most 22 bits, in two operations.
    #[inline]
    fn round_small(self, value: f32) -> i32 {
        let magic = Self::MAGIC * self.unit;
        (value + magic).to_bits().wrapping_sub(magic.to_bits()) as i32
    }

    /// The value of a sum of points.
    #[inline]
    fn value(self, units: i64) -> f32 {
        units as f32 * self.unit
    }
}
