//! Samples from discrete distributions on a desktop, `p(x) ∝ e^(−E(x)/T)`: a model in, samples with their errors out.
//!
//! ```
//! use bitmc_desktop::Model;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("samples.npz");
//! let model = Model::ising(4, &[(0, 1, 0.5), (1, 2, 0.5), (2, 3, -0.5)], &[0.2, 0.0, 0.0, 0.0])?;
//! let samples = model.sampler().chains(8).draws(1000).run()?;
//! samples.save(&path)?;
//! println!("{}\n{}", samples.report().why, samples.summary().table(4));
//! # let row = "| E | -0.7244 | 0.0088 | 0.7961 | 8191 | 7763 | 1.001 |";
//! # assert!(samples.summary().table(4).contains(row), "{}", samples.summary().table(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! all 16 states are enumerated at each step: draws are independent
//! | | mean | error | sd | ESS bulk | ESS tail | R̂ |
//! |---|---:|---:|---:|---:|---:|---:|
//! | E | -0.7244 | 0.0088 | 0.7961 | 8191 | 7763 | 1.001 |
//! …
//! ```
//!
//! * [`Model`]: Ising models, QUBOs, Potts models, RBMs, graphical models, Gaussians over whole numbers, logistic regressions,
//!   polynomials of any order, and any [`Energy`](bitmc::Energy) of yours. They are made from numbers, or [from a
//!   file](Model::read).
//! * [`Sampler`]: chains over all cores. The sampler is chosen by itself after pilot runs, and tuned; or set [by
//!   hand](Choice). A time limit, [`Cancel`], a file from which a killed run goes on.
//! * [`Sampler::run_over`]: the same run over the [`Ranks`] of several machines, with the same bytes.
//! * [`Samples`]: states, energies, means with Monte-Carlo errors, effective sample sizes, R̂, correlations, best
//!   states, `.npz`.
//! * [`Annealer`]: states of low energy. [`LogZ`]: the normalising constant.
//! * [`learn`]: RBMs, Ising models and networks from data, by persistent contrastive divergence or without chains.
//!
//! The command `bitmc` does the same for files: `cargo install --path kernel/desktop`, then `bitmc sample FILE`.
//!
//! # What is promised
//! Samples are a function of the model, the seed and the settings. They do not depend on the number of threads, the processor
//! or the clock. A run that ends by [`Sampler::seconds`] gives the first draws of the longer one. Where chains do not agree
//! [`Summary::warning`] says so.
//!
//! # How the sampler is chosen
//! Each class of model has a short list of candidates. Pilot runs of all of them go on until one says enough. That
//! one has chains that agree, and enough effective samples of the energy and of the slowest site. Where chains are
//! slow, replica exchange joins the candidates. Its ladder is found by short runs. The most effective samples for the
//! cost win. Costs come from a table of operations, not from a clock. [`Report`] says what was tried and why.
//!
//! # Limits
//! Arithmetic is f32 and 32-bit fixed point, as in the kernel: a weight that a far larger one would swallow is refused.
//! [`Summary::warning`] tells of numbers that are rounded too far for the temperature. States are kept in memory:
//! `chains × draws × sites` values, packed. Diagnostics of models of more than 4,096 sites look at every k-th site. R̂
//! and effective sample sizes see only modes that some chain has met.
#![forbid(unsafe_code)]

mod anneal;
mod auto;
pub mod bits;
pub mod builds;
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
pub mod learn;
mod logz;
mod model;
pub mod npy;
pub mod npz;
mod pair;
mod parts;
mod plan;
mod population;
pub mod progress;
mod ranks;
mod read;
mod run;
mod sampler;
mod samples;
pub mod second_order;
mod settings;
pub mod tempering;
mod together;
mod unit;

pub use anneal::{Annealed, Annealer, Method, Minimum, Reached};
pub use error::Error;
pub use logz::{Estimate, LogZ, base_fields};
pub use model::{Info, Model};
pub use plan::Plan;
pub use ranks::Ranks;
pub use run::{Report, Seconds, Trial};
pub use sampler::{Choice, Sampler};
pub use samples::{Found, Samples, SiteSummary, Summary};
pub use settings::Cancel;
