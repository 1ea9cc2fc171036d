//! A restricted Boltzmann machine learned from 2,000 digits, with four samplers at equal steps.
//!
//! `cargo run --release --example learn_digits` learns 784×500 units by persistent contrastive divergence with block
//! Gibbs, ACS, DMALA and GWG, and measures the likelihood of digits held out by annealing in both directions. Every
//! sampler is a cell of its own: `--resume` goes on where a run was stopped.

use bitmc::learn::CyclicalLearning;
use bitmc::stats::Acceptance;
use bitmc::{BlockGibbs, Chain, GibbsWithGradients, Langevin, Packed, Rbm};
use bitmc_desktop::learn::{
    Annealing, Learner, Likelihood, Mean, Method, Mover, Plan, RbmFamily, Split, glance, independent, measure,
};
use bitmc_examples::cells::{self, Cells};
use bitmc_examples::chains::{self, Walker};
use bitmc_examples::checkpoint::hash;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::model::{DIGIT, MACHINE, REFERENCE, RbmFolder, SIDE, TEST, TRAIN, pictures};
use bitmc_examples::picture::{self, BLUE, INK, Tile};
use bitmc_examples::progress::Progress;
use bitmc_examples::teach::watch;
use bitmc_examples::{plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Learn a restricted Boltzmann machine from digits, with four samplers
#[derive(Parser, Debug)]
#[command(name = "learn_digits", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Hidden units [default: 500, with --quick 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    hidden: Option<u32>,

    /// Changes of the parameters with each sampler [default: 3000, with --quick 150]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

    /// Steps of every chain for one change; one of block Gibbs draws all units twice [default: 10, with --quick 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: Option<u64>,

    /// Digits of one change, and persistent chains
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,

    /// Adam's learning rate; it falls to a tenth [default: 0.001, with --quick 0.01]
    #[arg(long, value_name = "RATE", value_parser = cli::rate())]
    rate: Option<f32>,

    /// Weight decay
    #[arg(long, value_name = "STRENGTH", default_value_t = 0.001, value_parser = cli::penalty())]
    decay: f32,

    /// Step size of DMALA
    #[arg(long, value_name = "ALPHA", default_value_t = 0.2)]
    step_size: f32,

    /// Pictures held out, the last ones
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    test: u32,

    /// Cycles of ACS between two tunings; its paper has 50
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    retune: u32,

    /// Only samplers with this in their names
    #[arg(long, value_name = "WORD", default_value = "")]
    only: String,

    /// A file of pictures of 28×28 bits ("DSBT"), or a folder with `mnist` [default: examples/data of this repository]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Also write the machine that block Gibbs learned to a new folder, with its pictures and samples of it: for
    /// `digits --data`
    #[arg(long, value_name = "DIR")]
    machine: Option<PathBuf>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// A sampler with its parameters.
#[derive(Clone)]
struct Sampler {
    name: &'static str,
    parameters: String,
    method: Method,
}

/// What was learned with one sampler.
#[derive(Serialize, Deserialize)]
struct Cell {
    sampler: String,
    parameters: String,
    /// Energies evaluated while learning, those of tuning too.
    evaluations: u64,
    /// On the way, from short annealing.
    series: Vec<Point>,
    end: Likelihood,
    /// Draws from the learned machine, where annealing ended.
    drawn: Vec<Vec<u32>>,
    /// Processor seconds of learning.
    seconds: f64,
}

/// A look on the way: the mean ln p of the training digits and of those held out.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Point {
    iteration: u64,
    train: f64,
    test: f64,
}

/// A sampler's row of `learn_digits.json`.
#[derive(Serialize)]
struct Row<'c> {
    sampler: &'c str,
    parameters: &'c str,
    energies_per_sample: f64,
    end: &'c Likelihood,
    series: &'c [Point],
}

/// Everything that `learn_digits.json` says.
#[derive(Serialize)]
struct Report<'c> {
    example: &'static str,
    hidden: usize,
    steps: u64,
    plan: Plan,
    annealing: Annealing,
    digits_learned_from: usize,
    digits_held_out: usize,
    test_log_likelihood_of_independent_pixels: Mean,
    rows: Vec<Row<'c>>,
}

/// A sampler's row of `learn_digits.timing.json`.
#[derive(Serialize)]
struct Timing<'c> {
    sampler: &'c str,
    milliseconds_per_iteration: f64,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn read(options: &Options) -> Result<Split, Failure> {
    let here = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data"));
    let digits = pictures(&options.data.clone().unwrap_or_else(here))?;
    if digits.len() < options.test as usize + 2 {
        return Err(Failure::Option(format!("--test: there are {} pictures", digits.len())));
    }
    Split::new(&digits, options.test as usize)
}

/// Learns a machine with one sampler, and measures it.
fn learn(
    digits: &Split,
    sampler: Sampler,
    (family, plan, looks): (RbmFamily, Plan, u64),
    (annealing, look): (Annealing, Annealing),
    file: &Path,
    progress: impl Fn(u64),
) -> Result<Cell, Failure> {
    let learner = Learner::new(&family, &digits.train, sampler.method, plan).base(&digits.fields);
    let (mut series, mut seconds) = (Vec::new(), 0.0);
    let learned = watch(learner, |at, clock| {
        seconds = clock;
        if at.iteration % plan.iterations.div_ceil(looks) == 0 {
            let model = Rbm::from_parameters(at.theta, family.visible, family.hidden)?;
            let (train, test) = glance(&model, digits, look)?;
            series.push(Point { iteration: at.iteration, train, test });
        }
        progress(1);
        Ok(())
    })?;
    let model = Rbm::from_parameters(&learned.theta, family.visible, family.hidden)?;
    let (end, drawn) = measure(&model, digits, annealing, &BlockGibbs)?;
    family.save(&learned.theta, file)?;
    let Sampler { name, parameters, .. } = sampler;
    Ok(Cell { sampler: name.into(), parameters, evaluations: learned.evaluations, series, end, drawn, seconds })
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let by = |full, quick| if common.quick { quick } else { full };
    let plan = Plan {
        seed: common.seed,
        iterations: options.iterations.unwrap_or(u64::from(by(3000, 150))),
        batch: options.batch,
        rate: options.rate.unwrap_or(if common.quick { 0.01 } else { 0.001 }),
        decay: options.decay,
        ..Plan::default()
    };
    let family = RbmFamily { visible: DIGIT.sites(), hidden: options.hidden.unwrap_or(by(500, 64)) as usize };
    let (steps, looks) = (options.steps.unwrap_or(u64::from(by(10, 5))), u64::from(by(15, 5)));
    // Other generators than those that learn.
    let seed = !common.seed;
    let annealing = Annealing {
        seed,
        runs: by(64, 32),
        betas: by(3000, 500),
        sweeps: u64::from(by(1000, 100)),
        step_size: 0.35,
        power: 4,
    };
    let look = Annealing { runs: by(16, 8), betas: by(500, 200), ..annealing };
    let langevin = Langevin::adjusted(options.step_size);
    let langevin = langevin.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
    let gradients = GibbsWithGradients::new(1)?;
    // As in its paper (D.4): half the steps in the first iteration of a cycle, and without the Metropolis test.
    let cycle = CyclicalLearning {
        period: 8,
        large: (2.0, 0.9, steps.div_ceil(2)),
        small: (0.2, steps),
        retune: options.retune,
        adjusted: false,
    };
    let sampler = |name, parameters: &str, method| Sampler { name, parameters: parameters.into(), method };
    let mut samplers = vec![
        sampler("block Gibbs", "", Method::Chains(Mover::Sweeps, steps)),
        sampler(
            "ACS",
            &format!("period 8, β ≤ 0.9, tuned every {} cycles", options.retune),
            Method::Cyclical(cycle),
        ),
        sampler(
            "DMALA",
            &format!("α = {}", options.step_size),
            Method::Chains(Mover::Langevin(langevin), steps),
        ),
        sampler("GWG", "one site", Method::Chains(Mover::Gradients(gradients), steps)),
    ];
    samplers.retain(|sampler| sampler.name.contains(&options.only));
    let none = |what: &str| Failure::Option(format!("--only {:?}: {what}", options.only));
    if samplers.is_empty() {
        return Err(none("no sampler has this in its name"));
    }
    if options.machine.is_some() && samplers[0].name != "block Gibbs" {
        return Err(none("--machine needs block Gibbs"));
    }
    let digits = read(options)?;
    let out = common.folder("learn_digits");
    let kept = Cells::new(&out, options.resume)?;

    let progress = Progress::new(common.quiet, plan.iterations * samplers.len() as u64);
    let question = format!(
        "pictures of hash {:x}, {} held out, {family:?}, {steps} steps, {plan:?}, {annealing:?}, {look:?}",
        hash(&format!("{:?}", digits.train)),
        options.test
    );
    // Beside its cell, under a name with the hash of the question: another run does not write over it.
    let file_of = |sampler: &str, question: &str| {
        let name = cells::file_name(&sampler.replace(' ', "_"), question);
        out.join("cells").join(name + ".npz")
    };
    let cells = samplers.par_iter().map(|sampler| {
        let (name, mut made) = (sampler.name, 0);
        let question = format!("{}, {question}", sampler.parameters);
        let cell = kept.answer(name, &question, || {
            let file = file_of(name, &question);
            let cell =
                learn(&digits, sampler.clone(), (family, plan, looks), (annealing, look), &file, |work| {
                    progress.advance(work);
                });
            made = plan.iterations;
            cell.map_err(|error| Failure::Option(format!("{name}: {error}")))
        });
        progress.advance(plan.iterations - made);
        cell
    });
    let cells: Vec<Cell> = cells.collect::<Result<_, Failure>>()?;
    drop(progress);
    if let Some(folder) = &options.machine {
        let Sampler { name, parameters, .. } = &samplers[0];
        keep(&file_of(name, &format!("{parameters}, {question}")), &digits, common, folder)?;
    }

    let work = plan.iterations as f64 * f64::from(plan.batch);
    let rows = cells.iter().map(|cell| Row {
        sampler: &cell.sampler,
        parameters: &cell.parameters,
        energies_per_sample: cell.evaluations as f64 / work,
        end: &cell.end,
        series: &cell.series,
    });
    let result = Report {
        example: "learn_digits",
        hidden: family.hidden,
        steps,
        plan,
        annealing,
        digits_learned_from: digits.train.len(),
        digits_held_out: digits.test.len(),
        test_log_likelihood_of_independent_pixels: independent(&digits),
        rows: rows.collect(),
    };
    report::json(&out.join("learn_digits.json"), &result)?;
    let timing = cells.iter().map(|cell| Timing {
        sampler: &cell.sampler,
        milliseconds_per_iteration: 1e3 * cell.seconds / plan.iterations as f64,
    });
    let timing: Vec<Timing<'_>> = timing.collect();
    report::json(&out.join("learn_digits.timing.json"), &timing)?;
    let table = table(&result);
    report::write(&out.join("learn_digits.md"), table.as_bytes())?;
    plot::save(&out.join("learn_digits.svg"), &panels(&result))?;
    picture::save(&out.join("learn_digits.png"), &picture::draw(&tiles(&cells, &digits)))?;
    let times: String = timing
        .iter()
        .map(|row| format!("{:>12}: {:.1} ms an iteration\n", row.sampler, row.milliseconds_per_iteration))
        .collect();
    common.say(&format!("{table}\n{times}\nResults: {}", out.display()));
    Ok(())
}

/// Writes a folder that `digits --data` reads: the machine, the pictures, and the ends of 1,000 chains that
/// start at pictures and make 3,000 sweeps of block Gibbs.
fn keep(learned: &Path, digits: &Split, common: &Common, folder: &Path) -> Result<(), Failure> {
    report::make_folder(folder)?;
    let machine = folder.join(MACHINE);
    std::fs::copy(learned, &machine).map_err(|error| Failure::file(learned, error))?;
    let model = RbmFolder::read_file(&machine, DIGIT.sites())?;
    let model = model.rbm();
    let (chains, sweeps) = if common.quick { (100, 300) } else { (1000, 3000) };
    let mut walkers = digits
        .train
        .rows()
        .take(chains)
        .zip(chains::streams(!common.seed))
        .map(|(row, rng)| {
            let x = Packed::new(DIGIT, row).expect("a row of pictures");
            let chain = Chain::new(&model, chains::memory(&model), x).map_err(Failure::option)?;
            Ok(Walker { chain, kernel: &BlockGibbs, rng, acceptance: Acceptance::new() })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let progress = Progress::new(common.quiet, sweeps * walkers.len() as u64);
    chains::advance(&mut walkers, sweeps, &progress);
    chains::states(DIGIT, &walkers).write(&folder.join(REFERENCE))?;
    digits.train.write(&folder.join(TRAIN))?;
    digits.test.write(&folder.join(TEST))
}

fn table(report: &Report<'_>) -> String {
    let Report { plan, test_log_likelihood_of_independent_pixels: pixels, .. } = report;
    let mut text = format!(
        "RBM 784×{}, {} iterations of {} digits and chains, {} steps each; mean ln p in nats\n\n\
         | sampler | | test, forward | test, reverse | training, forward | training, reverse | energies a sample |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
        report.hidden, plan.iterations, plan.batch, report.steps
    );
    let shown = |mean: Mean| format!("{:.2} ± {:.2}", mean.mean, mean.standard_error);
    for row in &report.rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {:.1} |",
            row.sampler,
            row.parameters,
            shown(row.end.test_forward),
            shown(row.end.test_reverse),
            shown(row.end.train_forward),
            shown(row.end.train_reverse),
            row.energies_per_sample
        );
    }
    let _ = writeln!(text, "| independent pixels | | {} | | | | |", shown(*pixels));
    text
}

fn panels(report: &Report<'_>) -> Vec<plot::Panel> {
    let panel = |title: &str, y: fn(&Point) -> f64| plot::Panel {
        title: title.into(),
        x: "iterations".into(),
        y: "mean ln p, by forward annealing".into(),
        log_from: None,
        level: Some((report.test_log_likelihood_of_independent_pixels.mean, "independent pixels".into())),
        curves: report
            .rows
            .iter()
            .map(|row| plot::Curve {
                label: row.sampler.into(),
                points: row.series.iter().map(|point| (point.iteration as f64, y(point))).collect(),
            })
            .collect(),
    };
    vec![panel("Digits held out", |point| point.test), panel("Digits learned from", |point| point.train)]
}

/// Draws of each machine beside digits.
fn tiles(cells: &[Cell], digits: &Split) -> Vec<picture::Panel> {
    let mut panels: Vec<_> = cells
        .iter()
        .map(|cell| picture::Panel {
            title: cell.sampler.clone(),
            apart: false,
            columns: 4,
            tiles: cell.drawn.iter().take(40).map(|words| Tile::of(words, SIDE, BLUE)).collect(),
        })
        .collect();
    panels.push(picture::Panel {
        title: "digits".into(),
        apart: true,
        columns: 4,
        tiles: digits.test.rows().take(40).map(|row| Tile::of(row, SIDE, INK)).collect(),
    });
    panels
}
