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
pub mod npy;
pub mod progress;
pub mod tempering;

pub use error::Error;
