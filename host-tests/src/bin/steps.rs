//! Long chains of several samplers over models with exact answers: a report in Markdown. Exit status 1 where one is off.
//!
//! `steps [MILLIONS]`: so many million steps of each; a thousand by default.
//!
//! A chain is cut into 1,000 pieces of equal length. The mean of the energy and of every site is compared with enumeration, in
//! standard errors of the pieces' means. At the end the energy is computed anew: the difference is the drift. A model that is
//! slightly off is held against the same chain, and must be refused. `PathAuxiliary` proposes 5·10⁹ flips: counters pass 2³².

use bitmc::stats::{Acceptance, Observer};
use bitmc::step::{Gibbs, IsingLangevin, RandomWalk, SequentialGibbs};
use bitmc::{BlockGibbs, Energy, GibbsWithGradients, Kernel, LaneRng, Langevin, PathAuxiliary, SeedableRng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Target};
use bitmc_host_tests::tolerance::ROUNDING;
use rayon::prelude::*;
use std::process::ExitCode;

const PIECES: u64 = 1000;

/// Standard errors that a mean may be off: of some 80 means, a false alarm in 10⁷ runs.
const MOST: f64 = 6.5;

/// What a chain left.
struct Row {
    name: &'static str,
    steps: u64,
    updates: u64,
    worst: f64,
    drift: f64,
    refused: bool,
    sound: bool,
}

/// The mean of every statistic in every piece: the energy, then the sites.
struct Pieces(Vec<Vec<f64>>);

impl Pieces {
    /// The largest distance of a mean from the truth, in standard errors.
    fn worst(&self, distribution: &Distribution) -> f64 {
        let statistics = self.0[0].len();
        let one = |which: usize| {
            let values = || self.0.iter().map(|piece| piece[which]);
            let n = self.0.len() as f64;
            let mean = values().sum::<f64>() / n;
            let variance = values().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
            (mean - truth(distribution, which)).abs() / (variance / n).sqrt()
        };
        (0..statistics).map(one).fold(0.0, |most, z| if z.is_nan() { f64::INFINITY } else { most.max(z) })
    }
}

/// Statistic 0 is the energy, 1 + i is bit i.
fn statistic(distribution: &Distribution, which: usize, state: usize) -> f64 {
    if which == 0 { distribution.energies[state] } else { f64::from((state >> (which - 1)) as u8 & 1) }
}

fn truth(distribution: &Distribution, which: usize) -> f64 {
    distribution
        .probabilities
        .iter()
        .enumerate()
        .map(|(state, p)| p * statistic(distribution, which, state))
        .sum()
}

/// A chain of a sampler over a model, and what enumeration says of it and of the same model slightly off.
fn run<E: Energy + ?Sized, K: Kernel<E>>(
    name: &'static str,
    steps: u64,
    energy: &E,
    sampler: &K,
    target: &dyn Target,
    off: &dyn Target,
) -> Row {
    let (sites, distribution) = (target.sites(), Distribution::of(target));
    let mut rng = LaneRng::seed_from_u64(steps + name.len() as u64);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    let (mut pieces, mut watch, mut updates) = (Vec::new(), Acceptance::new(), 0);
    for _ in 0..PIECES {
        let mut counts = vec![0u64; 1 << sites];
        for _ in 0..steps / PIECES {
            let info = chain.step(sampler, &mut rng);
            watch.observe(chain.state(), chain.energy(), &info);
            updates += u64::from(info.proposed);
            counts[chain.state().words()[0] as usize] += 1;
        }
        let mean = |which: usize| {
            let sum: f64 = counts
                .iter()
                .enumerate()
                .map(|(state, &n)| n as f64 * statistic(&distribution, which, state))
                .sum();
            sum / (steps / PIECES) as f64
        };
        pieces.push((0..=sites).map(mean).collect());
    }
    let mut sound = chain.faults() == 0 && watch.steps == steps && watch.proposed_flips == updates;
    let drift = f64::from(chain.refresh().unwrap());
    let most = distribution.energies.iter().fold(0.0, |most: f64, energy| most.max(energy.abs()));
    // A rounding of each difference, six standard deviations of their sum.
    sound &= drift.abs() <= 6.0 * ROUNDING * most * (steps as f64).sqrt();
    let state = chain.state().words()[0] as usize;
    sound &= (f64::from(chain.energy()) - distribution.energies[state]).abs() <= 1e-6 * most;
    let pieces = Pieces(pieces);
    let (worst, refused) = (pieces.worst(&distribution), pieces.worst(&Distribution::of(off)) > MOST);
    Row { name, steps, updates, worst, drift, refused, sound }
}

fn main() -> ExitCode {
    let millions =
        match std::env::args().skip(1).map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>().as_deref() {
            Some([]) => 1000,
            Some(&[millions]) if millions > 0 => millions,
            _ => {
                eprintln!("usage: steps [MILLIONS]");
                return ExitCode::from(2);
            }
        };
    let steps = millions * 1_000_000;
    let model = models::pairwise(Convention::SpinsEdgesOnce, 9, 0.6, 0.5, 1);
    // A field and a coupling are a sixty-fourth off.
    let mut off = model.clone();
    off.fields[2] += 1.0 / 64.0;
    off.edges[3].2 += 1.0 / 64.0;
    let (mut first, mut second, mut third) = (model.couplings(), model.couplings(), model.couplings());
    let (ising, plain, path) =
        (first.ising(&model).unwrap(), second.ising(&model).unwrap(), third.ising(&model).unwrap());
    let machine = models::machine(8, 5, 0.8, 2);
    let mut off_machine = machine.clone();
    off_machine.visible[1] += 1.0 / 64.0;
    let weights = Weights::new(&machine).unwrap();
    let jobs: Vec<Box<dyn Fn() -> Row + Send + Sync + '_>> = vec![
        Box::new(|| run("SequentialGibbs, Ising", steps, &ising, &SequentialGibbs, &model, &off)),
        Box::new(|| {
            run("IsingLangevin, Ising", steps, &ising, &IsingLangevin::adjusted(0.4).unwrap(), &model, &off)
        }),
        Box::new(|| {
            run("Langevin (DMALA), Ising", steps, &plain, &Langevin::adjusted(0.4).unwrap(), &model, &off)
        }),
        Box::new(|| {
            run("GibbsWithGradients, Ising", steps, &plain, &GibbsWithGradients::new(1).unwrap(), &model, &off)
        }),
        Box::new(|| run("PathAuxiliary, Ising", steps, &path, &PathAuxiliary::new(5).unwrap(), &model, &off)),
        Box::new(|| run("RandomWalk, Ising", steps, &path, &RandomWalk::new(1.5).unwrap(), &model, &off)),
        Box::new(|| {
            run(
                "Gibbs, RBM",
                steps,
                &weights.rbm().unwrap(),
                &Gibbs::random(1).unwrap(),
                &machine,
                &off_machine,
            )
        }),
        Box::new(|| {
            run(
                "Langevin (DMALA), RBM",
                steps,
                &weights.rbm().unwrap(),
                &Langevin::adjusted(0.4).unwrap(),
                &machine,
                &off_machine,
            )
        }),
        Box::new(|| {
            run("BlockGibbs, RBM", steps, &weights.rbm().unwrap(), &BlockGibbs, &machine, &off_machine)
        }),
    ];
    let rows: Vec<Row> = jobs.par_iter().map(|job| job()).collect();
    println!(
        "| sampler, model | steps | proposed flips | farthest mean, standard errors | drift of E | slightly wrong model | result |"
    );
    println!("|---|---:|---:|---:|---:|---|---|");
    let mut passed = true;
    for Row { name, steps, updates, worst, drift, refused, sound } in rows {
        let good = sound && refused && worst <= MOST;
        passed &= good;
        println!(
            "| {name} | {steps} | {updates} | {worst:.2} | {drift:.1e} | {} | {} |",
            if refused { "refused" } else { "NOT SEEN" },
            if good { "passed" } else { "FAILED" }
        );
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
