//! What a step costs: over the number of sites, over the number of edges, over threads.
//!
//! `cargo run --release --example cost` measures the kernels of Ising models on tori of 25 to 10⁶ sites and on random graphs
//! of 10⁴ sites and up to 1.6·10⁵ edges, each tuned to accept .574 of its moves; `--quick` stops at 10⁴, `--resume`
//! goes on where a run was stopped.

use bitmc::batch::{Batch, BatchKernel, BatchSite};
use bitmc::energy::{Edge, Entry, SparseBuffers};
use bitmc::step::{IsingLangevin, ParameterError, SequentialGibbs};
use bitmc::tune::RateTuner;
use bitmc::{Chain, Ising, Kernel, LaneRng, Langevin, SeedableRng, torus};
use bitmc_examples::cells::Cells;
use bitmc_examples::chains::{VecChain, memory};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::plot::{self, Curve, Panel};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use bitmc_examples::targets::uniform;
use clap::Parser;
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

/// What a step costs: over sites, edges and threads
#[derive(Parser, Debug)]
#[command(name = "cost", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// Sides of the tori.
const SIDES: [u32; 7] = [5, 10, 32, 100, 316, 560, 1000];
/// Edges a site on the random graphs.
const EDGES: [u32; 5] = [1, 2, 4, 8, 16];
const SITES: u32 = 10_000;

/// One measurement: `cost.json` has all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    graph: String,
    kernel: String,
    sites: usize,
    edges: usize,
    /// Of the tuned kernel; none for Gibbs.
    step_size: Option<f32>,
    acceptance: f64,
    flips_per_step: f64,
    ns_per_site_and_step: f64,
    /// Of the couplings and one chain, or a sixteenth of a batch.
    bytes: usize,
}

/// Chains a second by a number of threads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Threads {
    threads: usize,
    steps_per_second: f64,
}

fn main() -> ExitCode {
    cli::main(|options: Options| run(&options))
}

fn run(options: &Options) -> Result<(), Failure> {
    let common = &options.common;
    let out = common.folder("cost");
    report::make_folder(&out)?;
    let kept = Cells::new(&out, options.resume)?;
    let question = format!("seed {}, quick: {}", common.seed, common.quick);
    let cell = |graph, sites, edges: &[Edge]| -> Result<Vec<Row>, Failure> {
        let name = format!("{graph} {sites} {}", edges.len());
        kept.answer(&name, &question, || measure(graph, sites, edges, common))
    };
    let sides = if common.quick { &SIDES[..4] } else { &SIDES };
    let graphs = if common.quick { &EDGES[..2] } else { &EDGES };
    let progress = Progress::new(common.quiet, (sides.len() + graphs.len()) as u64);
    let mut rows = Vec::new();
    for &side in sides {
        progress.note(format!("{side} × {side} sites"));
        // Couplings of both signs, the same at every run.
        let edges: Vec<Edge> = torus(side, side, 0.0)
            .enumerate()
            .map(|(edge, (a, b, _))| (a, b, ((edge * 7919 % 1000) as f32 - 499.5) / 1000.0))
            .collect();
        rows.extend(cell("torus", side * side, &edges)?);
        progress.advance(1);
    }
    for &each in graphs {
        progress.note(format!("{SITES} sites, {each} edges a site"));
        let edges = uniform(SITES, each * SITES, 0.5 / (each as f32).sqrt(), common.seed);
        rows.extend(cell("random", SITES, &edges)?);
        progress.advance(1);
    }
    drop(progress);
    let threads: Vec<Threads> = kept.answer("threads", &question, || threads(common))?;
    report::json(&out.join("cost.json"), &(&rows, &threads))?;
    let text = table(&rows, &threads);
    report::write(&out.join("cost.md"), text.as_bytes())?;
    plot::save(&out.join("cost.svg"), &[panel(&rows, "torus"), panel(&rows, "random")])?;
    common.say(&format!("{text}\nResults: {}", out.display()));
    Ok(())
}

/// Every kernel on one graph.
fn measure(graph: &str, sites: u32, edges: &[Edge], common: &Common) -> Result<Vec<Row>, Failure> {
    let (number, seed) = (sites as usize, common.seed);
    let (mut ends, mut linear) = (vec![0; number], vec![0; number]);
    let mut entries = vec![Entry::default(); 2 * edges.len()];
    let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let model = Ising::spins_edges_once(number, edges.iter().copied(), &[], lent);
    let model = &model.map_err(Failure::option)?;
    let couplings = 8 * number + 2 * edges.len() * size_of::<Entry>();
    let chain_bytes = couplings + 12 * number.div_ceil(32) + 4 * 64 * number.div_ceil(16);
    let rounds = (if common.quick { 400_000 } else { 40_000_000 } / number).clamp(4, 20_000);
    let mut rows = Vec::new();
    let mut push = |kernel: &str, step_size, bytes, (ns, acceptance, flips): (f64, f64, f64)| {
        let (sites, edges) = (number, edges.len());
        let ns_per_site_and_step = ns / number as f64;
        rows.push(Row {
            graph: graph.into(),
            kernel: kernel.into(),
            sites,
            edges,
            step_size,
            acceptance,
            flips_per_step: flips,
            ns_per_site_and_step,
            bytes,
        });
    };
    let (step_size, mut chain) = tuned(model, seed, Langevin::adjusted)?;
    let kernel = Langevin::adjusted(step_size).map_err(Failure::option)?;
    push("Langevin", Some(step_size), chain_bytes, time(&mut chain, &kernel, rounds, seed));
    let (step_size, mut chain) = tuned(model, seed, IsingLangevin::adjusted)?;
    let kernel = IsingLangevin::adjusted(step_size).map_err(Failure::option)?;
    push("IsingLangevin", Some(step_size), chain_bytes, time(&mut chain, &kernel, rounds, seed));
    push("SequentialGibbs", None, chain_bytes, time(&mut chain, &SequentialGibbs, rounds, seed));
    let batch_bytes = couplings / 16 + number * size_of::<BatchSite>() / 16;
    let start = chain.state();
    let mut batch = Batch::new(model, vec![BatchSite::new(); number], start).map_err(Failure::option)?;
    let few = (rounds / 8).max(2);
    let langevin = time_batch(&mut batch, &kernel, few, seed);
    push("IsingLangevin, sixteen chains", Some(step_size), batch_bytes, langevin);
    push(
        "SequentialGibbs, sixteen chains",
        None,
        batch_bytes,
        time_batch(&mut batch, &SequentialGibbs, few, seed),
    );
    Ok(rows)
}

/// The step size at which a kernel accepts .574 of its moves, and a chain that has come there from fair bits.
fn tuned<'m, K: Kernel<Ising<'m>>>(
    model: &'m Ising<'m>,
    seed: u64,
    kernel: impl Fn(f32) -> Result<K, ParameterError>,
) -> Result<(f32, VecChain<'m, Ising<'m>>), Failure> {
    let mut rng = LaneRng::seed_from_u64(seed);
    let mut chain = Chain::random(model, memory(model), &mut rng).map_err(Failure::option)?;
    (0..50).for_each(|_| _ = chain.step(&SequentialGibbs, &mut rng));
    // Near the end: from .1, a chain of 10⁶ sites accepts nothing that a tuner could learn from.
    let start = 0.1 * (1e4 / model.form().sites() as f32).powf(0.1);
    let rate = RateTuner::LOCALLY_BALANCED;
    let mut tuner = RateTuner::new(start, (0.02, 2.0), rate).map_err(Failure::option)?;
    for _ in 0..400 {
        let now = kernel(tuner.parameter()).map_err(Failure::option)?;
        tuner.observe(&chain.step(&now, &mut rng));
    }
    tuner.freeze();
    Ok((tuner.parameter(), chain))
}

/// Nanoseconds of processor time a step, the best of five runs; acceptance; flips a step.
fn time<'m, K: Kernel<Ising<'m>>>(
    chain: &mut VecChain<'m, Ising<'m>>,
    kernel: &K,
    steps: usize,
    seed: u64,
) -> (f64, f64, f64) {
    let mut rng = LaneRng::seed_from_u64(seed);
    best(steps, 1, || {
        let info = chain.step(kernel, &mut rng);
        (u32::from(info.accepted), info.moved())
    })
}

/// As [`time`], a chain's share.
fn time_batch<K: BatchKernel>(
    batch: &mut Batch<'_, Vec<BatchSite>>,
    kernel: &K,
    steps: usize,
    seed: u64,
) -> (f64, f64, f64) {
    let mut rng = LaneRng::seed_from_u64(seed);
    best(steps, 16, || {
        let info = batch.step(kernel, &mut rng);
        let moved = info.proposed.iter().enumerate();
        let moved = moved.filter(|(chain, _)| (info.accepted >> chain) & 1 != 0).map(|(_, moved)| moved).sum();
        (info.accepted.count_ones(), moved)
    })
}

fn best(steps: usize, chains: u32, mut step: impl FnMut() -> (u32, u32)) -> (f64, f64, f64) {
    let all = steps as f64 * f64::from(chains);
    let (mut ns, mut accepted, mut moved) = (f64::INFINITY, 0.0, 0.0);
    for run in 0..6 {
        (accepted, moved) = (0.0, 0.0);
        let start = ThreadTime::now();
        for _ in 0..steps {
            let (yes, flips) = step();
            accepted += f64::from(yes);
            moved += f64::from(flips);
        }
        let each = start.elapsed().as_nanos() as f64 / all;
        // The first run warms up.
        ns = if run > 0 { ns.min(each) } else { ns };
    }
    (ns, accepted / all, moved / all)
}

/// Sixteen chains on a 64 × 64 torus, dealt out to one thread and to two: seconds on the wall.
fn threads(common: &Common) -> Result<Vec<Threads>, Failure> {
    let sites = 4096;
    let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
    let mut entries = vec![Entry::default(); 4 * sites];
    let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let model = Ising::spins_edges_once(sites, torus(64, 64, 0.3), &[], lent);
    let model = &model.map_err(Failure::option)?;
    let kernel = IsingLangevin::adjusted(0.115).map_err(Failure::option)?;
    let steps = if common.quick { 200 } else { 4_000 };
    [1, 2]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::option)?;
            let chains: Result<Vec<_>, _> = (0..16)
                .map(|number| {
                    let mut rng = LaneRng::stream(common.seed, number);
                    Chain::random(model, memory(model), &mut rng).map(|chain| (chain, rng))
                })
                .collect();
            let mut chains = chains.map_err(Failure::option)?;
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = Instant::now();
                pool.install(|| {
                    chains.par_iter_mut().for_each(|(chain, rng)| {
                        (0..steps).for_each(|_| _ = chain.step(&kernel, rng));
                    });
                });
                best = best.min(start.elapsed().as_secs_f64());
            }
            Ok(Threads { threads, steps_per_second: f64::from(16 * steps) / best })
        })
        .collect()
}

fn panel(rows: &[Row], graph: &str) -> Panel {
    let rows = || rows.iter().filter(|row| row.graph == graph);
    let over_sites = graph == "torus";
    let mut curves: Vec<Curve> = Vec::new();
    for row in rows() {
        let x = if over_sites { row.sites } else { row.edges } as f64;
        let point = (x, row.ns_per_site_and_step);
        match curves.iter_mut().find(|curve| curve.label == row.kernel) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { label: row.kernel.clone(), points: vec![point] }),
        }
    }
    let least = rows().map(|row| row.ns_per_site_and_step).fold(f64::MAX, f64::min);
    Panel {
        title: if over_sites {
            "Tori".into()
        } else {
            format!("Random graphs of {} sites", plot::grouped(&SITES.to_string()))
        },
        x: if over_sites { "sites" } else { "edges" }.into(),
        y: "ns a site and step".into(),
        log_from: Some(0.3 * least),
        level: None,
        curves,
    }
}

fn table(rows: &[Row], threads: &[Threads]) -> String {
    let mut text = String::from(
        "| graph | sites | edges | kernel | ns a site and step | acceptance | flips a step | bytes a site |\n\
         |---|---:|---:|---|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let Row {
            graph,
            sites,
            edges,
            kernel,
            ns_per_site_and_step: ns,
            acceptance,
            flips_per_step: flips,
            ..
        } = row;
        let bytes = row.bytes / row.sites;
        let _ = writeln!(
            text,
            "| {graph} | {sites} | {edges} | {kernel} | {ns:.2} | {acceptance:.2} | {flips:.1} | {bytes} |"
        );
    }
    if let [one, .., two] = threads {
        let times = two.steps_per_second / one.steps_per_second;
        let _ = writeln!(
            text,
            "\nSixteen chains on a 64 × 64 torus: {:.0} steps a second on one thread, {:.0} on {}: {times:.2} times.",
            one.steps_per_second, two.steps_per_second, two.threads
        );
    }
    text
}
