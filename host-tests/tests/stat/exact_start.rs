//! Exact start: x₀ drawn from the exact law, twenty steps, a quarter of a million
//! to a million independent replicas, a chi-square on all states. A
//! kernel that does nothing passes, a broken one does not.

use bitmc::lane::Block;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::step::{Curvature, IsingBalanced, IsingLangevin};
use bitmc::{BlockGibbs, Langevin, Plain};
use bitmc_host_tests::enumerate::Law;
use bitmc_host_tests::heap::Weights;
use bitmc_host_tests::naive::Pairwise;
use bitmc_host_tests::stat::models::{Well, complete, machine};
use bitmc_host_tests::stat::replicas::Plan;
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

fn check(what: &str, ends: &[u64], law: &[f64]) -> Verdict {
    chi_square(what, ends, law)
}

#[test]
fn adjusted_langevin_keeps_an_ising_model() {
    let spins = spins();
    let law = Law::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let plans = [(Plan::usual(1), 0.2), (Plan::million(2), 0.6), (Plan::usual(3), 5.0)];
    for (plan, step_size) in plans {
        let sampler = Langevin::adjusted(step_size).unwrap();
        let ends = plan.ends(&model, &sampler, &law, 0);
        check(&format!("Ising, adjusted, step size {step_size}"), &ends, &law).must_pass();
    }
    let curvature = each();
    let sampler = Langevin::new(0.5, Curvature::Each(&curvature), true).unwrap();
    let ends = Plan::usual(4).ends(&model, &sampler, &law, 0);
    check("Ising, adjusted, one curvature a site", &ends, &law).must_pass();

    for (seed, step_size) in [(20, 0.2), (21, 0.6), (22, 5.0)] {
        let sampler = IsingLangevin::adjusted(step_size).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &law, 0);
        check(&format!("Ising, its own kernel, step size {step_size}"), &ends, &law).must_pass();
    }

    let mut d = [[0.0; 16]];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    for (seed, step_size, balance, precision) in [(23, f32::INFINITY, 1.0, 1.0), (24, 1.0, 0.8, 0.6)] {
        let sampler = IsingBalanced::new(noise, step_size, balance).unwrap().precision(precision).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &law, 0);
        check(&format!("Ising, second order, σ {step_size}"), &ends, &law).must_pass();
    }

    // Twin: the same kernel without its test.
    let ends = Plan::twin(5).ends(&model, &Langevin::unadjusted(0.6).unwrap(), &law, 0);
    check("unadjusted taken for adjusted", &ends, &law).must_fail();
}

#[test]
fn clamped_sites_leave_the_conditional_law() {
    const HELD: usize = 0b010_0101;
    const AT: usize = 0b000_0100;
    let spins = spins();
    let law = Law::of(&spins).given(HELD, AT).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let sampler = Langevin::adjusted(0.6).unwrap();
    let ends = Plan::usual(6).ends(&model, &sampler, &law, HELD as u32);
    check("Ising with three clamped sites", &ends, &law).must_pass();

    let mut naive = Naive::with_step_size(&spins, 0.6);
    naive.held = HELD;
    let ends = |naive: &Naive| naive.table().ends(&Plan::twin(7), &law);
    check("naive with three clamped sites", &ends(&naive), &law).must_pass();
    check("clamp forgotten in reverse", &ends(&naive.broken(Defect::ForgottenClamp)), &law).must_fail();
}

#[test]
fn the_check_sees_every_defect() {
    let spins = spins();
    let law = Law::of(&spins).probabilities;
    let naive = Naive::with_step_size(&spins, 0.6);
    let ends = |naive: &Naive| naive.table().ends(&Plan::twin(8), &law);
    check("naive, adjusted", &ends(&naive), &law).must_pass();
    for defect in [Defect::Unadjusted, Defect::StaleReverse, Defect::NoReverse, Defect::HalfEnergy] {
        let broken = naive.broken(defect);
        let table = broken.table();
        let off = total_variation(&(0..20).fold(law.clone(), |law, _| table.after(&law)), &law);
        check(&format!("naive, {defect:?}, off by TV {off:.4}"), &ends(&broken), &law).must_fail();
    }
}

#[test]
fn an_rbm_by_langevin_and_by_block_gibbs() {
    let machine = machine(6, 5, 1.0, 12);
    let law = Law::of(&machine).probabilities;
    let weights = Weights::new(&machine).unwrap();
    let model = weights.rbm().unwrap();
    let ends = Plan::usual(9).ends(&model, &Langevin::adjusted(0.6).unwrap(), &law, 0);
    check("RBM, adjusted", &ends, &law).must_pass();
    let ends = Plan::usual(10).ends(&model, &BlockGibbs, &law, 0);
    check("RBM, block Gibbs", &ends, &law).must_pass();
    let (held, at) = (0b001010, 0b000010);
    let given = Law::of(&machine).given(held, at).probabilities;
    let ends = Plan::usual(11).ends(&model, &BlockGibbs, &given, held as u32);
    check("RBM, block Gibbs with two clamped sites", &ends, &given).must_pass();

    let naive = Naive::with_step_size(&machine, 0.6);
    let stale = naive.broken(Defect::StaleReverse).table().ends(&Plan::twin(12), &law);
    check("RBM, naive, stale reverse gradient", &stale, &law).must_fail();
    let broken = mean_field_gibbs(&machine).ends(&Plan::twin(13), &law);
    check("RBM, block Gibbs with means of hidden units", &broken, &law).must_fail();
}

#[test]
fn an_energy_from_two_functions() {
    let well = Well { sites: 6, depth: 0.05, centre: 3.4 };
    let law = Law::of(&well).probabilities;
    let ends = Plan::usual(14).ends(&Plain(well), &Langevin::adjusted(1.0).unwrap(), &law, 0);
    check("well, adjusted", &ends, &law).must_pass();
    let naive = Naive::with_step_size(&well, 1.0).broken(Defect::StaleReverse);
    let ends = naive.table().ends(&Plan::twin(15), &law);
    check("well, naive, stale reverse gradient", &ends, &law).must_fail();
}

#[test]
fn unadjusted_langevin_has_its_own_law() {
    let spins = spins();
    let exact = Law::of(&spins).probabilities;
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    for (seed, step_size) in [(16, 0.15), (17, 0.6)] {
        let naive = Naive::with_step_size(&spins, f64::from(step_size)).broken(Defect::Unadjusted);
        let own = naive.table().stationary();
        let sampler = Langevin::unadjusted(step_size).unwrap();
        let ends = Plan::usual(seed).ends(&model, &sampler, &own, 0);
        check(&format!("unadjusted, step size {step_size}, its own law"), &ends, &own).must_pass();
        // Twin: the law of another step size. Twenty steps from the right law stay at the right law.
        let other = Naive::with_step_size(&spins, 1.1 * f64::from(step_size)).broken(Defect::Unadjusted);
        check("the law of a step size 10 % larger", &ends, &other.table().stationary()).must_fail();
        check("the law that it is near", &ends, &exact).must_fail();
    }
}
