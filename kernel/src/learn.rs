//! Learning energies from packed samples: gradients of objectives by the parameters θ, in caller-provided memory.
//!
//! An energy that can be learned is [`Learnable`]: it adds `∂E/∂θ` to a gradient. The caller owns the blocks of this
//! gradient, of θ and of the optimiser's state. For an energy of your own write a [`LearnableFunction`]. One
//! iteration builds the energy from θ, adds up an objective's gradient over some data, and lets an optimiser change
//! θ:
//!
//! ```
//! use bitmc::energy::Boltzmann;
//! use bitmc::learn::{Adam, Minibatch, RatioMatching};
//! use bitmc::{LaneRng, Layout, Packed, SeedableRng, memory};
//!
//! const L: Layout = Layout::binary(4);
//! const N: usize = Boltzmann::parameter_len(4);
//! let (mut theta, mut gradient, mut moments) = ([[0.0; 16]; N], [[0.0; 16]; N], [[0.0; 16]; 2 * N]);
//! let mut adam = Adam::new(&mut moments, 0.05)?;
//! let mut couplings = [[0; 16]; Boltzmann::memory_len(4)];
//! let (mut room, mut rng) = (memory!(L, Boltzmann::cache_len(4)), LaneRng::seed_from_u64(1));
//! for _ in 0..100 {
//!     let model = Boltzmann::bits(&theta, 4, &mut couplings)?;
//!     let mut batch = Minibatch::new(&model, &mut gradient)?;
//!     for x in [[0b0011], [0b1111], [0b1100], [0b0011]] {
//!         batch.add(&RatioMatching::SIGMOID, &model, Packed::new(L, &x)?, &mut room, &mut rng)?;
//!     }
//!     let report = batch.finish();
//!     assert!(report.loss.is_finite());
//!     adam.step(&gradient, &mut theta);
//! }
//! let together = theta.as_flattened()[Boltzmann::coupling(4, 0, 1).unwrap()];
//! assert!(together > 0.5); // bits 0 and 1 are equal in every sample
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Objectives
//! | objective | consistent | energies a sample | of |
//! |---|---|---|---|
//! | [`Contrast`]: CD-k, PCD, PCD with a cyclical sampler | PCD as its chains mix; CD-k is biased | k, and their gradients | any sites |
//! | [`PseudoLikelihood`] | yes | 1 + d(q − 1) | any sites |
//! | [`RatioMatching::SIGMOID`] (RMwGGIS Eq. 2) | yes | 1 + d | binary |
//! | [`Importance::ratio_matching`] (RMwGGIS on Eq. 2) | yes, unbiased for it | 1 + s | binary |
//! | [`RatioMatching::RATIO`] (Eq. 3) | **no**: the scale is wrong | 1 + d | binary |
//! | [`Importance::uniform`], [`Importance::basic`] | **no**: unbiased for Eq. 3 | 1 + s | binary |
//! | [`Importance::advanced`] | **no** | 1 + s | binary |
//!
//! RMwGGIS says that its Eq. 3, `Σ e^{2Δᵢ}`, agrees with Eq. 2. It does not: on an exact population its minimiser is a
//! quarter of the true parameters, and the advanced form learns less than that (METHODS.md §5).

/// An energy that is another one, `model`, with names for its parameters.
macro_rules! delegate {
    ($name:ident) => {
        impl Energy for $name<'_> {
            fn layout(&self) -> Layout {
                self.model.layout()
            }

            fn cache_len(&self) -> usize {
                self.model.cache_len()
            }

            fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
                self.model.init(x, cache)
            }

            fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
                self.model.gradient(x, cache, rows, out);
            }

            fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
                self.model.shift(step, cache)
            }

            fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
                self.model.differences(words, cache, site, out);
            }
        }
    };
}
use delegate;

mod adam;
mod boltzmann;
mod contrast;
mod cyclical;
mod edges;
mod error;
mod importance;
mod minibatch;
mod moments;
mod penalty;
mod perceptron;
mod plain;
mod pseudo_likelihood;
mod ratio;
mod rbm;
mod replay;
mod sparse_ising;
mod sparse_potts;
mod workspace;

pub use adam::{Adam, RateError, Sgd};
pub use contrast::Contrast;
pub use cyclical::CyclicalLearning;
pub use error::LearnError;
pub use importance::Importance;
pub use minibatch::{Minibatch, Objective, Report};
pub use penalty::{clip, decay, lasso};
pub use plain::LearnableFunction;
pub use pseudo_likelihood::PseudoLikelihood;
pub use ratio::RatioMatching;
pub use replay::Replay;
pub use sparse_ising::SparseIsing;
pub use sparse_potts::SparsePotts;

use crate::energy::Energy;
use crate::flow::vector::copy;
use crate::lane::{Bits, Block, F32s, PARTS, U32s};
use crate::layout::{Kind, Layout};
use crate::packed::{Move, Packed, place, set};

/// An energy with parameters θ that can be learned. Object safe.
///
/// θ and its gradient are blocks that the caller owns, laid out alike; lanes that are no parameter have a zero
/// gradient always.
pub trait Learnable: Energy {
    /// Blocks of θ.
    fn parameter_len(&self) -> usize;

    /// Adds `weight · ∂E/∂θ` at `x` to `into`; `cache` is that of x. Sums are in f32: leave out a constant that is in ∂E/∂θ at
    /// every state, which would take their digits.
    fn accumulate(&self, x: Packed<'_>, cache: &[Bits], weight: f32, into: &mut [Block]);

    /// Adds `Σ weightᵢₖ (∂E/∂θ(x with xᵢ = k) − ∂E/∂θ(x))` to `into`: the neighbours of x, which most objectives are
    /// made of. The weights are laid out as [`Energy::gradient`] is, those of ordinal sites as of categorical ones; a
    /// binary site has one, that of its flip. Those that are 0, of x's own values and of no site do not count. The
    /// state `words` is borrowed to be changed and put back. Its cache is `cache`, and `scratch` has room for
    /// another.
    ///
    /// The default moves a copy of the cache to each neighbour. Pairwise models need neither.
    fn accumulate_changes(
        &self,
        words: &mut [u32],
        cache: &[Bits],
        scratch: &mut [Bits],
        weights: &[Block],
        into: &mut [Block],
    ) {
        changes(self, words, cache, scratch, weights, into);
    }
}

/// The changes one after the other, each from a copy of the cache that is moved there.
fn changes<E: Learnable + ?Sized>(
    model: &E,
    words: &mut [u32],
    cache: &[Bits],
    scratch: &mut [Bits],
    weights: &[Block],
    into: &mut [Block],
) {
    let layout = model.layout();
    let mut sum = 0.0;
    each_change(model, words, weights, |words, site, value, weight| {
        sum += weight;
        copy(scratch, cache);
        let (word, _) = place(layout, site);
        let before = words.get(word).copied().unwrap_or(0);
        // The site and value are legal: there is nothing to refuse.
        let _ = set(layout, words, site, value);
        let there = Packed::trusted(layout, words);
        model.shift(&Move::within(word, &[before], there), scratch);
        model.accumulate(there, scratch, weight, into);
        if let Some(slot) = words.get_mut(word) {
            *slot = before;
        }
    });
    if sum != 0.0 {
        model.accumulate(Packed::trusted(layout, words), cache, -sum, into);
    }
}

/// Shows every change of one site that has a weight: site, value, weight.
pub(crate) fn each_change<E: Energy + ?Sized>(
    energy: &E,
    words: &mut [u32],
    weights: &[Block],
    mut see: impl FnMut(&mut [u32], usize, u32, f32),
) {
    let layout = energy.layout();
    let binary = layout.kind() == Kind::Binary;
    // An ordinal site has one slope, but a weight a value.
    let ordinal = layout.kind() == Kind::Ordinal;
    let shape = if ordinal { Layout::categorical(layout.sites(), layout.arity()) } else { layout };
    for (row, planes) in weights.chunks_exact(shape.row_blocks()).enumerate() {
        for (plane, block) in planes.iter().enumerate() {
            for (lane, &weight) in block.iter().enumerate().filter(|&(_, &weight)| weight != 0.0) {
                let Some((site, value)) = shape.component(row, plane, lane) else { continue };
                let here = Packed::trusted(layout, words).get(site);
                let value = if binary { 1 - here } else { value as u32 };
                if value != here {
                    see(words, site, value, weight);
                }
            }
        }
    }
}

/// `into += times · terms`, terms being floats in a cache.
#[inline]
fn add(into: &mut [Block], times: f32, terms: &[Bits]) {
    let times = F32s::splat(times);
    for (slots, terms) in into.iter_mut().zip(terms) {
        for part in 0..PARTS {
            let term = times * U32s::load(terms, part).to_f32();
            (F32s::load(slots, part) + term).store(slots, part);
        }
    }
}

/// `into[place] −= term`, where there is such a number.
#[inline]
fn subtract(into: &mut [Block], place: usize, term: f32) {
    if let Some(slot) = into.as_flattened_mut().get_mut(place) {
        *slot -= term;
    }
}
