//! Handwritten digits, drawn by a restricted Boltzmann machine of 784 visible and 500 hidden units.
//!
//! `cargo run --release --example digits` starts many chains, moves them with a sampler of your choice, and
//! compares where they are with reference samples of the same distribution, step by step.

use bitmc_examples::chains::mean_energy_of;
use bitmc_examples::checkpoint::{Checkpoint, hash};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::digits::{Case, Choice, Comparison, Keeper, Start, compare};
use bitmc_examples::mmd::{Mmd, hamming};
use bitmc_examples::model::{DIGIT, DigitData, SIDE};
use bitmc_examples::progress::Progress;
use bitmc_examples::summary::{self, Against, Clock, Exact, Numbers, Run};
use bitmc_examples::{picture, plot, report};
use clap::Parser;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Handwritten digits from a restricted Boltzmann machine
#[derive(Parser, Debug)]
#[command(name = "digits", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Which sampler moves the chains
    #[arg(long, value_enum, default_value_t = Choice::Langevin)]
    sampler: Choice,

    /// Run every sampler, each with parameters of its own, and compare them in one table
    #[arg(long, conflicts_with_all = ["sampler", "step_size", "inpaint", "checkpoint", "resume"])]
    compare: bool,

    /// Independent chains [default: 200, with --quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 4000, of replica 5000, with --quick 2000; with --compare 3000 and 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Step size of the Langevin samplers, on the {0,1} scale; of acs the largest
    /// [default: 0.2, for ab 0.25, for acs 0.6]
    #[arg(long, value_name = "ALPHA")]
    step_size: Option<f32>,

    /// Where the chains start
    #[arg(long, value_enum, default_value_t = Start::Noise)]
    start: Start,

    /// Hold the upper half of real digits and draw the lower half
    #[arg(long)]
    inpaint: bool,

    #[command(flatten)]
    checkpoint: Checkpoint,

    /// Folder of the model and the digits [default: examples/data of this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Failure> {
    if let Some(size) = options.step_size {
        if options.sampler.step_size().is_none() {
            return Err(Failure::Option(format!("--step-size: {} has none", options.sampler.name())));
        }
        bitmc::Langevin::adjusted(size).map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    }
    if options.inpaint && options.sampler == Choice::Replica {
        return Err(Failure::Option("--inpaint: replica exchange holds no sites".into()));
    }
    let folder = options.data.clone();
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    let data = DigitData::read(&folder)?;
    let out = options.common.folder("digits");
    let pool = options.common.pool()?;
    pool.install(|| {
        if options.compare { comparison(&options, &data, &out) } else { sample(&options, &data, &out) }
    })
}

/// One sampler with its pictures, and a shorter run of block Gibbs, this model's own sampler, to compare with.
fn sample(options: &Options, data: &DigitData, out: &Path) -> Result<(), Failure> {
    let (common, choice) = (&options.common, options.sampler);
    let chains = options.chains.unwrap_or(if common.quick { 100 } else { 200 });
    let steps = options.steps.unwrap_or(if common.quick { 2000 } else { choice.steps() });
    let mmd = (!options.inpaint).then(|| Mmd::new(&data.reference));
    let sweeps = if choice == Choice::BlockGibbs { 0 } else { steps.min(1000) };
    let progress = Progress::new(common.quiet, u64::from(chains) * (steps + sweeps));
    let case = Case {
        data,
        start: options.start,
        inpaint: options.inpaint,
        seed: common.seed,
        chains,
        steps,
        enough: None,
        mmd: mmd.as_ref(),
        progress: &progress,
    };
    let question = format!(
        "digits {}; --seed {}; --sampler {}; --step-size {}; --chains {chains}; --steps {steps}; --start {}; \
        --inpaint {}; --data of hash {:x}",
        env!("CARGO_PKG_VERSION"),
        common.seed,
        choice.name(),
        options.step_size.or(choice.step_size()).map_or("none".into(), |size| size.to_string()),
        format!("{:?}", options.start).to_lowercase(),
        options.inpaint,
        hash(&format!("{:?}", data.model)),
    );
    let mut keeper = Keeper::new(&options.checkpoint, question, DIGIT)?;
    report::make_folder(out)?;
    options.checkpoint.check()?; // It may be in that folder.
    let mut runs = vec![case.run(choice, options.step_size, &mut keeper)?];
    if sweeps > 0 {
        runs.push(Case { steps: sweeps, ..case.clone() }.run(Choice::BlockGibbs, None, &mut keeper)?);
    }
    drop(progress);
    write(options, data, &runs, mmd.as_ref(), out)
}

/// Everything that `compare.json` says.
#[derive(Serialize)]
struct Compared<'r> {
    example: &'static str,
    seed: u64,
    start: Start,
    reference_mean_energy: f64,
    mmd2_noise_floor: f64,
    runs: Vec<Numbers<'r>>,
}

/// Everything that `compare.timing.json` says.
#[derive(Serialize)]
struct ComparedTiming<'r> {
    threads: usize,
    runs: Vec<Clock<'r>>,
}

/// Every sampler.
fn comparison(options: &Options, data: &DigitData, out: &Path) -> Result<(), Failure> {
    let common = &options.common;
    let chains = options.chains.unwrap_or(if common.quick { 100 } else { 200 });
    let steps = options.steps.unwrap_or(if common.quick { 300 } else { 3000 });
    let mmd = Mmd::new(&data.reference);
    let progress = Progress::new(common.quiet, Comparison::work(steps) * u64::from(chains));
    let (start, seed) = (options.start, common.seed);
    let (mmd_of, enough) = (Some(&mmd), None);
    let case =
        Case { data, start, inpaint: false, seed, chains, steps, enough, mmd: mmd_of, progress: &progress };
    let mut keeper = Keeper::new(&options.checkpoint, String::new(), DIGIT)?;
    report::make_folder(out)?;
    let found = compare(&case, &mut keeper)?;
    drop(progress);
    let runs = &found.runs;
    let reference = mean_energy_of(&data.model.rbm(), &data.reference);
    let exact = Exact { mean_energy: reference, mmd2: mmd.noise_floor(chains as usize) };
    let report = Compared {
        example: "digits",
        seed,
        start,
        reference_mean_energy: reference,
        mmd2_noise_floor: exact.mmd2,
        runs: runs.iter().map(Run::numbers).collect(),
    };
    let timing =
        ComparedTiming { threads: rayon::current_num_threads(), runs: runs.iter().map(Run::clock).collect() };
    let (table, timing_table) = (found.table(), found.timing_table());
    plot::save(&out.join("compare.svg"), &summary::panels(runs, Against::Steps, Some(exact)))?;
    plot::save(&out.join("compare.timing.svg"), &summary::panels(runs, Against::Seconds, Some(exact)))?;
    report::write(&out.join("compare.md"), table.as_bytes())?;
    report::write(&out.join("compare.timing.md"), timing_table.as_bytes())?;
    report::json(&out.join("compare.json"), &report)?;
    report::json(&out.join("compare.timing.json"), &timing)?;
    common.say(&format!("{table}\n{timing_table}\ncurves and numbers are in {}", out.display()));
    Ok(())
}

/// Everything that `digits.json` says.
#[derive(Serialize)]
struct Report<'r> {
    example: &'static str,
    seed: u64,
    start: Start,
    inpaint: bool,
    /// Of the lower half of a digit, 392 sites; the truth is one of many possible answers.
    wrong_sites_per_digit: Option<f64>,
    reference_mean_energy: Option<f64>,
    mmd2_noise_floor: Option<f64>,
    #[serde(flatten)]
    run: Numbers<'r>,
    beside: Option<Numbers<'r>>,
}

/// Everything that `digits.timing.json` says.
#[derive(Serialize)]
struct Timing<'r> {
    threads: usize,
    #[serde(flatten)]
    run: Clock<'r>,
    beside: Option<Clock<'r>>,
}

fn write(
    options: &Options,
    data: &DigitData,
    runs: &[Run],
    mmd: Option<&Mmd<'_>>,
    out: &Path,
) -> Result<(), Failure> {
    let (run, beside) = (&runs[0], runs.get(1));
    let states = &run.trace.states;
    let exact = mmd.map(|mmd| Exact {
        mean_energy: mean_energy_of(&data.model.rbm(), &data.reference),
        mmd2: mmd.noise_floor(run.chains as usize),
    });
    let wrong = |(drawn, index)| hamming(drawn, data.test.row(index)) as f64;
    let wrong = states.rows().zip(0..).map(wrong).sum::<f64>() / f64::from(run.chains);
    let report = Report {
        example: "digits",
        seed: options.common.seed,
        start: options.start,
        inpaint: options.inpaint,
        wrong_sites_per_digit: options.inpaint.then_some(wrong),
        reference_mean_energy: exact.map(|exact| exact.mean_energy),
        mmd2_noise_floor: exact.map(|exact| exact.mmd2),
        run: run.numbers(),
        beside: beside.map(Run::numbers),
    };
    let timing =
        Timing { threads: rayon::current_num_threads(), run: run.clock(), beside: beside.map(Run::clock) };
    let table = summary::table(runs);
    let picture = if options.inpaint {
        picture::inpainted(states, &data.test, SIDE)
    } else {
        picture::sampled(states, &data.test, SIDE)
    };
    states.write(&out.join("digits.bits"))?;
    picture::save(&out.join("digits.png"), &picture)?;
    plot::save(&out.join("digits.svg"), &summary::panels(runs, Against::Steps, exact))?;
    plot::save(&out.join("digits.timing.svg"), &summary::panels(runs, Against::Seconds, exact))?;
    report::write(&out.join("digits.md"), table.as_bytes())?;
    report::json(&out.join("digits.json"), &report)?;
    report::json(&out.join("digits.timing.json"), &timing)?;
    let speed = run.trace.chain_steps_per_second();
    options.common.say(&format!(
        "{table}\n{speed:.0} chain-steps a second on {} threads; pictures and numbers are in {}",
        timing.threads,
        out.display()
    ));
    Ok(())
}
