//! Sixteen spins: exact start, twenty steps, a chi-square on the states pooled by energy and magnetisation.

use bitmc::{Energy, Langevin};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::stat::models::{HalfEnergy, complete};
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::{Verdict, chi_square};

/// Cells of energy, half a unit wide.
const WIDTH: f64 = 0.5;

/// Exact start, pooled by how far the energy is above the least, and by how many sites are 1.
fn check(
    what: &str,
    distribution: &Distribution,
    energy: &(impl Energy + Sync),
    sampler: &Langevin<'_>,
    plan: Plan,
) -> Verdict {
    let least = distribution.energies.iter().copied().fold(f64::INFINITY, f64::min);
    let cell = |state: usize| {
        17 * ((distribution.energies[state] - least) / WIDTH) as usize + state.count_ones() as usize
    };
    let cells: Vec<usize> = (0..1 << 16).map(cell).collect();
    let number = cells.iter().max().unwrap() + 1;
    let mut pooled = vec![0.0; number];
    let mut counts = vec![0; number];
    let ends = plan.ends(energy, sampler, &distribution.probabilities, 0);
    for ((&cell, p), count) in cells.iter().zip(&distribution.probabilities).zip(ends) {
        pooled[cell] += p;
        counts[cell] += count;
    }
    chi_square(what, &counts, &pooled)
}

#[test]
fn sixteen_spins() {
    let spins = complete(16, 0.3, 31);
    let distribution = Distribution::of(&spins);
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let adjusted = Langevin::adjusted(0.4).unwrap();
    check("16 spins, adjusted", &distribution, &model, &adjusted, Plan::million(32)).must_pass();
    let unadjusted = Langevin::unadjusted(0.4).unwrap();
    check("16 spins, unadjusted", &distribution, &model, &unadjusted, Plan::control(33)).must_fail();
    check("16 spins, half energy", &distribution, &HalfEnergy(model), &adjusted, Plan::control(34)).must_fail();
}
