//! Ego graphs of a citation network, learned as an energy over the bits of their edges, and new ones drawn from it.
//!
//! `cargo run --release --example learn_graphs` learns a network by ratio matching, RMwGGIS, the paper's advanced form,
//! and persistent chains of GWG and DMALA, and compares degrees and clustering of the graphs it generates with those
//! held out (RMwGGIS §5.2). Every network is a cell of its own: `--resume` goes on where a run was stopped.

use bitmc::random::uniform;
use bitmc::{GibbsWithGradients, LaneRng, Langevin, Rng, SeedableRng};
use bitmc_desktop::learn::{Family, Method, Mover, NetworkFamily, Objective, Plan};
use bitmc_examples::cells::Cells;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::graphs::{self, Graph, Nearness, PAIRS, nearness};
use bitmc_examples::progress::Progress;
use bitmc_examples::teach::{self, Lesson, Named, chains, objectives};
use bitmc_examples::{plot, report};
use clap::Parser;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Learn ego graphs, and generate new ones
#[derive(Parser, Debug)]
#[command(name = "learn_graphs", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Changes of the parameters by each method [default: 2000, with --quick 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    iterations: Option<u64>,

    /// Draws of RMwGGIS
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = cli::draws)]
    draws: usize,

    /// Steps of every persistent chain for one change
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: u64,

    /// Units of each of two hidden layers [default: 64, with --quick 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    hidden: Option<u16>,

    /// Samples of one change, and persistent chains
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,

    /// Adam's learning rate; it falls to a tenth
    #[arg(long, value_name = "RATE", default_value_t = 0.005, value_parser = cli::rate())]
    rate: f32,

    /// Weight decay
    #[arg(long, value_name = "STRENGTH", default_value_t = 0.001, value_parser = cli::penalty())]
    decay: f32,

    /// Graphs to generate [default: 400, with --quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    generated: Option<u32>,

    /// Gibbs sweeps behind each of them [default: 100, with --quick 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sweeps: Option<u64>,

    /// File of graphs [default: examples/data/citeseer/ego_small_200.txt of this repository]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// Four graphs of five are learned from (RMwGGIS §5.2).
const LEARNED: (usize, usize) = (4, 5);

/// What was learned by one method.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cell {
    lesson: Lesson,
    /// The bits of the graphs that were generated.
    generated: Vec<Vec<u32>>,
}

/// What a set of graphs shows.
#[derive(Serialize)]
struct Shown {
    graphs: String,
    /// Squared MMD to those held out.
    to_held_out: Nearness,
    ego_share: f64,
    mean_vertices: f64,
    mean_edges: f64,
}

/// A method's row of `learn_graphs.json`.
#[derive(Serialize)]
struct Row<'c> {
    shown: Shown,
    energies_per_sample: f64,
    /// ln J of objectives, the contrast of energies of chains.
    losses: &'c [(u64, f64)],
}

/// Everything that `learn_graphs.json` says.
#[derive(Serialize)]
struct Report<'c> {
    example: &'static str,
    hidden: usize,
    plan: Plan,
    steps_of_chains: u64,
    sweeps_of_gibbs: u64,
    graphs_learned_from: usize,
    graphs_held_out: usize,
    beside: Vec<Shown>,
    rows: Vec<Row<'c>>,
}

/// A row of `learn_graphs.timing.json`.
#[derive(Serialize)]
struct Timing<'c> {
    method: &'c str,
    milliseconds_per_iteration: f64,
}

fn main() -> ExitCode {
    cli::main(|options: Options| options.common.pool()?.install(|| run(&options)))
}

fn methods(options: &Options) -> Result<Vec<Named>, Failure> {
    let (gradients, langevin) = (GibbsWithGradients::new(1)?, Langevin::adjusted(0.2)?);
    let draws = options.draws;
    let alone = objectives([Objective::RatioMatching, Objective::Guided(draws), Objective::Advanced(draws)]);
    let moved = [
        chains("GWG", Mover::Gradients(gradients), options.steps),
        chains("DMALA", Mover::Langevin(langevin), options.steps),
    ];
    Ok(alone.chain(moved).collect())
}

/// Shuffled by the seed: those to learn from, and those held out.
fn split(options: &Options) -> Result<(Vec<Graph>, Vec<Graph>), Failure> {
    let here = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data/citeseer/ego_small_200.txt"));
    let path = options.data.clone().unwrap_or_else(here);
    let mut graphs = graphs::read(&path)?;
    if graphs.len() < 10 {
        return Err(Failure::file(&path, format!("{} graphs, where 10 are needed", graphs.len())));
    }
    let mut rng = LaneRng::seed_from_u64(!options.common.seed);
    for last in (1..graphs.len()).rev() {
        graphs.swap(last, rng.next_u32() as usize % (last + 1));
    }
    let held_out = graphs.split_off(graphs.len() * LEARNED.0 / LEARNED.1);
    Ok((graphs, held_out))
}

fn make(
    method: Method,
    (train, hidden, plan): (&[Graph], usize, Plan),
    drawn: (u32, u64),
    progress: &Progress,
) -> Result<Cell, Failure> {
    let family = NetworkFamily::new(PAIRS.sites(), &[hidden; 2]);
    let data = |rng: &mut LaneRng, words: &mut [u32]| {
        train[rng.next_u32() as usize % train.len()].encode(rng, words);
    };
    let (theta, lesson) = teach::learn(&family, None, data, (method, plan), |work| progress.advance(work))?;
    let drawn = teach::sample(&family.energy(&theta, &mut [])?, 1.0, drawn, !plan.seed)?;
    Ok(Cell { lesson, generated: drawn.rows().map(<[u32]>::to_vec).collect() })
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let by = |full, quick| if common.quick { quick } else { full };
    let plan = Plan {
        seed: common.seed,
        iterations: options.iterations.unwrap_or(by(2000, 300)),
        batch: options.batch,
        rate: options.rate,
        decay: options.decay,
        ..teach::NETWORK
    };
    let hidden = options.hidden.map_or(by(64, 32) as usize, usize::from);
    let generated = options.generated.unwrap_or(by(400, 100) as u32);
    let sweeps = options.sweeps.unwrap_or(by(100, 50));
    let methods = methods(options)?;
    let (train, held_out) = split(options)?;
    let out = common.folder("learn_graphs");
    let kept = Cells::new(&out, options.resume)?;

    let progress = Progress::new(common.quiet, plan.iterations * methods.len() as u64);
    let question =
        format!("{hidden} units, {plan:?}, {} graphs, {generated} after {sweeps} sweeps", train.len());
    let cells = methods.par_iter().map(|(name, method)| {
        let mut made = 0;
        let cell = kept.answer(name, &question, || {
            made = plan.iterations;
            let cell = make(*method, (&train, hidden, plan), (generated, sweeps), &progress);
            cell.map_err(|error| Failure::Option(format!("{name}: {error}")))
        });
        progress.advance(plan.iterations - made);
        cell
    });
    let cells: Vec<Cell> = cells.collect::<Result<_, Failure>>()?;
    drop(progress);

    let mut sets = vec![
        ("held out".to_string(), held_out.clone()),
        ("learned from".into(), train.clone()),
        ("independent edges".into(), independent(&train, generated, common.seed)),
    ];
    let decode = |cell: &Cell| cell.generated.iter().map(|words| Graph::decode(words)).collect();
    sets.extend(methods.iter().zip(&cells).map(|((name, _), cell)| (name.clone(), decode(cell))));
    let mut shown = sets[1..].iter().map(|(name, graphs)| show(name, graphs, &held_out));
    let beside: Vec<Shown> = shown.by_ref().take(2).collect();
    let work = plan.iterations as f64 * f64::from(plan.batch);
    let rows = shown.zip(&cells).map(|(shown, cell)| Row {
        shown,
        energies_per_sample: cell.lesson.evaluations as f64 / work,
        losses: &cell.lesson.losses,
    });
    let result = Report {
        example: "learn_graphs",
        hidden,
        plan,
        steps_of_chains: options.steps,
        sweeps_of_gibbs: sweeps,
        graphs_learned_from: train.len(),
        graphs_held_out: held_out.len(),
        beside,
        rows: rows.collect(),
    };
    report::json(&out.join("learn_graphs.json"), &result)?;
    let timing = methods.iter().zip(&cells).map(|((method, _), cell)| Timing {
        method,
        milliseconds_per_iteration: 1e3 * cell.lesson.seconds / plan.iterations as f64,
    });
    let timing: Vec<Timing<'_>> = timing.collect();
    report::json(&out.join("learn_graphs.timing.json"), &timing)?;
    let table = table(&result);
    report::write(&out.join("learn_graphs.md"), table.as_bytes())?;
    graphs::drawing(&out.join("learn_graphs.svg"), &sets)?;
    plot::save(&out.join("learn_graphs.losses.svg"), &panels(&result))?;
    let times: String = timing
        .iter()
        .map(|row| format!("{:>24}: {:.2} ms an iteration\n", row.method, row.milliseconds_per_iteration))
        .collect();
    common.say(&format!("{table}\n{times}\nResults: {}", out.display()));
    Ok(())
}

/// Graphs in which each pair is linked as often as in those to learn from, and independently.
fn independent(train: &[Graph], count: u32, seed: u64) -> Vec<Graph> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let (mut words, mut means) = (vec![0; PAIRS.words()], vec![0.0; PAIRS.sites()]);
    for graph in train {
        graph.encode(&mut rng, &mut words);
        for (bit, mean) in means.iter_mut().enumerate() {
            *mean += (words[bit / 32] >> (bit % 32) & 1) as f32 / train.len() as f32;
        }
    }
    let mut draw = || {
        words.fill(0);
        for (bit, &mean) in means.iter().enumerate() {
            words[bit / 32] |= u32::from(uniform(&mut rng) < mean) << (bit % 32);
        }
        Graph::decode(&words)
    };
    (0..count).map(|_| draw()).collect()
}

fn show(name: &str, graphs: &[Graph], held_out: &[Graph]) -> Shown {
    // A graph without edges has no vertices left, and no histogram.
    let some: Vec<Graph> = graphs.iter().filter(|graph| !graph.is_empty()).cloned().collect();
    let mean = |of: fn(&Graph) -> f64| graphs.iter().map(of).sum::<f64>() / graphs.len() as f64;
    Shown {
        graphs: name.into(),
        to_held_out: nearness(&some, held_out),
        ego_share: mean(|graph| f64::from(u8::from(graph.is_ego()))),
        mean_vertices: mean(|graph| graph.len() as f64),
        mean_edges: mean(|graph| graph.edges() as f64),
    }
}

fn table(report: &Report<'_>) -> String {
    let mut text = format!(
        "Networks of two layers of {}, {} iterations of {} graphs; squared MMD to {} graphs held out\n\n\
         | graphs | degree | clustering | ego graphs | vertices | edges | energies a sample |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
        report.hidden, report.plan.iterations, report.plan.batch, report.graphs_held_out
    );
    let mut line = |shown: &Shown, energies: String| {
        let _ = writeln!(
            text,
            "| {} | {:.4} | {:.4} | {:.0} % | {:.1} | {:.1} | {energies} |",
            shown.graphs,
            shown.to_held_out.degree,
            shown.to_held_out.clustering,
            100.0 * shown.ego_share,
            shown.mean_vertices,
            shown.mean_edges
        );
    };
    report.beside.iter().for_each(|shown| line(shown, String::new()));
    report.rows.iter().for_each(|row| line(&row.shown, format!("{:.0}", row.energies_per_sample)));
    text
}

fn panels(report: &Report<'_>) -> Vec<plot::Panel> {
    let panel = |title: &str, y: &str, chains: bool| plot::Panel {
        title: title.into(),
        x: "iterations".into(),
        y: y.into(),
        log_from: None,
        level: None,
        curves: report
            .rows
            .iter()
            .filter(|row| row.shown.graphs.starts_with("PCD") == chains)
            .map(|row| plot::Curve {
                label: row.shown.graphs.clone(),
                points: row.losses.iter().map(|&(iteration, loss)| (iteration as f64, loss)).collect(),
            })
            .collect(),
    };
    vec![
        panel("Objectives of the graphs alone", "ln J", false),
        panel("Persistent chains", "E of graphs less E of chains", true),
    ]
}
