//! A network of your own, sampled by ask and tell: 64 chains of digits, one evaluation of the batch a step.
//!
//! `cargo run --release --example own_network` learns a dense network of two layers over 28×28 bits from 1,000 digits by
//! persistent chains. Then it draws from it with new chains. The network is two matrix products forward and two back, by
//! nalgebra; bitmc only sees energies and gradients.

use bitmc::{Langevin, Packed};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::streams;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::mmd::Mmd;
use bitmc_examples::model::{DIGIT, SIDE};
use bitmc_examples::own_network::{Chains, Lesson, Network, Plan, independent, learn, slope_error};
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

    /// Steps of each chain [default: 4000, with --quick 500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Changes of the network while it learns [default: 2000, with --quick 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

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
    /// The largest difference of a gradient and central differences, over the largest gradient.
    gradient_error: f32,
    chains: u32,
    steps: u64,
    step_size: f32,
    acceptance: f64,
    flips_per_step: f64,
    mean_energy: f64,
    mmd2_of_samples: f64,
    /// Of independent pixels with the means of the digits: what a model has that has learned nothing else.
    mmd2_of_independent_pixels: f64,
    /// Of the first digits that were learned from.
    mmd2_of_digits: f64,
    /// The root mean square difference of the pixels' means to those of the digits.
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
    let steps = options.steps.unwrap_or(by(4000, 500));
    let plan = Plan {
        seed: common.seed,
        iterations: options.iterations.unwrap_or(by(2000, 200)),
        steps: 5,
        batch: 64,
        block: options.block as usize,
        rate: 0.001,
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
    let gradient_error = slope_error(&network, Packed::new(DIGIT, digits.row(0)).map_err(Failure::option)?);
    if gradient_error > 0.01 {
        return Err(Failure::option(format!(
            "the gradient is not that of the energy: off by {gradient_error}"
        )));
    }
    progress.note(format!("{} chains draw", options.chains));
    let size = (options.chains as usize, options.block as usize);
    let mut chains = Chains::new(&network, &means, size, common.seed).map_err(Failure::option)?;
    for _ in 0..steps {
        chains.step(&network, &kernel).map_err(Failure::option)?;
        progress.advance(1);
    }
    drop(progress);

    let samples = chains.states();
    let mmd = Mmd::new(&held_out);
    let squared = |rows: &BitRows| mmd.squared(rows).unwrap_or(f64::NAN);
    let difference = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
    let sum: f64 = samples.means().iter().zip(&means).map(difference).sum();
    let found = Report {
        example: "own_network",
        plan,
        lesson: &lesson,
        gradient_error,
        chains: options.chains,
        steps,
        step_size: options.step_size,
        acceptance: f64::from(chains.acceptance.rate()),
        flips_per_step: f64::from(chains.acceptance.jump_distance()),
        mean_energy: chains.mean_energy(),
        mmd2_of_samples: squared(&samples),
        mmd2_of_independent_pixels: squared(&independent(
            &means,
            &mut streams(common.seed).take(size.0).collect::<Vec<_>>(),
        )),
        mmd2_of_digits: squared(&digits),
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
         Its gradient agrees with central differences within {:.1e} of the largest slope.\n\
         {chains} new chains, {steps} steps: acceptance {acceptance:.3}, {flips_per_step:.1} flips a step.\n\n\
         | squared MMD to digits held out | |\n|---|---:|\n\
         | digits that were learned from | {:.5} |\n\
         | samples of the network | {:.5} |\n\
         | independent pixels | {:.5} |\n",
        plan.iterations,
        plan.steps,
        plan.batch,
        report.gradient_error,
        report.mmd2_of_digits,
        report.mmd2_of_samples,
        report.mmd2_of_independent_pixels,
    )
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
