//! The words that every example understands.

pub use bitmc_desktop::Error as Failure;
pub use bitmc_desktop::cli::{main, within};
pub use bitmc_desktop::files::say;

use clap::Args;
use std::path::{Path, PathBuf};

/// The common words; an example flattens them into its own options.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Folder for the results [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// A smaller run, for a first look: under a minute on two cores
    #[arg(long)]
    pub quick: bool,

    /// No progress bar and no summary
    #[arg(long)]
    pub quiet: bool,

    /// Threads to work with; the results do not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Common {
    /// The folder for the results of the example `name`.
    #[must_use]
    pub fn folder(&self, name: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("out").join(name))
    }

    /// The threads to work with.
    ///
    /// # Errors
    /// [`Failure::Option`] where the system cannot start so many.
    pub fn pool(&self) -> Result<rayon::ThreadPool, Failure> {
        let threads = self.threads.map_or(0, usize::from); // 0: one a core
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| Failure::Option(format!("--threads: {error}")))
    }

    /// Prints text on standard output, unless `--quiet` forbids it.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

/// Adam's learning rate.
pub fn rate() -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    within(1e-12, 10.0)
}

/// Draws of an importance-sampled objective.
///
/// # Errors
/// What is wrong, where there are not 1 to 64, or an even number up to 128.
pub fn draws(text: &str) -> Result<usize, String> {
    let fits =
        |draws: &usize| (1..=64).contains(draws) || (65..=128).contains(draws) && draws.is_multiple_of(2);
    text.parse().ok().filter(fits).ok_or_else(|| "1 to 64 draws, or an even number up to 128".into())
}

/// The strength of a penalty.
pub fn penalty() -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    within(0.0, 1e6)
}
