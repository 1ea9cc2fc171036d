//! A neural network whose weights are bits, sampled rather than trained: who earns more than 50,000 dollars?
//!
//! `cargo run --release --example bnn` is the experiment of DLP §7.4 on 8,000 rows of the census data: chains
//! of DULA and DMALA over 32,500 weights of ±1. Every chain is a cell of its own: `--resume` goes on where a
//! run was stopped.

use bitmc::stats::Acceptance;
use bitmc::{BinaryNetwork, Chain, Energy, LaneRng, Langevin};
use bitmc_examples::adult::{self, Data};
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::{memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::harness::{mean, standard_error};
use bitmc_examples::progress::Progress;
use bitmc_examples::trace::checkpoints;
use bitmc_examples::{plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// A regression network with weights of ±1 on the Adult data
#[derive(Parser, Debug)]
#[command(name = "bnn", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains of each sampler [default: 50, with --quick 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 1000, with --quick 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: Option<u64>,

    /// Hidden units
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    units: u16,

    /// Step size, on the {0,1} scale
    #[arg(long, value_name = "ALPHA", default_value_t = 0.1)]
    step_size: f32,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,

    /// Folder of the data [default: examples/data/adult of this repository]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// The samplers, with the paper's Adult row (its Table 2): training log-likelihood and test RMSE.
const SAMPLERS: [(&str, bool, f64, f64); 2] =
    [("DULA", false, -0.3287, 0.3971), ("DMALA", true, -0.3190, 0.3931)];

/// −½ ln(π/2): what is added to the negative squared error to have the paper's log-likelihood, as far as its
/// tables tell. It does not print the constant. With this one, that of a normal of deviation ½, its Gibbs row,
/// which hardly left the start, has the same mean squared error in training (.2329) as in the test (.4826²).
const CONSTANT: f64 = -0.225_791_352_644_727_4;

/// A chain at one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Point {
    step: u64,
    training_log_likelihood: f64,
    test_rmse: f64,
}

/// What a chain was like.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cell {
    points: Vec<Point>,
    acceptance: f64,
    flips_per_step: f64,
    faults: u64,
    /// Of the test rows, by the last network.
    predictions: Vec<f32>,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    sampler: &'static str,
    acceptance: f64,
    flips_per_step: f64,
    faults: u64,
    training_log_likelihood: f64,
    training_log_likelihood_standard_error: f64,
    paper_training_log_likelihood: f64,
    test_rmse: f64,
    test_rmse_standard_error: f64,
    paper_test_rmse: f64,
    /// Of the mean prediction of all chains.
    test_rmse_of_the_mean: f64,
    series: Vec<Point>,
}

#[derive(Serialize)]
struct Report {
    example: &'static str,
    seed: u64,
    chains: u32,
    steps: u64,
    units: u16,
    weights: usize,
    step_size: f32,
    training_rows: usize,
    test_rows: usize,
    /// The RMSE of predicting the mean.
    test_rmse_of_a_constant: f64,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let pool = options.common.pool()?;
        pool.install(|| run(&options))
    })
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let chains = options.chains.unwrap_or(if common.quick { 4 } else { 50 });
    let steps = options.steps.unwrap_or(if common.quick { 40 } else { 1000 });
    let samplers = SAMPLERS.map(|(_, adjusted, ..)| {
        let new = if adjusted { Langevin::adjusted } else { Langevin::unadjusted };
        new(options.step_size).map_err(|error| Failure::Option(format!("--step-size: {error}")))
    });
    let [unadjusted, adjusted] = samplers;
    let samplers = [unadjusted?, adjusted?];
    let folder = options.data.clone();
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data/adult"));
    let (train, test) = adult::read(&folder, &mut LaneRng::stream(common.seed, 1 << 20))?;
    let units = usize::from(options.units);
    let network = |data| network(data, units).map_err(|error| Failure::file(&folder, error));
    let (training, testing) = (network(&train)?, network(&test)?);

    let out = common.folder("bnn");
    report::make_folder(&out)?;
    let kept = Cells::new(&out, options.resume)?;
    let progress = Progress::new(common.quiet, 2 * u64::from(chains) * steps);
    let streams: Vec<LaneRng> = streams(common.seed).take(chains as usize).collect();
    let begin = Instant::now();
    let all: Vec<(usize, usize)> = (0..chains as usize).flat_map(|chain| [(0, chain), (1, chain)]).collect();
    let found = all.par_iter().map(|&(sampler, chain)| {
        let name = SAMPLERS[sampler].0;
        let question = format!("seed {}, α = {}, {units} units, {steps} steps", common.seed, options.step_size);
        kept.answer(&format!("{name} {chain}"), &question, || {
            sample(&training, &testing, &test, &samplers[sampler], &streams[chain], steps, &progress)
        })
    });
    let found: Vec<Cell> = found.collect::<Result<_, Failure>>()?;
    drop(progress);

    let rows: Vec<Row> = (0..2)
        .map(|sampler| row(sampler, &found.iter().skip(sampler).step_by(2).collect::<Vec<_>>(), &test))
        .collect();
    let table = table(&rows, chains, steps);
    plot::save(&out.join("bnn.svg"), &panels(&rows, test.variance().sqrt()))?;
    report::write(&out.join("bnn.md"), table.as_bytes())?;
    let weights = training.layout().sites();
    let report = Report {
        example: "bnn",
        seed: common.seed,
        chains,
        steps,
        units: options.units,
        weights,
        step_size: options.step_size,
        training_rows: train.targets.len(),
        test_rows: test.targets.len(),
        test_rmse_of_a_constant: test.variance().sqrt(),
        rows,
    };
    report::json(&out.join("bnn.json"), &report)?;
    let clock = [("seconds", begin.elapsed().as_secs_f64())];
    report::json(&out.join("bnn.timing.json"), &std::collections::BTreeMap::from(clock))?;
    common.say(&format!("{table}\nResults: {}", out.display()));
    Ok(())
}

/// The mean of the hidden units' votes, and the paper's energy: the sum of squared errors.
fn network(data: &Data, units: usize) -> Result<BinaryNetwork<'_>, bitmc::energy::NetworkError> {
    BinaryNetwork::new(&data.inputs, &data.targets, units, 1.0 / units as f32, 1.0)
}

/// One chain, from random weights.
fn sample(
    training: &BinaryNetwork<'_>,
    testing: &BinaryNetwork<'_>,
    test: &Data,
    sampler: &Langevin<'_>,
    stream: &LaneRng,
    steps: u64,
    progress: &Progress,
) -> Result<Cell, Failure> {
    let mut rng = stream.clone();
    let mut chain = Chain::random(training, memory(training), &mut rng).map_err(Failure::option)?;
    let mut cache = memory(testing).cache;
    let (mut points, mut total, mut done) = (Vec::new(), Acceptance::new(), 0);
    for checkpoint in std::iter::once(0).chain(checkpoints(steps)) {
        while done < checkpoint {
            let stride = (checkpoint - done).min(10);
            chain.run(sampler, &mut rng, stride, &mut total);
            progress.advance(stride);
            done += stride;
        }
        let squares = testing.init(chain.state(), &mut cache).map_err(Failure::option)?;
        points.push(Point {
            step: checkpoint,
            training_log_likelihood: CONSTANT - f64::from(chain.energy()) / training.rows() as f64,
            test_rmse: (f64::from(squares) / testing.rows() as f64).sqrt(),
        });
    }
    let predictions = testing.residuals(&cache).zip(&test.targets).map(|(r, y)| r + y).collect();
    let (acceptance, flips_per_step) = (total.rate().into(), total.jump_distance().into());
    Ok(Cell { points, acceptance, flips_per_step, faults: u64::from(chain.faults()), predictions })
}

fn row(sampler: usize, cells: &[&Cell], test: &Data) -> Row {
    let (name, _, paper_training_log_likelihood, paper_test_rmse) = SAMPLERS[sampler];
    let over = |of: &dyn Fn(&Cell) -> f64| cells.iter().map(|cell| of(cell)).collect::<Vec<f64>>();
    let last = cells[0].points.len() - 1;
    let likelihoods = over(&|cell| cell.points[last].training_log_likelihood);
    let errors = over(&|cell| cell.points[last].test_rmse);
    let squares = test.targets.iter().enumerate().map(|(row, &y)| {
        let together: f64 = cells.iter().map(|cell| f64::from(cell.predictions[row])).sum();
        (together / cells.len() as f64 - f64::from(y)).powi(2)
    });
    let series = cells[0].points.iter().enumerate().map(|(index, point)| Point {
        step: point.step,
        training_log_likelihood: mean(&over(&|cell| cell.points[index].training_log_likelihood)),
        test_rmse: mean(&over(&|cell| cell.points[index].test_rmse)),
    });
    Row {
        sampler: name,
        acceptance: mean(&over(&|cell| cell.acceptance)),
        flips_per_step: mean(&over(&|cell| cell.flips_per_step)),
        faults: cells.iter().map(|cell| cell.faults).sum(),
        training_log_likelihood: mean(&likelihoods),
        training_log_likelihood_standard_error: standard_error(&likelihoods),
        paper_training_log_likelihood,
        test_rmse: mean(&errors),
        test_rmse_standard_error: standard_error(&errors),
        paper_test_rmse,
        test_rmse_of_the_mean: (squares.sum::<f64>() / test.targets.len() as f64).sqrt(),
        series: series.collect(),
    }
}

fn table(rows: &[Row], chains: u32, steps: u64) -> String {
    let mut text = format!(
        "{chains} chains, {steps} steps each\n\n\
         | sampler | acceptance | flips a step | training log-likelihood | paper | test RMSE | paper | of the mean |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    for row in rows {
        text.push_str(&format!(
            "| {} | {:.3} | {:.0} | {:.4} ± {:.4} | {:.4} | {:.4} ± {:.4} | {:.4} | {:.4} |\n",
            row.sampler,
            row.acceptance,
            row.flips_per_step,
            row.training_log_likelihood,
            row.training_log_likelihood_standard_error,
            row.paper_training_log_likelihood,
            row.test_rmse,
            row.test_rmse_standard_error,
            row.paper_test_rmse,
            row.test_rmse_of_the_mean
        ));
    }
    text + "\nThe paper has 44,920 rows and other features; the scale of its output and the constant of its \
            likelihood are a reading (see the README of the examples).\n"
}

fn panels(rows: &[Row], constant: f64) -> Vec<plot::Panel> {
    let panel = |title: &str, level, value: &dyn Fn(&Point) -> f64| plot::Panel {
        title: title.into(),
        x: "steps of each chain".into(),
        y: "mean over the chains".into(),
        log_from: None,
        level,
        curves: rows
            .iter()
            .map(|row| plot::Curve {
                label: row.sampler.into(),
                points: row.series.iter().map(|point| (point.step as f64, value(point))).collect(),
            })
            .collect(),
    };
    let level = Some((constant, "predicting the mean".into()));
    vec![
        panel("Training log-likelihood of a row", None, &|point| point.training_log_likelihood),
        panel("Test RMSE of a network", level, &|point| point.test_rmse),
    ]
}
