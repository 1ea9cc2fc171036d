//! `bitmc logz FILE`.

use crate::output::{Input, Output, on_interrupt, written};
use bitmc_desktop::{Error, Estimate, LogZ, Model, cli};
use clap::{Args, ValueEnum};
use serde::Serialize;

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

    /// ln Z of e^(−E/T)
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::within(1e-20, 1e20))]
    #[serde(serialize_with = "written")]
    temperature: f32,

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
    if let Some(warning) = &answer.warning {
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("warning: {warning}\n"));
    }
    Ok(())
}
