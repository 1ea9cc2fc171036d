//! Chains over the RBM of 784 × 500: where they start, what moves them, and how samplers compare.

mod compare;
mod cycle;
mod keep;
mod ladder;
mod sampler;
mod start;

pub use compare::{Comparison, compare};
pub use keep::Keeper;
pub use sampler::{Case, Choice};
pub use start::{Start, upper_half};
