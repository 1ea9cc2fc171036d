//! Samplers over a convolutional energy of digits, told their energies in batches by a tensor library.
//!
//! `sample` runs Gibbs with gradients, DMALA, AB of both orders and ACS from noise and from one state, with several seeds.

use bitmc::noise::Parameters;
use bitmc_deep::network::{BITS, Network};
use bitmc_deep::sample::{Case, Run, Sampler, Start};
use bitmc_deep::tune::CANDIDATES;
use bitmc_examples::bits::BitRows;
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::model::SIDE;
use bitmc_examples::plot::{self, Curve};
use bitmc_examples::progress::Progress;
use bitmc_examples::{picture, report};
use clap::{Parser, ValueEnum};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Samplers over a convolutional energy of digits: mean energy and squared MMD against steps
#[derive(Parser)]
#[command(name = "bitmc-deep", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The samplers, all of them if none is named
    #[arg(long, value_enum)]
    sampler: Vec<Sampler>,

    /// Independent chains of a run
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: u32,

    /// Steps of each chain [default: 1000, with --quick 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    steps: Option<u32>,

    /// Seeds, from --seed on [default: 4, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,

    /// Candidates that tuning looks at, 100 gradients each [default: 120, with --quick 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    candidates: Option<u32>,

    /// σ of AB and α of DMALA by hand: nothing is tuned but ACS
    #[arg(long, value_name = "S", value_parser = cli::within(0.001, 100.0))]
    step_size: Option<f32>,

    /// α of AB, beside a step size by hand
    #[arg(long, value_name = "A", default_value_t = 0.5, requires = "step_size", value_parser = cli::within(0.5, 1.0))]
    balance: f32,

    /// Take the runs that an earlier call of the same command has finished
    #[arg(long)]
    resume: bool,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    bitmc_deep::one_thread_a_product();
    let common = &options.common;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let network = Network::read(&data)?;
    let reference = BitRows::read(&data.join("from_data_500.bits"), BITS)?;
    let all = Sampler::value_variants();
    let samplers = if options.sampler.is_empty() { all } else { &options.sampler };
    let by = |full, quick| if common.quick { quick } else { full };
    let steps = options.steps.unwrap_or(by(1000, 60));
    let seeds = u64::from(options.seeds.unwrap_or(by(4, 1) as u16));
    let candidates = options.candidates.unwrap_or(by(CANDIDATES, CANDIDATES / 10));
    let by_hand = options.step_size.map(|step_size| Parameters {
        step_size,
        balance: options.balance,
        ..Parameters::START
    });
    let out = common.folder("deep");
    let cells = Cells::new(&out, options.resume)?;
    let runs = samplers.len() as u64 * 2 * seeds;
    let progress = Progress::new(common.quiet, runs * u64::from(steps));
    let mut found = Vec::new();
    for &start in Start::value_variants() {
        for &sampler in samplers {
            let one = |seed| -> Result<Run, Failure> {
                let case = Case {
                    candidates,
                    by_hand,
                    network: &network,
                    reference: &reference,
                    chains: options.chains,
                    steps,
                    start,
                    seed,
                    progress: &progress,
                };
                let tuned = by_hand.map_or_else(|| format!("candidates {candidates}"), |by| format!("{by:?}"));
                let question =
                    format!("{tuned}, chains {}, steps {steps}, start {start:?}, seed {seed}", options.chains);
                cells.answer(&format!("{sampler:?}"), &question, || case.run(sampler))
            };
            let seeds = (common.seed..common.seed + seeds).map(one).collect::<Result<Vec<_>, _>>()?;
            found.push((sampler, start, seeds));
        }
    }
    drop(progress);
    let table = table(&found);
    plot::save(&out.join("deep.svg"), &panels(&found))?;
    report::write(&out.join("deep.md"), table.as_bytes())?;
    report::json(&out.join("deep.json"), &found)?;
    for (sampler, start, runs) in &found {
        let states = BitRows::from_bytes(&runs[0].states).map_err(Failure::option)?;
        let name = format!("{sampler:?}.{start:?}.png").to_lowercase();
        picture::save(&out.join(name), &picture::sampled(&states, &reference, SIDE))?;
    }
    common.say(&format!("{table}\nPictures and numbers are in {}.", out.display()));
    Ok(())
}

type Found = [(Sampler, Start, Vec<Run>)];

/// The mean over the seeds, and half the distance of the largest to the smallest.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let (least, most) =
        values.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    (values.sum::<f64>() / count, (most - least) / 2.0)
}

fn table(found: &Found) -> String {
    let mut text = String::from(
        "| sampler | start | parameters (first seed) | acceptance | flips a step | mean E | squared MMD | gradients to tune | ms a step and chain |\n\
        |---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (sampler, start, runs) in found {
        let last = |at: fn(&(u32, f64, f64)) -> f64| {
            let (mean, spread) = spread(runs.iter().filter_map(|run| run.curve.last()).map(at));
            format!("{mean:.4} ± {spread:.4}")
        };
        let (acceptance, _) = spread(runs.iter().map(|run| run.acceptance));
        let (flips, _) = spread(runs.iter().map(|run| run.flips));
        let steps = runs.iter().filter_map(|run| run.curve.last()).map(|point| f64::from(point.0));
        let chains = |run: &Run| BitRows::from_bytes(&run.states).map_or(1, |rows| rows.len()) as f64;
        let (ms, _) =
            spread(runs.iter().zip(steps).map(|(run, steps)| 1000.0 * run.seconds / steps / chains(run)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {acceptance:.3} | {flips:.2} | {} | {} | {} | {ms:.2} |",
            name(sampler),
            name(start),
            runs[0].parameters,
            last(|point| point.1),
            last(|point| point.2),
            runs[0].tuning_gradients
        );
    }
    text
}

fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

fn panels(found: &Found) -> Vec<plot::Panel> {
    let panel = |start: Start, what: &str, log_from, at: fn(&(u32, f64, f64)) -> f64| plot::Panel {
        title: format!("{what}, from {}", name(&start)),
        x: "steps".into(),
        y: what.into(),
        log_from,
        level: None,
        curves: found
            .iter()
            .filter(|found| found.1 == start)
            .map(|(sampler, _, runs)| {
                let point = |index: usize| {
                    let (mean, _) = spread(runs.iter().map(|run| at(&run.curve[index])));
                    (f64::from(runs[0].curve[index].0), mean)
                };
                Curve { label: name(sampler), points: (0..runs[0].curve.len()).map(point).collect() }
            })
            .collect(),
    };
    let both = |start| {
        [
            panel(start, "mean E", None, |point| point.1),
            panel(start, "squared MMD", Some(1e-4), |point| point.2),
        ]
    };
    Start::value_variants().iter().flat_map(|&start| both(start)).collect()
}
