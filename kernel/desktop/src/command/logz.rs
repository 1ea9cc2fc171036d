//! `bitmc logz FILE`.

use crate::output::{Input, Output, lossy_if, on_interrupt, warn};
use bitmc_desktop::bits::BitRows;
use bitmc_desktop::npz::Reader;
use bitmc_desktop::{Error, Estimate, LogZ, Model, base_fields, cli};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};

#[derive(Args, Debug, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: Input,

    /// How
    #[arg(long, value_enum, default_value_t = Method::Importance)]
    method: Method,

    /// Independent runs of --method importance [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    runs: Option<u32>,

    /// Temperatures of a run of --method importance, a sweep at each [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    temperatures: Option<u32>,

    /// Replicas of --method population [default: 1000]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(2..=100_000_000))]
    population: Option<u32>,

    /// Begin at independent sites whose values are as frequent as in these states, not at uniform ones: a .npz file of `bitmc
    /// sample --save`, or .bits
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "lossy_if")]
    base: Option<PathBuf>,

    /// ln Z of e^(−E/T)
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::temperature)]
    temperature: f64,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Threads to work with; the answer does not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    threads: Option<u16>,

    #[command(flatten)]
    #[serde(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Method {
    /// Annealed importance sampling: independent runs with weights
    Importance,
    /// Population annealing: replicas that are resampled at each temperature
    Population,
}

impl Options {
    /// The method with its own options; those of the other one are refused.
    fn settings<'m>(&self, model: &'m Model) -> Result<LogZ<'m>, Error> {
        let mut settings = model.log_z();
        if let Some(path) = &self.base {
            settings = settings.base(&base(model, path)?);
        }
        match self.method {
            Method::Importance => {
                if self.population.is_some() {
                    return Err(Error::option("--population: it belongs to --method population"));
                }
                if let Some(runs) = self.runs {
                    settings = settings.runs(runs as usize);
                }
                if let Some(temperatures) = self.temperatures {
                    settings = settings.temperatures(temperatures as usize);
                }
            }
            Method::Population => {
                for (name, given) in [("--runs", self.runs), ("--temperatures", self.temperatures)] {
                    if given.is_some() {
                        return Err(Error::option(format!("{name}: it belongs to --method importance")));
                    }
                }
                settings = settings.population(self.population.unwrap_or(1000) as usize);
            }
        }
        Ok(settings)
    }
}

/// The fields of a file of states.
fn base(model: &Model, path: &Path) -> Result<Vec<f32>, Error> {
    let (layout, sites) = (model.layout(), model.sites());
    if path.extension().is_none_or(|end| end != "npz") {
        let rows = BitRows::read(path, sites)?;
        let bits = rows.rows().map(|row| (0..sites).map(|site| row[site / 32] >> (site % 32) & 1));
        return base_fields(layout, bits);
    }
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    let states = Reader::new(file).and_then(|mut arrays| arrays.array("states"));
    let states = states.map_err(|error| Error::file(path, error))?;
    if states.shape.last() != Some(&sites) {
        let reason = format!("states of shape {:?}, where the last number must be {sites}", states.shape);
        return Err(Error::file(path, reason));
    }
    // What is no value becomes one that is refused.
    let value = |value: &f64| if value.fract() == 0.0 && *value >= 0.0 { *value as u32 } else { u32::MAX };
    base_fields(layout, states.values.chunks_exact(sites).map(|row| row.iter().map(value)))
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let model = options.input.model()?;
    let answer = options
        .settings(&model)?
        .temperature(options.temperature)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into())
        .progress(!options.output.quiet)
        .cancel(&on_interrupt())
        .run()?;
    let Estimate { log_z, error, runs, temperatures, effective_runs, families, .. } = &answer;
    let how = match families {
        None => format!("{runs} runs of {temperatures} temperatures, {effective_runs:.0} effective runs"),
        Some(families) => format!(
            "{runs} replicas at {temperatures} temperatures, of {families} families, {effective_runs:.0} effective families"
        ),
    };
    let text = format!("ln Z = {log_z:.4} ± {error:.4}\n{how}");
    options.output.tell(options, &answer, &text)?;
    warn(&answer.warning);
    Ok(())
}
