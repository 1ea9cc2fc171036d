//! Stochastic gradients: unadjusted Langevin over an energy that gives an unbiased estimate of its gradient,
//! here from one of two halves of the couplings, drawn anew at every step.

use bitmc::energy::Estimate;
use bitmc::lane::Block;
use bitmc::{Energy, Langevin, Layout, Packed, Rng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::unpack;
use bitmc_host_tests::naive::{Pairwise, Target};
use bitmc_host_tests::stat::models::complete;
use bitmc_host_tests::stat::replicas::{Plan, reference_rng};
use bitmc_host_tests::stat::table::{Defect, Langevin as Naive, Table, total_variation};
use bitmc_host_tests::stat::{Verdict, chi_square};
use std::cell::RefCell;
use std::ops::Range;

/// Two estimates of a model: every other coupling, times `weight`. Unbiased where that is 2.
fn halves(spins: &Pairwise, weight: f32) -> [Pairwise; 2] {
    [0, 1].map(|half| {
        let kept = spins.edges.iter().skip(half).step_by(2);
        Pairwise { edges: kept.map(|&(a, b, coupling)| (a, b, weight * coupling)).collect(), ..spins.clone() }
    })
}

/// The chain of a step size: the mean of the chains of both halves, since each step draws one of them.
fn table(halves: &[Pairwise; 2], step_size: f64) -> Table {
    let [a, b] = halves
        .each_ref()
        .map(|half| Naive::with_step_size(half, step_size).broken(Defect::Unadjusted).table().rows);
    let rows = a.iter().zip(&b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a + b) / 2.0).collect());
    Table { rows: rows.collect() }
}

/// The energy of a piece of work, with a generator of its own for the halves.
fn estimate(halves: &[Pairwise; 2], seed: u64, piece: u32) -> impl Energy {
    let rng = RefCell::new(reference_rng(seed ^ 0xE57, piece));
    Estimate::new(Layout::binary(6), move |x: Packed<'_>, _: Range<usize>, out: &mut [Block]| {
        let half = (rng.borrow_mut().next_u32() & 1) as usize;
        for (out, value) in out[0].iter_mut().zip(halves[half].gradient(&unpack(x))) {
            *out = value as f32;
        }
    })
}

/// Exact start from `distribution`, with the minibatches of `halves`.
fn check(what: &str, halves: &[Pairwise; 2], step_size: f32, distribution: &[f64], plan: Plan) -> Verdict {
    let sampler = Langevin::unadjusted(step_size).unwrap();
    let ends = plan.ends_of(|piece| estimate(halves, plan.seed, piece), &sampler, distribution);
    chi_square(&format!("stochastic gradients, step size {step_size}, {what}"), &ends, distribution)
}

#[test]
fn minibatches() {
    let spins = complete(6, 0.3, 41);
    let exact = Distribution::of(&spins).probabilities;
    let unbiased = halves(&spins, 2.0);
    let biased = halves(&spins, 1.0);

    // The kernel has the distribution of the averaged chain, and is not the chain of the full gradient.
    let own = table(&unbiased, 0.5).stationary();
    check("its own distribution", &unbiased, 0.5, &own, Plan::usual(42)).must_pass();
    check("biased", &biased, 0.5, &own, Plan::control(43)).must_fail();
    let full = Naive::with_step_size(&spins, 0.5).broken(Defect::Unadjusted).table().stationary();
    check("the distribution of full gradients", &unbiased, 0.5, &full, Plan::usual(44)).must_fail();

    // With a small step that distribution is so near the model's that 32,000 draws cannot tell them apart: what the
    // statistic gains on average, N Σ (p−π)²/π, is below one of its 63 degrees. Small steps need many.
    let near = table(&unbiased, 0.075).stationary();
    let plan = Plan { replicas: 32_000, steps: 200, seed: 45 };
    let gain: f64 = near.iter().zip(&exact).map(|(p, q)| (p - q).powi(2) / q).sum();
    assert!(gain * (plan.replicas as f64) < 1.0, "{gain}");
    check("the model's distribution", &unbiased, 0.075, &exact, plan).must_pass();
    check("the model's distribution, biased", &biased, 0.075, &exact, plan).must_fail();
}

/// With two halves the error of a gradient is as often up as down, whatever the site's value, so it cancels
/// to first order of the flip probabilities and the distribution tends to the model's as the step size falls, like
/// e^(−1/(2α)): halving α multiplies it by e^(−1/(2α)). DLP's Theorem 6.1 says nothing of the distribution. It bounds
/// how far the proposal of one site is off on average, ‖E[q̂ᵢ] − qᵢ‖₁.
#[test]
fn the_bias_falls_with_the_step_size() {
    let spins = complete(6, 0.3, 41);
    let exact = Distribution::of(&spins).probabilities;
    let off =
        |weight, step_size| total_variation(&table(&halves(&spins, weight), step_size).stationary(), &exact);
    for step_size in [0.2, 0.1] {
        let (whole, half, biased) = (off(2.0, step_size), off(2.0, step_size / 2.0), off(1.0, step_size / 2.0));
        println!(
            "TV to the model at step size {step_size}: {whole:.2e}, at half of it: {half:.2e}, {biased:.2e} biased"
        );
        // Right to first order in the chance of a flip at one of the six sites.
        let flip = (-0.5 / step_size).exp();
        assert!((half / whole / flip - 1.0).abs() < 6.0 * flip, "{half} / {whole} is not {flip}");
        assert!(biased > whole, "a biased estimate keeps its bias");
    }
}
