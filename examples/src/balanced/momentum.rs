//! Second order with momentum beside second order without: effective samples of the energy.

use super::{Curvature, Driver, Known, Room, Which};
use crate::chains::VecMemory;
use crate::cli::Failure;
use crate::harness::{mean, standard_error};
use crate::progress::Progress;
use crate::targets::Gaussian;
use aligned_vec::avec;
use bitmc::energy::{Entry, SparseBuffers};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{IsingBalanced, ParameterError};
use bitmc::{
    Chain, Energy, Ising, Kernel, LaneRng, Langevin, Memory, Polynomial, PolynomialMemory, SeedableRng, torus,
};
use bitmc_desktop::diagnose::effective_size;
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::Serialize;

/// a, and whether bits flip with min(1, e^z).
const RULES: [(f32, bool); 6] =
    [(0.0, false), (0.0, true), (0.5, false), (0.5, true), (0.8, false), (0.8, true)];

const TORUS: &str = "torus 64×64, critical";
const GLASS: &str = "glass 64×64, ±.6";
const GAUSSIAN: &str = "sparse Gaussian, 100 of 21 values, L = 10";
const CUBIC: &str = "64 bits, cubic terms of ±2";

/// Runs of each rule.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Runs, each from a seed of its own.
    pub runs: u32,
    /// Steps of each, behind a fifth of them of burn-in; twice as many on the small targets.
    pub steps: u64,
}

/// What the runs of a rule gave.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    target: &'static str,
    sampler: &'static str,
    momentum: f32,
    metropolis_flips: bool,
    acceptance: f64,
    moved_sites_per_step: f64,
    /// Of each run: effective samples of its energies for 10⁴ steps. A step asks for one gradient.
    ess_energy_per_10000_steps: Vec<f64>,
    /// Mean energy of each run.
    mean_energy: Vec<f64>,
    /// Of each run.
    #[serde(skip)]
    ess_energy_per_second: Vec<f64>,
}

/// One run: of its energies the effective size and the mean; acceptance, sites moved, seconds of processor time.
struct Once {
    size: f64,
    energy: f64,
    accepted: f64,
    moved: f64,
    seconds: f64,
}

/// Memory of a chain with so many blocks of weights.
fn memory<E: Energy + ?Sized>(energy: &E, weights: usize) -> VecMemory {
    let layout = energy.layout();
    Memory {
        words: vec![0; Memory::words(layout)],
        cache: avec![[0; LANES]; Memory::cache(energy.cache_len())],
        weights: avec![[0.0; LANES]; weights],
    }
}

fn once<E: Energy + ?Sized, K: Kernel<E>>(
    energy: &E,
    kernel: &K,
    weights: usize,
    seed: u32,
    steps: u64,
) -> Result<Once, Failure> {
    let mut rng = LaneRng::stream(7, seed);
    let mut chain = Chain::random(energy, memory(energy, weights), &mut rng).map_err(Failure::option)?;
    chain.run(kernel, &mut rng, steps / 5, &mut ());
    let mut energies = Vec::with_capacity(steps as usize);
    let (mut accepted, mut moved) = (0.0, 0.0);
    let clock = ThreadTime::now();
    for _ in 0..steps {
        let info = chain.step(kernel, &mut rng);
        accepted += f64::from(u8::from(info.accepted)) / steps as f64;
        moved += f64::from(info.moved()) / steps as f64;
        energies.push(f64::from(chain.energy()));
    }
    let seconds = clock.elapsed().as_secs_f64();
    let energy = mean(&energies);
    Ok(Once { size: effective_size(&[energies]).unwrap_or(f64::NAN), energy, accepted, moved, seconds })
}

/// All rules of one sampler on one target; `kernel` says which rules there are, and how many blocks of weights each needs.
fn rules<E: Energy + Sync + ?Sized, K: Kernel<E> + Sync>(
    (target, sampler): (&'static str, &'static str),
    energy: &E,
    (runs, steps): (u32, u64),
    kernel: impl Fn(f32, bool) -> Result<(K, usize), ParameterError>,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let bits = energy.layout().kind() == bitmc::Kind::Binary;
    let mut rows = Vec::new();
    for (momentum, metropolis_flips) in RULES.into_iter().filter(|rule| bits || !rule.1) {
        progress.note(format!("{target}, {sampler}, a = {momentum}"));
        let (kernel, weights) = kernel(momentum, metropolis_flips).map_err(Failure::option)?;
        let seeds = (0..runs).into_par_iter();
        let found = seeds.map(|seed| once(energy, &kernel, weights, seed, steps));
        let found: Vec<Once> = found.collect::<Result<_, _>>()?;
        let each = |of: &dyn Fn(&Once) -> f64| -> Vec<f64> { found.iter().map(of).collect() };
        rows.push(Row {
            target,
            sampler,
            momentum,
            metropolis_flips,
            acceptance: mean(&each(&|once| once.accepted)),
            moved_sites_per_step: mean(&each(&|once| once.moved)),
            ess_energy_per_10000_steps: each(&|once| once.size / steps as f64 * 1e4),
            mean_energy: each(&|once| once.energy),
            ess_energy_per_second: each(&|once| once.size / once.seconds),
        });
        progress.advance(1);
    }
    Ok(rows)
}

/// Rules of all targets: what [`Progress`] is told.
pub const WORK: u64 = 6 * 5 + 3;

/// Second order with and without momentum. The targets are the critical 64×64 torus, a ±.6 glass of 64×64, a lattice Gaussian,
/// and bits with strong terms of third degree: those whose name contains `only`.
///
/// # Errors
/// [`Failure::Option`] where a chain cannot start.
pub fn study(lengths: Lengths, only: &str, progress: &Progress) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    if TORUS.contains(only) {
        let critical = torus(64, 64, 0.440_686_8).collect::<Vec<_>>();
        rows.extend(ising(TORUS, &critical, lengths, progress)?);
    }
    if GLASS.contains(only) {
        // Fair signs.
        let mut bits = LaneRng::seed_from_u64(11);
        let mut sign = || if bitmc::Rng::next_u32(&mut bits) >> 31 == 1 { 0.6 } else { -0.6 };
        let glass = torus(64, 64, 1.0).map(|(a, b, _)| (a, b, sign())).collect::<Vec<_>>();
        rows.extend(ising(GLASS, &glass, lengths, progress)?);
    }
    if GAUSSIAN.contains(only) {
        rows.extend(gaussian(lengths, progress)?);
    }
    if CUBIC.contains(only) {
        rows.extend(cubic(lengths, progress)?);
    }
    Ok(rows)
}

fn ising(
    name: &'static str,
    edges: &[(u32, u32, f32)],
    lengths: Lengths,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    const SITES: usize = 64 * 64;
    let (mut ends, mut linear) = (vec![0; SITES], vec![0; SITES]);
    let mut entries = vec![Entry::default(); 2 * edges.len()];
    let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let model = Ising::spins_edges_once(SITES, edges.iter().copied(), &[], lent).map_err(Failure::option)?;
    let matrix = SparseMatrix::of(model.form());
    let mut d = avec![[0.0; LANES]; Edgewise::blocks(SITES)];
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let noise = Edgewise::new(matrix, &mut d).and_then(|noise| noise.by_runs(&mut runs));
    let noise = noise.map_err(Failure::option)?;
    let plan = (lengths.runs, lengths.steps);
    let itself = |whole: bool| {
        move |keep, flips| {
            let make = if whole { IsingBalanced::discrete } else { IsingBalanced::new };
            let kernel = make(noise, f32::INFINITY, 1.0)?.momentum(keep)?;
            let kernel = if flips { kernel.metropolis_flips()? } else { kernel };
            Ok((kernel, kernel.weights_and_momentum(model.layout())))
        }
    };
    let mut rows = rules((name, "whole numbers"), &model, plan, itself(true), progress)?;
    rows.extend(rules((name, "normals"), &model, plan, itself(false), progress)?);
    Ok(rows)
}

fn gaussian(lengths: Lengths, progress: &Progress) -> Result<Vec<Row>, Failure> {
    let target = Gaussian::cycle(100, 21, 10.0, 1);
    let mut rows = target.rows();
    let energy = target.energy(&mut rows).map_err(Failure::option)?;
    let (w, mut room) = (Curvature::of(&energy.precision()), Room::default());
    let (noise, _) = room.noise(&w, Which::Trace)?;
    let weights = Memory::weights_gradients_and_momentum(energy.layout());
    let kernel = |keep, _| Ok((Langevin::second_order(noise, f32::INFINITY, 1.0)?.momentum(keep)?, weights));
    rules((GAUSSIAN, "any energy"), &energy, (lengths.runs, 2 * lengths.steps), kernel, progress)
}

/// 64 bits, 160 terms of three of them with weights ±2: W is estimated from a burn-in, σ and α are adapted without momentum.
fn cubic(lengths: Lengths, progress: &Progress) -> Result<Vec<Row>, Failure> {
    const SITES: u32 = 64;
    let mut numbers = LaneRng::seed_from_u64(5);
    let mut below = |end: u32| ((u64::from(bitmc::Rng::next_u32(&mut numbers)) * u64::from(end)) >> 32) as u32;
    let mut terms = Vec::new();
    while terms.len() < 160 {
        let list = [below(SITES), below(SITES), below(SITES)];
        let weight = if below(2) == 0 { 2.0 } else { -2.0 };
        if list[0] != list[1] && list[1] != list[2] && list[0] != list[2] {
            terms.push((list, weight));
        }
    }
    let mut memory = PolynomialMemory::<64, 160, 480>::new();
    let energy = Polynomial::bits(SITES as usize, terms.iter().copied(), memory.borrow());
    let energy = energy.map_err(Failure::option)?;
    let driver = Driver {
        seed: 1,
        sweeps: 50,
        burn_in: 20_000,
        adapt: 20_000,
        precision: false,
        far: false,
        as_printed: false,
    };
    let mut room = Room::default();
    let quiet = Progress::new(true, 0);
    let (kernel, chosen) = driver.second_order(&energy, Known::Nothing, Which::Trace, &mut room, &quiet)?;
    progress.say(&format!("cubic terms: {chosen}"));
    let weights = Memory::weights_gradients_and_momentum(energy.layout());
    let kernel = |keep, flips| {
        let kernel = kernel.momentum(keep)?;
        Ok((if flips { kernel.metropolis_flips()? } else { kernel }, weights))
    };
    rules((CUBIC, "any energy"), &energy, (lengths.runs, 2 * lengths.steps), kernel, progress)
}

/// A Markdown table; with `clock` also what depends on the clock.
#[must_use]
pub fn table(rows: &[Row], clock: bool) -> String {
    let mut text = String::from(
        "| target | sampler | a | flips with | acceptance; sites moved | ESS of E, 10⁴ steps | over a = 0 |",
    );
    text += if clock { " ESS of E, second | over a = 0 |\n" } else { "\n" };
    text += if clock {
        "|---|---|---:|---|---|---:|---:|---:|---:|\n"
    } else {
        "|---|---|---:|---|---|---:|---:|\n"
    };
    let mut base = (f64::NAN, f64::NAN);
    for row in rows {
        let (steps, seconds) = (&row.ess_energy_per_10000_steps, &row.ess_energy_per_second);
        if row.momentum == 0.0 && !row.metropolis_flips {
            base = (mean(steps), mean(seconds));
        }
        let flips = if row.metropolis_flips { "min(1, e^z)" } else { "σ(z)" };
        text += &format!(
            "| {} | {} | {} | {flips} | {:.3}; {:.1} | {:.3} ± {:.3} | {:.2} |",
            row.target,
            row.sampler,
            row.momentum,
            row.acceptance,
            row.moved_sites_per_step,
            mean(steps),
            standard_error(steps),
            mean(steps) / base.0,
        );
        if clock {
            let ratio = mean(seconds) / base.1;
            text += &format!(" {:.2} ± {:.2} | {ratio:.2} |", mean(seconds), standard_error(seconds));
        }
        text.push('\n');
    }
    text
}
