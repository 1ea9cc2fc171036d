//! Chains over two whole numbers beside the exact distribution: densities, distances, modes, samplers and pictures.

mod density;
mod drive;
mod picture;
mod samplers;

pub use density::{Density, Distance, Histogram, Shape};
pub use drive::{Sampler, Tally, drive, start};
pub use picture::{Panel, draw};
pub use samplers::{SamplerError, acs, langevin, samplers};
