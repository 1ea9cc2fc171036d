//! Samples a model from a file: a weighted graph (rudy), a quadratic form (`.qubo`) or a network (`.uai`).
//!
//! `cargo run --release --example sample -- FILE` prints how often each site has each value, with standard
//! errors over independent chains, whether the chains agree, and the best state it met.

use bitmc::energy::{Edge, SparseBuffers, SparseError};
use bitmc::lane::Block;
use bitmc::stats::{Acceptance, Observer};
use bitmc::{Chain, Energy, Gibbs, Info, Ising, LaneRng, Langevin, Layout, Packed, packed};
use bitmc_examples::chains::{VecChain, memory, streams};
use bitmc_examples::cli::{self, Common, Failure};
use bitmc_examples::formats::qubo::Qubo;
use bitmc_examples::formats::rudy::Graph;
use bitmc_examples::formats::uai::{Evidence, Network};
use bitmc_examples::harness::{mean, r_hat, standard_error};
use bitmc_examples::progress::Progress;
use bitmc_examples::report;
use clap::{Parser, ValueEnum};
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `--help` says of the formats.
const LAWS: &str = "\
Probabilities are proportional to e^(−E/T), T from --temperature:
  rudy   E = Σ w s s′ over the edges, spins s = ±1, and w s of a vertex named twice. Without
         such fields the lowest energy is the largest cut;
         E is the sum of all weights less twice the cut, so e^(−E) weighs a cut twice
  qubo   E is the value of the form
  uai    E = −ln of the network's weight, the product of its tables
Vertices of a rudy graph are counted from 1, sites of the others from 0, as in their files.";

/// Samples a model from a file
#[derive(Parser, Debug)]
#[command(name = "sample", version, after_help = LAWS)]
struct Options {
    /// A file: *.uai, *.qubo, or else a weighted graph in the rudy format
    file: PathBuf,

    #[command(flatten)]
    common: Common,

    /// Sites of a UAI network that are known
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// Which sampler moves the chains
    #[arg(long, value_enum, default_value_t = Choice::Gibbs)]
    sampler: Choice,

    /// Independent chains [default: 16, with --quick 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    chains: Option<u32>,

    /// Steps of each chain after a tenth as many of burn-in [default: 50000, with --quick 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    steps: Option<u64>,

    /// Step size of langevin, on the {0,1} scale [default: the one of the longest jumps in a short scan]
    #[arg(long, value_name = "ALPHA")]
    step_size: Option<f32>,

    /// Samples e^(−E/T); from 1e-20 to 1e20
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = cli::within(1e-20, 1e20))]
    temperature: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Choice {
    /// One site after the other from its conditional; a step is a sweep
    Gibbs,
    /// Discrete Langevin with the Metropolis test (DMALA)
    Langevin,
}

/// What a file says.
enum Model {
    /// `E = Σ w s s′` over spins: the lowest energy is the largest cut.
    Graph(Graph),
    Qubo(Qubo),
    Network(Network),
}

impl Model {
    /// What its file calls a site, and the number of the first one.
    fn sites(&self) -> (&'static str, usize) {
        if matches!(self, Self::Graph(_)) { ("vertex", 1) } else { ("site", 0) }
    }
}

type Dyn<'e> = dyn Energy + Sync + 'e;

fn main() -> ExitCode {
    cli::main(|options: Options| {
        let pool = options.common.pool()?;
        pool.install(|| run(&options))
    })
}

fn run(options: &Options) -> Result<(), Failure> {
    let temperature = options.temperature;
    if options.sampler == Choice::Gibbs && options.step_size.is_some() {
        return Err(Failure::Option("--step-size: gibbs has none, only --sampler langevin".into()));
    }
    options.step_size.map(langevin).transpose()?;
    let model = match options.file.extension().and_then(|name| name.to_str()) {
        Some("uai") => Model::Network(Network::read(&options.file)?),
        Some("qubo") => Model::Qubo(Qubo::read(&options.file)?),
        _ => Model::Graph(Graph::read(&options.file)?),
    };
    let evidence = match (&options.evidence, &model) {
        (None, _) => Evidence::new(),
        (Some(path), Model::Network(network)) => network.read_evidence(path)?,
        (Some(_), _) => return Err(Failure::Option("--evidence: only a UAI network has any".into())),
    };
    let bad = |error: &dyn std::fmt::Display| {
        let at = if temperature == 1.0 { String::new() } else { format!(" at temperature {temperature:e}") };
        Failure::file(&options.file, format!("{error}{at}"))
    };
    let couplings =
        |sites: usize, edges: usize| (vec![0; sites], vec![0; sites], vec![Default::default(); 2 * edges]);
    match &model {
        Model::Graph(graph) => {
            let (mut ends, mut linear, mut entries) = couplings(graph.vertices, graph.edges.len());
            let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
            let edges = graph.edges.iter().map(|&(a, b, w)| (a, b, -w / temperature));
            let fields: Vec<f32> = graph.fields.iter().map(|w| (0.0 - w) / temperature).collect();
            let ising = Ising::spins_edges_once(graph.vertices, edges, &fields, lent)
                .map_err(|error| bad(&named(error, &graph.edges, model.sites())))?;
            sample(options, &model, &ising, &ising, &evidence)
        }
        Model::Qubo(form) => {
            let (mut ends, mut linear, mut entries) = couplings(form.linear.len(), form.edges.len());
            let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
            let edges = form.edges.iter().map(|&(a, b, w)| (a, b, -w / temperature));
            let fields: Vec<f32> = form.linear.iter().map(|w| -w / temperature).collect();
            let ising = Ising::bits_edges_once(fields.len(), edges, &fields, lent)
                .map_err(|error| bad(&named(error, &form.edges, model.sites())))?;
            sample(options, &model, &ising, &ising, &evidence)
        }
        Model::Network(network) => {
            // What is forbidden costs so much while a start is looked for.
            const SOFT: f32 = -12.0;
            let mut tables = network.logarithms(temperature.into(), f32::NEG_INFINITY);
            let mut soft = network.logarithms(temperature.into(), SOFT);
            let hard = tables.model().map_err(|error| bad(&error))?;
            sample(options, &model, &hard, &soft.model().map_err(|error| bad(&error))?, &evidence)
        }
    }
}

/// The Langevin sampler of a step size.
fn langevin(size: f32) -> Result<Langevin<'static>, Failure> {
    Langevin::adjusted(size).map_err(|error| Failure::Option(format!("--step-size: {error}")))
}

/// What a model refuses, in the words of its file, which counts from `first`.
fn named(error: SparseError, edges: &[Edge], (site, first): (&str, usize)) -> String {
    let number = |index: usize| index + first;
    match error {
        SparseError::CouplingNotFinite { edge } => {
            let (a, b, weight) = edges[edge];
            let (a, b) = (number(a as usize), number(b as usize));
            format!("the weight {weight:e} of edge {a} {b} is too large")
        }
        SparseError::FieldNotFinite { site: index } => {
            format!("the weight of {site} {} is too large", number(index))
        }
        SparseError::TooLarge { site: index } => {
            format!("the weights of {site} {} add up to too much", number(index))
        }
        SparseError::CouplingRounded { edge } => {
            let (a, b, weight) = edges[edge];
            let (a, b) = (number(a as usize), number(b as usize));
            format!(
                "the weight {weight:e} of edge {a} {b} would be lost in rounding: another weight is far larger"
            )
        }
        SparseError::FieldRounded { site: index } => {
            let index = number(index);
            format!("the weight of {site} {index} would be lost in rounding: another weight is far larger")
        }
        other => other.to_string(),
    }
}

/// One half of a chain: counts of every value of every site, the mean energy, and the squares around it.
#[derive(Default)]
struct Half {
    steps: u64,
    counts: Vec<u64>,
    energy: f64,
    squares: f64,
}

impl Half {
    fn observe(&mut self, values: impl Iterator<Item = u32>, arity: usize, energy: f64) {
        for (counts, value) in self.counts.chunks_exact_mut(arity).zip(values) {
            counts[value as usize] += 1;
        }
        self.steps += 1;
        let before = energy - self.energy;
        self.energy += before / self.steps as f64;
        self.squares += before * (energy - self.energy);
    }

    /// The mean and the variance of the energy.
    fn energy(&self) -> (f64, f64) {
        (self.energy, self.squares / (self.steps as f64 - 1.0))
    }

    /// The share of time with one value of one site, and its variance.
    fn share(&self, index: usize) -> (f64, f64) {
        let (steps, share) = (self.steps as f64, self.counts[index] as f64 / self.steps as f64);
        (share, share * (1.0 - share) * steps / (steps - 1.0))
    }
}

/// The halves of a chain, the second one longer where the steps are odd, and the best state.
struct Record {
    halves: [Half; 2],
    arity: usize,
    steps: u64,
    best: (f32, Vec<u32>),
    acceptance: Acceptance,
}

impl Record {
    /// Of a chain that will make so many steps from a state.
    fn new(layout: Layout, steps: u64, best: (f32, Vec<u32>)) -> Self {
        let half = || Half { counts: vec![0; layout.sites() * layout.arity()], ..Half::default() };
        let acceptance = Acceptance::new();
        Self { halves: [half(), half()], arity: layout.arity(), steps, best, acceptance }
    }

    /// The share of time with one value of one site.
    fn share(&self, index: usize) -> f64 {
        self.halves.iter().map(|half| half.counts[index]).sum::<u64>() as f64 / self.steps as f64
    }

    fn mean_energy(&self) -> f64 {
        self.halves.iter().map(|half| half.energy * half.steps as f64).sum::<f64>() / self.steps as f64
    }
}

impl Observer for Record {
    fn observe(&mut self, x: Packed<'_>, energy: f32, info: &Info) {
        self.acceptance.observe(x, energy, info);
        let half = usize::from(self.halves[0].steps == self.steps / 2);
        self.halves[half].observe(x.values(), self.arity, energy.into());
        if energy < self.best.0 {
            self.best = (energy, x.words().to_vec());
        }
    }
}

/// Split R̂ of a number that every half of every chain has a mean and a variance of.
fn split(records: &[Record], of: impl Fn(&Half) -> (f64, f64)) -> Option<f64> {
    let count = records.first()?.steps / 2;
    let (means, variances): (Vec<f64>, Vec<f64>) =
        records.iter().flat_map(|record| &record.halves).map(of).unzip();
    (count > 1).then(|| r_hat(count as f64, &means, &variances))?
}

/// A site's share of time at each value, over the chains.
#[derive(Serialize)]
struct Marginal {
    /// As its file counts.
    site: usize,
    known: bool,
    probabilities: Vec<f64>,
    standard_errors: Vec<f64>,
}

#[derive(Serialize)]
struct Report {
    example: &'static str,
    seed: u64,
    sampler: Choice,
    step_size: Option<f32>,
    temperature: f32,
    chains: u32,
    burn_in: u64,
    steps: u64,
    acceptance: f64,
    moved_sites_per_step: f64,
    faults: u64,
    /// None where it never changed, or no half of a chain moved.
    split_r_hat_energy: Option<f64>,
    /// The largest of a value of a site.
    split_r_hat_sites: Option<f64>,
    warning: Option<String>,
    mean_energy: f64,
    mean_energy_standard_error: f64,
    /// The cut of a graph, the value of a quadratic form, the logarithm of a network's weight.
    best: f64,
    best_is: &'static str,
    best_state: Vec<u32>,
    /// `site` or `vertex`.
    sites_are: &'static str,
    /// The number of the first one.
    sites_from: usize,
    marginals: Vec<Marginal>,
}

/// The most memory that chains are given.
const MOST_BYTES: u64 = 1 << 34;

/// Bytes of a chain and its counts.
fn bytes(energy: &Dyn<'_>) -> u64 {
    let layout = energy.layout();
    let counts = 2 * layout.sites() as u64 * layout.arity() as u64 * size_of::<u64>() as u64;
    let blocks = energy.cache_len() + layout.gradient_blocks() + layout.weight_blocks();
    counts + (blocks * size_of::<Block>()) as u64
}

/// Runs the chains of `energy`; `soft` is the same without hard constraints, to find a start.
fn sample(
    options: &Options,
    model: &Model,
    energy: &Dyn<'_>,
    soft: &Dyn<'_>,
    evidence: &Evidence,
) -> Result<(), Failure> {
    let common = &options.common;
    let chains = options.chains.unwrap_or(if common.quick { 4 } else { 16 });
    let steps = options.steps.unwrap_or(if common.quick { 1000 } else { 50_000 });
    let burn_in = steps.div_ceil(10);
    let need = u64::from(chains) * bytes(energy);
    if need > MOST_BYTES {
        let (sites, gigabytes) = (energy.layout().sites(), need as f64 / 1e9);
        let reason = format!("--chains: {chains} chains of {sites} sites need {gigabytes:.1} GB");
        return Err(Failure::Option(reason));
    }
    let starts: Result<Vec<_>, Failure> = streams(common.seed)
        .take(chains as usize)
        .map(|mut rng| Ok((start(options, energy, soft, evidence, &mut rng)?, rng)))
        .collect();
    let mut walkers = starts?;
    let step_size = match (options.sampler, options.step_size) {
        (Choice::Gibbs, _) => None,
        (Choice::Langevin, Some(size)) => Some(size),
        (Choice::Langevin, None) => Some(scan(energy, evidence, &walkers)?),
    };
    let langevin = step_size.map(langevin).transpose()?;
    let out = common.folder("sample");
    report::make_folder(&out)?;

    let progress = Progress::new(common.quiet, u64::from(chains) * (steps + burn_in));
    let records: Result<Vec<Record>, Failure> = walkers
        .par_iter_mut()
        .map(|(words, rng)| {
            let mut chain = begin(energy, words, evidence)?;
            let mut record = Record::new(energy.layout(), steps, (chain.energy(), words.clone()));
            let mut go = |steps: u64, observer: &mut dyn FnMut(Packed<'_>, f32, &Info)| {
                for step in 0..steps {
                    let info = match &langevin {
                        Some(kernel) => chain.step(kernel, rng),
                        None => chain.step(&Gibbs::systematic(), rng),
                    };
                    observer(chain.state(), chain.energy(), &info);
                    if step % 64 == 63 {
                        progress.advance(64);
                    }
                }
            };
            go(burn_in, &mut |_, _, _| {});
            go(steps, &mut |x, energy, info| record.observe(x, energy, info));
            Ok(record)
        })
        .collect();
    let records = records?;
    drop(progress);
    let report = summary(options, model, energy, evidence, &records, (chains, burn_in, step_size));
    let table = table(&report);
    let warning = report.warning.iter().map(|warning| format!("warning: {warning}\n")).collect::<String>();
    let apart = if warning.is_empty() { "" } else { "\n" };
    report::write(&out.join("sample.md"), format!("{warning}{apart}{table}").as_bytes())?;
    report::json(&out.join("sample.json"), &report)?;
    common.say(&format!("{table}\nResults: {}", out.display()));
    // A reader that has gone away is no failure.
    let _ = write!(std::io::stderr(), "{warning}");
    Ok(())
}

/// A chain at a state, with the known sites held.
fn begin<'e>(
    energy: &'e Dyn<'e>,
    words: &[u32],
    evidence: &Evidence,
) -> Result<VecChain<'e, Dyn<'e>>, Failure> {
    let state = Packed::new(energy.layout(), words).map_err(Failure::option)?;
    let mut chain = Chain::new(energy, memory(energy), state).map_err(Failure::option)?;
    let sites = Layout::binary(energy.layout().sites());
    let mut held = vec![0; sites.words()];
    for &(site, _) in evidence {
        held[site / 32] |= 1 << (site % 32);
    }
    chain.clamp(Packed::new(sites, &held).map_err(Failure::option)?).map_err(Failure::option)?;
    Ok(chain)
}

/// A state that is possible and has the known values: from a random one by sweeps of Gibbs over the soft
/// energy.
fn start(
    options: &Options,
    energy: &Dyn<'_>,
    soft: &Dyn<'_>,
    evidence: &Evidence,
    rng: &mut LaneRng,
) -> Result<Vec<u32>, Failure> {
    const SWEEPS: usize = 2000;
    let layout = energy.layout();
    let chain = Chain::random(soft, memory(soft), rng).map_err(Failure::option)?;
    let mut words = chain.state().words().to_vec();
    for &(site, value) in evidence {
        packed::set(layout, &mut words, site, value).map_err(Failure::option)?;
    }
    let mut chain = begin(soft, &words, evidence)?;
    let mut cache = memory(energy).cache;
    for _ in 0..SWEEPS {
        if energy.init(chain.state(), &mut cache).is_ok_and(f32::is_finite) {
            return Ok(chain.state().words().to_vec());
        }
        chain.step(&Gibbs::systematic(), rng);
    }
    let reason = format!("no possible state found in {SWEEPS} sweeps");
    Err(Failure::file(options.evidence.as_ref().unwrap_or(&options.file), reason))
}

/// The step size with the largest jump distance, of a few, in short runs of the first two chains.
fn scan(energy: &Dyn<'_>, evidence: &Evidence, starts: &[(Vec<u32>, LaneRng)]) -> Result<f32, Failure> {
    let mut best = (f32::NEG_INFINITY, 0.1);
    for size in [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4] {
        let sampler = Langevin::adjusted(size).map_err(Failure::option)?;
        let mut total = 0.0;
        for (words, rng) in &starts[..2] {
            let (mut chain, mut rng, mut seen) =
                (begin(energy, words, evidence)?, rng.clone(), Acceptance::new());
            chain.run(&sampler, &mut rng, 100, &mut Acceptance::new());
            chain.run(&sampler, &mut rng, 200, &mut seen);
            total += seen.jump_distance();
        }
        if total > best.0 {
            best = (total, size);
        }
    }
    Ok(best.1)
}

fn summary(
    options: &Options,
    model: &Model,
    energy: &Dyn<'_>,
    evidence: &Evidence,
    records: &[Record],
    (chains, burn_in, step_size): (u32, u64, Option<f32>),
) -> Report {
    let layout = energy.layout();
    let (sites_are, first) = model.sites();
    let over = |of: &dyn Fn(&Record) -> f64| records.iter().map(of).collect::<Vec<f64>>();
    let marginals = (0..layout.sites()).map(|site| {
        let arity = energy.arities().map_or(layout.arity(), |arities| usize::from(arities[site]));
        let share = |value: usize| over(&|record| record.share(site * record.arity + value));
        Marginal {
            site: site + first,
            known: evidence.iter().any(|&(known, _)| known == site),
            probabilities: (0..arity).map(|value| mean(&share(value))).collect(),
            standard_errors: (0..arity).map(|value| standard_error(&share(value))).collect(),
        }
    });
    let best = records.iter().map(|record| &record.best).min_by(|a, b| a.0.total_cmp(&b.0));
    let words = best.map_or(Vec::new(), |best| best.1.clone());
    let state: Vec<u32> = Packed::new(layout, &words).map_or(Vec::new(), |state| state.values().collect());
    let (best_is, best) = match model {
        Model::Graph(graph) => {
            let cut = graph.edges.iter().filter(|&&(a, b, _)| state[a as usize] != state[b as usize]);
            ("cut", cut.map(|&(_, _, w)| f64::from(w)).sum::<f64>() + 0.0)
        }
        Model::Qubo(form) => ("value", form.value(|site| state[site] == 1)),
        Model::Network(network) => ("log weight", network.log_weight(|site| state[site])),
    };
    // Chains are of E/T, without what no site changes.
    let constant = if let Model::Network(network) = model { -network.log_constant() } else { 0.0 };
    let energies = over(&|record| f64::from(options.temperature) * record.mean_energy() + constant);
    let acceptance = over(&|record| record.acceptance.rate().into());
    let moved = over(&|record| record.acceptance.jump_distance().into());
    let of_energy = split(records, Half::energy);
    let of_values = (0..layout.sites() * layout.arity()).into_par_iter();
    let of_values = of_values.filter_map(|index| split(records, |half| half.share(index)));
    let of_sites = of_values.reduce_with(f64::max);
    Report {
        example: "sample",
        seed: options.common.seed,
        sampler: options.sampler,
        step_size,
        temperature: options.temperature,
        chains,
        burn_in,
        steps: records.first().map_or(0, |record| record.steps),
        acceptance: mean(&acceptance),
        moved_sites_per_step: mean(&moved),
        faults: records.iter().map(|record| record.acceptance.faults).sum(),
        split_r_hat_energy: of_energy,
        split_r_hat_sites: of_sites,
        warning: warning(options.sampler, of_energy.into_iter().chain(of_sites).reduce(f64::max)),
        mean_energy: mean(&energies),
        mean_energy_standard_error: standard_error(&energies),
        best,
        best_is,
        best_state: state,
        sites_are,
        sites_from: first,
        marginals: marginals.collect(),
    }
}

/// What is wrong where the chains do not agree, and what may help.
fn warning(sampler: Choice, worst: Option<f64>) -> Option<String> {
    const LIMIT: f64 = 1.05;
    let worst = worst.filter(|&worst| worst > LIMIT)?;
    let other = if sampler == Choice::Gibbs { "" } else { "--sampler gibbs, " };
    Some(format!(
        "the chains do not agree (R̂ = {}): the frequencies and their errors are not to be trusted; \
         try {other}more --steps or a higher --temperature",
        number(Some(worst))
    ))
}

/// A split R̂.
fn number(r_hat: Option<f64>) -> String {
    match r_hat {
        Some(value) if value.is_infinite() => "∞".into(),
        Some(value) if value >= 10.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
        None => "–".into(),
    }
}

/// The first sites, and what was best.
fn table(report: &Report) -> String {
    const SHOWN: usize = 20;
    let mut text = format!(
        "{} chains, {} steps each, acceptance {:.3}, {:.3} sites moved a step, \
         split R̂ {} of the energy, at most {} of a site, mean E {:.4} ± {:.4}, best {} {}\n\n",
        report.chains,
        report.steps,
        report.acceptance,
        report.moved_sites_per_step,
        number(report.split_r_hat_energy),
        number(report.split_r_hat_sites),
        report.mean_energy,
        report.mean_energy_standard_error,
        report.best_is,
        report.best
    );
    text += &best_state(report);
    text += &format!("| {} | marginals |\n|---:|---|\n", report.sites_are);
    for marginal in report.marginals.iter().take(SHOWN) {
        let pairs = marginal.probabilities.iter().zip(&marginal.standard_errors);
        let values: Vec<String> = pairs.map(|(p, error)| format!("{p:.4} ± {error:.4}")).collect();
        let known = if marginal.known { " (known)" } else { "" };
        text.push_str(&format!("| {} | {}{known} |\n", marginal.site, values.join(", ")));
    }
    let more = report.marginals.len().saturating_sub(SHOWN);
    if more > 0 {
        let sites = if report.sites_are == "vertex" { "vertices" } else { "sites" };
        text.push_str(&format!("\n{more} more {sites} are in sample.json.\n"));
    }
    text
}

/// The best state where it is short; apart where a value may have two digits.
fn best_state(report: &Report) -> String {
    const SHORT: usize = 64;
    let state = &report.best_state;
    if state.len() > SHORT {
        return String::new();
    }
    let apart = if state.iter().any(|&value| value > 9) { " " } else { "" };
    let values: Vec<String> = state.iter().map(u32::to_string).collect();
    format!("best state, from {} {} on: {}\n\n", report.sites_are, report.sites_from, values.join(apart))
}
