//! Exact start for samplers without gradients, and for Langevin over several values: x₀ from the exact distribution,
//! a few steps, a chi-square on all states (as exact_start.rs). Each has a negative control that the same check rejects with as many replicas.

use bitmc::step::{
    ChromaticGibbs, Colouring, Curvature, EnumeratedGibbs, Gibbs, HammingBall, RandomWalk, SequentialGibbs,
    Swap,
};
use bitmc::{Energy, Kernel, Kind, Langevin, Plain};
use bitmc_host_tests::naive::sigmoid;
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::models::{HalfEnergy, complete};
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::table::Table;

/// Sites held in some runs, of seven.
const HELD: u32 = 0b001_0010;

fn plan(seed: u64) -> Plan {
    Plan { replicas: 32_000, steps: 6, seed }
}

fn keeps<E: Energy + Sync, K: Kernel<E> + Sync>(what: &str, space: &Space, energy: &E, kernel: &K, seed: u64) {
    let ends = space.ends(&plan(seed), energy, kernel, 0);
    chi_square(what, &ends, &space.distribution).must_pass();
    let given = space.given(HELD, space.states() - 2);
    let ends = given.ends(&plan(seed + 1), energy, kernel, HELD);
    chi_square(&format!("{what}, sites held"), &ends, &given.distribution).must_pass();
}

fn tables() -> [Tables; 2] {
    [Tables::new(Kind::Categorical, &[4, 3, 2, 3], 0.7, 41), Tables::new(Kind::Ordinal, &[2, 5, 3, 4], 0.7, 42)]
}

#[test]
fn random_walks() {
    let spins = complete(7, 0.5, 11);
    let (space, mut memory) = (Space::binary(&spins), spins.couplings());
    let model = memory.ising(&spins).unwrap();
    let walk = RandomWalk::new(2.0).unwrap();
    keeps("spins, random walk", &space, &model, &walk, 101);
    let ends = space.ends(&plan(103), &HalfEnergy(model), &walk, 0);
    chi_square("spins, random walk by half the energy", &ends, &space.distribution).must_fail();
    for (seed, tables) in tables().iter().enumerate() {
        let energy = Plain(Own(tables));
        let space = Space::tables(tables, energy.layout());
        keeps("tables, random walk", &space, &energy, &walk, 104 + 10 * seed as u64);
        let ends = space.ends(&plan(106), &HalfEnergy(energy), &walk, 0);
        chi_square("tables, random walk by half the energy", &ends, &space.distribution).must_fail();
    }
}

#[test]
fn langevin_over_several_values() {
    let many = Tables::new(Kind::Categorical, &[2, 66], 0.7, 43);
    let window = Tables::new(Kind::Ordinal, &[70, 2], 0.7, 44);
    for (seed, tables) in tables().iter().chain([&many, &window]).enumerate() {
        let (energy, seed) = (Plain(Own(tables)), 500 + 10 * seed as u64);
        let space = Space::tables(tables, energy.layout());
        let sampler = |adjusted| Langevin::new(0.5, Curvature::Same(0.3), adjusted).unwrap().within(9);
        keeps("tables, Langevin", &space, &energy, &sampler(true), seed);
        let ends = space.ends(&plan(seed + 2), &energy, &sampler(false), 0);
        chi_square("tables, Langevin without its test", &ends, &space.distribution).must_fail();
    }
}

#[test]
fn blocks_balls_and_swaps() {
    let spins = complete(7, 0.5, 13);
    let (space, mut memory) = (Space::binary(&spins), spins.couplings());
    let model = memory.ising(&spins).unwrap();
    keeps("spins, blocks", &space, &model, &EnumeratedGibbs::new(space.layout, 3).unwrap(), 301);
    keeps("spins, balls", &space, &model, &HammingBall::new(space.layout, 5, 2).unwrap(), 303);
    keeps("spins, swaps", &space, &model, &Swap, 305);
    let ends = space.ends(&plan(307), &HalfEnergy(model), &Swap, 0);
    chi_square("spins, swaps by half the energy", &ends, &space.distribution).must_fail();
    let ends = space.ends(&plan(308), &HalfEnergy(model), &EnumeratedGibbs::new(space.layout, 3).unwrap(), 0);
    chi_square("spins, blocks by half the energy", &ends, &space.distribution).must_fail();
    for (seed, tables) in tables().iter().enumerate() {
        let (energy, seed) = (Plain(Own(tables)), 310 + 10 * seed as u64);
        let space = Space::tables(tables, energy.layout());
        keeps("tables, blocks", &space, &energy, &EnumeratedGibbs::new(space.layout, 2).unwrap(), seed);
        keeps("tables, balls", &space, &energy, &HammingBall::new(space.layout, 3, 1).unwrap(), seed + 2);
        keeps("tables, swaps", &space, &energy, &Swap, seed + 4);
        let ends = space.ends(&plan(seed + 6), &HalfEnergy(energy), &Swap, 0);
        chi_square("tables, swaps by half the energy", &ends, &space.distribution).must_fail();
    }
}

#[test]
fn gibbs_scans() {
    let spins = complete(7, 0.5, 12);
    let (space, mut memory) = (Space::binary(&spins), spins.couplings());
    let model = memory.ising(&spins).unwrap();
    keeps("spins, systematic", &space, &model, &Gibbs::systematic(), 201);
    keeps("spins, random", &space, &model, &Gibbs::random(3).unwrap(), 203);
    keeps("spins, sequential from fields", &space, &model, &SequentialGibbs, 205);
    let mut classes = [0; Colouring::words(7, 7)];
    let colouring = Colouring::greedy(model.form(), &mut classes).unwrap();
    keeps("spins, chromatic", &space, &model, &ChromaticGibbs::new(colouring), 207);
    for (seed, tables) in tables().iter().enumerate() {
        let energy = Plain(Own(tables));
        let space = Space::tables(tables, energy.layout());
        keeps("tables, systematic", &space, &energy, &Gibbs::systematic(), 209 + 10 * seed as u64);
        keeps("tables, random", &space, &energy, &Gibbs::random(3).unwrap(), 211 + 10 * seed as u64);
    }
    // Negative control: all sites from the fields of the old state.
    let field = |x: usize, site: usize| {
        let up = spins_energy(&spins, x | 1 << site);
        spins_energy(&spins, x & !(1 << site)) - up
    };
    let p = |x: usize, y: usize, site: usize| sigmoid(field(x, site) * (2.0 * ((y >> site) & 1) as f64 - 1.0));
    let entry = |x: usize, y: usize| (0..7).map(|site| p(x, y, site)).product();
    let rows = (0..128).map(|x| (0..128).map(|y| entry(x, y)).collect()).collect();
    let ends = Table { rows }.ends(&plan(230), &space.distribution);
    chi_square("spins, stale fields", &ends, &space.distribution).must_fail();
}

fn spins_energy(spins: &bitmc_host_tests::naive::Pairwise, state: usize) -> f64 {
    use bitmc_host_tests::naive::Target;
    spins.energy(&bitmc_host_tests::enumerate::values(state, 7))
}
