//! Samples discrete models on a desktop.

mod anneal;
mod auto;
pub mod bits;
pub mod cells;
pub mod chains;
pub mod checkpoint;
#[cfg(feature = "command")]
pub mod cli;
mod cost;
pub mod cyclical;
pub mod diagnose;
mod error;
pub mod files;
pub mod formats;
mod keep;
mod ladder;
mod logz;
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
pub mod second_order;
pub mod tempering;
mod unit;

pub use anneal::{Annealed, Annealer, Minimum};
pub use error::Error;
pub use logz::{Estimate, LogZ};
pub use model::{Info, Model};
pub use plan::Plan;
pub use run::{Report, Seconds, Trial};
pub use sampler::{Cancel, Choice, Sampler};
pub use samples::{Found, Samples, SiteSummary, Summary};
