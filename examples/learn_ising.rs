//! Learning a lattice from its samples: persistent chains of five samplers beside objectives without chains.
//!
//! `cargo run --release --example learn_ising` draws samples of the 25×25 Ising torus of DLP §7.3.1 and learns a
//! dense coupling matrix from them by every method. Every method is a cell of its own: `--resume` goes on where a
//! run was stopped.

use bitmc::lane::Block;
use bitmc::learn::CyclicalLearning;
use bitmc::{Gibbs, GibbsWithGradients, LaneRng, Langevin, SeedableRng};
use bitmc_desktop::learn::{Family, IsingFamily, Learner, Method, Mover, Objective, Plan};
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::progress::Progress;
use bitmc_examples::teach::{Named, Truth, chains, objectives, watch};
use bitmc_examples::{plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// Learn the couplings of an Ising lattice, by every method
#[derive(Parser, Debug)]
#[command(name = "learn_ising", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Sites a side of the torus [default: 25, with --quick 9]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(3..=64))]
    side: Option<u16>,

    /// Coupling σ, every edge counted twice
    #[arg(long, value_name = "SIGMA", default_value_t = 0.25, value_parser = cli::within(-10.0, 10.0))]
    coupling: f32,

    /// Samples to learn from [default: 2000, with --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: Option<u32>,

    /// Changes of the parameters by each method [default: 1000, with --quick 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    iterations: Option<u32>,

    /// Samples and chains of one change
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,

    /// Adam's learning rate; it falls to a tenth
    #[arg(long, value_name = "RATE", default_value_t = 0.01, value_parser = cli::rate())]
    rate: f32,

    /// Step size of DMALA; may be given several times [default: the paper's 0.15, and 0.4; with --quick 0.15]
    #[arg(long, value_name = "ALPHA")]
    step_size: Vec<f32>,

    /// Only the methods whose name has this text, such as DMALA or "25 steps"
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,

    /// ℓ1 penalty on the couplings
    #[arg(long, value_name = "STRENGTH", default_value_t = 0.01, value_parser = cli::penalty())]
    lasso: f32,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// Sweeps of chromatic Gibbs behind every sample.
const SWEEPS: u64 = 5000;

/// Iterations between two points.
const EVERY: u64 = 10;

/// What a method has learned.
#[derive(Serialize, Deserialize)]
struct Cell {
    method: String,
    /// Energies evaluated in all: of samples, neighbours and proposals.
    evaluations: u64,
    series: Vec<Point>,
    clock: Clock,
}

/// ln of the root mean square error of the coupling matrix.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Point {
    iteration: u64,
    log_rmse: f64,
}

/// Processor seconds up to each point.
#[derive(Serialize, Deserialize)]
struct Clock {
    seconds: Vec<f64>,
}

/// A method's row of `learn_ising.json`.
#[derive(Serialize)]
struct Row<'c> {
    method: &'c str,
    energies_per_sample: f64,
    final_log_rmse: f64,
    series: &'c [Point],
}

/// Everything that `learn_ising.json` says.
#[derive(Serialize)]
struct Report<'c> {
    example: &'static str,
    side_sites: u16,
    coupling_edges_twice: f32,
    samples: usize,
    sweeps_per_sample: u64,
    plan: Plan,
    log_rmse_of_no_coupling: f64,
    rows: Vec<Row<'c>>,
}

/// A method's row of `learn_ising.timing.json`.
#[derive(Serialize)]
struct Timing<'c> {
    method: &'c str,
    milliseconds_per_iteration: f64,
    seconds: &'c [f64],
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn methods(options: &Options) -> Result<Vec<Named>, Failure> {
    let quick = options.common.quick;
    let dmala: &[f32] = match &options.step_size[..] {
        [] if quick => &[0.15],
        [] => &[0.15, 0.4],
        given => given,
    };
    let dula: &[f32] = if quick { &[0.1] } else { &[0.1, 0.2] };
    let (gradients, gibbs) = (GibbsWithGradients::new(1)?, Gibbs::random(1)?);
    let mut methods = Vec::new();
    for steps in if quick { vec![5, 25] } else { vec![5, 10, 25, 50, 100] } {
        for &step_size in dmala {
            let kernel = Langevin::adjusted(step_size);
            let kernel = kernel.map_err(|error| Failure::Option(format!("--step-size: {error}")))?;
            methods.push(chains(&format!("DMALA α = {step_size}"), Mover::Langevin(kernel), steps));
        }
        methods.push(chains("GWG", Mover::Gradients(gradients), steps));
        if steps != 10 && steps != 50 {
            methods.push(chains("Gibbs", Mover::Gibbs(gibbs), steps));
            for &step_size in dula {
                let kernel = Mover::Langevin(Langevin::unadjusted(step_size)?);
                methods.push(chains(&format!("DULA α = {step_size}"), kernel, steps));
            }
            let cycle = CyclicalLearning {
                period: 8,
                large: (2.0, 0.8, steps.div_ceil(2)),
                small: (0.2, steps),
                retune: 4,
                adjusted: false,
            };
            methods.push((format!("PCD, ACS, {steps} steps"), Method::Cyclical(cycle)));
        }
    }
    methods.extend(objectives([
        Objective::RatioMatching,
        Objective::Equation3,
        Objective::Guided(5),
        Objective::Guided(10),
        Objective::Guided(50),
        Objective::Basic(50),
        Objective::Advanced(10),
        Objective::Advanced(50),
        Objective::Uniform(50),
        Objective::PseudoLikelihood,
    ]));
    methods.retain(|(name, _)| name.contains(&options.only));
    if methods.is_empty() {
        return Err(Failure::Option(format!("--only: no method has {:?} in its name", options.only)));
    }
    Ok(methods)
}

/// Learns a dense model without fields.
fn learn(truth: &Truth, (name, method): &Named, plan: Plan, progress: impl Fn(u64)) -> Result<Cell, Failure> {
    let family = IsingFamily { sites: truth.sites() };
    let point = |theta: &[Block], iteration| Point { iteration, log_rmse: truth.log_rmse(theta) };
    let start = family.start(&[], &mut LaneRng::seed_from_u64(plan.seed));
    let (mut series, mut clock) = (vec![point(&start, 0)], Clock { seconds: vec![0.0] });
    let learned = watch(Learner::new(&family, truth.data(), *method, plan), |look, seconds| {
        if look.iteration % EVERY == 0 || look.iteration == plan.iterations {
            series.push(point(look.theta, look.iteration));
            clock.seconds.push(seconds);
        }
        progress(1);
        Ok(())
    })?;
    Ok(Cell { method: name.clone(), evaluations: learned.evaluations, series, clock })
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let side = options.side.unwrap_or(if common.quick { 9 } else { 25 });
    let samples = options.samples.unwrap_or(if common.quick { 1000 } else { 2000 });
    let plan = Plan {
        seed: common.seed,
        iterations: u64::from(options.iterations.unwrap_or(if common.quick { 200 } else { 1000 })),
        batch: options.batch,
        replay: 4 * options.batch,
        rate: options.rate,
        lasso: options.lasso,
        biases: false,
        ..Plan::default()
    };
    let methods = methods(options)?;
    // Another seed than any method's.
    let truth =
        Truth::sample_torus(u32::from(side), options.coupling, (samples as usize, SWEEPS), !common.seed);
    let truth = truth.map_err(|error| Failure::Option(format!("--coupling: {error}")))?;
    let out = common.folder("learn_ising");
    let kept = Cells::new(&out, options.resume)?;
    truth.data().write(&out.join("learn_ising.bits"))?;

    let progress = Progress::new(common.quiet, plan.iterations * methods.len() as u64);
    let cells = methods.par_iter().map(|method| {
        let name = &method.0;
        let question = format!("side {side}, coupling {}, {samples} samples, {plan:?}", options.coupling);
        let mut made = 0;
        let cell = kept.answer(name, &question, || {
            let cell = learn(&truth, method, plan, |work| progress.advance(work));
            made = plan.iterations;
            cell.map_err(|error| Failure::Option(format!("{name}: {error}")))
        });
        progress.advance(plan.iterations - made);
        cell
    });
    let cells: Vec<Cell> = cells.collect::<Result<_, Failure>>()?;
    drop(progress);

    let last = |cell: &Cell| cell.series.last().map_or(f64::NAN, |point| point.log_rmse);
    let work = plan.iterations as f64 * f64::from(plan.batch);
    let rows = cells.iter().map(|cell| Row {
        method: &cell.method,
        energies_per_sample: cell.evaluations as f64 / work,
        final_log_rmse: last(cell),
        series: &cell.series,
    });
    let result = Report {
        example: "learn_ising",
        side_sites: side,
        coupling_edges_twice: options.coupling,
        samples: samples as usize,
        sweeps_per_sample: SWEEPS,
        plan,
        log_rmse_of_no_coupling: cells.first().map_or(f64::NAN, |cell| cell.series[0].log_rmse),
        rows: rows.collect(),
    };
    report::json(&out.join("learn_ising.json"), &result)?;
    let timing: Vec<Timing<'_>> = cells.iter().map(|cell| timing(cell, plan)).collect();
    report::json(&out.join("learn_ising.timing.json"), &timing)?;
    let table = table(&result);
    report::write(&out.join("learn_ising.md"), table.as_bytes())?;
    plot::save(
        &out.join("learn_ising.svg"),
        &panels(&cells, |cell, index| cell.series[index].iteration as f64, "iterations"),
    )?;
    plot::save(
        &out.join("learn_ising.timing.svg"),
        &panels(&cells, |cell, index| cell.clock.seconds[index], "processor seconds"),
    )?;
    let times: String = timing
        .iter()
        .map(|row| format!("{:>24}: {:.2} ms an iteration\n", row.method, row.milliseconds_per_iteration))
        .collect();
    common.say(&format!("{table}\n{times}\nResults: {}", out.display()));
    Ok(())
}

fn timing(cell: &Cell, plan: Plan) -> Timing<'_> {
    let total = cell.clock.seconds.last().copied().unwrap_or(0.0);
    Timing {
        method: &cell.method,
        milliseconds_per_iteration: 1e3 * total / plan.iterations as f64,
        seconds: &cell.clock.seconds,
    }
}

fn table(report: &Report<'_>) -> String {
    let mut text = format!(
        "{0}×{0} torus, σ = {1}, {2} samples, {3} iterations of {4} samples; ln RMSE of no coupling: {5:.3}\n\n\
         | method | energies a sample | ln RMSE half-way | ln RMSE |\n|---|---:|---:|---:|\n",
        report.side_sites,
        report.coupling_edges_twice,
        report.samples,
        report.plan.iterations,
        report.plan.batch,
        report.log_rmse_of_no_coupling
    );
    for row in &report.rows {
        let half = row.series[row.series.len() / 2].log_rmse;
        text += &format!(
            "| {} | {:.0} | {half:.3} | {:.3} |\n",
            row.method, row.energies_per_sample, row.final_log_rmse
        );
    }
    text
}

/// Samplers at few steps and at many, and objectives, each group in a panel.
fn panels(cells: &[Cell], x: impl Fn(&Cell, usize) -> f64, against: &str) -> Vec<plot::Panel> {
    let group = |title: &str, member: &dyn Fn(&str) -> bool| plot::Panel {
        title: title.into(),
        x: against.into(),
        y: "ln RMSE of the couplings".into(),
        log_from: None,
        level: None,
        curves: cells
            .iter()
            .filter(|cell| member(&cell.method))
            .map(|cell| plot::Curve {
                label: cell.method.clone(),
                points: (0..cell.series.len()).map(|k| (x(cell, k), cell.series[k].log_rmse)).collect(),
            })
            .collect(),
    };
    let panels = [
        group("Five steps an iteration", &|name| name.ends_with(" 5 steps")),
        group("Twenty-five steps", &|name| name.ends_with(" 25 steps")),
        group("Other numbers of steps", &|name| {
            name.ends_with("steps") && ![" 5 steps", " 25 steps"].iter().any(|end| name.ends_with(end))
        }),
        group("Without chains", &|name| !name.starts_with("PCD")),
    ];
    panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect()
}
