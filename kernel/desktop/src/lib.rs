//! Samples discrete models on a desktop.

pub mod bits;
pub mod cells;
pub mod chains;
pub mod checkpoint;
#[cfg(feature = "command")]
pub mod cli;
pub mod diagnose;
mod error;
pub mod files;
pub mod formats;
mod model;
pub mod npy;
mod parts;
mod plan;
pub mod progress;
pub mod tempering;
mod unit;

pub use error::Error;
pub use model::Model;
pub use plan::Plan;
