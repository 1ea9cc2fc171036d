//! Replica exchange and annealed importance sampling against exact distributions and normalisers.

use bitmc::energy::Tempered;
use bitmc::stats::Evidence;
use bitmc::temper::{Ladder, Replica, Rung, block_gibbs_round, forward, reverse, round};
use bitmc::{Energy, Kind, LaneRng, Langevin, Layout, Packed, Plain, Rbm, SeedableRng};
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::heap::{self, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Machine};
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::stat::replicas::{Dice, PIECES, pieces, reference_rng, state, total};
use bitmc_host_tests::stat::{Moments, Verdict, chi_square};
use statrs::distribution::{ChiSquared, ContinuousCDF};

const BETAS: [f32; 3] = [0.2, 0.6, 1.0];
const FIELDS: [f32; 3] = [0.75, -0.5, 1.25];

/// Three spins at three temperatures: the joint distribution of all replicas, by rung.
fn joint_counts(wrong_gap: bool, wrong_order: bool) -> Verdict {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 3, 1.0, 1.2, 3);
    let exact = Distribution::of(&model).energies;
    let base = |state: usize| -> f64 {
        -values(state, 3).iter().zip(FIELDS).map(|(x, field)| x * f64::from(field)).sum::<f64>()
    };
    let distribution_at = |beta: f32| {
        let beta = f64::from(beta);
        Distribution::from_energies(3, (0..8).map(|s| beta * exact[s] + (1.0 - beta) * base(s)).collect())
    };
    let distributions = BETAS.map(distribution_at);
    let joint: Vec<f64> = (0..512usize)
        .map(|cell| (0..3).map(|rung| distributions[rung].probabilities[cell >> (3 * rung) & 7]).product())
        .collect();
    let counts = pieces(|piece| {
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        let path = Tempered::from_base(&energy, &FIELDS, 1.0).unwrap();
        let dice = Dice::new(&joint);
        let (mut reference, mut rng) = (reference_rng(21, piece), LaneRng::stream(21, piece));
        let kernels = BETAS.map(|_| Langevin::adjusted(0.5).unwrap());
        let zero = [0u32];
        let mut replicas =
            [0, 1, 2].map(|_| Replica::new(path, heap::memory(&path), state(path.layout(), &zero)).unwrap());
        let mut counts = vec![0u64; 512];
        for _ in 0..64_000 / PIECES {
            let mut ladder = Ladder::new([Rung::default(); 3], &BETAS).unwrap();
            let start = dice.roll(&mut reference);
            for (rung, replica) in replicas.iter_mut().enumerate() {
                replica.set_beta(BETAS[rung]).unwrap();
                replica.restart(state(path.layout(), &[(start >> (3 * rung) & 7) as u32])).unwrap();
            }
            for _ in 0..6 {
                if wrong_gap {
                    for replica in &mut replicas {
                        replica.run(&kernels[0], &mut rng, 1, &mut ());
                    }
                    ladder.exchange(|replica| replicas[replica].energy(), &mut rng);
                    for (replica, chain) in replicas.iter_mut().enumerate() {
                        chain.set_beta(ladder.rungs()[ladder.rung_of(replica).unwrap()].beta()).unwrap();
                    }
                } else {
                    round(&mut ladder, &mut replicas, &kernels, 1, &mut rng);
                }
            }
            let cell = ladder.rungs().iter().enumerate().map(|(rung, standing)| {
                let replica = if wrong_order { rung } else { standing.replica() };
                (replicas[replica].state().words()[0] as usize) << (3 * rung)
            });
            counts[cell.sum::<usize>()] += 1;
        }
        counts
    });
    chi_square("replica exchange, all three replicas", &total(counts), &joint)
}

#[test]
fn replica_exchange_keeps_the_joint_distribution() {
    joint_counts(false, false).must_pass();
    // Negative controls: swaps that forget the base; states that are read off as if no replica had moved.
    joint_counts(true, false).must_fail();
    joint_counts(false, true).must_fail();
}

const WALK: [f32; 4] = [0.1, 0.35, 0.7, 1.0];

/// ⟨w⟩·Z₀/Z of many runs is 1, whatever the walk: z of the mean weight.
fn weights(
    what: &str,
    energy: &(dyn Energy + Sync),
    theta: &[f32],
    log_z: f64,
    run: impl Fn(u32) -> Vec<f32> + Sync,
) -> Verdict {
    let path = Tempered::from_base(energy, theta, 0.0).unwrap();
    let expected = log_z - f64::from(path.base().log_z());
    let mut moments = Moments::default();
    for log_weights in pieces(run) {
        log_weights.into_iter().for_each(|w| moments.push((f64::from(w) - expected).exp()));
    }
    moments.against(what, 1.0)
}

fn forward_runs(energy: &(dyn Energy + Sync), theta: &[f32], seed: u64) -> impl Fn(u32) -> Vec<f32> + Sync {
    move |piece| {
        let path = Tempered::from_base(energy, theta, 0.0).unwrap();
        let mut rng = LaneRng::stream(seed, piece);
        let zero = vec![0; path.layout().words()];
        let mut replica = Replica::new(path, heap::memory(&path), state(path.layout(), &zero)).unwrap();
        let kernel = |beta: f32| Langevin::adjusted(1.0 - 0.5 * beta).unwrap();
        (0..1000).map(|_| forward(&mut replica, WALK, 1, kernel, &mut rng).unwrap()).collect()
    }
}

/// As [`forward_runs`], by hand: the weight is taken at the new state.
fn late_runs(energy: &(dyn Energy + Sync), theta: &[f32], seed: u64) -> impl Fn(u32) -> Vec<f32> + Sync {
    move |piece| {
        let path = Tempered::from_base(energy, theta, 0.0).unwrap();
        let mut rng = LaneRng::stream(seed, piece);
        let mut words = vec![0; path.layout().words()];
        let mut replica = Replica::new(path, heap::memory(&path), state(path.layout(), &words)).unwrap();
        let mut run = || {
            path.base().draw(&mut rng, &mut words);
            replica.restart(state(path.layout(), &words)).unwrap();
            let mut log_weight = 0.0;
            let mut before = 0.0;
            for beta in WALK {
                replica.set_beta(beta).unwrap();
                replica.run(&Langevin::adjusted(1.0 - 0.5 * beta).unwrap(), &mut rng, 1, &mut ());
                log_weight += (before - beta) * replica.gap();
                before = beta;
            }
            log_weight
        };
        (0..1000).map(|_| run()).collect()
    }
}

#[test]
fn weights_are_unbiased_in_both_directions() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, 1.0, 4);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let distribution = Distribution::of(&model);
    let theta = [0.5, -0.25, 1.0, 0.0, -1.5, 0.75];
    for (seed, theta) in [(31, &theta[..]), (32, &[])] {
        let runs = forward_runs(&ising, theta, seed);
        weights("Ising, forward", &ising, theta, distribution.log_z, runs).must_pass();
        let runs = late_runs(&ising, theta, seed);
        weights("weights at the new state", &ising, theta, distribution.log_z, runs).must_fail();
    }
    // Backwards from exact draws: ⟨w⟩ = Z₀/Z.
    let path = Tempered::from_base(&ising as &(dyn Energy + Sync), &theta, 1.0).unwrap();
    let dice = Dice::new(&distribution.probabilities);
    let back = |piece| {
        let (mut reference, mut rng) = (reference_rng(33, piece), LaneRng::stream(33, piece));
        let mut replica = Replica::new(path, heap::memory(&path), state(path.layout(), &[0])).unwrap();
        let kernel = |beta: f32| Langevin::adjusted(1.0 - 0.5 * beta).unwrap();
        let mut run = || {
            replica.restart(state(path.layout(), &[dice.roll(&mut reference) as u32])).unwrap();
            reverse(&mut replica, WALK, 1, kernel, &mut rng).unwrap()
        };
        (0..1000).map(|_| run()).collect::<Vec<f32>>()
    };
    let mirrored = 2.0 * f64::from(path.base().log_z()) - distribution.log_z;
    weights("Ising, reverse", &ising, &theta, mirrored, back).must_pass();

    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[3, 5, 2, 4], 1.0, 5);
        let energy = Plain(Own(&tables));
        let count = if kind == Kind::Categorical { 20 } else { 4 };
        let theta: Vec<f32> = (0..count).map(|index| 0.25 * (index % 5) as f32 - 0.5).collect();
        let log_z = tables.distribution().log_z;
        weights(&format!("{kind:?}, forward"), &energy, &theta, log_z, forward_runs(&energy, &theta, 34))
            .must_pass();
    }
}

/// At most two of five sites: draws from the base may break it.
struct AtMostTwo;

impl bitmc::Function for AtMostTwo {
    fn layout(&self) -> Layout {
        Layout::binary(5)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        if x.ones() > 2 { f32::INFINITY } else { -0.5 * x.ones() as f32 }
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        -0.5
    }
}

#[test]
fn a_forbidden_draw_weighs_nothing() {
    let log_z = (1.0 + 5.0 * 0.5f64.exp() + 10.0 * 1f64.exp()).ln();
    let energy = Plain(AtMostTwo);
    let runs = forward_runs(&energy, &[], 35);
    let dead = runs(0).iter().filter(|w| **w == f32::NEG_INFINITY).count();
    assert!((400..600).contains(&dead), "{dead} of 1000");
    weights("hard constraint, forward", &energy, &[], log_z, runs).must_pass();
}

/// Runs of one estimate, β's of each, and estimates.
const RUNS: u32 = 400;
const STEPS: u32 = 40;
const ESTIMATES: u32 = 50;

/// Fifty estimates of log Z of an RBM, each with its own standard error, and the truth.
fn estimates() -> (Vec<(f64, f64)>, f64) {
    let machine = models::machine(14, 8, 0.6, 7);
    let exact = Distribution::of(&machine).log_z;
    let weights = Weights::new(&machine).unwrap();
    let rbm = weights.rbm().unwrap();
    let path = Tempered::new(&rbm, 0.0).unwrap();
    let base = f64::from(path.base().log_z());
    let each = pieces(|piece| {
        let mut rng = LaneRng::stream(41, piece);
        let mut replica = Replica::new(path, heap::memory(&path), state(path.layout(), &[0])).unwrap();
        let mut evidence = Evidence::new();
        for _ in 0..RUNS {
            let betas = (1..=STEPS).map(|k| k as f32 / STEPS as f32);
            let kernel = |_: f32| Langevin::adjusted(0.5).unwrap();
            evidence.add(forward(&mut replica, betas, 1, kernel, &mut rng).unwrap());
        }
        assert_eq!((evidence.count(), replica.faults()), (RUNS, 0));
        // The effective number of runs and the error say the same: error² = (n/K − 1)/(n − 1).
        let (n, k) = (f64::from(RUNS), f64::from(evidence.equal_weights()));
        let error = f64::from(evidence.relative_error());
        assert!((error - ((n / k - 1.0) / (n - 1.0)).sqrt()).abs() < 1e-4);
        (base + f64::from(evidence.log_z()), error)
    });
    (each.into_iter().take(ESTIMATES as usize).collect(), exact)
}

/// Σz² of estimates against the truth, as a chi-square in both tails.
fn judge(what: &str, (estimates, exact): &(Vec<(f64, f64)>, f64), scale: f64) -> Verdict {
    let statistic: f64 =
        estimates.iter().map(|(found, error)| ((found - exact) / (scale * error)).powi(2)).sum();
    let distribution = ChiSquared::new(estimates.len() as f64).unwrap();
    let p = 2.0 * distribution.sf(statistic).min(distribution.cdf(statistic));
    Verdict::new(format!("{what} (Σz² = {statistic:.1} of {})", estimates.len()), p)
}

#[test]
fn error_bars_of_log_z_are_right() {
    let found = estimates();
    let worst = found.0.iter().map(|estimate| estimate.1).fold(0.0, f64::max);
    println!("standard errors up to {worst:.4}");
    assert!(worst <= 0.05, "{worst}");
    judge("log Z of an RBM", &found, 1.0).must_pass();
    // Negative controls: error bars too small and too large.
    judge("error bars of half the size", &found, 0.5).must_fail();
    judge("error bars of three times the size", &found, 3.0).must_fail();
}

/// Three visible units at three temperatures: the joint distribution of all chains, by rung, along scaled weights and biases.
fn rbm_counts(sum_path: bool) -> Verdict {
    let machine = models::machine(3, 4, 1.5, 8);
    let scaled = |beta: f32| {
        let times = |of: &[f32]| of.iter().map(|x| x * beta).collect();
        let Machine { weights, visible, hidden } = &machine;
        Machine { weights: times(weights), visible: times(visible), hidden: times(hidden) }
    };
    let distributions = BETAS.map(|beta| {
        if sum_path {
            let beta = f64::from(beta);
            return Distribution::from_energies(
                3,
                Distribution::of(&machine).energies.iter().map(|e| beta * e).collect(),
            );
        }
        Distribution::of(&scaled(beta))
    });
    let joint: Vec<f64> = (0..512usize)
        .map(|cell| (0..3).map(|rung| distributions[rung].probabilities[cell >> (3 * rung) & 7]).product())
        .collect();
    let counts = pieces(|piece| {
        let weights = Weights::new(&machine).unwrap();
        let mut room = vec![[0; 16]; Rbm::columns_len(3, 4)];
        let energy = weights.rbm().unwrap().with_columns(&mut room).unwrap();
        let dice = Dice::new(&joint);
        let (mut reference, mut rng) = (reference_rng(22, piece), LaneRng::stream(22, piece));
        let mut chains = [0, 1, 2].map(|_| heap::chain(&energy, &[0]).unwrap());
        let (mut counts, mut swaps) = (vec![0u64; 512], 0);
        for _ in 0..64_000 / PIECES {
            let mut ladder = Ladder::new([Rung::default(); 3], &BETAS).unwrap();
            let start = dice.roll(&mut reference);
            for (rung, chain) in chains.iter_mut().enumerate() {
                chain.restart(state(energy.layout(), &[(start >> (3 * rung) & 7) as u32])).unwrap();
            }
            swaps += (0..6).map(|_| block_gibbs_round(&mut ladder, &mut chains, 1, &mut rng)).sum::<u32>();
            let cell =
                ladder.rungs().iter().enumerate().map(|(rung, standing)| {
                    (chains[standing.replica()].state().words()[0] as usize) << (3 * rung)
                });
            counts[cell.sum::<usize>()] += 1;
        }
        assert!(swaps > 64_000 / PIECES, "{swaps}");
        counts
    });
    chi_square("replica exchange over an RBM, all three chains", &total(counts), &joint)
}

#[test]
fn replica_exchange_by_block_gibbs_keeps_the_joint_distribution() {
    rbm_counts(false).must_pass();
    // The other path, of the energy with hidden units summed out.
    rbm_counts(true).must_fail();
}

#[test]
fn swaps_of_scaled_machines_have_their_ratio() {
    let machine = models::machine(6, 20, 2.0, 9);
    let weights = Weights::new(&machine).unwrap();
    let model = weights.rbm().unwrap();
    let energy = |beta: f32, v: &[f64]| {
        let beta = f64::from(beta);
        let linear: f64 = machine.visible.iter().zip(v).map(|(&a, v)| f64::from(a) * v).sum();
        let softplus = |p: f64| (beta * p).max(0.0) + (-(beta * p).abs()).exp().ln_1p();
        -beta * linear - machine.activations(v).into_iter().map(softplus).sum::<f64>()
    };
    let mut worst = 0f64;
    for (seed, betas) in [(1, [0.0, 1.0]), (2, [0.3, 0.4]), (3, [0.9, 3.0])] {
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chains = [0, 1].map(|_| heap::random_chain(&model, &mut rng).unwrap());
        for _ in 0..100 {
            let mut ladder = Ladder::new([Rung::default(); 2], &betas).unwrap();
            block_gibbs_round(&mut ladder, &mut chains, 1, &mut rng);
            let [u, v] = chains.each_ref().map(|chain| heap::unpack(chain.state()));
            let exact =
                energy(betas[0], &u) + energy(betas[1], &v) - energy(betas[0], &v) - energy(betas[1], &u);
            let rate = f64::from(ladder.rungs()[0].rate().unwrap());
            worst = worst.max((rate - exact.exp().min(1.0)).abs());
        }
    }
    // Each logarithm and sum is rounded to 2⁻²⁴ of some tens.
    assert!(worst < 1e-4, "{worst}");
}
