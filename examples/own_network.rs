//! A network of your own, sampled by ask and tell: 64 chains of digits, one evaluation of the batch a step.
//!
//! `cargo run --release --example own_network` learns a dense network of two layers over 28×28 bits from 1,000 digits by
//! persistent chains. Then it draws from it with new chains. The network is two matrix products forward and two back, by
//! nalgebra; bitmc only sees energies and gradients.

use bitmc::energy::check;
use bitmc::{Langevin, Packed, Plain};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::mmd::hamming;
use bitmc_examples::model::{DIGIT, SIDE};
use bitmc_examples::own_network::{Chains, Lesson, Network, Plan, independent, learn};
use bitmc_examples::progress::Progress;
use bitmc_examples::{picture, report};
use clap::Parser;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// A dense network of your own over 28×28 bits: 64 chains asked and told together
#[derive(Parser, Debug)]
#[command(name = "own_network", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: u32,

    /// Steps of each chain [default: 3000, with --quick 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Changes of the network while it learns [default: 4000, with --quick 800]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

    /// Adam's learning rate; it falls to a tenth
    #[arg(long, value_name = "RATE", default_value_t = 0.002, value_parser = cli::rate())]
    rate: f32,

    /// Step size of DMALA, on the {0,1} scale
    #[arg(long, value_name = "ALPHA", default_value_t = 0.2)]
    step_size: f32,

    /// Chains in one matrix product. With 1, a chain draws the same whatever chains are beside it
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    block: u32,

    /// Then measure what a step takes beside the evaluation of the batch alone
    #[arg(long)]
    time: bool,

    /// Folder of the digits [default: examples/data of this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Everything that `own_network.json` says.
#[derive(Serialize)]
struct Report<'r> {
    example: &'static str,
    plan: Plan,
    lesson: &'r Lesson,
    /// What `energy::check` says of the gradient: both are 1 where it is that of the energy.
    check_slope: f32,
    check_correlation: f32,
    chains: u32,
    steps: u64,
    step_size: f32,
    acceptance: f64,
    flips_per_step: f64,
    mean_energy: f64,
    /// Pixels in which a sample differs from the nearest digit that was learned from, on average.
    distance_of_samples: f64,
    /// The same of digits that were held out: what a perfect model has.
    distance_of_digits: f64,
    /// The same of independent pixels with the means of the digits: what a model has that has learned nothing else.
    distance_of_independent_pixels: f64,
    /// The root mean square difference of the samples' means to those of the digits, over the pixels.
    rms_of_means: f64,
}

/// Everything that `own_network.timing.json` says.
#[derive(Serialize)]
struct Timing {
    threads: usize,
    seconds: f64,
    /// With `--time`, milliseconds of a step of all chains: the median of many.
    step_ms: Option<f64>,
    /// The batch evaluated alone.
    evaluation_ms: Option<f64>,
    ratio: Option<f64>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn run(options: &Options) -> Result<(), Failure> {
    let (common, clock) = (&options.common, Instant::now());
    let by = |full, quick| if common.quick { quick } else { full };
    let steps = options.steps.unwrap_or(by(3000, 500));
    let plan = Plan {
        seed: common.seed,
        iterations: options.iterations.unwrap_or(by(4000, 800)),
        steps: 5,
        batch: 64,
        block: options.block as usize,
        rate: options.rate,
        decay: 0.0001,
        step_size: 0.2,
    };
    let kernel = Langevin::adjusted(options.step_size);
    let kernel = kernel.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    let folder = options.data.clone();
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    let digits = BitRows::read(&folder.join("mnist/mnist_train1000.bits"), DIGIT.sites())?;
    let held_out = BitRows::read(&folder.join("mnist/mnist_test1000.bits"), DIGIT.sites())?;
    let means = digits.means();
    let out = common.folder("own_network");
    report::make_folder(&out)?;

    let progress = Progress::new(common.quiet, plan.iterations * plan.steps + steps);
    progress.note("the network learns".into());
    let (network, lesson) = learn(&digits, plan, |work| progress.advance(work)).map_err(Failure::option)?;
    let (check_slope, check_correlation) = looked(&network, &digits)?;
    progress.note(format!("{} chains draw", options.chains));
    let size = (options.chains as usize, options.block as usize);
    let mut chains = Chains::new(&network, &means, size, common.seed).map_err(Failure::option)?;
    for _ in 0..steps {
        chains.step(&network, &kernel).map_err(Failure::option)?;
        progress.advance(1);
    }
    drop(progress);

    let samples = chains.states();
    let pixels = independent(&means, &mut streams(common.seed).take(1000).collect::<Vec<_>>());
    let (of_samples, of_digits, of_pixels) =
        (nearest(&samples, &digits), nearest(&held_out, &digits), nearest(&pixels, &digits));
    let difference = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
    let sum: f64 = samples.means().iter().zip(&means).map(difference).sum();
    let found = Report {
        example: "own_network",
        plan,
        lesson: &lesson,
        check_slope,
        check_correlation,
        chains: options.chains,
        steps,
        step_size: options.step_size,
        acceptance: f64::from(chains.acceptance.rate()),
        flips_per_step: f64::from(chains.acceptance.jump_distance()),
        mean_energy: chains.mean_energy(),
        distance_of_samples: of_samples,
        distance_of_digits: of_digits,
        distance_of_independent_pixels: of_pixels,
        rms_of_means: (sum / means.len() as f64).sqrt(),
    };
    samples.write(&out.join("own_network.bits"))?;
    picture::save(&out.join("own_network.png"), &picture::sampled(&samples, &held_out, SIDE))?;
    report::json(&out.join("own_network.json"), &found)?;
    let measured = options.time.then(|| time(&mut chains, &network, &kernel)).transpose()?;
    let timing = Timing {
        threads: rayon::current_num_threads(),
        seconds: clock.elapsed().as_secs_f64(),
        step_ms: measured.map(|(step, _)| step),
        evaluation_ms: measured.map(|(_, evaluation)| evaluation),
        ratio: measured.map(|(step, evaluation)| step / evaluation),
    };
    report::json(&out.join("own_network.timing.json"), &timing)?;
    let text = text(&found);
    report::write(&out.join("own_network.md"), text.as_bytes())?;
    common.say(&text);
    if let Some((step, evaluation)) = measured {
        common.say(&format!(
            "A step of {} chains takes {step:.2} ms, the evaluation of the batch alone {evaluation:.2} ms: {:.2} times.",
            options.chains,
            step / evaluation
        ));
    }
    common.say(&format!("Pictures and numbers are in {}.", out.display()));
    Ok(())
}

fn text(report: &Report<'_>) -> String {
    let Report { plan, chains, steps, acceptance, flips_per_step, .. } = report;
    format!(
        "Network 784-256-64: {} changes, each after {} steps of {} chains.\n\
         energy::check: moves of one site change E by {:.3} of what the gradient says, correlation {:.4}.\n\
         {chains} new chains, {steps} steps: acceptance {acceptance:.3}, {flips_per_step:.1} flips a step.\n\n\
         | | pixels that differ from the nearest digit learned from |\n|---|---:|\n\
         | digits held out | {:.1} |\n\
         | samples of the network | {:.1} |\n\
         | independent pixels | {:.1} |\n",
        plan.iterations,
        plan.steps,
        plan.batch,
        report.check_slope,
        report.check_correlation,
        report.distance_of_digits,
        report.distance_of_samples,
        report.distance_of_independent_pixels,
    )
}

/// Compares the network's answers with each other at two digits, before they are used: slope and correlation of differences and
/// gradient.
fn looked(network: &Network, digits: &BitRows) -> Result<(f32, f32), Failure> {
    let energy = Plain(network);
    let states = digits.rows().take(2).map(|row| Packed::new(DIGIT, row).expect("a row of bits"));
    let checked = check(&energy, &mut memory(&energy), states);
    let checked = checked.map_err(|error| Failure::Option(format!("the network is no energy: {error}")))?;
    match (checked.slope, checked.correlation) {
        (Some(slope), Some(correlation)) if (0.8..1.25).contains(&slope) && correlation > 0.95 => {
            Ok((slope, correlation))
        }
        _ => Err(Failure::Option(format!("the gradient is not that of the energy: {checked:?}"))),
    }
}

/// The mean distance of rows to the nearest of others, in pixels.
fn nearest(rows: &BitRows, others: &BitRows) -> f64 {
    let distance = |row: &[u32]| others.rows().map(|other| hamming(row, other)).min().unwrap_or(0);
    rows.rows().map(|row| distance(row) as f64).sum::<f64>() / rows.len() as f64
}

/// Milliseconds of a step, and of an evaluation of the batch: medians of 101, taken in turn.
fn time(chains: &mut Chains, network: &Network, kernel: &Langevin<'_>) -> Result<(f64, f64), Failure> {
    let (mut steps, mut evaluations) = (Vec::new(), Vec::new());
    for _ in 0..101 {
        let clock = Instant::now();
        chains.step(network, kernel).map_err(Failure::option)?;
        steps.push(clock.elapsed().as_secs_f64());
        let clock = Instant::now();
        chains.evaluate(network);
        evaluations.push(clock.elapsed().as_secs_f64());
    }
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        1e3 * seconds[seconds.len() / 2]
    };
    Ok((median(steps), median(evaluations)))
}
