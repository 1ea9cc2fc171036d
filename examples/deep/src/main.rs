//! Samplers over a convolutional energy of digits, told their energies in batches by a tensor library.
//!
//! `sample` runs Gibbs with gradients, DMALA, AB of both orders and ACS from noise and from one state, with several seeds.

use bitmc::noise::Parameters;
use bitmc_deep::network::{BITS, Network};
use bitmc_deep::sample::{Case, Point, Run, Sampler, Start};
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

    /// Gradients of each chain, which replica exchange shares among its replicas [default: 1000, with --quick 60]
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

    /// The largest α of a cycle of ACS: where its search for it begins
    #[arg(long, value_name = "A", default_value_t = 5.0, value_parser = cli::within(0.05, 1000.0))]
    ceiling: f32,

    /// The balance of a cycle of ACS at its largest α
    #[arg(long, value_name = "B", default_value_t = 0.95, value_parser = cli::within(0.5, 1.0))]
    largest_balance: f32,

    /// Replicas of a chain of replica exchange
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=1000))]
    replicas: u16,

    /// The smallest β of replica exchange
    #[arg(long, value_name = "B", default_value_t = 0.7, value_parser = cli::within(0.01, 0.99))]
    hottest: f32,

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
                    largest: (options.ceiling, options.largest_balance),
                    network: &network,
                    reference: &reference,
                    ladder: (usize::from(options.replicas), options.hottest),
                    chains: options.chains,
                    steps,
                    start,
                    seed,
                    progress: &progress,
                };
                let tuned = by_hand.map_or_else(|| format!("candidates {candidates}"), |by| format!("{by:?}"));
                let tuned = match sampler {
                    Sampler::Acs => {
                        format!("{tuned}, ceiling {}, balance {}", options.ceiling, options.largest_balance)
                    }
                    Sampler::Exchange => {
                        format!("{tuned}, {} replicas from {}", options.replicas, options.hottest)
                    }
                    _ => tuned,
                };
                let question =
                    format!("{tuned}, chains {}, steps {steps}, start {start:?}, seed {seed}", options.chains);
                cells.answer(&format!("{sampler:?}"), &question, || case.run(sampler))
            };
            let seeds = (common.seed..common.seed + seeds).map(one).collect::<Result<Vec<_>, _>>()?;
            found.push((sampler, start, seeds));
        }
    }
    drop(progress);
    let table = format!("{}{}", table(&found), positions(&found));
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
        "| sampler | start | parameters (first seed) | acceptance | flips a step | mean E | squared MMD | gradients to tune | ms a gradient |\n\
        |---|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for (sampler, start, runs) in found {
        let last = |at: fn(&Point) -> f64| {
            let (mean, spread) = spread(runs.iter().filter_map(|run| run.curve.last()).map(at));
            format!("{mean:.4} ± {spread:.4}")
        };
        let (acceptance, _) = spread(runs.iter().map(|run| run.acceptance));
        let (flips, _) = spread(runs.iter().map(|run| run.flips));
        let ends = runs.iter().filter_map(|run| run.curve.last());
        let (ms, _) = spread(ends.map(|point| 1000.0 * point.seconds / point.gradients));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {acceptance:.3} | {flips:.2} | {} | {} | {} | {ms:.2} |",
            name(sampler),
            name(start),
            runs[0].parameters,
            last(|point| point.energy),
            last(|point| point.distance),
            runs[0].tuning_gradients
        );
    }
    text
}

/// What each position of the cycles did, the mean over the seeds.
fn positions(found: &Found) -> String {
    let cycles = || found.iter().filter(|(_, _, runs)| runs.iter().all(|run| run.positions.len() > 1));
    let length = cycles().flat_map(|(_, _, runs)| runs).map(|run| run.positions.len()).min().unwrap_or(0);
    let mut text = String::new();
    for (sampler, start, runs) in cycles() {
        let _ = write!(
            text,
            "\n{} from {}:\n\n| position | accepted | flips a step |\n|---:|---:|---:|\n",
            name(sampler),
            name(start)
        );
        for position in 0..length {
            let (accepted, _) = spread(runs.iter().map(|run| run.positions[position].0));
            let (flips, _) = spread(runs.iter().map(|run| run.positions[position].1));
            let _ = writeln!(text, "| {} | {accepted:.3} | {flips:.2} |", position + 1);
        }
    }
    text
}

fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
}

fn panels(found: &Found) -> Vec<plot::Panel> {
    type Of = fn(&Point) -> f64;
    let panel = |start: Start, (y, log_from, of): (&str, _, Of), (x, at): (&str, Of)| plot::Panel {
        title: format!("{y}, from {}", name(&start)),
        x: x.into(),
        y: y.into(),
        log_from,
        level: None,
        curves: found
            .iter()
            .filter(|found| found.1 == start)
            .map(|(sampler, _, runs)| {
                let mean = |of: Of, index: usize| spread(runs.iter().map(|run| of(&run.curve[index]))).0;
                let points = (0..runs[0].curve.len()).map(|index| (mean(at, index), mean(of, index)));
                Curve { label: name(sampler), points: points.collect() }
            })
            .collect(),
    };
    let ys: [(&str, Option<f64>, Of); 2] =
        [("mean E", None, |point| point.energy), ("squared MMD", Some(1e-4), |point| point.distance)];
    let xs: [(&str, Of); 2] =
        [("gradients a chain", |point| point.gradients), ("seconds of a core a chain", |point| point.seconds)];
    let starts = Start::value_variants().iter();
    starts.flat_map(|&start| xs.map(|x| ys.map(|y| panel(start, y, x)))).flatten().collect()
}
