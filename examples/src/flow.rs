//! Continuous targets with exact samples, samplers on equal gradients, and how far they get.

pub mod integrate;
pub mod measure;
#[cfg(feature = "nuts")]
mod nuts;
pub mod picture;
pub mod run;
pub mod targets;
pub mod train;
