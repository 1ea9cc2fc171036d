//! Energies of real and large models: golden values, a million spins, a long chain's running total.

use bitmc::energy::Sparse;
use bitmc::{Energy, Ising, LaneRng, Langevin, Move, Packed, SeedableRng};
use bitmc_host_tests::comparison::{cache_of, close, gradient_of};
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Machine, Pairwise, Target};
use bitmc_host_tests::npy;
use bitmc_host_tests::tolerance::{DOUBLE, ENERGY_ROUNDINGS, FACTOR_ROUNDINGS, RBM_GRID, ROUNDING};

#[test]
fn rows_give_the_model_that_edges_give() {
    for sites in [1, 2, 17, 40] {
        let model = models::pairwise(Convention::BitsEdgesOnce, sites, 0.3, 1.0, sites as u64);
        let mut couplings = model.couplings();
        let compiled = couplings.ising(&model).unwrap();
        let form = compiled.form();
        let mut end = 0;
        let ends: Vec<u32> = (0..sites)
            .map(|site| {
                end += form.row(site).len() as u32;
                end
            })
            .collect();
        let exponent = form.unit().log2() as i32;
        let rows = Sparse::from_rows(&ends, form.entries(), form.linear(), exponent).unwrap();
        let again = Ising::quadratic(rows);
        let x = Source::new(3).state(sites);
        assert_eq!(cache_of(&compiled, &x), cache_of(&again, &x));
    }
}

#[test]
fn rbm500_has_its_golden_values() {
    // Float64 values that another program computed from the same weights.
    let (machine, digits) = (npy::machine("rbm500"), npy::states("mnist/mnist_test1000.bits"));
    let (weights, golden) = (Weights::new(&machine).unwrap(), npy::json("rbm500/golden_energy.json"));
    let rbm = weights.rbm().unwrap();
    let rows = golden["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for (row, words) in rows.iter().zip(&digits) {
        let state = Packed::new(rbm.layout(), words).unwrap();
        let x = heap::unpack(state);
        let number = |name: &str| row[name].as_f64().unwrap();
        let naive: Vec<f64> = machine.gradient(&x).into_iter().map(|g| -g).collect();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e3 * DOUBLE * (1.0 + b.abs());
        assert!(near(-machine.energy(&x), number("f")), "f is {}", machine.energy(&x));
        assert!(near(naive.iter().sum(), number("grad_sum")));
        assert!(near(naive.iter().map(|g| g * g).sum::<f64>().sqrt(), number("grad_l2")));
        for (found, truth) in naive[350..].iter().zip(row["grad_first8"].as_array().unwrap()) {
            assert!(near(*found, truth.as_f64().unwrap()));
        }
    }
    // And the kernel's, at those digits.
    for words in &digits[..8] {
        let x = heap::unpack(Packed::new(rbm.layout(), words).unwrap());
        rbm_at(&machine, &rbm, &x);
    }
}

/// The kernel's values at one state of rbm500. Here the largest weight and pre-activation put the grid at
/// 2⁻²², so the 500 pre-activations of a digit with about 100 pixels are within 100 half units.
fn rbm_at(machine: &Machine, rbm: &dyn Energy, x: &[f64]) {
    let (total, cache) = cache_of(rbm, x);
    let on: f64 = 1.0 + x.iter().sum::<f64>();
    let largest = machine.weights.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    // Half units of random sign add up as their square root: six deviations (1/√3 of the half unit each).
    let spread = 2.0 * RBM_GRID * f64::from(largest) * 6.0 * (on * 500.0 / 3.0).sqrt();
    let roundings = ROUNDING * (ENERGY_ROUNDINGS * machine.energy(x).abs() + FACTOR_ROUNDINGS * 500.0);
    close("rbm500: f", total, machine.energy(x), spread + roundings);
    let found = gradient_of(rbm, x, &cache);
    for ((found, truth), reach) in
        found.as_flattened().iter().zip(machine.gradient(x)).zip(machine.gradient_reach(x))
    {
        close("rbm500: gradient", *found, truth, ROUNDING * reach + spread);
    }
}

#[test]
fn a_chain_knows_its_energy() {
    // Multiples of 2^−20: differences below 16 are exact in f32, totals of about 1,000 are not. The chain's
    // running total is then off by the rounding of where it started and of where it is, after any number
    // of steps.
    let mut model = models::pairwise(Convention::SpinsEdgesOnce, 400, 0.01, 1.0, 15);
    let mut source = Source::new(15);
    model.edges.iter_mut().for_each(|edge| edge.2 += source.coarse(1.0) / 16384.0);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(15);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    let sampler = Langevin::adjusted(0.3).unwrap();
    let start = model.energy(&heap::unpack(chain.state()));
    let (mut moved, mut roundings) = (0, 0.0);
    for _ in 0..60_000 {
        let info = chain.step(&sampler, &mut rng);
        moved += u32::from(info.moved() > 0);
        if info.accepted && info.difference.abs() >= 16.0 {
            roundings += ROUNDING * f64::from(info.difference.abs());
        }
    }
    let end = model.energy(&heap::unpack(chain.state()));
    close("running total", chain.energy(), end, ROUNDING * (start.abs() + end.abs()) + roundings);
    assert!(end < -500.0 && moved > 5_000, "{moved} moves at totals of {end} hide nothing");
}

#[test]
fn a_million_spins_differ_by_an_exact_energy() {
    const SIDE: u32 = 1000;
    let mut source = Source::new(14);
    let edges = bitmc::torus(SIDE, SIDE, 1.0).map(|(a, b, _)| (a, b, source.coarse(1.0))).collect();
    differ_exactly((SIDE * SIDE) as usize, edges, &mut source);
}

#[test]
fn spins_with_rows_of_any_length_differ_by_an_exact_energy() {
    // Half a megabyte of entries and more: their rows are listed before they are used.
    const SITES: u32 = 20_000;
    let mut source = Source::new(15);
    for mean in [4, 10] {
        let drawn = (0..mean * SITES / 2).map(|_| {
            let (a, b) = (source.below(SITES as usize) as u32, source.below(SITES as usize) as u32);
            ((a.min(b), a.max(b)), source.coarse(1.0))
        });
        let edges: std::collections::BTreeMap<_, _> = drawn.filter(|((a, b), _)| a != b).collect();
        let edges = edges.into_iter().map(|((a, b), coupling)| (a, b, coupling)).collect();
        differ_exactly(SITES as usize, edges, &mut source);
    }
}

/// The differences of moves of one site, of some, and of half of all sites, there and back.
fn differ_exactly(sites: usize, edges: Vec<(u32, u32, f32)>, source: &mut Source) {
    let fields = (0..sites).map(|_| source.coarse(0.5)).collect();
    let model = Pairwise { convention: Convention::SpinsEdgesOnce, edges, fields };
    let mut couplings = Couplings::new(sites, model.edges.len());
    let energy = couplings.ising(&model).unwrap();
    let x = source.state(sites);
    let (total, mut cache) = cache_of(&energy, &x);
    let here_energy = model.energy(&x);
    assert_eq!(total, here_energy as f32);
    for share in [1e-6, 1e-3, 0.5, 1.0] {
        let mut y = x.clone();
        y[source.below(sites)] = 0.5;
        y.iter_mut().for_each(|value| {
            if *value == 0.5 || source.uniform() < share {
                *value = f64::from(*value == 0.0);
            }
        });
        let (here, there) = (heap::pack(&x), heap::pack(&y));
        let layout = energy.layout();
        let (here, there) = (Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
        let (out, back) = (Move::new(here, there).unwrap(), Move::new(there, here).unwrap());
        let before = cache.clone();
        let truth = model.energy(&y) - here_energy;
        assert_eq!(energy.shift(&out, &mut cache), truth as f32, "{share} of the sites");
        assert_eq!(energy.shift(&back, &mut cache), -truth as f32);
        assert!(cache == before, "there and back is not where it was");
    }
}
