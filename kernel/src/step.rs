//! Samplers: one a file, each a configuration with a `step`.
//!
//! # Which one
//! There are d sites of q values (binary: q counts as 1), and R indices. A *gradient* is one of all sites: O(dq) from
//! a sparse model's cache, and O(d · hidden) for an RBM. A *difference* is one site's: O(q) and O(hidden). All but
//! the unadjusted sampler keep p exactly.
//!
//! | kernel | cost of a step | sites that change | when |
//! |---|---|---|---|
//! | [`Langevin`] | gradient, dq exponentials, d uniforms | many | first choice where the gradient is cheap; d is large |
//! | [`IsingLangevin`] | d words, an exponential a changed field | many | the same for Ising models, several times as fast |
//! | [`IsingBalanced`] | a normal or a whole number an edge, d/2 words, d exponentials | very many | Ising models near criticality, without tuning; with [momentum](IsingBalanced::momentum) |
//! | [`GibbsWithGradients`], R = 1 | gradient, dq exponentials | one | strong couplings, where no larger step is accepted |
//! | [`GibbsWithGradients`], R > 1 | the same, R indices | up to R | a few sites at a time; the simplest of its kind |
//! | [`PathAuxiliary`] | the same, R indices | R | as R grows; no site is drawn twice |
//! | [`LocallyBalanced`] | d differences, dq exponentials | one | the gradient misleads, or hard constraints leave few moves |
//! | [`Gibbs`] | a difference a site visited; in sweeps over Ising and Potts models none | up to those visited | Potts models; E alone is known; reference runs |
//! | [`SequentialGibbs`] | a logistic number a site, O(degree) a flip | many: a sweep | Ising models |
//! | [`ChromaticGibbs`] | the same in lanes, a class at a time | many: a sweep | Ising and Potts models with few colours: lattices |
//! | [`SwendsenWang`] | an exponential a pair, O(degree) a flip | half of them, by clusters | Ising and Potts models near criticality without frustration |
//! | [`Wolff`] | the same for one cluster | one cluster | the same, large models |
//! | [`BlockGibbs`] | a row or column of W a unit that changed, d uniforms | many | RBMs, always try it first |
//! | [`RandomWalk`] | d uniforms, one difference of energies | about r | a baseline; a step may ask for only one total |
//! | [`EnumeratedGibbs`] | qᴮ (binary: 2ᴮ) changes of energy, exponentials, uniforms | up to B | a few sites that hang together strongly |
//! | [`HammingBall`] | the same, only the states within R changes | up to 2R | the same, larger blocks; hard constraints |
//! | [`Swap`] | one difference of energies | two | a fixed number of sites at each value |
//! | [`Cycle`] | that of the kernel whose turn it is | its | ACS: bold and local steps in turn, for many modes |
//!
//! A step of `GibbsWithGradients` costs less than one of `Langevin` (no uniform a site), but changes one site.
//! Compare samplers by effective samples a second, not by steps. An index costs 128 random bits and a walk over dq/16
//! sums, and its probability is exact whatever d is.

mod block;
mod block_gibbs;
mod bonds;
mod chromatic_gibbs;
mod colouring;
mod cycle;
mod enumerated_gibbs;
mod error;
pub(crate) mod fields;
pub(crate) mod fingerprint;
mod gibbs;
mod gibbs_with_gradients;
mod hamming_ball;
mod ising_balanced;
pub(crate) mod ising_langevin;
pub(crate) mod langevin;
mod locally_balanced;
pub(crate) mod momentum;
pub(crate) mod path;
mod path_auxiliary;
mod random_walk;
mod sequential_gibbs;
mod swap;
mod swendsen_wang;
pub(crate) mod symmetric;
mod together;
mod transition;
mod wolff;

pub use crate::chain::Kernel;
pub use block_gibbs::{BlockGibbs, TemperedBlockGibbs};
pub use chromatic_gibbs::ChromaticGibbs;
pub use colouring::{Colouring, ColouringError};
pub use cycle::{Cycle, langevin_cycle};
pub use enumerated_gibbs::EnumeratedGibbs;
pub use error::ParameterError;
pub use gibbs::Gibbs;
pub use gibbs_with_gradients::GibbsWithGradients;
pub use hamming_ball::{BallTransition, HammingBall};
pub use ising_balanced::IsingBalanced;
pub use ising_langevin::IsingLangevin;
pub use langevin::{Curvature, Langevin};
pub use locally_balanced::LocallyBalanced;
pub use path::Choice;
pub use path_auxiliary::PathAuxiliary;
pub use random_walk::RandomWalk;
pub use sequential_gibbs::{SequentialGibbs, SequentialGibbsPart};
pub use swap::Swap;
pub use swendsen_wang::SwendsenWang;
pub use transition::Transition;
pub use wolff::Wolff;
