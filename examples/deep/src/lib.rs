//! What the examples over neural networks share: chains that are told their energies, networks, and tuning.

pub mod convolution;
pub mod fill;
pub mod infill;
pub mod masked;
pub mod metrics;
pub mod network;
pub mod product;
pub mod sample;
pub mod synthetic;
pub mod text;
pub mod tune;
