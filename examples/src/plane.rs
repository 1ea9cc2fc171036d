//! Chains over two whole numbers beside the exact law: densities, distances, modes and pictures.

mod density;
mod drive;
mod picture;

pub use density::{Density, Distance, Histogram, Shape};
pub use drive::{Sampler, Tally, drive};
pub use picture::{Panel, draw};
