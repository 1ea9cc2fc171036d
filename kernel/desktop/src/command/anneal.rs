//! `bitmc anneal FILE`.

use crate::output::{Input, Output, on_interrupt, said, warn, written};
use bitmc_desktop::{Annealed, Error, Method, cli};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Args, Debug, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: Input,

    /// `annealing`, `exchange` (replica exchange) or `isoenergetic` (the same with cluster moves between two ladders)
    #[arg(long, default_value = "annealing", value_parser = str::parse::<Method>)]
    method: Method,

    /// End with the first run that reaches this energy. Energies have 32 bits: one that is 1.2e-7 of E above it counts. Of each batch
    /// of 16 or 512 runs of an Ising model the best end is kept, and the batch counts as one run
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    target: Option<f64>,

    /// The temperatures of the hottest and the coldest replica, or of the start and the end of a run [default: by the model]
    #[arg(long, value_name = "HOT:COLD", value_parser = temperatures)]
    temperatures: Option<(f64, f64)>,

    /// Seconds [default: 10, where --sweeps says nothing]
    #[arg(long, value_name = "N", conflicts_with = "sweeps", value_parser = cli::within(0.01, 1e6))]
    #[serde(serialize_with = "written")]
    seconds: Option<f32>,

    /// Sweeps of all runs together instead of seconds: every machine finds the same. A run that has begun is finished.
    /// One has 1,000 sweeps or more, or where all couplings have one magnitude 512 times 128
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sweeps: Option<u64>,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Threads to work with [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    threads: Option<u16>,

    /// Write the best states and their energies as an .npz file
    #[arg(long, value_name = "FILE.npz")]
    #[serde(skip)]
    save: Option<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    found: &'a Annealed,
    warning: &'a Option<String>,
}

fn temperatures(text: &str) -> Result<(f64, f64), String> {
    let pair = text.split_once(':').and_then(|(hot, cold)| Some((hot.parse().ok()?, cold.parse().ok()?)));
    pair.ok_or_else(|| "two numbers with a colon between them are needed".into())
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    options.output.may_write(options.save.as_deref())?;
    let model = options.input.model()?;
    let mut annealer = model
        .annealer()
        .method(options.method)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into())
        .progress(!options.output.quiet)
        .cancel(&on_interrupt());
    annealer = match (options.sweeps, options.seconds) {
        (Some(sweeps), _) => annealer.sweeps(sweeps),
        (None, seconds) => annealer.seconds(seconds.unwrap_or(10.0).into()),
    };
    if let Some((hottest, coldest)) = options.temperatures {
        annealer = annealer.temperatures(hottest, coldest);
    }
    if let Some(energy) = options.target {
        annealer = annealer.target(energy);
    }
    let found = annealer.run()?;
    let saved = options.save.as_ref().map_or(Ok(()), |path| found.save(path));
    let warning = found.warning(&model);
    let text = text(&found, options) + &said(&options.save, &saved);
    options.output.tell(options, &Answer { found: &found, warning: &warning }, &text)?;
    warn(&warning);
    saved
}

/// What a person reads.
fn text(found: &Annealed, options: &Options) -> String {
    let mut text = format!(
        "{} runs from T = {:.4} to {:.4}, {} sweeps\n",
        found.runs, found.hottest, found.coldest, found.sweeps
    );
    match (found.target, options.target) {
        (Some(reached), Some(energy)) => {
            let (run, found) = (reached.run + 1, found.states[0].energy);
            let _ = writeln!(
                text,
                "Run {run} reached E = {found:.6} (target {energy}) after {:.3} s",
                reached.seconds
            );
        }
        (None, Some(energy)) => {
            let _ = writeln!(text, "No run reached E = {energy}");
        }
        _ => {}
    }
    for state in found.states.iter().take(5) {
        let _ = write!(text, "\nE = {:.6}, found by {} runs", state.energy, state.runs);
        if state.state.len() <= 80 {
            let apart = if state.state.iter().any(|&value| value > 9) { " " } else { "" };
            let values: Vec<String> = state.state.iter().map(u32::to_string).collect();
            let _ = write!(text, ": {}", values.join(apart));
        }
    }
    text
}
