//! `bitmc sample FILE`.

use crate::output::{Input, Output, number, on_interrupt, place, said, warn, written};
use bitmc_desktop::{Choice, Error, Found, Report, Samples, Summary, cli};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Args, Debug, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: Input,

    /// `auto`, or `gibbs`, `block-gibbs`, `swendsen-wang`, `wolff`, `langevin[:STEP]`, `balanced[:STEP:BALANCE]`,
    /// `second-order[:MOMENTUM]`, `cyclical`, `gwg[:INDICES]`, `pas[:INDICES]`, `locally-balanced`, `hamming-ball[:SITES:RADIUS]`,
    /// `random-walk[:RADIUS]`, `exchange[:BETA:…:1]`, `isoenergetic[:BETA:…:1]`
    #[arg(long, default_value = "auto", verbatim_doc_comment)]
    sampler: String,

    /// Independent chains
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    chains: u32,

    /// Steps of each chain before its first draw [default: the pilot run; of a sampler by hand 1000]
    #[arg(long, value_name = "N")]
    warmup: Option<u64>,

    /// Draws of each chain
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    draws: u64,

    /// Steps from one draw to the next [default: 1; with --sampler auto as many as slow chains need]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    thin: Option<u64>,

    /// Samples e^(−E/T); from 1e-20 to 1e20
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::within(1e-20, 1e20))]
    #[serde(serialize_with = "written")]
    temperature: f32,

    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// End after so many seconds, at the draw that the run has come to; the diagnostics follow
    #[arg(long, value_name = "N", value_parser = cli::within(0.0, 1e9))]
    #[serde(skip)]
    seconds: Option<f32>,

    /// Threads to work with; the samples do not depend on it [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    threads: Option<u16>,

    /// Write states, energies and diagnostics as an .npz file
    #[arg(long, value_name = "FILE.npz")]
    #[serde(skip)]
    save: Option<PathBuf>,

    /// Keep the run in a file, and go on from it where it is there
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Answer {
    model: String,
    sites: usize,
    #[serde(flatten)]
    report: Report,
    summary: Summary,
    warning: Option<String>,
    best: Vec<Found>,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    if let (Some(save), Some(checkpoint)) = (&options.save, &options.checkpoint)
        && place(save) == place(checkpoint)
    {
        return Err(Error::option("--save and --checkpoint: two different files are needed"));
    }
    options.output.may_write(options.save.as_deref())?;
    let choice: Choice = options.sampler.parse()?;
    let by_hand = matches!(choice, Choice::Exactly(_));
    let model = options.input.model()?;
    let mut sampler = model
        .sampler()
        .with(choice)
        .chains(options.chains as usize)
        .draws(options.draws as usize)
        .temperature(options.temperature)
        .seed(options.seed)
        .threads(options.threads.unwrap_or(0).into())
        .progress(!options.output.quiet)
        .cancel(&on_interrupt());
    if let Some(warmup) = options.warmup {
        sampler = sampler.warmup(warmup);
    }
    if let Some(thin) = options.thin {
        sampler = sampler.thin(thin);
    }
    if let Some(seconds) = options.seconds {
        sampler = sampler.seconds(seconds.into());
    }
    if let Some(path) = &options.checkpoint {
        sampler = sampler.checkpoint(path);
    }
    let samples = sampler.run()?;
    if samples.is_empty() {
        let why = samples.report().stopped.clone().unwrap_or_default();
        let out = match (options.seconds, by_hand) {
            (None, _) => "",
            (_, true) if options.checkpoint.is_some() => "; the same line goes on from there",
            (_, true) => "; take more --seconds, or less --warmup",
            _ => "; take more --seconds, or a --sampler without pilot runs, such as gibbs",
        };
        return Err(Error::option(format!("no draw was made: {why}{out}")));
    }
    let saved = options.save.as_ref().map_or(Ok(()), |path| samples.save(path));
    let answer = answer(&model, &samples);
    let text = text(&answer) + &said(&options.save, &saved);
    options.output.tell(options, &answer, &text)?;
    warn(&answer.warning);
    saved
}

fn answer(model: &bitmc_desktop::Model, samples: &Samples) -> Answer {
    let summary = samples.summary();
    Answer {
        model: model.kind().into(),
        sites: model.sites(),
        report: samples.report().clone(),
        warning: summary.warning(),
        summary,
        best: samples.best(3),
    }
}

/// What a person reads.
fn text(answer: &Answer) -> String {
    const SITES: usize = 20;
    let Answer { report, summary, .. } = answer;
    // Writing to a string cannot fail.
    let mut text = format!("{} of {} sites\n{}\n", answer.model, answer.sites, report.why);
    if !report.tried.is_empty() {
        text += "\n| pilot run | steps a chain | cost (ms) | ESS | R̂ |\n|---|---:|---:|---:|---:|\n";
        for trial in &report.tried {
            let (ess, r_hat) = (number(trial.ess, 0), number(trial.r_hat, 3));
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} | {ess} | {r_hat} |",
                trial.sampler,
                trial.steps,
                trial.cost / 1e3
            );
        }
    }
    let _ = write!(
        text,
        "\n{} chains, {} draws each, a draw every {} steps after {}; acceptance {}, {} sites moved a step\n",
        summary.chains,
        summary.draws,
        report.thin,
        report.warmup,
        number(report.acceptance, 3),
        number(report.moved_sites_per_step, 3)
    );
    if let Some(stopped) = &report.stopped {
        let _ = writeln!(text, "{stopped}");
    }
    if report.faults > 0 {
        let _ = writeln!(text, "the energy failed at {} steps", report.faults);
    }
    let _ = write!(text, "\n{}", summary.table(SITES));
    if summary.sites.len() > SITES {
        let _ = writeln!(text, "\n{} more sites: --json or --save has them.", summary.sites.len() - SITES);
    }
    for found in &answer.best {
        let _ =
            write!(text, "\nE = {:.6}, drawn {} times by {} chains", found.energy, found.draws, found.chains);
        if found.state.len() <= 80 {
            let apart = if found.state.iter().any(|&value| value > 9) { " " } else { "" };
            let state: Vec<String> = found.state.iter().map(u32::to_string).collect();
            let _ = write!(text, ": {}", state.join(apart));
        }
    }
    text
}
