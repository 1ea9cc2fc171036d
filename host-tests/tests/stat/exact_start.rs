//! Exact start: x₀ drawn from the exact distribution, twenty steps, an eighth of a million
//! to a million independent replicas, a chi-square on all states. A
//! kernel that does nothing passes, a broken one does not.

use bitmc::lane::Block;
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{Curvature, IsingBalanced, IsingLangevin};
use bitmc::{BlockGibbs, Langevin, Plain};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::Weights;
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::stat::models::{Well, complete, machine};
use bitmc_host_tests::stat::replicas::{Dice, Plan, pieces, reference_rng, uniform};
use bitmc_host_tests::stat::table::{Defect, Langevin as Naive, mean_field_gibbs, total_variation};
use bitmc_host_tests::stat::{Verdict, chi_square};

/// Seven spins, all coupled, couplings of standard deviation 1: 128 states, the likeliest has half the mass.
fn spins() -> Pairwise {
    complete(7, 1.0, 11)
}

/// One curvature a site, from step sizes .25 to 4.
const EACH: [f32; 7] = [0.25, 4.0, 1.0, 2.0, 0.5, 1.5, 3.0];

fn each() -> [Block; 1] {
    let mut block = [0.0; 16];
    block[..7].copy_from_slice(&EACH);
    [block]
}

fn check(what: &str, ends: &[u64], distribution: &[f64]) -> Verdict {
    chi_square(what, ends, distribution)
}

#[test]
fn adjusted_langevin_keeps_an_ising_model() {
    let spins = spins();
    let distribution = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let plans = [(Plan::usual(1), 0.2), (Plan::million(2), 0.6), (Plan::usual(3), 5.0)];
    for (plan, step_size) in plans {
        let sampler = Langevin::adjusted(step_size).unwrap();
        let ends = plan.ends(&model, &sampler, &distribution, 0);
        check(&format!("Ising, adjusted, step size {step_size}"), &ends, &distribution).must_pass();
    }
    let curvature = each();
    let sampler = Langevin::new(0.5, Curvature::Each(&curvature), true).unwrap();
    let ends = Plan::usual(4).ends(&model, &sampler, &distribution, 0);
    check("Ising, adjusted, one curvature a site", &ends, &distribution).must_pass();

    for (seed, step_size) in [(20, 0.2), (21, 0.6), (22, 5.0)] {
        let sampler = IsingLangevin::adjusted(step_size).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &distribution, 0);
        check(&format!("Ising, its own kernel, step size {step_size}"), &ends, &distribution).must_pass();
    }

    let mut d = [[0.0; 16]];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    for (seed, step_size, balance, precision) in [(23, f32::INFINITY, 1.0, 1.0), (24, 1.0, 0.8, 0.6)] {
        let sampler = IsingBalanced::new(noise, step_size, balance).unwrap().precision(precision).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &distribution, 0);
        check(&format!("Ising, second order, σ {step_size}"), &ends, &distribution).must_pass();
    }

    // Negative control: the same kernel without its test.
    let ends = Plan::control(5).ends(&model, &Langevin::unadjusted(0.6).unwrap(), &distribution, 0);
    check("unadjusted taken for adjusted", &ends, &distribution).must_fail();
}

/// Six spins on a ring with three chords, couplings ±J, and an edge of none.
fn signs(coupling: f32) -> Pairwise {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 3), (1, 4), (2, 5)];
    let sign = |edge: usize| if edge % 4 == 3 { -coupling } else { coupling };
    let edges = edges.iter().enumerate().map(|(edge, &(a, b))| (a, b, sign(edge)));
    let edges = edges.chain([(0, 2, 0.0)]);
    Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: edges.collect(),
        fields: vec![0.2, -0.1, 0.0, 0.3, -0.4, 0.1],
    }
}

/// The step of AB-edge at α = κ = 1 and σ = ∞ by its definition, with whole numbers on a grid of `parts` of |W|; every
/// move is accepted.
fn naive_discrete(target: &Pairwise, plan: &Plan, distribution: &[f64], parts: f64) -> Vec<u64> {
    let magnitude = 4.0 * f64::from(target.edges[0].2.abs());
    let weight = |k: i32| (-0.5 * magnitude / (parts * parts) * f64::from(k * k)).exp();
    let (numbers, start) = (Dice::new(&(-20..=20).map(weight).collect::<Vec<_>>()), Dice::new(distribution));
    let counts = pieces(|piece| {
        let (mut rng, mut counts) = (reference_rng(plan.seed, piece), vec![0; distribution.len()]);
        for _ in 0..plan.share() {
            let mut x = start.roll(&mut rng);
            for _ in 0..plan.steps {
                let spin = |site: u32| if x >> site & 1 == 1 { 1.0 } else { -1.0 };
                // g + η, and D.
                let mut field: Vec<f64> = target.fields.iter().map(|&w| 2.0 * f64::from(w)).collect();
                let mut d = vec![0.0; field.len()];
                for &(a, b, coupling) in target.edges.iter().filter(|edge| edge.2 != 0.0) {
                    let coupling = f64::from(coupling);
                    let k = numbers.roll(&mut rng) as f64 - 20.0;
                    field[a as usize] += 2.0 * coupling * spin(b) + k * magnitude / parts;
                    field[b as usize] += 2.0 * coupling * spin(a) + k * magnitude / parts * coupling.signum();
                    d[a as usize] += magnitude;
                    d[b as usize] += magnitude;
                }
                let sites = field.iter().zip(&d).enumerate();
                let flips = sites.map(|(site, (field, d))| {
                    let odds = -spin(site as u32) * field - 0.5 * d;
                    usize::from(uniform(&mut rng) < 1.0 / (1.0 + (-odds).exp())) << site
                });
                x ^= flips.sum::<usize>();
            }
            counts[x] += 1;
        }
        counts
    });
    counts.into_iter().reduce(|a, b| a.iter().zip(b).map(|(a, b)| a + b).collect()).unwrap()
}

#[test]
fn second_order_over_whole_numbers_keeps_an_ising_model() {
    // |W| = 4J: a grid of one part of it, and of two.
    for (seed, coupling) in [(30, 0.35), (40, 0.6)] {
        let spins = signs(coupling);
        let distribution = Distribution::of(&spins).probabilities;
        let mut memory = spins.couplings();
        let model = memory.ising(&spins).unwrap();
        let matrix = SparseMatrix::of(model.form());
        let (mut d, mut runs) = ([[0.0; 16]], [Run::default(); 10]);
        let noise = Edgewise::new(matrix, &mut d).unwrap();
        let by_runs = noise.by_runs(&mut runs[..Edgewise::runs(matrix)]).unwrap();
        let parameters = [(noise, f32::INFINITY, 1.0, 1.0), (noise, 1.0, 0.8, 0.6), (by_runs, 2.0, 0.9, 1.3)];
        for (seed, (noise, step_size, balance, precision)) in (seed..).zip(parameters) {
            let sampler = IsingBalanced::discrete(noise, step_size, balance).unwrap();
            let sampler = sampler.precision(precision).unwrap();
            let ends = Plan::usual(seed).ends(&model, &sampler, &distribution, 0);
            check(&format!("J {coupling}, over whole numbers, σ {step_size}"), &ends, &distribution)
                .must_pass();
        }
        // Negative controls: another implementation, and its grid beside the means.
        let parts = if coupling < 0.5 { 1.0 } else { 2.0 };
        let naive = |parts| naive_discrete(&spins, &Plan::usual(seed + 3), &distribution, parts);
        check("naive, over whole numbers", &naive(parts), &distribution).must_pass();
        check("naive, a grid beside the means", &naive(0.6), &distribution).must_fail();
    }
}

#[test]
fn clamped_sites_leave_the_conditional_distribution() {
    const HELD: usize = 0b010_0101;
    const AT: usize = 0b000_0100;
    let spins = spins();
    let distribution = Distribution::of(&spins).given(HELD, AT).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let sampler = Langevin::adjusted(0.6).unwrap();
    let ends = Plan::usual(6).ends(&model, &sampler, &distribution, HELD as u32);
    check("Ising with three clamped sites", &ends, &distribution).must_pass();

    let mut naive = Naive::with_step_size(&spins, 0.6);
    naive.held = HELD;
    let ends = |naive: &Naive| naive.table().ends(&Plan::control(7), &distribution);
    check("naive with three clamped sites", &ends(&naive), &distribution).must_pass();
    check("clamp forgotten in reverse", &ends(&naive.broken(Defect::ForgottenClamp)), &distribution)
        .must_fail();
}

#[test]
fn the_check_sees_every_defect() {
    let spins = spins();
    let distribution = Distribution::of(&spins).probabilities;
    let naive = Naive::with_step_size(&spins, 0.6);
    let ends = |naive: &Naive| naive.table().ends(&Plan::control(8), &distribution);
    check("naive, adjusted", &ends(&naive), &distribution).must_pass();
    for defect in [Defect::Unadjusted, Defect::StaleReverse, Defect::NoReverse, Defect::HalfEnergy] {
        let broken = naive.broken(defect);
        let table = broken.table();
        let off = total_variation(
            &(0..20).fold(distribution.clone(), |distribution, _| table.after(&distribution)),
            &distribution,
        );
        check(&format!("naive, {defect:?}, off by TV {off:.4}"), &ends(&broken), &distribution).must_fail();
    }
}

#[test]
fn an_rbm_by_langevin_and_by_block_gibbs() {
    let machine = machine(6, 5, 1.0, 12);
    let distribution = Distribution::of(&machine).probabilities;
    let weights = Weights::new(&machine).unwrap();
    let model = weights.rbm().unwrap();
    let ends = Plan::usual(9).ends(&model, &Langevin::adjusted(0.6).unwrap(), &distribution, 0);
    check("RBM, adjusted", &ends, &distribution).must_pass();
    let ends = Plan::usual(10).ends(&model, &BlockGibbs, &distribution, 0);
    check("RBM, block Gibbs", &ends, &distribution).must_pass();
    let (held, at) = (0b001010, 0b000010);
    let given = Distribution::of(&machine).given(held, at).probabilities;
    let ends = Plan::usual(11).ends(&model, &BlockGibbs, &given, held as u32);
    check("RBM, block Gibbs with two clamped sites", &ends, &given).must_pass();

    let naive = Naive::with_step_size(&machine, 0.6);
    let stale = naive.broken(Defect::StaleReverse).table().ends(&Plan::control(12), &distribution);
    check("RBM, naive, stale reverse gradient", &stale, &distribution).must_fail();
    let broken = mean_field_gibbs(&machine).ends(&Plan::control(13), &distribution);
    check("RBM, block Gibbs with means of hidden units", &broken, &distribution).must_fail();
}

#[test]
fn an_energy_from_two_functions() {
    let well = Well { sites: 6, depth: 0.05, centre: 3.4 };
    let distribution = Distribution::of(&well).probabilities;
    let ends = Plan::usual(14).ends(&Plain(well), &Langevin::adjusted(1.0).unwrap(), &distribution, 0);
    check("well, adjusted", &ends, &distribution).must_pass();
    let naive = Naive::with_step_size(&well, 1.0).broken(Defect::StaleReverse);
    let ends = naive.table().ends(&Plan::control(15), &distribution);
    check("well, naive, stale reverse gradient", &ends, &distribution).must_fail();
}

#[test]
fn unadjusted_langevin_has_its_own_distribution() {
    let spins = spins();
    let exact = Distribution::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    for (seed, step_size) in [(16, 0.15), (17, 0.6)] {
        let naive = Naive::with_step_size(&spins, f64::from(step_size)).broken(Defect::Unadjusted);
        let own = naive.table().stationary();
        let sampler = Langevin::unadjusted(step_size).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &own, 0);
        check(&format!("unadjusted, step size {step_size}, its own distribution"), &ends, &own).must_pass();
        // Negative control: the distribution of another step size. Twenty steps from the right distribution stay at the right distribution.
        let other = Naive::with_step_size(&spins, 1.1 * f64::from(step_size)).broken(Defect::Unadjusted);
        check("the distribution of a step size 10 % larger", &ends, &other.table().stationary()).must_fail();
        check("the distribution that it is near", &ends, &exact).must_fail();
    }
}
