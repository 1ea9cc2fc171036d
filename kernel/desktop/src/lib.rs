//! Samples discrete models on a desktop.

mod auto;
pub mod bits;
pub mod cells;
pub mod chains;
pub mod checkpoint;
#[cfg(feature = "command")]
pub mod cli;
mod cost;
pub mod diagnose;
mod error;
pub mod files;
pub mod formats;
mod keep;
mod ladder;
mod model;
pub mod npy;
pub mod npz;
mod parts;
mod plan;
pub mod progress;
mod read;
mod run;
mod sampler;
mod samples;
pub mod tempering;
mod unit;

pub use error::Error;
pub use model::Model;
pub use plan::Plan;
pub use run::{Report, Trial};
pub use sampler::{Cancel, Choice, Sampler};
pub use samples::{Found, Samples, SiteSummary, Summary};
