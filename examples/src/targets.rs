//! Synthetic targets by the papers' recipes: the same numbers for the same seed, made in f64 and lent to the
//! kernel as f32. (They pass through logarithms and cosines of the system's library: another system may differ in
//! a last bit.)
//!
//! Each type owns its numbers and lends an energy: `Gaussian::rotated(100, 21, 10.0, 1)` and then
//! `.energy()`. What a recipe leaves open is said where it is decided.

mod gaussian;
mod graph;
mod logistic;
mod numbers;
mod quartic;

pub use gaussian::{Gaussian, Rows};
pub use graph::{barabasi_albert, uniform};
pub use logistic::Regression;
pub use quartic::QuarticMixture;
