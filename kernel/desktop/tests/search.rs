//! What is chosen by itself, and how states of low energy are looked for.

use bitmc_desktop::{Annealed, Method, Model, Plan};

/// The least energy of all states with these numbers of values.
fn least(arities: &[u32], energy: impl Fn(&[u32]) -> f64) -> f64 {
    let (mut state, mut best) = (vec![0; arities.len()], f64::INFINITY);
    loop {
        best = best.min(energy(&state));
        let Some(site) = (0..state.len()).find(|&site| state[site] + 1 < arities[site]) else { return best };
        state[site] += 1;
        state[..site].fill(0);
    }
}

/// A torus of `side` by `side` spins with random signs.
fn glass(side: u32, seed: u64) -> Vec<(u32, u32, f32)> {
    let mut state = seed;
    let mut sign = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 63 == 0 { 1.0 } else { -1.0 }
    };
    let site = |row: u32, column: u32| row % side * side + column % side;
    let mut edges = Vec::new();
    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
        edges.push((site(row, column), site(row, column + 1), sign()));
        edges.push((site(row, column), site(row + 1, column), sign()));
    }
    edges
}

const LADDERS: [Method; 2] = [Method::Exchange, Method::Isoenergetic];

#[test]
fn ladders_find_the_least_energies() {
    // Spins with fields, values, and a polynomial: a batch, and replicas of any energy.
    let edges = glass(3, 4);
    let fields: Vec<f32> = (0..9).map(|site| [0.3, -0.2, 0.0][site % 3]).collect();
    let pairs = |x: &[u32], agree: &dyn Fn(u32, u32) -> f64| -> f64 {
        edges.iter().map(|&(a, b, j)| f64::from(j) * agree(x[a as usize], x[b as usize])).sum()
    };
    let spin = |value: u32| 2.0 * f64::from(value) - 1.0;
    let ising = |x: &[u32]| {
        let own: f64 = x.iter().zip(&fields).map(|(&x, &h)| f64::from(h) * spin(x)).sum();
        -pairs(x, &|a, b| spin(a) * spin(b)) - own
    };
    let potts = |x: &[u32]| -pairs(x, &|a, b| f64::from(a == b));
    let terms: [(&[u32], f64); 5] =
        [(&[0, 1, 2], 1.5), (&[1, 2, 3], -2.0), (&[0, 3, 4], 1.0), (&[2], -0.5), (&[4], 0.25)];
    let cubic = |x: &[u32]| -> f64 {
        let term = |&(sites, weight): &(&[u32], f64)| {
            weight * sites.iter().map(|&site| f64::from(x[site as usize])).product::<f64>()
        };
        terms.iter().map(term).sum()
    };
    let models = [
        ("Ising", Model::ising(9, &edges, &fields).unwrap(), least(&[2; 9], ising)),
        ("Potts", Model::potts(9, 3, &edges, &[]).unwrap(), least(&[3; 9], potts)),
        ("cubic", Model::polynomial_bits(5, &terms).unwrap(), least(&[2; 5], cubic)),
    ];
    for (kind, model, truth) in models {
        for method in LADDERS {
            let found = model.annealer().method(method).sweeps(20_000).run().unwrap();
            assert!((found.states[0].energy - truth).abs() < 1e-4, "{kind} {method:?}: {found:?}, {truth}");
            // A run that has the target ends there; no run is below the least.
            let run = |energy| model.annealer().method(method).sweeps(20_000).target(energy).run().unwrap();
            let (hit, missed) = (run(truth), run(truth - 0.1));
            assert!(hit.target.is_some() && hit.sweeps < missed.sweeps, "{kind} {method:?}");
            assert!(missed.target.is_none(), "{kind} {method:?}");
            // Past the floats any state will do.
            assert_eq!(run(1e40).target.map(|reached| reached.run), Some(0), "{kind} {method:?}");
        }
        let known = model.given(&[(0, 1)]).unwrap();
        for method in LADDERS {
            let found = known.annealer().method(method).sweeps(20_000).run().unwrap();
            assert!(found.states.iter().all(|state| state.state[0] == 1));
        }
    }
    // All sites of an RBM share terms.
    let rbm = Model::rbm(&[0.5; 4], &[0.0; 2], &[0.0; 2]).unwrap();
    assert!(rbm.annealer().method(Method::Isoenergetic).sweeps(100).run().is_err());
}

/// All but the clock.
fn told(found: &Annealed) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        found.states.clone(),
        found.runs,
        found.sweeps,
        found.target.map(|reached| reached.run),
        found.reads.clone(),
    )
}

#[test]
fn searches_do_not_depend_on_the_threads() {
    let model = Model::ising(144, &glass(12, 9), &[]).unwrap();
    for method in [Method::Annealing, LADDERS[0], LADDERS[1]] {
        let run = |threads, seed, target: Option<f64>| {
            let search = model.annealer().method(method).seed(seed).threads(threads).sweeps(400_000);
            target.map_or(search.clone(), |energy| search.target(energy)).run().unwrap()
        };
        let best = run(2, 1, None);
        assert_eq!(told(&best), told(&run(1, 1, None)), "{method:?}");
        let energy = best.states[0].energy;
        for seed in 1..4 {
            let (one, three) = (run(1, seed, Some(energy)), run(3, seed, Some(energy)));
            assert_eq!(told(&one), told(&three), "{method:?}, seed {seed}");
        }
        assert_ne!(told(&best), told(&run(1, 2, None)), "{method:?}");
        let reads =
            |threads| model.annealer().method(method).threads(threads).reads(20, 64, None).run().unwrap();
        assert_eq!((told(&reads(1)), reads(2).reads.len()), (told(&reads(3)), 20));
    }
}

#[test]
fn all_methods_agree_about_a_planar_glass() {
    let model = Model::ising(144, &glass(12, 3), &[]).unwrap();
    let energy = |method| {
        let found = model.annealer().method(method).sweeps(2_000_000).run().unwrap();
        found.states[0].energy
    };
    let energies = [Method::Annealing, LADDERS[0], LADDERS[1]].map(energy);
    assert!(energies.iter().all(|energy| *energy == energies[0]), "{energies:?}");
}

#[test]
fn annealing_in_bits_keeps_its_temperature() {
    // Couplings of one magnitude, fields of another: each run is 512 chains in the bits of a block.
    let (edges, temperature) = (glass(3, 4), 2.0);
    let fields: Vec<f32> = (0..9).map(|site| [0.3, -0.3, 0.0][site % 3]).collect();
    let energy = |x: &[u16]| {
        let spin = |site: u32| 2.0 * f64::from(x[site as usize]) - 1.0;
        let pairs: f64 = edges.iter().map(|&(a, b, j)| f64::from(j) * spin(a) * spin(b)).sum();
        -pairs - (0..9).map(|site| f64::from(fields[site as usize]) * spin(site)).sum::<f64>()
    };
    // Mean and variance of the energy over all states.
    let moments = |temperature: f64| {
        let states =
            (0..512u16).map(|state| energy(&std::array::from_fn::<u16, 9, _>(|site| (state >> site) & 1)));
        let sums = states.fold([0.0; 3], |[z, first, second], e| {
            let p = (-e / temperature).exp();
            [z + p, first + p * e, second + p * e * e]
        });
        (sums[1] / sums[0], sums[2] / sums[0] - (sums[1] / sums[0]).powi(2))
    };
    let model = Model::ising(9, &edges, &fields).unwrap();
    let found = model.annealer().temperatures(temperature, temperature).reads(8192, 128, None).run().unwrap();
    assert_eq!((found.runs, found.reads.len()), (8192, 8192));
    for (words, told) in found.reads.iter().take(600) {
        let x: [u16; 9] = std::array::from_fn(|site| (words[0] >> site) as u16 & 1);
        assert!((energy(&x) - told).abs() < 1e-5, "{told} of {x:?}");
    }
    let mean = found.reads.iter().map(|read| read.1).sum::<f64>() / 8192.0;
    let errors_off = |temperature| {
        let (truth, variance) = moments(temperature);
        (mean - truth).abs() / (variance / 8192.0).sqrt()
    };
    assert!(errors_off(temperature) < 4.0, "{mean}, {:?}", moments(temperature));
    assert!(errors_off(1.1 * temperature) > 4.0, "another temperature is seen");
}

/// The rungs of a ladder that tunes itself, and Λ as the run has seen it.
fn rungs(model: &Model, sampler: &str) -> (usize, f64) {
    let samples = model.sampler().chains(4).draws(1000).with(sampler.parse().unwrap()).run().unwrap();
    let rates = &samples.report().swap_rates;
    (rates.len() + 1, rates.iter().flatten().map(|rate| 1.0 - rate).sum())
}

#[test]
fn ladders_have_as_many_rungs_as_their_barrier_needs() {
    let glass: Vec<_> = glass(16, 5).into_iter().map(|(a, b, j)| (a, b, 1.2 * j)).collect();
    let spins = Model::ising(256, &glass, &[]).unwrap();
    let (count, barrier) = rungs(&spins, "exchange");
    let wanted = 2.0 * barrier + 1.0;
    assert!(count > 8 && (count as f64 - wanted).abs() < 3.0, "{count} rungs for a barrier of {barrier:.2}");
    // Weak couplings need few. (Spins have six at least: a batch moves all its lanes.)
    let weak: Vec<_> = glass.iter().map(|&(a, b, j)| (a, b, 0.1 * j)).collect();
    let (few, small) = rungs(&Model::potts(256, 3, &weak, &[]).unwrap(), "exchange");
    assert!(few < 6 && small < 2.0, "{few} rungs for a barrier of {small:.2}");
    // Negative control: a ladder by hand with too few.
    let (count, barrier) = rungs(&spins, "exchange:0.2:0.4:0.7:1");
    assert!((count as f64) < 2.0 * barrier - 1.0, "{count} rungs for a barrier of {barrier:.2}");
}

#[test]
fn clusters_of_values_are_chosen_where_they_pay() {
    let side = 16_u32;
    let torus = |coupling: f32| -> Vec<(u32, u32, f32)> {
        let site = |row: u32, column: u32| row % side * side + column % side;
        let sites = (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
        let pairs = sites.flat_map(|(row, column)| {
            let next = [site(row, column + 1), site(row + 1, column)];
            next.map(|other| (site(row, column), other, coupling))
        });
        pairs.collect()
    };
    let chosen = |edges: &[(u32, u32, f32)], fields: &[f32]| {
        let model = Model::potts((side * side) as usize, 3, edges, fields).unwrap();
        let samples = model.sampler().chains(4).draws(200).run().unwrap();
        let names: Vec<_> = samples.report().tried.iter().map(|trial| trial.sampler.clone()).collect();
        (samples.report().sampler.clone(), names.join(", "))
    };
    let critical = (1.0 + 3.0_f32.sqrt()).ln();
    // Clusters win at the critical point. In a field that favours one value they are tried.
    assert!(matches!(chosen(&torus(critical), &[]).0, Plan::SwendsenWang | Plan::Wolff));
    let one = |site: usize, value: usize| if value == site % 3 { 0.5 } else { 0.0 };
    let fields = |of: &dyn Fn(usize, usize) -> f32| -> Vec<f32> {
        (0..(side * side * 3) as usize).map(|place| of(place / 3, place % 3)).collect()
    };
    let tried = |edges: &[(u32, u32, f32)], fields: &[f32]| chosen(edges, fields).1.contains("Swendsen");
    assert!(tried(&torus(0.3), &fields(&|_, value| one(0, value))));
    assert!(tried(&torus(-0.3), &[]));
    // Fields that favour different values, and couplings with frustrated loops, leave them out.
    assert!(!tried(&torus(0.3), &fields(&one)));
    let mut edges = torus(0.3);
    edges[0].2 = -0.3;
    assert!(!tried(&edges, &[]));
}

#[test]
fn reads_with_a_target_are_all_there() {
    // Couplings of two magnitudes: batches of 16 runs. Of one: of 512.
    let one = glass(40, 9);
    let two: Vec<_> = one.iter().enumerate().map(|(at, &(a, b, j))| (a, b, [1.0, 0.5][at % 2] * j)).collect();
    for (edges, batch, reads) in [(two, 16, 37), (one, 512, 1000)] {
        let model = Model::ising(1600, &edges, &[]).unwrap();
        let search = |seed| model.annealer().reads(reads, 64, None).seed(seed);
        let lowest = |all: &Annealed| {
            let lowest = all.reads.iter().map(|read| read.1).fold(f64::INFINITY, f64::min);
            (lowest, all.reads.iter().position(|read| read.1 == lowest).unwrap())
        };
        // A seed whose lowest run is in the second batch.
        let runs = (1..99).map(|seed| (seed, search(seed).run().unwrap()));
        let (seed, all) =
            runs.into_iter().find(|(_, all)| (batch..2 * batch).contains(&lowest(all).1)).unwrap();
        let (lowest, first) = lowest(&all);
        assert_eq!(all.reads.len(), reads);
        let found = search(seed).target(lowest).run().unwrap();
        assert_eq!(found.reads, all.reads[..reads.min(2 * batch)]);
        assert_eq!(found.target.map(|reached| reached.run), Some(first as u64));
        // An energy that no run has.
        let missed = search(seed).target(lowest - 0.1).run().unwrap();
        assert_eq!((&missed.reads, missed.target, missed.runs), (&all.reads, None, all.runs));
        // Without reads a batch is one run, with its best end.
        let best = model.annealer().sweeps(1).target(lowest - 100.0).run().unwrap();
        assert_eq!((best.runs, best.states.len()), (1, 1));
    }
}

#[test]
fn sweeps_of_runs_that_were_given_up_are_not_counted_whole() {
    // A batch of sixteen, a block of 512 bits, and single runs.
    let one = glass(12, 9);
    let two: Vec<_> = one.iter().enumerate().map(|(at, &(a, b, j))| (a, b, [1.0, 0.5][at % 2] * j)).collect();
    for (model, batch, sweeps) in [
        (Model::ising(144, &two, &[]).unwrap(), 16, 400_000),
        (Model::ising(144, &one, &[]).unwrap(), 512, 400_000),
        (Model::potts(144, 3, &one, &[]).unwrap(), 1, 200_000),
    ] {
        // The first batch is finished; the second one begins on the other thread, and ends with the time.
        let search = model.annealer().threads(2).reads(2 * batch, sweeps, Some(0.05));
        let found = search.run().unwrap();
        let whole = batch as u64 * sweeps;
        assert_eq!((found.runs, found.reads.len()), (batch as u64, batch));
        assert!(found.sweeps >= whole && found.sweeps < whole + whole / 2, "{} of {whole}", found.sweeps);
    }
}

#[test]
fn pairs_that_never_tried_have_no_rate() {
    let model = Model::ising(16, &glass(4, 9), &[]).unwrap();
    let run = |draws| {
        let sampler = model.sampler().with("exchange:0.3:0.5:1".parse().unwrap()).warmup(0).draws(draws);
        sampler.run().unwrap().report().swap_rates.clone()
    };
    // Rounds take turns: the first one tries the first pair.
    assert!(matches!(run(1)[..], [Some(first), None] if first > 0.0), "{:?}", run(1));
    assert!(matches!(run(2)[..], [Some(_), Some(second)] if second > 0.0));
}
