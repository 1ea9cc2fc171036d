//! A convolutional energy learned from pictures by persistent contrastive divergence, with three samplers.
//!
//! `cargo run --release --bin learn` learns from digits with DMALA, ACS and Gibbs with gradients, and measures the likelihood of
//! digits held out by annealed importance sampling in both directions.

use bitmc::Langevin;
use bitmc_deep::learn::{Lesson, Plan, Point, Sampler, learn};
use bitmc_deep::network::{Network, Shape};
use bitmc_desktop::learn::{Annealing, Likelihood, Mean, Split, independent, measure};
use bitmc_examples::bits::BitRows;
use bitmc_examples::cells::Cells;
use bitmc_examples::checkpoint::{Checkpoint, hash};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::model::{SIDE, pictures};
use bitmc_examples::picture::{self, BLUE, INK, Tile};
use bitmc_examples::plot::{self, Curve};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Learn a convolutional energy from pictures, with three samplers
#[derive(Parser)]
#[command(name = "learn", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// The samplers, all of them if none is named
    #[arg(long, value_enum)]
    sampler: Vec<Sampler>,

    /// The network and the numbers of the papers: weeks of one core
    #[arg(long, conflicts_with = "quick")]
    paper: bool,

    /// Channels of the network's first half; the second half has twice as many [default: 8]
    #[arg(long, value_name = "N", conflicts_with = "paper", value_parser = clap::value_parser!(u16).range(1..=512))]
    channels: Option<u16>,

    /// Changes of the parameters [default: 2000, with --quick 60, with --paper 50000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

    /// Steps of every chain for one change [default: 15, with --quick 5; with --paper 40, and 10 for ACS]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: Option<u64>,

    /// Pictures of one change, and chains that are moved, a multiple of 4 [default: 24, with --quick 16, with --paper 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=100_000))]
    batch: Option<u32>,

    /// States of the replay buffer, a multiple of 4 [default: 320, with --quick 80, with --paper 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(40..=10_000_000))]
    buffer: Option<u32>,

    /// Adam's learning rate after the warm-up; it falls to a tenth [default: 0.0003, with --quick 0.002, with --paper 0.0001]
    #[arg(long, value_name = "RATE", value_parser = cli::rate())]
    rate: Option<f32>,

    /// Norm to which a gradient is cut, 0 for none [default: 20, with --paper 0]
    #[arg(long, value_name = "NORM", value_parser = cli::penalty())]
    clip: Option<f32>,

    /// Strength of a penalty on the square of the net [default: 0.0005, with --paper 0]
    #[arg(long, value_name = "STRENGTH", value_parser = cli::penalty())]
    penalty: Option<f32>,

    /// Step size of DMALA [default: 0.1, with --paper 0.15]
    #[arg(long, value_name = "ALPHA", value_parser = cli::within(0.001, 100.0))]
    step_size: Option<f32>,

    /// A file of 28×28 bits to learn from [default: the 2,000 digits of examples/data]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Pictures held out, the last ones
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    test: u32,

    /// Runs of annealed importance sampling in each direction [default: 16, with --quick 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    runs: Option<u32>,

    /// Temperatures of each run [default: 2000, with --quick 60, with --paper 300000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    temperatures: Option<u32>,

    /// Step size of annealing; if it is too large, the two directions disagree
    #[arg(long, value_name = "SIGMA", default_value_t = 0.1, value_parser = cli::within(0.001, 100.0))]
    annealing_step_size: f32,

    /// Iterations between two checkpoints
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// Go on where an earlier call of the same command was stopped
    #[arg(long)]
    resume: bool,
}

impl Options {
    /// The number given, or that of the setting.
    fn or<T>(&self, given: Option<T>, full: T, quick: T, paper: T) -> T {
        given.unwrap_or(if self.paper {
            paper
        } else if self.common.quick {
            quick
        } else {
            full
        })
    }

    fn plan(&self, sampler: Sampler) -> Plan {
        let channels = usize::from(self.or(self.channels, 8, 4, 64));
        let three = Shape::three_blocks(SIDE as usize, channels, 2 * channels);
        let iterations = self.or(self.iterations, 2000, 60, 50_000);
        Plan {
            seed: self.common.seed,
            shape: if self.paper { Shape::of_the_papers() } else { three },
            iterations,
            steps: self.or(self.steps, 15, 5, if sampler.is_cyclical() { 10 } else { 40 }),
            batch: self.or(self.batch, 24, 16, 100) as usize,
            buffer: self.or(self.buffer, 320, 80, 10_000) as usize,
            rate: self.or(self.rate, 0.0003, 0.002, 0.0001),
            warm_up: self.or(None, 200, 20, 10_000),
            momentum: self.or(None, 0.5, 0.5, 0.9),
            clip: self.or(self.clip, 20.0, 20.0, 0.0),
            penalty: self.or(self.penalty, 5e-4, 5e-4, 0.0),
            restarts: self.or(None, 0.01, 0.01, 0.0),
            step_size: self.or(self.step_size, 0.1, 0.1, 0.15),
            average: if self.paper { 0.999 } else { 0.998 },
            cycle: if self.paper { (50, 25) } else { (8, 5) },
        }
    }
}

/// One sampler's result.
#[derive(Serialize, Deserialize)]
struct Cell {
    lesson: Lesson,
    end: Likelihood,
    /// States where forward annealing ended.
    drawn: Vec<Vec<u32>>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn read(options: &Options) -> Result<Split, Failure> {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let rows = pictures(&options.data.clone().unwrap_or_else(here))?;
    Split::new(&rows, options.test as usize).map_err(|error| Failure::Option(format!("--test: {error}")))
}

fn run(options: &Options) -> Result<(), Failure> {
    bitmc_deep::one_thread_a_product();
    let common = &options.common;
    let digits = read(options)?;
    let all = Sampler::value_variants();
    let samplers = if options.sampler.is_empty() { all } else { &options.sampler };
    let annealing = Annealing {
        // Other generators than those that learn.
        seed: !common.seed,
        runs: options.or(options.runs, 16, 8, 16),
        betas: options.or(options.temperatures, 2000, 60, 300_000),
        sweeps: options.or(None, 2000, 50, 100_000),
        step_size: options.annealing_step_size,
        power: 0,
    };
    let out = common.folder("learn");
    let cells = Cells::new(&out, options.resume)?;
    let plans: Vec<Plan> = samplers.iter().map(|&sampler| options.plan(sampler)).collect();
    let progress = Progress::new(common.quiet, plans.iter().map(|plan| plan.iterations).sum());
    let mut found = Vec::new();
    for (&sampler, plan) in samplers.iter().zip(&plans) {
        let data = hash(&format!("{:?}", digits.train));
        let question = format!("pictures of hash {data:x}; {} held out; {plan:?}", options.test);
        let cell = cells.answer(name(sampler), &format!("{question}; {annealing:?}"), || {
            let file = out.join("cells").join(format!("{}.checkpoint", name(sampler)));
            let checkpoint = Checkpoint::at(file, options.every, options.resume);
            let told = |work, point: &Point| {
                progress.advance(work);
                progress.note(format!("{}: gap {:.1}", name(sampler), point.gap));
                true
            };
            let lesson = learn(&digits, sampler, plan, (&checkpoint, &question), told)?;
            let network = Network::new(&plan.shape, &digits.fields, &lesson.theta)?;
            let settle = Langevin::adjusted(0.15).map_err(Failure::model)?;
            let (end, drawn) = measure(&network, &digits, annealing, &settle).map_err(Failure::model)?;
            Ok(Cell { lesson, end, drawn })
        })?;
        found.push((sampler, plan, cell));
    }
    drop(progress);
    let pixels = independent(&digits);
    let table = table(&found, pixels);
    report::write(&out.join("learn.md"), table.as_bytes())?;
    plot::save(&out.join("learn.svg"), &panels(&found))?;
    picture::save(&out.join("learn.png"), &picture::draw(&tiles(&found, &digits)?))?;
    report::json(&out.join("learn.json"), &found.iter().map(Row::of).collect::<Vec<_>>())?;
    common.say(&format!("{table}\nPictures and numbers are in {}.", out.display()));
    Ok(())
}

type Found<'p> = (Sampler, &'p Plan, Cell);

/// What `learn.json` says of a sampler.
#[derive(Serialize)]
struct Row<'c> {
    sampler: &'static str,
    plan: String,
    end: &'c Likelihood,
    curve: &'c [Point],
    evaluations: u64,
    evaluations_to_tune: u64,
    seconds: f64,
}

impl<'c> Row<'c> {
    fn of((sampler, plan, cell): &'c Found<'_>) -> Self {
        let Cell { lesson, end, .. } = cell;
        let seconds = lesson.milliseconds as f64 / 1000.0;
        let (evaluations, evaluations_to_tune) = (lesson.evaluations, lesson.tuning);
        let (sampler, plan) = (name(*sampler), format!("{plan:?}"));
        Self { sampler, plan, end, curve: &lesson.curve, evaluations, evaluations_to_tune, seconds }
    }
}

fn name(sampler: Sampler) -> &'static str {
    match sampler {
        Sampler::Dmala => "dmala",
        Sampler::Acs => "acs",
        Sampler::AcsAdjusted => "acs-adjusted",
        Sampler::Gwg => "gwg",
    }
}

fn table(found: &[Found<'_>], pixels: Mean) -> String {
    let mut text = String::from(
        "Mean ln p in nats\n\n\
         | sampler | test, forward | test, reverse | training, forward | training, reverse | last gap | evaluations | of them tuning | ms an iteration |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let shown = |mean: Mean| format!("{:.1} ± {:.1}", mean.mean, mean.standard_error);
    for (sampler, plan, Cell { lesson, end, .. }) in found {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.2} | {} | {} | {:.0} |",
            name(*sampler),
            shown(end.test_forward),
            shown(end.test_reverse),
            shown(end.train_forward),
            shown(end.train_reverse),
            lesson.curve.last().map_or(f32::NAN, |point| point.gap),
            lesson.evaluations,
            lesson.tuning,
            lesson.milliseconds as f64 / plan.iterations as f64,
        );
    }
    let _ = writeln!(text, "| independent pixels | {} | | | | | | | |", shown(pixels));
    text
}

fn panels(found: &[Found<'_>]) -> Vec<plot::Panel> {
    let curve = |(sampler, _, cell): &Found<'_>| Curve {
        label: name(*sampler).into(),
        points: cell.lesson.curve.iter().map(|point| (point.iteration as f64, f64::from(point.gap))).collect(),
    };
    vec![plot::Panel {
        title: "Energy gap".into(),
        x: "iterations".into(),
        y: "mean E of the chains less that of the data".into(),
        log_from: None,
        level: Some((0.0, "no gap".into())),
        curves: found.iter().map(curve).collect(),
    }]
}

/// States of the buffer beside pictures.
fn tiles(found: &[Found<'_>], digits: &Split) -> Result<Vec<picture::Panel>, Failure> {
    let panel = |title: String, apart, tiles| picture::Panel { title, apart, columns: 5, tiles };
    let mut panels = Vec::new();
    for (sampler, _, cell) in found {
        let states = BitRows::from_bytes(&cell.lesson.buffer).map_err(Failure::option)?;
        let buffer = states.rows().take(50).map(|row| Tile::of(row, SIDE, BLUE)).collect();
        panels.push(panel(format!("{}: buffer", name(*sampler)), false, buffer));
        let drawn = cell.drawn.iter().take(50).map(|row| Tile::of(row, SIDE, BLUE)).collect();
        panels.push(panel("annealed".into(), false, drawn));
    }
    let data = digits.test.rows().take(50).map(|row| Tile::of(row, SIDE, INK)).collect();
    panels.push(panel("data".into(), true, data));
    Ok(panels)
}
