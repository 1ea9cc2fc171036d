//! The words that every example understands, and how an example fails: one line, no backtrace.

use clap::{Args, Parser};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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

/// Reads a number of a range; NaN is in none. For clap's `value_parser`.
pub fn within(least: f32, most: f32) -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    move |word| {
        let value: f32 = word.parse().map_err(|_| format!("{word:?} is no number"))?;
        let plain = |bound: f32| format!("{bound:?}").trim_end_matches(".0").to_string();
        let refused = || format!("{word} is not from {} to {}", plain(least), plain(most));
        if (least..=most).contains(&value) { Ok(value) } else { Err(refused()) }
    }
}

/// Adam's learning rate.
pub fn rate() -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    within(1e-12, 10.0)
}

/// The strength of a penalty.
pub fn penalty() -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    within(0.0, 1e6)
}

/// Prints text on standard output. A reader that has gone away is no failure.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Why an example stops early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An option has an illegal value. Exit code 2, as for an option that does not exist.
    #[error("{0}")]
    Option(String),
    /// A file cannot be read or written, or is not what it should be. Exit code 1.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Failure {
    /// An option that asks for what cannot be.
    pub fn option(reason: impl ToString) -> Self {
        Self::Option(reason.to_string())
    }

    /// A file and what is wrong with it.
    pub fn file(path: &Path, reason: impl ToString) -> Self {
        Self::File { path: path.to_path_buf(), reason: reason.to_string() }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Option(_) => 2,
            Self::File { .. } => 1,
        }
    }
}

/// The body of an example's `main`: reads the options, runs, and reports a failure in one line.
pub fn main<O: Parser>(run: impl FnOnce(O) -> Result<(), Failure>) -> ExitCode {
    // Negative numbers are values, so that an option that cannot have one says so.
    let words = O::command().mut_args(|word| {
        let named = !word.is_positional() && word.get_action().takes_values();
        if named { word.allow_negative_numbers(true) } else { word }
    });
    let options = words.try_get_matches().and_then(|matches| O::from_arg_matches(&matches));
    let failure = match options {
        Ok(options) => match run(options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(failure) => failure,
        },
        Err(help) if !help.use_stderr() => {
            say(help.to_string().trim_end());
            return ExitCode::SUCCESS;
        }
        Err(error) => Failure::Option(one_line(&error.to_string())),
    };
    let _ = writeln!(std::io::stderr(), "error: {}", failure.to_string().replace('\n', " "));
    ExitCode::from(failure.code())
}

/// The message of a command line parser without its usage lines.
fn one_line(message: &str) -> String {
    let useful = message.lines().map(str::trim);
    let useful = useful.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<&str> = useful.filter(|line| !line.is_empty()).collect();
    let mut line = words.join(" ").trim_start_matches("error: ").to_string();
    // What Rust says of numbers, in the words of the command line.
    for (rust, plain) in [
        ("invalid digit found in string", "not a whole number from 0"),
        ("cannot parse integer from empty string", "not a number"),
        ("cannot parse float from empty string", "not a number"),
        ("invalid float literal", "not a number"),
        ("number too large to fit in target type", "too large"),
    ] {
        line = line.replace(rust, plain);
    }
    line + " (--help lists the options)"
}
