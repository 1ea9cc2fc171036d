//! What the examples over neural networks share: chains that are told their energies, networks, and tuning.

pub mod chains;
pub mod convolution;
pub mod network;
pub mod product;
pub mod sample;
pub mod tune;
