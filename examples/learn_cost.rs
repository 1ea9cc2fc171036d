//! What ratio matching costs over every neighbour and over a few: energies, seconds and bytes at 2,048 bits.
//!
//! `cargo run --release --example learn_cost` takes gradients of Eq. 2 of RMwGGIS at random states of three models,
//! over all d neighbours and over s drawn by the gradient. `--resume` goes on where a run was stopped.

use bitmc::energy::{Boltzmann, Perceptron};
use bitmc::lane::{Block, LANES};
use bitmc::learn::{Importance, LearnError, Learnable, Minibatch, RatioMatching};
use bitmc::{LaneRng, Layout, Packed, Rbm, Rng, SeedableRng, random};
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::memory;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::Parser;
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::process::ExitCode;

/// What ratio matching costs, over every neighbour and over a few
#[derive(Parser, Debug)]
#[command(name = "learn_cost", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Bits of a sample [default: 2048, with --quick 512]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u16).range(1..=4096))]
    sites: Option<u16>,

    /// Samples of each measurement [default: 16, with --quick 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    samples: Option<u16>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// One measurement.
#[derive(Serialize, Deserialize)]
struct Row {
    model: String,
    parameters: usize,
    objective: String,
    energies_per_sample: u64,
    loss: f32,
    standard_error: f32,
    /// Of the sample with its caches and planes: what an objective works in.
    bytes_of_work: usize,
    /// Of the model's parameters, and as much again for the gradient.
    bytes_of_parameters: usize,
}

/// What depends on the clock.
#[derive(Serialize, Deserialize)]
struct Timing {
    model: String,
    objective: String,
    milliseconds_per_sample: f64,
}

/// Everything that `learn_cost.json` says.
#[derive(Serialize)]
struct Everything<'r> {
    example: &'static str,
    seed: u64,
    sites: usize,
    samples: u16,
    rows: &'r [Row],
}

const DRAWS: [usize; 3] = [5, 10, 50];

fn main() -> ExitCode {
    cli::main(|options: Options| run(&options))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let sites = usize::from(options.sites.unwrap_or(if common.quick { 512 } else { 2048 }));
    let samples = options.samples.unwrap_or(if common.quick { 4 } else { 16 });
    let out = common.folder("learn_cost");
    report::make_folder(&out)?;
    let kept = Cells::new(&out, options.resume)?;
    let progress = Progress::new(common.quiet, 3 * (1 + DRAWS.len() as u64));
    let (mut rows, mut timing) = (Vec::new(), Vec::new());
    let mut rng = LaneRng::seed_from_u64(common.seed);
    let mut see = |name: &str, model: &dyn Learnable| {
        for draws in DRAWS.into_iter().map(Some).chain([None]) {
            let objective = draws.map_or("ratio matching".into(), |draws| format!("RMwGGIS, s = {draws}"));
            let question = format!("{sites} sites, {samples} samples, seed {}", common.seed);
            let (row, time) = kept.answer(&format!("{name} {objective}"), &question, || {
                measure((name, model), (&objective, draws), samples, common.seed).map_err(Failure::option)
            })?;
            rows.push(row);
            timing.push(time);
            progress.advance(1);
        }
        Ok::<_, Failure>(())
    };

    let theta = draw(Boltzmann::parameter_len(sites), 0.5 / (sites as f32).sqrt(), |_| true, &mut rng);
    let mut couplings = vec![[0; LANES]; Boltzmann::memory_len(sites)];
    see("Boltzmann machine", &Boltzmann::bits(&theta, sites, &mut couplings).map_err(Failure::option)?)?;

    let hidden = 256;
    let padding = sites..sites.next_multiple_of(LANES);
    let theta = draw(Rbm::parameter_len(sites, hidden), 0.05, |k| !padding.contains(&k), &mut rng);
    see("RBM, 256 hidden units", &Rbm::from_parameters(&theta, sites, hidden).map_err(Failure::option)?)?;

    let widths = [sites, 256, 256, 256];
    let theta = draw(Perceptron::parameter_len(&widths), 0.05, |_| true, &mut rng);
    // The output has one unit: its other lanes are padding.
    let mut theta = theta;
    theta.iter_mut().rev().take(1 + 256).for_each(|block| block[1..].fill(0.0));
    see("network, 3 layers of 256", &Perceptron::new(&widths, &theta).map_err(Failure::option)?)?;
    drop(progress);

    let everything = Everything { example: "learn_cost", seed: common.seed, sites, samples, rows: &rows };
    report::json(&out.join("learn_cost.json"), &everything)?;
    report::json(&out.join("learn_cost.timing.json"), &timing)?;
    let table = table(sites, &rows, &timing);
    report::write(&out.join("learn_cost.timing.md"), table.as_bytes())?;
    common.say(&format!("{table}\nResults: {}", out.display()));
    Ok(())
}

/// Parameters uniform within ±√3 `sd`, of deviation `sd`.
fn draw(blocks: usize, sd: f32, keep: impl Fn(usize) -> bool, rng: &mut LaneRng) -> Vec<Block> {
    let mut theta = vec![[0.0; LANES]; blocks];
    for (place, slot) in theta.as_flattened_mut().iter_mut().enumerate() {
        let value = (2.0 * random::uniform(rng) - 1.0) * 3f32.sqrt() * sd;
        *slot = if keep(place) { value } else { 0.0 };
    }
    theta
}

/// One objective over one model: over so many draws of a neighbour, or over every one.
fn measure(
    (name, model): (&str, &dyn Learnable),
    (objective, draws): (&str, Option<usize>),
    samples: u16,
    seed: u64,
) -> Result<(Row, Timing), LearnError> {
    let mut gradient = vec![[0.0; LANES]; model.parameter_len()];
    let mut room = memory(model);
    let mut rng = LaneRng::seed_from_u64(seed);
    let layout = model.layout();
    let mut batch = Minibatch::new(model, &mut gradient)?;
    let mut words = vec![0; layout.words()];
    let start = ThreadTime::now();
    for _ in 0..samples {
        let mut states = LaneRng::seed_from_u64(rng.next_u64());
        random::bernoulli(Layout::binary(layout.sites()), 0.5, &mut states, &mut words);
        let x = Packed::new(layout, &words)?;
        match draws {
            Some(draws) => {
                batch.add(&Importance::ratio_matching(draws)?, model, x, &mut room, &mut states)?;
            }
            None => batch.add(&RatioMatching::SIGMOID, model, x, &mut room, &mut states)?,
        }
    }
    let report = batch.finish();
    let seconds = start.elapsed().as_secs_f64();
    let row = Row {
        model: name.into(),
        parameters: 16 * model.parameter_len(),
        objective: objective.into(),
        energies_per_sample: report.evaluations / report.samples,
        loss: report.loss,
        standard_error: (report.variance / report.samples as f32).sqrt(),
        bytes_of_work: 12 * layout.words() + 128 * model.cache_len() + 128 * layout.weight_blocks(),
        bytes_of_parameters: 128 * model.parameter_len(),
    };
    let milliseconds_per_sample = 1e3 * seconds / f64::from(samples);
    Ok((row, Timing { model: name.into(), objective: objective.into(), milliseconds_per_sample }))
}

fn table(sites: usize, rows: &[Row], timing: &[Timing]) -> String {
    let mut text = format!(
        "{sites} bits\n\n| model | objective | energies a sample | ms a sample | J | bytes: work | parameters and gradient |\n\
         |---|---|---:|---:|---:|---:|---:|\n"
    );
    for (row, time) in rows.iter().zip(timing) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.3} | {:.2} ± {:.2} | {} | {} |",
            row.model,
            row.objective,
            row.energies_per_sample,
            time.milliseconds_per_sample,
            row.loss,
            row.standard_error,
            row.bytes_of_work,
            row.bytes_of_parameters
        );
    }
    text
}
