//! The Ising model of DLP §7.1: a 5×5 torus, `f = a sᵀAs + b Σs`, and every sampler beside the exact answers.
//!
//! `cargo run --release --example ising` first runs one chain in arrays on the stack, the energy a trait object.
//! Then it compares the samplers: flips against acceptance (Fig. 2 left), errors of the means against steps
//! and seconds (Fig. 3), effective sample size a second (Fig. 2 right).

use bitmc::stats::{Acceptance, BatchMeans, Watch};
use bitmc::step::{ChromaticGibbs, Colouring, EnumeratedGibbs, HammingBall, ParameterError, SequentialGibbs};
use bitmc::{
    Chain, Energy, Gibbs, GibbsWithGradients, Info, Ising, LaneRng, Langevin, Layout, LocallyBalanced, Packed,
    PathAuxiliary, RandomWalk, SeedableRng, SparseMemory, memory, torus,
};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::harness::{Cell, Plan, Sampler, Target, compare, leaders, table, timing_table, work};
use bitmc_examples::progress::Progress;
use bitmc_examples::summary::Against;
use bitmc_examples::{bars, exact, plot, report};
use clap::Parser;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Every sampler on a 5×5 Ising torus, beside the exact answers
#[derive(Parser)]
#[command(name = "ising", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Connectivity: f = a sᵀAs + b Σs, every edge counts twice
    #[arg(short, default_value_t = 0.1, value_parser = cli::within(-10.0, 10.0))]
    a: f32,

    /// Bias
    #[arg(short, default_value_t = 0.2, value_parser = cli::within(-10.0, 10.0))]
    b: f32,

    /// Independent chains of every sampler [default: 32, with --quick 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    chains: Option<u32>,

    /// Steps of each chain [default: 20000, with --quick 4000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(8..=100_000_000))]
    steps: Option<u64>,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

const L: Layout = Layout::binary(25);

/// Samplers of one model.
type Samplers<'s> = Vec<Sampler<'s, Ising<'s>>>;

/// The samplers of the table. Step sizes of DMALA and DULA as in DLP App. I.2, and DMALA's .6 as in Fig. 2.
fn samplers<'s>(colouring: Colouring<'s>) -> Result<Samplers<'s>, ParameterError> {
    Ok(vec![
        Sampler::kernel("DMALA", "α = 0.4", Langevin::adjusted(0.4)?),
        Sampler::kernel("DMALA-.6", "α = 0.6", Langevin::adjusted(0.6)?),
        Sampler::kernel("DULA", "α = 0.2", Langevin::unadjusted(0.2)?).biased(),
        Sampler::kernel("GWG-1", "", GibbsWithGradients::new(1)?),
        Sampler::kernel("GWG-4", "", GibbsWithGradients::new(4)?),
        Sampler::kernel("PAS-6", "", PathAuxiliary::new(6)?),
        Sampler::kernel("LB-1", "", LocallyBalanced),
        Sampler::kernel("RWM", "r = 4", RandomWalk::new(4.0)?),
        Sampler::kernel("Gibbs-1", "a random site a step", Gibbs::random(1)?),
        Sampler::kernel("Gibbs-block-4", "4 random sites a step", EnumeratedGibbs::new(L, 4)?),
        Sampler::kernel("HB-10-1", "", HammingBall::new(L, 10, 1)?),
        Sampler::of_model("Gibbs-sweep", "25 sites a step", SequentialGibbs, L.sites()),
        Sampler::of_model("Gibbs-chromatic", "25 sites a step", ChromaticGibbs::new(colouring), L.sites()),
    ])
}

/// A family of samplers for Fig. 2 left, from small steps to large ones.
struct Family<'s> {
    name: &'static str,
    members: Samplers<'s>,
}

fn families<'s>() -> Result<Vec<Family<'s>>, ParameterError> {
    let langevin = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5]
        .map(|size| Ok(Sampler::kernel(format!("DMALA α={size}"), "", Langevin::adjusted(size)?)));
    let indices = [1, 2, 3, 4, 6, 8, 12];
    let gradients = indices.map(|r| Ok(Sampler::kernel(format!("GWG-{r}"), "", GibbsWithGradients::new(r)?)));
    let paths = indices.map(|r| Ok(Sampler::kernel(format!("PAS-{r}"), "", PathAuxiliary::new(r)?)));
    let radii = [0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];
    let walks = radii.map(|r| Ok(Sampler::kernel(format!("RWM-{r}"), "", RandomWalk::new(r)?)));
    Ok(vec![
        Family { name: "DMALA, α = .1 to 1.5", members: langevin.into_iter().collect::<Result<_, _>>()? },
        Family { name: "GWG-R, R = 1 to 12", members: gradients.into_iter().collect::<Result<_, _>>()? },
        Family { name: "PAS-R, R = 1 to 12", members: paths.into_iter().collect::<Result<_, _>>()? },
        Family { name: "RWM, r = .5 to 12", members: walks.into_iter().collect::<Result<_, _>>()? },
    ])
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(options: Options) -> Result<(), Failure> {
    let (a, b) = (options.a, options.b);
    let answer = exact::torus(5, f64::from(a), f64::from(b));
    let mut lent = SparseMemory::<25, 100>::new();
    let model =
        Ising::spins_edges_twice(25, torus(5, 5, a), &[b; 25], lent.borrow()).map_err(Failure::option)?;
    hello(&options, &model, answer)?;
    let out = options.common.folder("ising");
    report::make_folder(&out)?;
    let pool = options.common.pool()?;
    pool.install(|| comparison(&options, &model, answer, &out))
}

/// One chain, watched.
fn hello(options: &Options, energy: &dyn Energy, answer: exact::Torus) -> Result<(), Failure> {
    let sampler = Langevin::adjusted(0.6).map_err(Failure::option)?;
    let mut rng = LaneRng::seed_from_u64(options.common.seed);
    let mut chain =
        Chain::random(energy, memory!(L, Ising::cache_len(25)), &mut rng).map_err(Failure::option)?;
    chain.run(&sampler, &mut rng, 1000, &mut Acceptance::new()); // burn-in
    let (mut accepted, mut spin, mut pair) =
        (Acceptance::new(), BatchMeans::<64>::new(), BatchMeans::<64>::new());
    let mut watch = Watch(|x: Packed<'_>, _: f32, _: &Info| {
        let edges = torus(5, 5, 1.0).filter(|&(a, b, _)| x.get(a as usize) == x.get(b as usize));
        spin.push(x.ones() as f32 * 2.0 / 25.0 - 1.0);
        pair.push(edges.count() as f32 * 2.0 / 50.0 - 1.0);
    });
    chain.run(&sampler, &mut rng, 200_000, &mut (&mut accepted, &mut watch));

    let (rate, moved) = (accepted.rate(), accepted.jump_distance());
    options.common.say(&format!("one chain: acceptance {rate:.3}, {moved:.2} sites move a step"));
    for (name, mean, exact) in [("mean spin ⟨s⟩", spin, answer.spin), ("on an edge ⟨ss'⟩", pair, answer.pair)]
    {
        let spread = match (mean.standard_error(), mean.ess()) {
            (Some(error), Some(ess)) => format!("± {error:.5}, exact {exact:.5}, ESS {ess:.0}"),
            _ => format!("exact {exact:.5}"),
        };
        options.common.say(&format!("{name:<16} {:.5} {spread}", mean.mean()));
    }
    Ok(())
}

fn comparison<'m>(
    options: &Options,
    model: &'m Ising<'m>,
    answer: exact::Torus,
    out: &Path,
) -> Result<(), Failure> {
    let common = &options.common;
    let (chains, steps) = if common.quick { (16, 4000) } else { (32, 20_000) };
    let (chains, steps) = (options.chains.unwrap_or(chains), options.steps.unwrap_or(steps));
    let plan = Plan { seed: common.seed, chains, burn_in: 0, steps };
    let scan = Plan { seed: common.seed, chains: 8, burn_in: 100, steps: 2000.min(steps) };
    let name = |what: &str| format!("{what} a={} b={}", options.a, options.b);
    let target = [Target::new(name("torus"), model).exact_means(vec![0.5 + 0.5 * answer.spin; 25])];
    let flips = [Target::new(name("scan"), model)];
    let mut classes = [0; Colouring::words(25, 5)];
    let colouring = Colouring::greedy(model.form(), &mut classes).map_err(Failure::option)?;
    let samplers = samplers(colouring).map_err(Failure::option)?;
    let families = families().map_err(Failure::option)?;

    let members: usize = families.iter().map(|family| family.members.len()).sum();
    let all = work(plan) * samplers.len() as u64 + work(scan) * members as u64;
    let progress = Progress::new(common.quiet, all);
    let mut scans = Vec::new();
    for family in &families {
        scans.push((family.name, compare(scan, &flips, &family.members, out, options.resume, &progress)?));
    }
    let cells = compare(plan, &target, &samplers, out, options.resume, &progress)?;
    drop(progress);
    write(options, answer, &cells, &scans, out)
}

/// Everything that `ising.json` says.
#[derive(Serialize)]
struct Report<'r> {
    example: &'static str,
    seed: u64,
    a: f32,
    b: f32,
    exact_mean_spin: f64,
    exact_mean_edge: f64,
    exact_log_z: f64,
    cells: Vec<&'r bitmc_examples::harness::Numbers>,
    flips_against_acceptance: Vec<&'r bitmc_examples::harness::Numbers>,
}

/// Everything that `ising.timing.json` says.
#[derive(Serialize)]
struct Timing<'r> {
    threads: usize,
    cells: Vec<&'r bitmc_examples::harness::Clock>,
}

fn write(
    options: &Options,
    answer: exact::Torus,
    cells: &[Cell],
    scans: &[(&str, Vec<Cell>)],
    out: &Path,
) -> Result<(), Failure> {
    let report = Report {
        example: "ising",
        seed: options.common.seed,
        a: options.a,
        b: options.b,
        exact_mean_spin: answer.spin,
        exact_mean_edge: answer.pair,
        exact_log_z: answer.log_z,
        cells: cells.iter().map(|cell| &cell.numbers).collect(),
        flips_against_acceptance: scans.iter().flat_map(|scan| &scan.1).map(|cell| &cell.numbers).collect(),
    };
    let clocks = cells.iter().map(|cell| &cell.clock).collect();
    let timing = Timing { threads: rayon::current_num_threads(), cells: clocks };
    let (numbers, times) = (table(cells), timing_table(cells));
    report::write(&out.join("ising.md"), numbers.as_bytes())?;
    report::write(&out.join("ising.timing.md"), times.as_bytes())?;
    report::json(&out.join("ising.json"), &report)?;
    report::json(&out.join("ising.timing.json"), &timing)?;
    plot::save(&out.join("ising.flips.svg"), &[flips(scans)])?;
    plot::save(&out.join("ising.svg"), &[errors(cells, Against::Steps)])?;
    plot::save(&out.join("ising.timing.svg"), &[errors(cells, Against::Seconds)])?;
    bars::save(&out.join("ising.ess.timing.svg"), &sizes(cells))?;
    options.common.say(&format!("\n{numbers}\n{times}\n{}", leaders(cells)));
    options.common.say(&format!("pictures and numbers are in {}", out.display()));
    Ok(())
}

/// Fig. 2 left.
fn flips(scans: &[(&str, Vec<Cell>)]) -> plot::Panel {
    let curve = |(name, cells): &(&str, Vec<Cell>)| plot::Curve {
        label: (*name).into(),
        points: cells
            .iter()
            .map(|cell| (cell.numbers.proposed_sites_per_step, cell.numbers.acceptance))
            .collect(),
    };
    plot::Panel {
        title: "Large proposals that are accepted".into(),
        x: "sites that a proposal changes".into(),
        y: "acceptance".into(),
        log_from: None,
        level: None,
        curves: scans.iter().map(curve).collect(),
    }
}

/// Fig. 3.
fn errors(cells: &[Cell], against: Against) -> plot::Panel {
    let curve = |cell: &Cell| {
        let scale = match against {
            Against::Steps => 1.0,
            Against::Seconds => cell.clock.microseconds_per_step * 1e-6,
        };
        let points = cell.numbers.series.iter().map(|point| (point.step as f64 * scale, point.log_rmse));
        plot::Curve { label: cell.numbers.sampler.clone(), points: points.collect() }
    };
    plot::Panel {
        title: "Error of a chain's means".into(),
        x: if against == Against::Steps { "steps" } else { "seconds of one chain" }.into(),
        y: "log RMSE".into(),
        log_from: None,
        level: None,
        curves: cells.iter().map(curve).collect(),
    }
}

/// Fig. 2 right: only samplers that keep the distribution.
fn sizes(cells: &[Cell]) -> bars::Bars {
    let (exact, others): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.numbers.exact);
    let others: Vec<&str> = others.iter().map(|cell| cell.numbers.sampler.as_str()).collect();
    let title = match others[..] {
        [] => "Effective samples a second of one core".into(),
        _ => format!("Effective samples a second of one core (not exact, left out: {})", others.join(", ")),
    };
    let bar = |cell: &Cell| (cell.numbers.sampler.clone(), cell.clock.ess_median_per_second.unwrap_or(0.0));
    bars::Bars { title, value: "median ESS a second".into(), bars: exact.into_iter().map(bar).collect() }
}
