//! Maximum cuts of graphs in the rudy format, as in the Gset collection, by three methods of the library's annealer.
//!
//! `cargo run --release --example maxcut -- examples/data/gset/G1.txt` prints the best cut that each finds in its share of
//! the time, and the best known one. It writes the best partition. Each method is a cell of its own: `--resume` goes on
//! where a run was stopped.

use bitmc::Packed;
use bitmc_desktop::Method;
use bitmc_examples::bits::BitRows;
use bitmc_examples::cells::Cells;
use bitmc_examples::checkpoint::hash;
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::formats::rudy::Graph;
use bitmc_examples::maxcut::{self, Budget, Found, search};
use bitmc_examples::plot::{self, Curve, Panel};
use bitmc_examples::report;
use clap::Parser;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum cuts by annealing
#[derive(Parser, Debug)]
#[command(name = "maxcut", version)]
struct Options {
    /// The graph: vertices and edges, then a line `a b weight` an edge, vertices counted from 1
    file: PathBuf,

    #[command(flatten)]
    common: Common,

    /// annealing, exchange or isoenergetic [default: all, one after the other]
    #[arg(long, value_name = "METHOD")]
    method: Option<Method>,

    /// Seconds, shared by the methods [default: 60, with --quick 15]
    #[arg(long, value_name = "N", conflicts_with = "sweeps", value_parser = seconds)]
    seconds: Option<f64>,

    /// Sweeps of each method instead of seconds: every machine finds the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    sweeps: Option<u64>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

const METHODS: [(Method, &str); 3] =
    [(Method::Annealing, "annealing"), (Method::Exchange, "exchange"), (Method::Isoenergetic, "isoenergetic")];

fn seconds(word: &str) -> Result<f64, String> {
    let value: f64 = word.parse().map_err(|_| format!("{word} is no number"))?;
    if (0.01..=1e6).contains(&value) { Ok(value) } else { Err(format!("{word} is not from 0.01 to 1e6")) }
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Failure> {
    let graph = Graph::read(&options.file)?;
    let bad = |error: &dyn std::fmt::Display| Failure::file(&options.file, error);
    if let Some(vertex) = graph.fields.iter().position(|&field| field != 0.0) {
        return Err(bad(&format!("vertex {} has a field: a cut has none", vertex + 1)));
    }
    let common = &options.common;
    let out = common.folder("maxcut");
    report::make_folder(&out)?;
    let methods = METHODS.into_iter().filter(|(method, _)| options.method.is_none_or(|only| only == *method));
    let seconds = options.seconds.unwrap_or(if common.quick { 15.0 } else { 60.0 });
    let share = seconds / methods.clone().count() as f64;
    let budget = options.sweeps.map_or(Budget::Seconds(share), Budget::Sweeps);
    let kept = Cells::new(&out, options.resume)?;
    // The graph by its edges, whatever its file is called.
    let question = format!("{:x}, {budget:?}, seed {}", hash(&format!("{:?}", graph.edges)), common.seed);
    let cell = |(method, name): (Method, &'static str)| -> Result<(&'static str, Found), Failure> {
        let chances = (common.seed, common.threads.map_or(0, usize::from));
        let make = || search(&graph, method, chances, budget, !common.quiet).map_err(|error| bad(&error));
        Ok((name, kept.checked(name, &question, |found: &Found| found.check(&graph), make)?))
    };
    let found = methods.map(cell).collect::<Result<Vec<_>, _>>()?;
    write(&options, &graph, &found, &out)
}

/// Everything that `maxcut.json` says.
#[derive(Serialize)]
struct Report {
    example: &'static str,
    graph: String,
    vertices: usize,
    edges: usize,
    seed: u64,
    /// None where the seconds decided.
    sweeps: Option<u64>,
    best_cut: serde_json::Value,
    best_known_cut: Option<serde_json::Value>,
    methods: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    method: &'static str,
    best_cut: serde_json::Value,
    runs: u64,
}

/// Everything that `maxcut.timing.json` says.
#[derive(Serialize)]
struct Timing {
    threads: usize,
    methods: Vec<Clock>,
}

#[derive(Serialize)]
struct Clock {
    method: &'static str,
    seconds_to_best: f64,
    /// Seconds, and the best cut from then on.
    curve: Vec<(f64, f64)>,
}

fn write(options: &Options, graph: &Graph, found: &[(&'static str, Found)], out: &Path) -> Result<(), Failure> {
    let name = options.file.file_stem().unwrap_or_default().to_string_lossy().to_string();
    let known = maxcut::best_known(&name);
    // The first of equals.
    let best = found.iter().map(|(_, found)| found);
    let best = best.reduce(|a, b| if b.cut > a.cut { b } else { a }).expect("one method or more");
    let line = |(method, found): &(&'static str, Found)| Line {
        method,
        best_cut: number(found.cut),
        runs: found.runs,
    };
    let report = Report {
        example: "maxcut",
        graph: name.clone(),
        vertices: graph.vertices,
        edges: graph.edges.len(),
        seed: options.common.seed,
        sweeps: options.sweeps,
        best_cut: number(best.cut),
        best_known_cut: known.map(number),
        methods: found.iter().map(line).collect(),
    };
    let last = |found: &Found| found.curve.last().map_or(0.0, |(seconds, _)| *seconds);
    let clock = |(method, found): &(&'static str, Found)| Clock {
        method,
        seconds_to_best: last(found),
        curve: found.curve.clone(),
    };
    let timing = Timing {
        threads: options.common.threads.map_or_else(rayon::current_num_threads, usize::from),
        methods: found.iter().map(clock).collect(),
    };

    let mut rows = BitRows::new(maxcut::layout(graph));
    let state = Packed::new(rows.layout(), &best.words).map_err(Failure::option)?;
    rows.push(state);
    rows.write(&out.join("maxcut.bits"))?;
    let sides = state.values().zip(1..).map(|(side, vertex): (u32, usize)| format!("{vertex} {side}\n"));
    report::write(&out.join("maxcut.partition.txt"), sides.collect::<String>().as_bytes())?;
    let (table, timed) = (table(&name, known, found, false), table(&name, known, found, true));
    report::write(&out.join("maxcut.md"), table.as_bytes())?;
    report::json(&out.join("maxcut.json"), &report)?;
    report::json(&out.join("maxcut.timing.json"), &timing)?;
    plot::save(&out.join("maxcut.timing.svg"), &[panel(&name, known, found)])?;
    options.common.say(&format!("{timed}\nthe partition and all numbers are in {}", out.display()));
    Ok(())
}

/// A cut as JSON: whole numbers without a point.
fn number(cut: f64) -> serde_json::Value {
    if cut.fract() == 0.0 && cut.abs() < 1e15 { (cut as i64).into() } else { cut.into() }
}

fn table(name: &str, known: Option<f64>, found: &[(&'static str, Found)], timed: bool) -> String {
    let (head, rule) = if timed { (" seconds to it |", "---:|") } else { ("", "") };
    let mut text = format!("| graph | method | best cut | best known |{head}\n|---|---|---:|---:|{rule}\n");
    for (method, found) in found {
        let known = known.map_or("–".into(), |known| known.to_string());
        let seconds = found.curve.last().map_or(0.0, |(seconds, _)| *seconds);
        let seconds = if timed { format!(" {seconds:.2} |") } else { String::new() };
        text.push_str(&format!("| {name} | {} | {} | {known} |{seconds}\n", method, number(found.cut)));
    }
    text
}

/// The best cut against seconds.
fn panel(name: &str, known: Option<f64>, found: &[(&'static str, Found)]) -> Panel {
    let end = found.iter().filter_map(|(_, found)| found.curve.last()).map(|(seconds, _)| *seconds);
    let end = end.fold(0.0, f64::max);
    let curve = |(method, found): &(&'static str, Found)| {
        // A staircase.
        let ends = found.curve.iter().skip(1).map(|(seconds, _)| *seconds).chain([end]);
        let steps = found.curve.iter().zip(ends);
        let points = steps.flat_map(|(&(seconds, cut), until)| [(seconds, cut), (until, cut)]);
        Curve { label: (*method).into(), points: points.collect() }
    };
    Panel {
        title: format!("Best cut of {name}"),
        x: "seconds, all threads together".into(),
        y: "cut".into(),
        log_from: None,
        level: known.map(|known| (known, "best known".into())),
        curves: found.iter().map(curve).collect(),
    }
}
