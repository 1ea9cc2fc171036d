//! Gradient-informed sampling from unnormalised distributions over packed discrete states,
//! `p(x) ∝ e^(−E(x))`. No `std`, no allocator, no `unsafe`, no panic; and the same seed gives the same
//! chain, bit for bit, on a Cortex-M0 and on AVX-512.
//!
//! ```
//! use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, torus};
//! use bitmc::stats::Means;
//!
//! const L: Layout = Layout::binary(25);
//! let mut couplings = SparseMemory::<25, 100>::new();
//! let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow())?;
//! let mut rng = LaneRng::seed_from_u64(1);
//! let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng)?;
//! let mut means = Means::new([0; 25]);
//! chain.run(&Langevin::adjusted(0.6)?, &mut rng, 10_000, &mut means);
//! assert!((means.mean(0).ok_or("no such site")? - 0.741).abs() < 0.05); // exactly ½(1 + .48297)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//! An *energy* ([`energy`]) says what is sampled: [`Ising`], [`Potts`], [`Rbm`], or your own two
//! functions as a [`Function`]. A *kernel* ([`step`]) says how: [`Langevin`], [`Gibbs`] or [`BlockGibbs`]. A [`Chain`]
//! holds the state in memory of fixed size that you own, and [`stats`] watches it; a [`snapshot`] keeps it
//! over a stop. An energy that is evaluated elsewhere (a network, another process) is told to an [`Open`] chain.
//!
//! Below are [`draw`] (probabilities of moves), [`accept`] (the Metropolis test), [`random`], [`packed`] states,
//! their [`layout`], and the sixteen [`lane`]s in which everything is computed.
//!
//! More chains at once: [`batch`], [`sliced`]. Proposals that know the couplings: [`noise`]. Many modes: [`temper`], [`tune`],
//! [`schedule`]. Learning: [`learn`]. Without floats: [`quantised`]. All kernels in one table: [`step`].
//!
//! Distributions over vectors of reals have a module of their own, [`flow`]. Which sampler to start with, and what each
//! was measured to cost: `docs/which-sampler.md` in the repository.
//!
//! # Words and scales
//! States are {0,1}; spins are `s = 2x − 1`; **step sizes are on the {0,1} scale**: one quoted for spins is
//! four times too large here. Energies are `E = −log p + const`, gradients `∂E/∂x`.
//!
//! # Random generators
//! [`LaneRng`] is the crate's own. On cores without vectors [`Xoshiro128PlusPlus`], one lane of it, takes less time and
//! memory. Any other generator of `rand_core` **0.10** works too: those of `rand` 0.10 and `rand_xoshiro` 0.8, for
//! example. Generators of older versions have other traits and do not fit.
//!
//! # Features
//! `defmt`: `Format` for every error and [`Info`]. `serde`: (de)serialisation of layouts, generators, tuners, errors, a
//! chain's [`Core`](chain::Core) and most statistics, arrays up to 32 numbers. None is on by default.
//!
//! Some of these numbers may be infinite or NaN, which JSON has no word for: take a format that has them. But for
//! [`Layout`], what is read is not checked. Take a [`snapshot`] for what may have been altered.
//!
//! # Speed
//! Vector instructions are chosen when the crate is compiled. Build with
//! `RUSTFLAGS="-C target-cpu=native"` for the machine at hand.
#![no_std]

pub mod accept;
pub mod batch;
pub mod chain;
pub mod draw;
pub mod energy;
mod error;
pub mod flow;
pub mod lane;
pub mod layout;
pub mod learn;
pub mod noise;
pub mod open;
pub mod packed;
pub mod quantised;
pub mod random;
pub mod schedule;
pub mod sliced;
pub mod snapshot;
pub mod stats;
pub mod step;
pub mod temper;
pub mod tune;

pub use accept::Info;
pub use chain::{Chain, ChainError, FixedChain, FixedMemory, Memory};
pub use energy::{
    Bernoulli, BinaryNetwork, Energy, Factor, Factors, FactorsMemory, Function, Ising, LatticeGaussian,
    Logistic, Modes, Plain, Polynomial, PolynomialMemory, Potts, Quartic, Rbm, SparseMemory, torus,
};
pub use layout::{Kind, Layout};
pub use open::{Open, OpenError};
pub use packed::{Move, Packed, State, StateError};
pub use rand_core::{Rng, SeedableRng};
pub use rand_xoshiro::Xoshiro128PlusPlus;
pub use random::LaneRng;
pub use schedule::Schedule;
pub use step::{
    BlockGibbs, EnumeratedGibbs, Gibbs, GibbsWithGradients, HammingBall, Kernel, Langevin, LocallyBalanced,
    PathAuxiliary, RandomWalk, Swap,
};
