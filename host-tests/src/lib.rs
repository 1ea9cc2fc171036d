//! The test suite: references that are naive, in float64 and written independently of the kernel, and what the
//! tests share.
//!
//! `tests/exact` and `tests/lanes` compare without randomness, each within a bound of [`tolerance`]; `tests/stat` draws with
//! fixed seeds and states its rate of false alarms; `tests/flow` does both for samplers over real vectors.

pub mod coarse;
pub mod comparison;
pub mod compose;
pub mod count;
pub mod digits;
pub mod dmala;
pub mod elementary;
pub mod enumerate;
pub mod factors;
pub mod failing;
pub mod flow;
pub mod fuzz;
pub mod heap;
pub mod lattice;
pub mod learning;
pub mod listed;
pub mod matrix;
pub mod models;
pub mod naive;
pub mod network;
pub mod noise;
pub mod npy;
mod passes_on;
pub mod paths;
pub mod planes;
pub mod polynomial;
pub mod programs;
pub mod quantised;
pub mod semidefinite;
pub mod side_by_side;
pub mod sliced;
pub mod snapshot;
pub mod space;
pub mod stat;
pub mod stuck;
pub mod synthetic;
pub mod tolerance;
pub mod used;

#[cfg(doctest)]
pub mod book;
