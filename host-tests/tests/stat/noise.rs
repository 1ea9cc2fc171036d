//! Chains of second order: exact start, and METHODS.md §3's trial at criticality.

use bitmc::lane::{Block, LANES};
use bitmc::noise::{Dense, DenseMatrix, Edgewise, MinTrace, Noise, Run, SparseMatrix};
use bitmc::{Ising, Kernel, LaneRng, Langevin, Move, Rng, torus};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::models::complete;
use bitmc_host_tests::stat::replicas::Plan;
use rayon::prelude::*;

/// A negative control: its product is twice what its draws have as covariance.
#[derive(Clone, Copy)]
struct Twice<N>(N);

impl<N: Noise> Noise for Twice<N> {
    const SOME: bool = true;

    fn d(&self) -> Option<&[Block]> {
        self.0.d()
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [Block], planes: usize) {
        self.0.draw(rng, eta, planes);
    }

    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize) {
        self.0.follow(step, eta, planes);
        self.0.follow(step, eta, planes);
    }
}

#[test]
fn second_order_chains_keep_an_ising_model() {
    let spins = complete(7, 1.0, 11);
    let distribution = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let matrix = SparseMatrix::of(model.form());
    let mut d = vec![[0.0; LANES]; 1];
    let noise = Edgewise::new(matrix, &mut d).unwrap();
    let plans = [
        (Plan::usual(101), f32::INFINITY, 1.0, 1.0),
        (Plan::usual(102), 2.0, 0.8, 0.75),
        (Plan::usual(103), 0.5, 0.6, 1.0),
    ];
    for (plan, step_size, balance, precision) in plans {
        let sampler = Langevin::second_order(noise, step_size, balance).unwrap();
        let ends = plan.ends(&model, &sampler.precision(precision).unwrap(), &distribution, 0);
        let what = format!("edge-wise, σ {step_size}, α {balance}, κ {precision}");
        chi_square(&what, &ends, &distribution).must_pass();
    }
    let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
    let sampler = Langevin::second_order(noise.by_runs(&mut runs).unwrap(), 2.0, 0.8).unwrap();
    chi_square("edges in runs", &Plan::usual(104).ends(&model, &sampler, &distribution, 0), &distribution)
        .must_pass();
    let (mut vectors, mut scratch) = (vec![[0.0; LANES]; MinTrace::blocks(7)], vec![[0.0; LANES]; 3]);
    let mut d = vec![[0.0; LANES]; 1];
    MinTrace::new(1e-3, 1000).solve(&matrix, &mut d, &mut vectors, &mut scratch).unwrap();
    let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(7)];
    let mut root = vec![[0.0; LANES]; Dense::root_blocks(7)];
    let dense = Dense::new(DenseMatrix::of(&matrix, &mut rows).unwrap(), &mut d, &mut root).unwrap();
    let sampler = Langevin::second_order(dense, 3.0, 0.9).unwrap();
    chi_square("smallest trace", &Plan::usual(104).ends(&model, &sampler, &distribution, 0), &distribution)
        .must_pass();

    let sampler = Langevin::second_order(Twice(noise), 2.0, 0.8).unwrap();
    chi_square(
        "product of twice the draws",
        &Plan::control(105).ends(&model, &sampler, &distribution, 0),
        &distribution,
    )
    .must_fail();
}

/// Mean flips a step, acceptance, and the integrated autocorrelation time of the energy of chains that all
/// start at burnt-in states.
fn run<K: Kernel<Ising<'static>> + Sync>(
    model: &Ising<'static>,
    starts: &[Vec<u32>],
    kernel: &K,
    steps: usize,
) -> Trial {
    let runs: Vec<(f64, f64, Vec<f64>)> = starts
        .par_iter()
        .enumerate()
        .map(|(index, start)| {
            let mut rng = LaneRng::stream(31, index as u32);
            let mut chain = heap::chain(model, start).unwrap();
            let (mut moved, mut accepted, mut energies) = (0.0, 0.0, Vec::with_capacity(steps));
            for _ in 0..steps {
                let info = chain.step(kernel, &mut rng);
                moved += f64::from(info.moved());
                accepted += f64::from(u8::from(info.accepted));
                energies.push(f64::from(chain.energy()));
            }
            (moved / steps as f64, accepted / steps as f64, energies)
        })
        .collect();
    let number = runs.len() as f64;
    let moved = runs.iter().map(|run| run.0).sum::<f64>() / number;
    let accepted = runs.iter().map(|run| run.1).sum::<f64>() / number;
    let energies: Vec<&[f64]> = runs.iter().map(|run| &run.2[..]).collect();
    Trial { moved, accepted, time: autocorrelation(&energies) }
}

#[derive(Debug)]
struct Trial {
    moved: f64,
    accepted: f64,
    /// The integrated autocorrelation time: steps for one independent energy.
    time: f64,
}

/// `1 + 2 Σ ρ_t` up to the first t > 6 times the sum so far (Sokal's window), over all chains with one mean.
fn autocorrelation(chains: &[&[f64]]) -> f64 {
    let count: usize = chains.iter().map(|chain| chain.len()).sum();
    let mean = chains.iter().flat_map(|chain| chain.iter()).sum::<f64>() / count as f64;
    let covariance = |lag: usize| {
        let sum: f64 = chains
            .iter()
            .map(|chain| chain.iter().zip(&chain[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>())
            .sum();
        sum / (count - lag * chains.len()) as f64
    };
    let variance = covariance(0);
    let mut time = 1.0;
    for lag in 1..chains[0].len() / 4 {
        time += 2.0 * covariance(lag) / variance;
        if lag as f64 > 6.0 * time {
            break;
        }
    }
    time
}

#[test]
fn at_criticality_edges_flip_more_and_mix_faster() {
    let memory = Box::leak(Box::new(Couplings::new(400, 800)));
    let model = Ising::spins_edges_once(400, torus(20, 20, 0.4407), &[], memory.borrow()).unwrap();
    let d = Box::leak(vec![[0.0; LANES]; 25].into_boxed_slice());
    let noise = Edgewise::new(SparseMatrix::of(model.form()), d).unwrap();
    let edgewise = Langevin::second_order(noise, f32::INFINITY, 1.0).unwrap();
    // A trial in float64 had 20.8 from noise, 4,000 steps. Between chains the flips differ by .5.
    let noise: Vec<Vec<u32>> = (0..24).map(|index| random(&model, 29, index).0).collect();
    let flips = run(&model, &noise, &edgewise, 4000);
    println!("from noise: {flips:?}");
    assert!((flips.moved - 20.8).abs() <= 0.5, "{flips:?}");
    assert!(flips.accepted > 0.999);

    // 20,000 steps are 80 autocorrelation times of the energy.
    let burn = |index| {
        let (start, mut rng) = random(&model, 30, index);
        let mut chain = heap::chain(&model, &start).unwrap();
        (0..20_000).for_each(|_| _ = chain.step(&edgewise, &mut rng));
        chain.state().words().to_vec()
    };
    let starts: Vec<Vec<u32>> = (0..24u32).into_par_iter().map(burn).collect();
    let edges = run(&model, &starts, &edgewise, 8000);
    println!("edge-wise: {edges:?}");
    let scan = [0.16, 0.18, 0.2].map(|step_size| {
        let trial = run(&model, &starts, &Langevin::adjusted(step_size).unwrap(), 8000);
        println!("DMALA, α {step_size}: {trial:?}");
        trial.time
    });
    // Times from these lengths are good to a quarter. Their quotient is 3.1.
    let best = scan.into_iter().fold(f64::MAX, f64::min);
    assert!(best >= 2.0 * edges.time, "{best} against {edges:?}");
}

/// Noise, and the generator behind it.
fn random(model: &Ising<'static>, seed: u64, index: u32) -> (Vec<u32>, LaneRng) {
    let mut rng = LaneRng::stream(seed, index);
    let start = heap::random_chain(model, &mut rng).unwrap().state().words().to_vec();
    (start, rng)
}
