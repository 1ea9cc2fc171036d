//! Energies: what a sampler may ask of a model, `p(x) ∝ exp(−E(x))`.
//!
//! The trait is object safe, and samplers call it a few times a step, never once a site: totals only at
//! the start, then differences. Each model is a file; [`Plain`] makes one of any two functions.

mod base_distribution;
mod bernoulli;
mod boltzmann;
mod estimate;
mod factors;
mod gaussian;
mod grid;
mod ising;
mod logistic;
mod modes;
mod network;
mod pending;
mod perceptron;
mod plain;
mod polynomial;
mod potts;
mod quartic;
mod rbm;
mod sparse;
mod tempered;

pub use crate::chain::check::{Answer, CheckError, Checked, check};
pub use base_distribution::{BaseDistribution, PathError};
pub use bernoulli::Bernoulli;
pub use boltzmann::Boltzmann;
pub use estimate::Estimate;
pub use factors::{Factor, FactorError, Factors, FactorsBuffers, FactorsMemory};
pub use gaussian::{Dense, GaussianError, LatticeGaussian, Precision};
pub use ising::{Ising, torus};
pub use logistic::{Logistic, LogisticError};
pub use modes::{Modes, ModesError};
pub use network::{BinaryNetwork, NetworkError};
pub(crate) use pending::Pending;
pub use perceptron::{Perceptron, PerceptronError};
pub use plain::{Function, Plain};
pub use polynomial::{Polynomial, PolynomialBuffers, PolynomialError, PolynomialMemory};
pub use potts::Potts;
pub use quartic::{Quartic, QuarticError};
pub use rbm::{CoarseRbm, Rbm, RbmError, pack_rows};
pub(crate) use sparse::Rows;
pub use sparse::{Edge, EdgeList, Entry, Sparse, SparseBuffers, SparseError, SparseMemory};
pub use tempered::{Ends, Tempered};

use crate::lane::{Bits, Block, F32s, LANES, PARTS, U32s, sum};
use crate::layout::Layout;
use crate::packed::{Move, Packed};
use core::ops::Range;
use grid::Grid;

/// An energy over packed states, `p(x) ∝ exp(−E(x))`.
///
/// A chain gives every energy a *cache* that belongs to its state: whatever makes the next answer cheap (fields,
/// pre-activations). It is words, mostly integers. Sums in fixed point do not depend on the order of the moves that
/// led here. So nothing drifts, and equal states have equal caches.
///
/// Chains that share an energy between threads hold a `&(dyn Energy + Sync)`.
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

    /// The arity of every site where they differ; `None` where all have the layout's. A site's arity is at
    /// least 1 and at most the layout's.
    fn arities(&self) -> Option<&[u16]> {
        None
    }

    /// The whole number that value 0 of every site means, where it is not 0: one a site, or chains are refused. An
    /// ordinal site of arity S is the window `offset … offset + S − 1` of the whole numbers. It is for reading states
    /// ([`Chain::integers`](crate::Chain::integers)); proposals see differences alone.
    fn offsets(&self) -> Option<&[i32]> {
        None
    }

    /// Whether the gradient is an estimate, another one at each call, and differences of energies are not known. Then no
    /// chain keeps it, and every step but an unadjusted one of [`Langevin`](crate::Langevin) is a fault.
    fn estimates(&self) -> bool {
        false
    }

    /// This model as an Ising model, where its answers and its cache are those of one. Between two with the same
    /// couplings in the same memory [`Chain::rebind`](crate::Chain::rebind) moves the cache on, and looks at no coupling. Sweeps
    /// of [`Gibbs`](crate::Gibbs) read its fields from the cache.
    fn ising(&self) -> Option<&Ising<'_>> {
        None
    }

    /// This model as a Potts model, where its answers and its cache are those of one: with every term that it has, and no
    /// [arities](Energy::arities) of its own. Sweeps of [`Gibbs`](crate::Gibbs) read its fields from the cache.
    fn potts(&self) -> Option<&Potts<'_>> {
        None
    }

    /// `∂E/∂xᵢ` at `x` for some rows, of the natural continuous extension of `E`. For binary sites it is on the {0,1}
    /// scale, for ordinal ones by value. For categorical ones it is by each component of the one-hot vector.
    ///
    /// A [row](Layout::rows) is a block of sixteen sites, and `out` has [`Layout::row_blocks`] blocks for each row.
    /// Those of categorical sites are value by value, the sites along the lanes. Only where a categorical site has
    /// [many values](Layout::many_values) a row is that one site, its values along the lanes. Lanes past the last
    /// site or value are ignored.
    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]);

    /// The whole gradient at each of several points, bit for bit that of [`Energy::gradient`]. An energy that reads
    /// much memory for one may read it once for all.
    fn gradients(&self, points: &mut [Slope<'_>]) {
        for point in points {
            self.gradient(point.x, point.cache, 0..point.x.layout().rows(), point.out);
        }
    }

    /// `E(y) − E(x)` for a move from x to y; the cache is moved along.
    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32;

    /// `E(x with xᵢ = k) − E(x)` for every value k of one site, at the state of the cache. These are exact local
    /// differences, for Gibbs and its relatives. The state `words` is borrowed to be changed and put back.
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]);
}

/// A point of which the gradient is wanted.
#[derive(Debug)]
pub struct Slope<'a> {
    /// The state.
    pub x: Packed<'a>,
    /// Its cache.
    pub cache: &'a [Bits],
    /// Where ∂E/∂x goes, as in [`Energy::gradient`].
    pub out: &'a mut [Block],
}

crate::error::errors! {
    /// Why an energy cannot start at a state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EnergyError {
        /// `E(x)` is NaN.
        Nan => "the energy of the start is NaN";
        /// `E(x)` is `−∞`.
        MinusInfinity => "the energy of the start is minus infinity";
        /// `E(x)` is `+∞`: the state breaks a hard constraint, so no chain can start there.
        Forbidden => "the start has infinite energy: it breaks a hard constraint";
        /// A component of the gradient at the start is NaN.
        NanGradient => "the gradient at the start has a NaN";
        /// The cache has `got` blocks, [`Energy::cache_len`] is `need`.
        Cache {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "the cache needs {need} blocks, {got} were given";
    }
}

/// The first `need` blocks of a cache.
fn room(cache: &mut [Bits], need: usize) -> Result<&mut [Bits], EnergyError> {
    let got = cache.len();
    cache.get_mut(..need).ok_or(EnergyError::Cache { need, got })
}

/// The place in the cache of the field of a categorical site's first value, and the distance to the next value's.
#[inline]
fn places(layout: Layout, site: usize) -> (usize, usize) {
    if layout.many_values() {
        (site * layout.row_blocks() * LANES, 1)
    } else {
        ((site / LANES) * layout.arity() * LANES + site % LANES, LANES)
    }
}

/// The numbers of the bits of a word that are 1, the first being `first`.
#[inline(always)]
fn ones(mut word: u32, first: usize) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then(|| first + word.trailing_zeros() as usize)?;
        word &= word.wrapping_sub(1);
        Some(bit)
    })
}

/// A field, in units; 0 where there is none.
#[inline]
fn field(fields: &[u32], site: usize) -> i32 {
    fields.get(site).copied().unwrap_or(0) as i32
}

/// The differences of a binary site that is `here`: 0, and that of its flip.
#[inline]
fn flip_or_stay(here: u32, flip: f32, out: &mut [f32]) {
    for (value, out) in (0..2).zip(out) {
        *out = if value == here { 0.0 } else { flip };
    }
}

/// Adds a number of units to one of the words.
#[inline(always)]
fn add(words: &mut [u32], place: usize, units: u32) {
    if let Some(word) = words.get_mut(place) {
        *word = word.wrapping_add(units);
    }
}

/// The product of a row and a vector whose floats are kept as bits.
#[inline]
fn dot(row: &[Block], vector: &[Bits]) -> f32 {
    let mut sums = [0.0; LANES];
    for (row, vector) in row.iter().zip(vector) {
        for part in 0..PARTS {
            let term = F32s::load(row, part) * U32s::load(vector, part).to_f32();
            (F32s::load(&sums, part) + term).store(&mut sums, part);
        }
    }
    sum(&sums)
}

/// Writes numbers of units as floats.
#[inline]
fn floats(numbers: &[Bits], unit: f32, out: &mut [Block]) {
    let unit = F32s::splat(unit);
    for (out, numbers) in out.iter_mut().zip(numbers) {
        for part in 0..PARTS {
            (F32s::from_i32(U32s::load(numbers, part)) * unit).store(out, part);
        }
    }
}

/// `total`, unless it is a fault.
pub(crate) fn checked(total: f32) -> Result<f32, EnergyError> {
    if total.is_nan() {
        Err(EnergyError::Nan)
    } else if total == f32::NEG_INFINITY {
        Err(EnergyError::MinusInfinity)
    } else {
        Ok(total)
    }
}
