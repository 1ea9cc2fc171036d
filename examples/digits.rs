//! Handwritten digits, drawn by a restricted Boltzmann machine of 784 visible and 500 hidden units.
//!
//! `cargo run --release --example digits` starts many chains, moves them with a sampler of your choice, and
//! compares where they are with reference samples of the same law, step by step.

use bitmc::chain::{ChainError, Ring};
use bitmc::random::{bernoulli, uniform};
use bitmc::snapshot::{Snapshot, SnapshotError};
use bitmc::stats::Acceptance;
use bitmc::step::{Cycle, ParameterError, langevin_cycle};
use bitmc::{BlockGibbs, Chain, Energy, Info, Kernel, LaneRng, Langevin, Packed, Rbm, Rng, Schedule};
use bitmc_examples::bits::BitRows;
use bitmc_examples::chains::{Walker, mean_energy_of, memory, streams};
use bitmc_examples::checkpoint::{Checkpoint, hash};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::mmd::{Mmd, hamming};
use bitmc_examples::model::{DIGIT as LAYOUT, DigitData, SIDE};
use bitmc_examples::progress::Progress;
use bitmc_examples::summary::{self, Against, Clock, Exact, Numbers, Run};
use bitmc_examples::trace::{Recording, Task, Trace};
use bitmc_examples::{picture, plot, report};
use clap::{Parser, ValueEnum};
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

    /// Independent chains [default: 200, with --quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 4000, with --quick 2000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Step size of the Langevin samplers, on the {0,1} scale; of acs the largest [default: 0.2, for acs 0.6]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Discrete Langevin with the Metropolis test (DMALA)
    Langevin,
    /// Discrete Langevin without the test (DULA): converges to another law nearby
    LangevinUnadjusted,
    /// Discrete Langevin in cycles of 20 steps, from the step size at balance .8 down to .15 at ½ (ACS)
    Acs,
    /// All hidden units given the visible ones, then the other way round
    BlockGibbs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Start {
    /// Fair bits
    Noise,
    /// Independent bits with the mean of the training digits
    Mean,
    /// Training digits
    Data,
    /// All at the one training digit of the lowest energy: shows how fast chains leave a mode
    Mode,
}

impl Choice {
    /// As on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
    }
}

/// A sampler that is chosen at run time: an enum over kernels.
enum Sampler {
    Langevin(Langevin<'static>),
    Acs(Vec<Langevin<'static>>),
    BlockGibbs,
}

/// Steps of a cycle of ACS, its smallest step size and its largest balance: what did best in trials on this
/// model.
const ACS_STEPS: u64 = 20;
const ACS_SMALLEST: f32 = 0.15;
const ACS_BALANCE: f32 = 0.8;

/// The kernels of ACS.
fn acs(largest: f32) -> Result<Sampler, ParameterError> {
    let step_size = Schedule::cyclical_step_size(largest, ACS_SMALLEST, ACS_STEPS);
    let step_size = step_size.map_err(|_| ParameterError::StepSize(largest))?;
    let balance = Schedule::cosine(ACS_BALANCE, 0.5, ACS_STEPS);
    let balance = balance.map_err(|_| ParameterError::Balance(ACS_BALANCE))?;
    langevin_cycle::<{ ACS_STEPS as usize }>(&step_size, &balance).map(|kernels| Sampler::Acs(kernels.to_vec()))
}

impl Sampler {
    fn new(choice: Choice, step_size: f32) -> Result<Self, ParameterError> {
        match choice {
            Choice::Langevin => Langevin::adjusted(step_size).map(Self::Langevin),
            Choice::LangevinUnadjusted => Langevin::unadjusted(step_size).map(Self::Langevin),
            Choice::Acs => acs(step_size),
            Choice::BlockGibbs => Ok(Self::BlockGibbs),
        }
    }
}

impl Kernel<Rbm<'_>> for Sampler {
    fn step<R: Rng + ?Sized>(&self, ring: Ring<'_, Rbm<'_>>, rng: &mut R) -> Info {
        match self {
            Self::Langevin(kernel) => kernel.step(ring, rng),
            Self::Acs(kernels) => Cycle::new(kernels).expect("twenty kernels").step(ring, rng),
            Self::BlockGibbs => BlockGibbs.step(ring, rng),
        }
    }
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Failure> {
    if options.sampler == Choice::BlockGibbs && options.step_size.is_some() {
        return Err(Failure::Option("--step-size: block-gibbs has none".into()));
    }
    let step_size = options.step_size.unwrap_or(if options.sampler == Choice::Acs { 0.6 } else { 0.2 });
    let sampler = Sampler::new(options.sampler, step_size);
    let sampler = sampler.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    let folder = options.data.clone();
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    let data = DigitData::read(&folder)?;
    let out = options.common.folder("digits");
    report::make_folder(&out)?;
    let pool = options.common.pool()?;
    pool.install(|| sample(&options, &sampler, step_size, &data, &out))
}

fn sample(
    options: &Options,
    sampler: &Sampler,
    step_size: f32,
    data: &DigitData,
    out: &Path,
) -> Result<(), Failure> {
    let (common, choice) = (&options.common, options.sampler);
    let chains = options.chains.unwrap_or(if common.quick { 100 } else { 200 });
    let steps = options.steps.unwrap_or(if common.quick { 2000 } else { 4000 });
    let rbm = data.model.rbm();
    let mmd = (!options.inpaint).then(|| Mmd::new(&data.reference));

    // Block Gibbs, this model's own sampler, stands beside every other one, in a shorter run.
    let beside = (choice != Choice::BlockGibbs).then_some((chains, steps.min(1000)));
    let work = u64::from(chains) * steps + beside.map_or(0, |(chains, sweeps)| u64::from(chains) * sweeps);
    let progress = Progress::new(common.quiet, work);
    let mut plans = vec![(choice, sampler, chains, steps)];
    plans.extend(beside.map(|(chains, sweeps)| (Choice::BlockGibbs, &Sampler::BlockGibbs, chains, sweeps)));

    let question = format!(
        "digits {}, seed {}, {} at {step_size}, {chains} chains of {steps} steps from {:?}, inpainted {}, model {:x}",
        env!("CARGO_PKG_VERSION"),
        common.seed,
        choice.name(),
        options.start,
        options.inpaint,
        hash(&format!("{:?}", data.model)),
    );
    // Runs that had ended, and how far the next one was.
    let mut traces = Vec::new();
    let mut resumed = options.checkpoint.resume(&question, |reader| {
        let mut ended = 0u32;
        reader.get(&mut ended)?;
        let chains = plans.get(ended as usize).ok_or(SnapshotError::Value)?.2;
        for _ in 0..ended {
            let mut trace = Trace::empty(LAYOUT);
            reader.get(&mut trace)?;
            traces.push(trace);
        }
        let (mut walkers, mut recording) = (walkers(options, data, &rbm, chains), Recording::default());
        reader.get(&mut recording)?;
        for walker in walkers.iter_mut().flatten() {
            reader.get(walker)?;
        }
        Ok((walkers, recording))
    })?;
    for &(_, sampler, chains, steps) in plans.iter().skip(traces.len()) {
        let (mut walkers, recording) = match resumed.take() {
            Some((walkers, recording)) => (walkers?, recording),
            None => (walkers(options, data, &rbm, chains)?, Recording::default()),
        };
        let task = Task { energy: &rbm, kernel: sampler, steps, mmd: mmd.as_ref(), progress: &progress };
        let trace = task.run(&mut walkers, recording, options.checkpoint.every(), |recording, walkers| {
            let ended = traces.len() as u32;
            let mut parts: Vec<&dyn Snapshot> = vec![&ended];
            parts.extend(traces.iter().map(|trace: &Trace| trace as &dyn Snapshot));
            parts.push(recording);
            parts.extend(walkers.iter().map(|walker| walker as &dyn Snapshot));
            options.checkpoint.keep(&question, &parts)
        })?;
        traces.push(trace);
    }
    let run = |(plan, trace): (&(Choice, &Sampler, u32, u64), Trace)| {
        let step_size = (plan.0 != Choice::BlockGibbs).then_some(step_size);
        Run { sampler: plan.0.name(), step_size, chains: plan.2, trace }
    };
    let runs: Vec<Run> = plans.iter().zip(traces).map(run).collect();
    drop(progress);
    write(options, data, &runs, mmd.as_ref(), out)
}

/// Chains at their starts, each with its own stream of random numbers.
fn walkers<'m>(
    options: &Options,
    data: &DigitData,
    rbm: &'m Rbm<'m>,
    chains: u32,
) -> Result<Vec<Walker<'m, Rbm<'m>>>, Failure> {
    let means = data.train.means();
    let upper = upper_half();
    let likeliest = likeliest(rbm, &data.train);
    let start = |index: usize, mut rng: LaneRng| {
        let mut words = vec![0; LAYOUT.words()];
        match options.start {
            Start::Noise => bernoulli(LAYOUT, 0.5, &mut rng, &mut words),
            Start::Mode => words.copy_from_slice(data.train.row(likeliest)),
            Start::Data => words.copy_from_slice(data.train.row(index)),
            Start::Mean => {
                for (site, &mean) in means.iter().enumerate() {
                    words[site / 32] |= u32::from(uniform(&mut rng) < mean) << (site % 32);
                }
            }
        }
        if options.inpaint {
            for ((word, &given), &held) in words.iter_mut().zip(data.test.row(index)).zip(&upper) {
                *word = (given & held) | (*word & !held);
            }
        }
        let state = Packed::new(LAYOUT, &words)?;
        let mut chain = Chain::new(rbm, memory(rbm), state)?;
        if options.inpaint {
            chain.clamp(Packed::new(LAYOUT, &upper)?)?;
        }
        Ok(Walker { chain, rng, acceptance: Acceptance::new() })
    };
    let streams = streams(options.common.seed).take(chains as usize).enumerate();
    let walkers: Result<_, ChainError> = streams.map(|(index, rng)| start(index, rng)).collect();
    walkers.map_err(|error| Failure::Option(format!("--start: {error}")))
}

/// The row of the lowest energy; the first of equals.
fn likeliest(rbm: &Rbm<'_>, rows: &BitRows) -> usize {
    let mut cache = memory(rbm).cache;
    let mut energy = |row| Packed::new(LAYOUT, row).ok().and_then(|x| rbm.init(x, &mut cache).ok());
    let energies = rows.rows().map(|row| energy(row).unwrap_or(f32::INFINITY));
    energies.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
}

/// The sites of the upper half, as a mask.
fn upper_half() -> Vec<u32> {
    let held = LAYOUT.sites() / 2;
    (0..LAYOUT.words())
        .map(|word| (0..32).filter(|bit| word * 32 + bit < held).fold(0, |m, bit| m | 1 << bit))
        .collect()
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
