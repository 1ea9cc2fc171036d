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
pub mod npz;
mod parts;
pub mod progress;
mod read;
pub mod tempering;

pub use error::Error;
pub use model::Model;
