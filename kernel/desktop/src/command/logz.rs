//! `bitmc logz FILE`.

use crate::output::{Input, Output, on_interrupt};
use bitmc_desktop::{Error, cli};
use clap::Args;
use serde::Serialize;

#[derive(Args, Debug, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    input: Input,

    /// Independent runs
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    runs: u32,

    /// Temperatures of a run, a sweep at each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    temperatures: u32,

    /// ln Z of e^(−E/T)
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::within(1e-20, 1e20))]
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

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let model = options.input.model()?;
    let answer = model
        .log_z()
        .runs(options.runs as usize)
        .temperatures(options.temperatures as usize)
        .temperature(options.temperature)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into())
        .progress(!options.output.quiet)
        .cancel(&on_interrupt())
        .run()?;
    let text = format!(
        "ln Z = {:.4} ± {:.4}\n{} runs of {} temperatures, {:.0} effective runs",
        answer.log_z, answer.error, answer.runs, answer.temperatures, answer.effective_runs
    );
    options.output.tell(options, &answer, &text)?;
    if let Some(warning) = &answer.warning {
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("warning: {warning}\n"));
    }
    Ok(())
}
