//! Gradient-informed sampling from unnormalised distributions over packed discrete states,
//! `p(x) ∝ e^(−E(x))`: `no_std`, no allocator, no `unsafe`, no panic, and the same bits for the same seed
//! on every processor from a Cortex-M0 to AVX-512.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod accept;
pub mod chain;
pub mod draw;
pub mod energy;
pub mod lane;
pub mod layout;
pub mod packed;
pub mod random;
pub mod stats;
pub mod step;

pub use accept::Info;
pub use chain::{Chain, ChainError, FixedChain, FixedMemory, Memory};
pub use energy::{Bernoulli, Energy, Function, Ising, Plain, Rbm, SparseMemory, torus};
pub use layout::Layout;
pub use packed::{Move, Packed, State, StateError};
pub use rand_core::{Rng, SeedableRng};
pub use random::LaneRng;
pub use step::{BlockGibbs, Kernel, Langevin};
