//! Balanced samplers on the targets of AB (Sun and others 2023): Ising models on a torus and on a Barabási–Albert
//! graph, rotated and sparse lattice Gaussians, logistic regression and a quartic mixture.
//!
//! `cargo run --release --example balanced` tunes sixteen samplers on each as the paper does, says what it chose, and
//! freezes them. It compares their effective samples for 10⁴ queries and a second. Then it draws those of AB-trace over
//! (σ, α), with the adapted point marked.

use bitmc::noise::SparseMatrix;
use bitmc::{Energy, Ising, SparseMemory, torus};
use bitmc_examples::balanced::{
    Chosen, Curvature, Driver, Extent, Known, Rooms, Scan, Tuned, Tuning, momentum, scale, scan, settled,
    tunings,
};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::harness::{Cell, Clock, Numbers, Plan, Target, compare, mean, standard_error, work};
use bitmc_examples::progress::Progress;
use bitmc_examples::targets::{Gaussian, QuarticMixture, Regression, barabasi_albert};
use bitmc_examples::{heat, plot, report};
use clap::Parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Balanced samplers and their rivals on the targets of their paper
#[derive(Parser)]
#[command(name = "balanced", version)]
struct Options {
    #[command(flatten)]
    common: Common,

    /// Independent chains of every sampler [default: 20, with --quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    chains: Option<u32>,

    /// Steps of each chain, burn-in included [default: 100000, with --quick 1500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(500..=100_000_000))]
    steps: Option<u64>,

    /// Only targets whose name contains this, such as BA or logistic
    #[arg(long, value_name = "WORD")]
    only: Option<String>,

    /// Only the samplers of the paper and AB-edge, none that goes beyond them
    #[arg(long)]
    paper: bool,

    /// Only the time of a step of AB-edge and of DMALA, from 10³ to 10⁶ Ising sites
    #[arg(long, conflicts_with_all = ["chains", "steps", "only", "paper", "resume"])]
    scale: bool,

    /// Only second order with momentum and without, also with --only [chains: 8, steps: 300000]
    #[arg(long, conflicts_with_all = ["paper", "scale", "resume"])]
    momentum: bool,

    /// Only how much a tuning decides: samplers tuned from several seeds, by this library's rule and the printed one,
    /// also with --only [chains: 4, steps: 20000]
    #[arg(long, conflicts_with_all = ["paper", "scale", "momentum", "resume"])]
    tunings: bool,

    /// Go on with the cells that an earlier run with the same options has saved
    #[arg(long)]
    resume: bool,
}

/// The couplings of the paper's Ising models: high, critical and low temperature of the torus.
const COUPLINGS: [f32; 3] = [0.3, 0.4407, std::f32::consts::FRAC_1_SQRT_2];
/// The conditions L of its lattice Gaussians.
const CONDITIONS: [f64; 3] = [2.0, 10.0, 50.0];
/// Seed of the targets themselves: the same whatever `--seed` is.
const TARGETS: u64 = 1;
/// Gibbs sweeps before the burn-in of every chain.
const SWEEPS: u32 = 50;
/// Targets, samplers of each, and targets with a picture.
const COUNTS: [u64; 3] = [14, 16, 3];
/// The grid of the pictures.
const STEP_SIZES: [f32; 8] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0];
const BALANCES: [f32; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

fn main() -> ExitCode {
    cli::main(|options: Options| {
        // A first look leaves the results of hours alone.
        let alone = options.scale || options.momentum || options.tunings;
        let name = if options.common.quick && !alone { "balanced/quick" } else { "balanced" };
        let (out, pool) = (options.common.folder(name), options.common.pool()?);
        report::make_folder(&out)?;
        if options.scale {
            return times(&options.common, &out);
        }
        if options.momentum {
            return pool.install(|| moving(&options, &out));
        }
        if options.tunings {
            return pool.install(|| tuned_again(&options, &out));
        }
        pool.install(|| Comparison::new(&options, &out).run())
    })
}

/// How the time of a step grows.
fn times(common: &Common, out: &Path) -> Result<(), Failure> {
    let sides = if common.quick { &scale::SIDES[..3] } else { &scale::SIDES };
    let sizes =
        scale::scale(sides, &Progress::new(common.quiet, sides.iter().map(|&side| u64::from(side)).sum()))?;
    let table = scale::table(&sizes);
    report::json(&out.join("balanced.scale.timing.json"), &sizes)?;
    report::write(&out.join("balanced.scale.timing.md"), table.as_bytes())?;
    plot::save(&out.join("balanced.scale.timing.svg"), &[scale::picture(&sizes)])?;
    common.say(&format!("{table}\npicture and numbers are in {}", out.display()));
    Ok(())
}

/// What momentum gains.
fn moving(options: &Options, out: &Path) -> Result<(), Failure> {
    let common = &options.common;
    let (runs, steps) = if common.quick { (2, 2000) } else { (8, 300_000) };
    let (runs, steps) = (options.chains.unwrap_or(runs), options.steps.unwrap_or(steps));
    let lengths = momentum::Lengths { runs, steps };
    let only = options.only.as_deref().unwrap_or_default();
    let rows = momentum::study(lengths, only, &Progress::new(common.quiet, momentum::WORK))?;
    if rows.is_empty() {
        return Err(nothing());
    }
    report::json(&out.join("balanced.momentum.json"), &rows)?;
    report::write(&out.join("balanced.momentum.md"), momentum::table(&rows, false).as_bytes())?;
    let table = momentum::table(&rows, true);
    report::write(&out.join("balanced.momentum.timing.md"), table.as_bytes())?;
    common.say(&format!("{table}\nnumbers are in {}", out.display()));
    Ok(())
}

/// Rules of adaptation: the library's, as long as here and as long as the paper adapts, and the printed one.
const RULES: [tunings::Rule; 3] = [(false, 20), (false, 80), (true, 80)];

/// How much a tuning decides.
fn tuned_again(options: &Options, out: &Path) -> Result<(), Failure> {
    let common = &options.common;
    let (chains, steps, seeds) = if common.quick { (2, 2000, 2) } else { (4, 20_000, 5) };
    let (chains, steps) = (options.chains.unwrap_or(chains), options.steps.unwrap_or(steps));
    let study = tunings::Study {
        seeds,
        plan: Plan { seed: common.seed, chains, burn_in: steps / 10, steps },
        start: (SWEEPS, if common.quick { 1000 } else { 20_000 }),
        rules: if common.quick { &[(false, 1), (false, 4), (true, 4)] } else { &RULES },
    };
    // Not the critical and the cold torus, nor the rotated Gaussian of L = 50: these chains are too short for them.
    let graph = |graph: &str, coupling: f32, edges| (format!("{graph}, J = {coupling:.4}"), edges);
    let ba = |coupling| graph("BA-400-4", coupling, barabasi_albert(400, 4, coupling, TARGETS));
    let graphs = [graph("torus 20×20", COUPLINGS[0], torus(20, 20, COUPLINGS[0]).collect())];
    let graphs = graphs.into_iter().chain(COUPLINGS.map(ba));
    let gaussians = [
        ("rotated Gaussian, L = 2", Gaussian::rotated(100, 21, 2.0, TARGETS)),
        ("rotated Gaussian, L = 10", Gaussian::rotated(100, 21, 10.0, TARGETS)),
        ("sparse Gaussian, L = 2", Gaussian::cycle(100, 21, 2.0, TARGETS)),
        ("sparse Gaussian, L = 10", Gaussian::cycle(100, 21, 10.0, TARGETS)),
        ("sparse Gaussian, L = 50", Gaussian::cycle(100, 21, 50.0, TARGETS)),
        ("sparse Gaussian, L = 2, the other Λ", Gaussian::cycle_inverse(100, 21, 2.0, TARGETS)),
        ("sparse Gaussian, L = 10, the other Λ", Gaussian::cycle_inverse(100, 21, 10.0, TARGETS)),
    ];
    const BY_LEAST_SQUARES: [&str; 2] = ["logistic regression", "quartic mixture"];
    let wanted = |name: &str| options.only.as_ref().is_none_or(|word| name.contains(word));
    let graphs: Vec<_> = graphs.filter(|(name, _)| wanted(name)).collect();
    let gaussians: Vec<_> = gaussians.into_iter().filter(|(name, _)| wanted(name)).collect();
    let [logistic, quartic] = BY_LEAST_SQUARES.map(wanted);
    let targets = graphs.len() + gaussians.len() + usize::from(logistic) + usize::from(quartic);
    if targets == 0 {
        return Err(nothing());
    }
    let progress = Progress::new(common.quiet, targets as u64 * study.work());
    let mut rows = Vec::new();
    for (name, edges) in graphs {
        let mut memory = Box::new(SparseMemory::<400, 3200>::new());
        let model = Ising::spins_edges_once(400, edges, &[], memory.borrow()).map_err(Failure::option)?;
        let w = Curvature::of(&SparseMatrix::of(model.form()));
        rows.extend(study.on(&name, &model, Known::Whole(&w), &progress)?);
    }
    for (name, gaussian) in gaussians {
        let mut memory = gaussian.rows();
        let energy = gaussian.energy(&mut memory).map_err(Failure::option)?;
        let w = Curvature::of(&energy.precision());
        rows.extend(study.on(name, &energy, Known::Whole(&w), &progress)?);
    }
    if logistic {
        let data = Regression::new(100, 50, TARGETS);
        let energy = data.energy().map_err(Failure::option)?;
        rows.extend(study.on(BY_LEAST_SQUARES[0], &energy, Known::Nothing, &progress)?);
    }
    if quartic {
        let mixture = QuarticMixture::new(50, 21, 50, TARGETS);
        let energy = mixture.energy().map_err(Failure::option)?;
        rows.extend(study.on(BY_LEAST_SQUARES[1], &energy, Known::Nothing, &progress)?);
    }
    drop(progress);
    let table = tunings::table(&rows);
    report::json(&out.join("balanced.tunings.json"), &rows)?;
    report::write(&out.join("balanced.tunings.md"), table.as_bytes())?;
    common.say(&format!("{table}\nnumbers are in {}", out.display()));
    Ok(())
}

fn nothing() -> Failure {
    Failure::Option("--only: no target has this in its name".into())
}

/// Everything that is found, target by target.
struct Comparison<'o> {
    options: &'o Options,
    out: PathBuf,
    plan: Plan,
    driver: Driver,
    progress: Progress,
    found: Vec<Found>,
    pictures: Vec<heat::Panel>,
    scans: Vec<(Chosen, Vec<Cell>)>,
}

/// What is found of one target.
struct Found {
    target: String,
    tuned: Vec<Tuned>,
    cells: Vec<Cell>,
}

impl<'o> Comparison<'o> {
    fn new(options: &'o Options, out: &Path) -> Self {
        let common = &options.common;
        let (chains, steps) = if common.quick { (2, 1500) } else { (20, 100_000) };
        let (chains, steps) = (options.chains.unwrap_or(chains), options.steps.unwrap_or(steps));
        // The paper's shares: 20,000 steps of 100,000.
        let plan = Plan { seed: common.seed, chains, burn_in: steps / 5, steps: steps - steps / 5 };
        // The driver has no less than the paper's burn-in for a full run, and as much again to adapt.
        let tuning = plan.burn_in.max(if common.quick { 3000 } else { 20_000 });
        let driver = Driver {
            seed: common.seed,
            sweeps: SWEEPS,
            burn_in: tuning,
            adapt: tuning,
            precision: false,
            far: false,
            as_printed: false,
        };
        let drives = 14 * 2 * tuning;
        let [targets, samplers, pictures] = COUNTS;
        let points = (STEP_SIZES.len() * BALANCES.len()) as u64 * work(Self::short(plan)) + 2 * tuning;
        let all = targets * (samplers * work(plan) + drives) + pictures * points;
        let progress = Progress::new(common.quiet, all);
        let (found, pictures, scans) = (Vec::new(), Vec::new(), Vec::new());
        Self { options, out: out.to_path_buf(), plan, driver, progress, found, pictures, scans }
    }

    /// The plan of a point of a picture.
    fn short(plan: Plan) -> Plan {
        let steps = (plan.steps / 10).clamp(250, 4000);
        Plan { chains: plan.chains.min(4), burn_in: steps / 5, steps, ..plan }
    }

    fn run(mut self) -> Result<(), Failure> {
        for coupling in COUPLINGS {
            self.ising("torus 20×20", coupling, torus(20, 20, coupling).collect())?;
        }
        for coupling in COUPLINGS {
            self.ising("BA-400-4", coupling, barabasi_albert(400, 4, coupling, TARGETS))?;
        }
        for condition in CONDITIONS {
            self.gaussian("rotated", condition, &Gaussian::rotated(100, 21, condition, TARGETS))?;
        }
        for condition in CONDITIONS {
            self.gaussian("sparse", condition, &Gaussian::cycle(100, 21, condition, TARGETS))?;
        }
        let data = Regression::new(100, 50, TARGETS);
        self.target("logistic regression", &data.energy().map_err(Failure::option)?, Known::Nothing, true)?;
        let mixture = QuarticMixture::new(50, 21, 50, TARGETS);
        self.target("quartic mixture", &mixture.energy().map_err(Failure::option)?, Known::Nothing, true)?;
        self.write()
    }

    fn ising(&mut self, graph: &str, coupling: f32, edges: Vec<(u32, u32, f32)>) -> Result<(), Failure> {
        let mut memory = Box::new(SparseMemory::<400, 3200>::new());
        let model = Ising::spins_edges_once(400, edges, &[], memory.borrow()).map_err(Failure::option)?;
        let w = Curvature::of(&SparseMatrix::of(model.form()));
        // Of the torus no chain of a picture is long enough there.
        let picture = coupling == COUPLINGS[1] && !graph.starts_with("torus");
        self.target(&format!("{graph}, J = {coupling:.4}"), &model, Known::Whole(&w), picture)
    }

    fn gaussian(&mut self, kind: &str, condition: f64, model: &Gaussian) -> Result<(), Failure> {
        let mut rows = model.rows();
        let energy = model.energy(&mut rows).map_err(Failure::option)?;
        let w = Curvature::of(&energy.precision());
        self.target(&format!("{kind} Gaussian, L = {condition}"), &energy, Known::Whole(&w), false)
    }

    /// The samplers of one target; a picture where there is to be one.
    fn target<E: Energy + Sync>(
        &mut self,
        name: &str,
        energy: &E,
        w: Known<'_>,
        picture: bool,
    ) -> Result<(), Failure> {
        let Self { options, out, plan, driver, progress, .. } = self;
        if options.only.as_ref().is_some_and(|word| !name.contains(word)) {
            return Ok(());
        }
        let say = |text: &str| {
            if !options.common.quiet {
                progress.say(text)
            }
        };
        let tell = |tuned: &Tuned| say(&format!("{name}, {}: {}", tuned.sampler, tuned.parameters));
        progress.note(format!("tuning on {name}"));
        let mut rooms = Rooms::default();
        // A look at AB-max on 400 sites alone would take a minute.
        let extent = Extent { beyond: !options.paper, largest: if options.common.quick { 100 } else { 400 } };
        let Tuning { samplers, tuned, .. } =
            Tuning::new(energy, w, *driver, extent, &mut rooms, progress, &tell)?;
        let start = |_, rng: &mut bitmc::LaneRng| match settled(energy, driver.sweeps, rng) {
            Ok(chain) => chain.state().words().to_vec(),
            Err(_) => vec![0; energy.layout().words()],
        };
        let target = [Target::new(name, energy).starting(start)];
        let cells = compare(*plan, &target, &samplers, out, options.resume, progress)?;
        self.found.push(Found { target: name.into(), tuned, cells });
        if picture {
            let plan = Self::short(*plan);
            let resume = options.resume;
            let grid = Scan { name, step_sizes: &STEP_SIZES, balances: &BALANCES, plan, resume };
            let (panel, cells, chosen) = scan(energy, w, *driver, grid, out, progress)?;
            self.pictures.push(panel);
            self.scans.push((chosen, cells));
        }
        Ok(())
    }

    fn write(self) -> Result<(), Failure> {
        let Self { options, out, plan, found, pictures, scans, progress, .. } = self;
        drop(progress);
        if found.is_empty() {
            return Err(nothing());
        }
        let cells = || found.iter().flat_map(|found| &found.cells);
        let report = Report {
            example: "balanced",
            seed: options.common.seed,
            chains: plan.chains,
            burn_in: plan.burn_in,
            steps: plan.steps,
            tuned: found.iter().map(|found| (found.target.as_str(), &found.tuned)).collect(),
            cells: cells().map(|cell| &cell.numbers).collect(),
            scans: scans.iter().flat_map(|scan| &scan.1).map(|cell| &cell.numbers).collect(),
            marks: scans.iter().map(|scan| &scan.0).collect(),
        };
        let clocks: Vec<&Clock> = cells().map(|cell| &cell.clock).collect();
        let text = heading(&plan, &found) + &tables(&found);
        let times = pivot(&found, "ESS a second of one core", |cell| {
            format!("{:.0}", of_chains(cell).0 * cell.numbers.queries.total() / 1e4 / cell.clock.seconds)
        });
        report::write(&out.join("balanced.md"), text.as_bytes())?;
        report::write(&out.join("balanced.timing.md"), times.as_bytes())?;
        report::json(&out.join("balanced.json"), &report)?;
        report::json(&out.join("balanced.timing.json"), &clocks)?;
        if !pictures.is_empty() {
            heat::save(&out.join("balanced.svg"), &pictures)?;
        }
        options.common.say(&format!("\n{text}\n{times}\npictures and numbers are in {}", out.display()));
        Ok(())
    }
}

/// Everything that `balanced.json` says.
#[derive(Serialize)]
struct Report<'r> {
    example: &'static str,
    seed: u64,
    chains: u32,
    burn_in: u64,
    steps: u64,
    tuned: Vec<(&'r str, &'r Vec<Tuned>)>,
    cells: Vec<&'r Numbers>,
    scans: Vec<&'r Numbers>,
    marks: Vec<&'r Chosen>,
}

/// ESS of a chain for 10⁴ queries, the median over the sites: the mean over the chains, and its standard error.
fn of_chains(cell: &Cell) -> (f64, f64) {
    let alone = &cell.numbers.ess_of_chains_per_10000_queries;
    (mean(alone), standard_error(alone))
}

/// What must be known to read the tables.
fn heading(plan: &Plan, found: &[Found]) -> String {
    let faults: u64 = found.iter().flat_map(|found| &found.cells).map(|cell| cell.numbers.faults).sum();
    format!(
        "{} chains of {} steps behind {} of burn-in, seed {}; {faults} faults. A query is a log density or a gradient. ± is the \
         standard error over the chains{}. LB is DMALA. Of LB α is the step size, of AB the balance \
         with the step size σ; jump: mean distance of a step. Acceptance and sites moved are over all steps kept.\n\n",
        plan.chains,
        plan.steps,
        plan.burn_in,
        plan.seed,
        if plan.steps < 20_000 { ", and too small where chains are as short as these: no ranking" } else { "" },
    )
}

fn tables(found: &[Found]) -> String {
    let mut text = pivot(found, "ESS of a chain for 10⁴ queries, median over the sites that moved", |cell| {
        let (mean, error) = of_chains(cell);
        let still = match cell.numbers.constant_components {
            0 => String::new(),
            still => format!(" ({still} never moved)"),
        };
        format!("{mean:.1} ± {error:.1}{still}")
    });
    text += &pivot(found, "ESS of the energy for 10⁴ queries, all chains", |cell| {
        let queries = cell.numbers.queries.total();
        cell.numbers.ess_energy.map_or("–".into(), |ess| format!("{:.1}", ess / queries * 1e4))
    });
    text += &pivot(found, "acceptance; sites moved a step", |cell| {
        format!("{:.2}; {:.1}", cell.numbers.acceptance, cell.numbers.moved_sites_per_step)
    });
    text += "What was chosen:\n\n| target | sampler | |\n|---|---|---|\n";
    for Found { target, tuned, .. } in found {
        for tuned in tuned {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {target} | {} | {} |", tuned.sampler, tuned.parameters);
        }
    }
    text
}

/// Targets by samplers; a dash where a target has no such sampler.
fn pivot(found: &[Found], what: &str, value: impl Fn(&Cell) -> String) -> String {
    let most = found.iter().max_by_key(|found| found.cells.len());
    let names = most.map_or(&[][..], |found| &found.cells);
    let names: Vec<&str> = names.iter().map(|cell| cell.numbers.sampler.as_str()).collect();
    let mut text =
        format!("{what}:\n\n| target | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(names.len()));
    for Found { target, cells, .. } in found {
        let of = |name: &&str| cells.iter().find(|cell| cell.numbers.sampler == *name);
        let values: Vec<String> = names.iter().map(|name| of(name).map_or("–".into(), &value)).collect();
        let _ = writeln!(text, "| {target} | {} |", values.join(" | "));
    }
    text + "\n"
}
