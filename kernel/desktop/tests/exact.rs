//! Every class of model against float64 enumeration: means within their errors, and a wrong model that the same test
//! rejects.

use bitmc::{Function, Layout, Packed, Plain};
use bitmc_desktop::bits::BitRows;
use bitmc_desktop::{Choice, Method, Model, Samples, base_fields};

/// `E` of every state, and the means of all sites under `e^(−E/T)`, by enumeration.
struct Truth {
    means: Vec<f64>,
    energy: f64,
    log_z: f64,
    least: f64,
}

fn enumerate(arities: &[usize], temperature: f64, energy: impl Fn(&[f64]) -> f64) -> Truth {
    let (mut x, mut z, mut means, mut mean, mut least) =
        (vec![0.0; arities.len()], 0.0, vec![0.0; arities.len()], 0.0, f64::INFINITY);
    loop {
        let e = energy(&x);
        let weight = (-e / temperature).exp();
        if weight > 0.0 {
            z += weight;
            mean += weight * e;
            means.iter_mut().zip(&x).for_each(|(mean, x)| *mean += weight * x);
        }
        least = least.min(e);
        let Some(site) = (0..x.len()).find(|&site| x[site] as usize + 1 < arities[site]) else { break };
        x[..site].fill(0.0);
        x[site] += 1.0;
    }
    let means = means.iter().map(|mean| mean / z).collect();
    Truth { means, energy: mean / z, log_z: z.ln(), least }
}

/// The largest distance from the truth, in standard errors, of the energy and the sites.
fn distance(samples: &Samples, truth: &Truth) -> f64 {
    let summary = samples.summary();
    let off = |scalar: &bitmc_desktop::diagnose::Scalar, exact: f64| {
        // A site that never changes has no error: then it must be right as it is.
        let error = scalar.mcse.unwrap_or(1e-4).max(1e-6);
        (scalar.mean - exact).abs() / error
    };
    let sites = summary.sites.iter().zip(&truth.means).map(|(site, &exact)| off(&site.value, exact));
    sites.fold(off(&summary.energy, truth.energy), f64::max)
}

/// Numbers that any machine makes.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        2.0 * (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 1.0
    }

    fn all(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next() as f32).collect()
    }
}

fn pairs(sites: u32) -> Vec<(u32, u32)> {
    (0..sites).flat_map(|a| (a + 1..sites).map(move |b| (a, b))).collect()
}

type Energy = Box<dyn Fn(&[f64]) -> f64>;

/// A model, the number of values of its sites, and its energy written down once more.
fn models() -> Vec<(&'static str, Model, Vec<usize>, Energy)> {
    let mut random = Numbers(7);
    let mut all: Vec<(&'static str, Model, Vec<usize>, Energy)> = Vec::new();

    let edges: Vec<_> = pairs(8).into_iter().map(|(a, b)| (a, b, 0.5 * random.next() as f32)).collect();
    let fields = random.all(8);
    let (e, h) = (edges.clone(), fields.clone());
    let spin = |x: &[f64], i: u32| 2.0 * x[i as usize] - 1.0;
    let spins = move |x: &[f64]| {
        -e.iter().map(|&(a, b, j)| f64::from(j) * spin(x, a) * spin(x, b)).sum::<f64>()
            - h.iter().enumerate().map(|(i, &h)| f64::from(h) * spin(x, i as u32)).sum::<f64>()
    };
    all.push(("Ising", Model::ising(8, &edges, &fields).unwrap(), vec![2; 8], Box::new(spins)));

    let matrix = random.all(64);
    let q = matrix.clone();
    let form = move |x: &[f64]| {
        (0..8)
            .flat_map(|a| (0..8).map(move |b| (a, b)))
            .map(|(a, b)| f64::from(q[8 * a + b]) * x[a] * x[b])
            .sum()
    };
    all.push(("QUBO", Model::qubo_dense(&matrix).unwrap(), vec![2; 8], Box::new(form)));

    let edges: Vec<_> = pairs(6).into_iter().map(|(a, b)| (a, b, random.next() as f32)).collect();
    let fields = random.all(18);
    let (e, w) = (edges.clone(), fields.clone());
    let potts = move |x: &[f64]| {
        let same = e.iter().filter(|&&(a, b, _)| x[a as usize] == x[b as usize]);
        -same.map(|edge| f64::from(edge.2)).sum::<f64>()
            - x.iter().enumerate().map(|(i, &x)| f64::from(w[3 * i + x as usize])).sum::<f64>()
    };
    all.push(("Potts", Model::potts(6, 3, &edges, &fields).unwrap(), vec![3; 6], Box::new(potts)));

    let (weights, visible, hidden) = (random.all(8 * 5), random.all(8), random.all(5));
    let (w, a, b) = (weights.clone(), visible.clone(), hidden.clone());
    let rbm = move |v: &[f64]| {
        let linear: f64 = v.iter().zip(&a).map(|(v, &a)| v * f64::from(a)).sum();
        let unit = |j: usize| f64::from(b[j]) + (0..8).map(|i| v[i] * f64::from(w[5 * i + j])).sum::<f64>();
        -linear - (0..5).map(|j| unit(j).exp().ln_1p()).sum::<f64>()
    };
    all.push(("RBM", Model::rbm(&weights, &visible, &hidden).unwrap(), vec![2; 8], Box::new(rbm)));

    // Neighbours in a ring differ, with so many values that single changes connect all states.
    let arities = [4u16, 4, 3, 4, 4, 3];
    let tables: Vec<([u32; 2], Vec<f64>)> = (0..6usize)
        .map(|a| {
            let b = (a + 1) % 6;
            let (p, q) = (usize::from(arities[a]), usize::from(arities[b]));
            let weight = |k: usize| if k / q == k % q { 0.0 } else { 1.0 + 0.8 * random.next() };
            ([a as u32, b as u32], (0..p * q).map(weight).collect())
        })
        .collect();
    let borrowed: Vec<(&[u32], &[f64])> =
        tables.iter().map(|(sites, table)| (&sites[..], &table[..])).collect();
    let model = Model::factors(&arities, &borrowed).unwrap();
    let factors = move |x: &[f64]| {
        let entry = |(sites, table): &([u32; 2], Vec<f64>)| {
            table[x[sites[0] as usize] as usize * usize::from(arities[sites[1] as usize])
                + x[sites[1] as usize] as usize]
        };
        -tables.iter().map(|table| entry(table).ln()).sum::<f64>()
    };
    all.push(("factors", model, arities.iter().map(|&q| q.into()).collect(), Box::new(factors)));

    let edges: Vec<_> = pairs(4).into_iter().map(|(a, b)| (a, b, 0.05 * random.next() as f32)).collect();
    let e = edges.clone();
    let centre = [2.0f32, 2.5, 3.0, 1.0];
    let gaussian = move |x: &[f64]| {
        let off = |i: usize| x[i] - f64::from(centre[i]);
        (0..4).map(|i| 0.5 * 0.3 * off(i).powi(2)).sum::<f64>()
            + e.iter().map(|&(a, b, w)| f64::from(w) * off(a as usize) * off(b as usize)).sum::<f64>()
    };
    all.push((
        "Gaussian",
        Model::gaussian(6, &edges, &[0.3; 4], &centre).unwrap(),
        vec![6; 4],
        Box::new(gaussian),
    ));

    let design = random.all(12 * 6);
    let outcomes: Vec<bool> = (0..12).map(|_| random.next() > 0.0).collect();
    let (d, y) = (design.clone(), outcomes.clone());
    let logistic = move |x: &[f64]| {
        let margin = |row: usize| {
            let sign = if y[row] { 1.0 } else { -1.0 };
            sign * (0..6).map(|j| f64::from(d[6 * row + j]) * x[j]).sum::<f64>()
        };
        x.iter().map(|x| 0.4 * x).sum::<f64>() + (0..12).map(|row| (-margin(row)).exp().ln_1p()).sum::<f64>()
    };
    all.push((
        "logistic",
        Model::logistic(&design, &outcomes, &[0.4; 6]).unwrap(),
        vec![2; 6],
        Box::new(logistic),
    ));

    for (name, spins) in [("polynomial over bits", false), ("polynomial over spins", true)] {
        let triples = [[0u32, 1, 2], [1, 3, 5], [2, 4, 6], [0, 5, 7], [3, 6, 7], [2, 2, 5]];
        let weights = random.all(6);
        // The last term is a constant.
        const CONSTANT: f64 = -1.75;
        let terms = triples.iter().zip(&weights).map(|(sites, &w)| (&sites[..], f64::from(w)));
        let terms: Vec<(&[u32], f64)> = terms.chain([(&[][..], CONSTANT)]).collect();
        let model =
            if spins { Model::polynomial_spins(8, &terms) } else { Model::polynomial_bits(8, &terms) }.unwrap();
        let polynomial = move |x: &[f64]| {
            let value = |i: u32| if spins { 2.0 * x[i as usize] - 1.0 } else { x[i as usize] };
            let term = |(t, &w): (&[u32; 3], &f32)| f64::from(w) * t.iter().map(|&i| value(i)).product::<f64>();
            triples.iter().zip(&weights).map(term).sum::<f64>() + CONSTANT
        };
        all.push((name, model, vec![2; 8], Box::new(polynomial)));
    }
    all
}

#[test]
fn the_automatic_choice_samples_every_class() {
    for (name, model, arities, energy) in models() {
        {
            // Another temperature than 1: RBMs and regressions take another way there.
            let temperature = 0.7;
            let truth = enumerate(&arities, temperature, &energy);
            let samples = model.sampler().temperature(temperature as f32).draws(1500).seed(3).run().unwrap();
            let off = distance(&samples, &truth);
            assert!(off < 5.0, "{name} at T = {temperature}: {off:.1} errors off\n{:#?}", samples.report());
            // Energies are those of the states.
            let state: Vec<f64> = samples.state(2, 17).map(f64::from).collect();
            let told = samples.energies(2)[17];
            let exact = energy(&state);
            assert!((told - exact).abs() < 1e-4, "{name}: {told} for {exact} at {state:?}");
            // The wrong temperature is seen.
            let wrong = enumerate(&arities, temperature * 1.2, &energy);
            assert!(distance(&samples, &wrong) > 7.0, "{name}: blind to the temperature");
        }
    }
}

#[test]
fn samplers_by_hand_sample_every_class() {
    let names = [
        "gibbs",
        "langevin",
        "langevin:0.5",
        "balanced",
        "gwg",
        "pas:2",
        "locally-balanced",
        "hamming-ball:4:2",
        "random-walk",
        "exchange",
    ];
    for (name, model, arities, energy) in models() {
        let truth = enumerate(&arities, 1.0, &energy);
        for sampler in names {
            // Paths of two indices keep the parity of a state of bits; one index does not.
            let sampler = if sampler.starts_with("pas") { "pas:1" } else { sampler };
            let choice: Choice = sampler.parse().unwrap();
            let samples = model.sampler().with(choice).chains(4).draws(3000).seed(5).run().unwrap();
            let off = distance(&samples, &truth);
            assert!(off < 5.0, "{name} by {sampler}: {off:.1} errors off");
        }
    }
    let mut clusters = 0;
    for (name, model, arities, energy) in models() {
        for sampler in ["swendsen-wang", "wolff"] {
            let choice: Choice = sampler.parse().unwrap();
            if let Ok(samples) = model.sampler().with(choice).chains(4).draws(3000).seed(5).run() {
                let off = distance(&samples, &enumerate(&arities, 1.0, &energy));
                assert!(off < 5.0, "{name} by {sampler}: {off:.1} errors off");
                clusters += 1;
            }
        }
    }
    assert!(clusters >= 6, "Ising, QUBO and Potts models have clusters: {clusters}");
    // Where terms are over few sites.
    let mut pairs = 0;
    for (name, model, arities, energy) in models() {
        for sampler in ["isoenergetic", "isoenergetic:0.4:0.7:1"] {
            match model.sampler().with(sampler.parse().unwrap()).chains(4).draws(3000).seed(5).run() {
                Ok(samples) => {
                    let off = distance(&samples, &enumerate(&arities, 1.0, &energy));
                    assert!(off < 5.0, "{name} by {sampler}: {off:.1} errors off");
                    pairs += 1;
                }
                Err(error) => assert!(error.to_string().contains("few sites"), "{name}: {error}"),
            }
        }
    }
    assert_eq!(pairs, 2 * 7, "all but RBMs and regressions have such moves");
    // Drivers of several stages, in one call.
    for (name, model, arities, energy) in models().into_iter().filter(|(.., arities, _)| arities[0] == 2) {
        let truth = enumerate(&arities, 1.0, &energy);
        for sampler in ["second-order", "second-order:0.5", "cyclical"] {
            let samples =
                model.sampler().with(sampler.parse().unwrap()).chains(4).draws(3000).seed(5).run().unwrap();
            let off = distance(&samples, &truth);
            assert!(off < 5.0, "{name} by {sampler}: {off:.1} errors off");
        }
    }
    // Sixteen, four and one chain of an RBM that ask for their gradients together.
    let mut random = Numbers(7);
    let (weights, visible, hidden) = (random.all(8 * 40), random.all(8), random.all(40));
    let model = Model::rbm(&weights, &visible, &hidden).unwrap();
    let energy = |scale: f64| {
        let (w, a, b) = (&weights, &visible, &hidden);
        move |v: &[f64]| {
            let linear: f64 = v.iter().zip(a).map(|(v, &a)| v * f64::from(a)).sum();
            let unit =
                |j: usize| f64::from(b[j]) + (0..8).map(|i| v[i] * f64::from(w[40 * i + j])).sum::<f64>();
            -linear - scale * (0..40).map(|j| unit(j).exp().ln_1p()).sum::<f64>()
        }
    };
    let (truth, other) = (enumerate(&[2; 8], 1.0, energy(1.0)), enumerate(&[2; 8], 1.0, energy(0.9)));
    for sampler in ["langevin", "balanced", "cyclical"] {
        for chains in [4, 12, 70] {
            let samples =
                model.sampler().with(sampler.parse().unwrap()).chains(chains).draws(1000).run().unwrap();
            let off = [&truth, &other].map(|truth| distance(&samples, truth));
            assert!(off[0] < 5.0 && off[1] > 8.0, "{sampler}, {chains} chains: {off:?} errors off");
        }
    }
    let (_, rbm, arities, energy) = models().remove(3);
    let samples = rbm.sampler().with("block-gibbs".parse().unwrap()).run().unwrap();
    assert!(distance(&samples, &enumerate(&arities, 1.0, energy)) < 5.0);
}

#[test]
fn ln_z_and_minima_are_those_of_the_enumeration() {
    for (name, model, arities, energy) in models() {
        for temperature in [0.7, 1.0] {
            let truth = enumerate(&arities, temperature, &energy);
            let settings = model.log_z().temperature(temperature);
            let estimate = settings.runs(200).temperatures(200).run().unwrap();
            let off = |log_z: f64| (log_z - truth.log_z).abs() / estimate.error.max(1e-4);
            assert!(off(estimate.log_z) < 5.0, "{name}: {estimate:?}, exactly {}", truth.log_z);
            assert!(off(estimate.log_z + 1.0) > 5.0, "{name}: blind, {estimate:?}");
        }
        let truth = enumerate(&arities, 1.0, &energy);
        let found = model.annealer().sweeps(20_000).run().unwrap();
        assert!(
            (found.states[0].energy - truth.least).abs() < 1e-3,
            "{name}: {} not {}",
            found.states[0].energy,
            truth.least
        );
    }
}

#[test]
fn ln_z_of_a_population_is_that_of_the_enumeration() {
    for (name, model, arities, energy) in models() {
        for temperature in [1.0, 0.7] {
            let truth = enumerate(&arities, temperature, &energy);
            let population = |seed: u64, threads: usize| {
                let settings = model.log_z().temperature(temperature).population(2000);
                settings.seed(seed).threads(threads).run().unwrap()
            };
            let estimate = population(1, 1);
            let off = |truth: f64| (estimate.log_z - truth).abs() / estimate.error;
            assert!(off(truth.log_z) < 5.0, "{name}: {estimate:?}, exactly {}", truth.log_z);
            assert!(off(truth.log_z + 0.5) > 5.0, "{name}: blind, {estimate:?}");
            assert!(estimate.warning.is_none() && estimate.families.is_some(), "{name}: {estimate:?}");
            // The same bits for any number of threads, others for another seed.
            assert_eq!(estimate, population(1, 3), "{name}");
            assert_ne!(estimate.log_z, population(2, 2).log_z, "{name}");
        }
        // Known sites.
        let last = arities.len() - 1;
        let known = model.clone().given(&[(1, 1), (last, 0)]).unwrap();
        let given = |x: &[f64]| if x[1] == 1.0 && x[last] == 0.0 { energy(x) } else { f64::INFINITY };
        let (truth, estimate) =
            (enumerate(&arities, 1.0, given), known.log_z().population(1000).run().unwrap());
        assert!(
            (estimate.log_z - truth.log_z).abs() < 5.0 * estimate.error.max(1e-4),
            "{name}: {estimate:?}, exactly {}",
            truth.log_z
        );
    }
}

#[test]
fn ln_z_begins_at_independent_sites_like_some_states() {
    for (name, model, arities, energy) in models() {
        let samples = model.sampler().chains(4).draws(200).run().unwrap();
        let states = (0..4).flat_map(|chain| (0..200).map(move |draw| (chain, draw)));
        let fields =
            base_fields(samples.layout(), states.map(|(chain, draw)| samples.state(chain, draw))).unwrap();
        let last = arities.len() - 1;
        let known = model.clone().given(&[(1, 1), (last, 0), (1, 1)]).unwrap();
        let given = |x: &[f64]| if x[1] == 1.0 && x[last] == 0.0 { energy(x) } else { f64::INFINITY };
        // At another temperature too, which some models take by themselves and others from the path.
        for t in [1.0, 0.7, 2.0] {
            let truths = [enumerate(&arities, t, &energy), enumerate(&arities, t, given)];
            for (model, truth) in [&model, &known].into_iter().zip(truths) {
                let log_z = || model.log_z().temperature(t).base(&fields);
                for settings in [log_z().runs(200).temperatures(100), log_z().population(1000)] {
                    let estimate = settings.run().unwrap();
                    let off = |log_z: f64| (log_z - truth.log_z).abs() / estimate.error.max(1e-4);
                    let at = format!("{name}, T = {t}");
                    assert!(off(estimate.log_z) < 5.0, "{at}: {estimate:?}, exactly {}", truth.log_z);
                    assert!(off(estimate.log_z + 1.0) > 5.0, "{at}: blind, {estimate:?}");
                }
            }
        }
    }
}

/// Of two runs even an error of 10⁻⁸ may be told, where both met nearly the same states.
#[test]
fn few_runs_and_temperatures_are_doubtful() {
    let (_, model, ..) = models().remove(0);
    let warning = |runs: usize| model.log_z().runs(runs).run().unwrap().warning;
    assert!(warning(2).is_some() && warning(7).unwrap().contains("at least 8") && warning(8).is_none());
    // From a base a part of Z may be missed in few temperatures, without a trace in the weights.
    let fields = vec![0.25; model.sites()];
    let warning =
        |temperatures: usize| model.log_z().base(&fields).temperatures(temperatures).run().unwrap().warning;
    assert!(warning(199).unwrap().contains("take at least 200") && warning(200).is_none());
}

/// Pairs that must not both be 1: what is lost beside their weight of 4·10⁶ on the way down does not stay in the energies.
#[test]
fn large_penalties_leave_the_energies_right() {
    let weights: Vec<f32> = (0..40).map(|site| 1.0 + (site % 3) as f32).collect();
    let edges: Vec<_> = (0..20).map(|pair| (2 * pair, 2 * pair + 1, 4e6)).collect();
    let model = Model::qubo(40, &edges, &weights).unwrap();
    for sampler in ["gibbs", "auto"] {
        let samples = model.sampler().with(sampler.parse().unwrap()).draws(100).seed(3).run().unwrap();
        for (chain, draw) in (0..samples.chains()).flat_map(|chain| (0..100).map(move |draw| (chain, draw))) {
            let x = samples.state(chain, draw);
            let energy: f64 = x.zip(&weights).map(|(x, &w)| f64::from(x) * f64::from(w)).sum();
            assert!(
                (samples.energies(chain)[draw] - energy).abs() < 1e-3,
                "{sampler}, {chain}, {draw}: {energy}"
            );
        }
    }
}

/// How far estimates of ln Z of an RBM on digits are off, in natural logarithms and in standard errors.
fn rbm_off(base: &[f32], temperatures: usize) -> [f64; 2] {
    const SEEDS: u64 = 20;
    const EXACTLY: f64 = 54.82826175865478; // examples/data/rbm64/exact.json
    let model = Model::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/rbm64")).unwrap();
    let mut squares = [0.0; 2];
    for seed in 0..SEEDS {
        let estimate = model.log_z().base(base).temperatures(temperatures).seed(seed).run().unwrap();
        let off = estimate.log_z - EXACTLY;
        squares[0] += off.powi(2);
        squares[1] += (off / estimate.error).powi(2);
    }
    squares.map(|sum| (sum / SEEDS as f64).sqrt())
}

#[test]
fn errors_of_ln_z_know_of_weights_that_no_run_has_met() {
    for temperatures in [20, 50] {
        let [_, errors] = rbm_off(&[], temperatures);
        assert!(errors < 1.3, "{temperatures} temperatures: off by {errors} standard errors");
    }
    // Negative control: of half the error, which the spread of the weights alone has.
    assert!(2.0 * rbm_off(&[], 50)[1] > 1.3);
}

#[test]
fn a_base_of_data_needs_fewer_temperatures() {
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/rbm64/digits8x8_gt7.bits");
    let digits = BitRows::read(digits.as_ref(), 64).unwrap();
    let values = |row| Packed::new(digits.layout(), row).unwrap().values().collect::<Vec<_>>();
    let fields = base_fields(digits.layout(), digits.rows().map(values)).unwrap();
    let (near, [uniform, _]) = (rbm_off(&fields, 10), rbm_off(&[], 10));
    assert!(near[0] < 0.2 && near[1] < 1.3 && uniform > 0.4, "{near:?}, {uniform}");
}

#[test]
fn bases_have_the_frequencies_of_their_states() {
    let rows = [[0u32, 1, 2], [0, 2, 2], [0, 2, 1]];
    let of = |layout, rows: &[[u32; 3]]| base_fields(layout, rows.iter().map(|row| row.iter().copied()));
    // Counts with a half more each: 3.5 and .5 of bits that are 0 in three rows.
    let bits = of(Layout::binary(3), &[[0, 1, 1], [0, 1, 0], [0, 0, 1]]).unwrap();
    let odds = [0.5f64 / 3.5, 2.5 / 1.5, 2.5 / 1.5];
    bits.iter().zip(odds).for_each(|(field, odds)| assert!((f64::from(*field) - odds.ln()).abs() < 1e-6));
    let table = of(Layout::categorical(3, 3), &rows).unwrap();
    let counts = [3.5f64, 0.5, 0.5, 0.5, 1.5, 2.5, 0.5, 1.5, 2.5];
    table.iter().zip(counts).for_each(|(field, count)| assert!((f64::from(*field) - count.ln()).abs() < 1e-6));
    let slopes = of(Layout::ordinal(3, 3), &rows).unwrap();
    for (slope, counts) in slopes.iter().zip(counts.chunks(3)) {
        let mean = |weights: [f64; 3]| (weights[1] + 2.0 * weights[2]) / weights.iter().sum::<f64>();
        let e = f64::from(*slope).exp();
        assert!((mean([1.0, e, e * e]) - mean([counts[0], counts[1], counts[2]])).abs() < 1e-6);
    }
    let refused = |found: Result<Vec<f32>, bitmc_desktop::Error>| found.unwrap_err().to_string();
    assert!(refused(of(Layout::binary(3), &rows)).contains("row 0 has the value 2 at site 2"));
    assert!(refused(of(Layout::categorical(4, 3), &rows)).contains("row 0 has 3 values, where 4"));
    assert!(refused(of(Layout::categorical(3, 3), &[])).contains("no states"));
    let model = Model::ising(3, &[], &[]).unwrap();
    assert!(refused(model.log_z().base(&[0.0; 2]).run().map(|_| vec![])).starts_with("base: "));
}

#[test]
fn a_population_says_what_is_wrong() {
    let (_, model, ..) = models().remove(0);
    // Settings of the other method are refused, those that it would take by itself too.
    let refused = |settings: bitmc_desktop::LogZ<'_>| settings.run().unwrap_err().to_string();
    assert!(refused(model.log_z().population(100).runs(64)).starts_with("runs: "));
    assert!(refused(model.log_z().temperatures(1000).population(100)).starts_with("temperatures: "));
    assert!(refused(model.log_z().population(1)).contains("from 2"));
    let cancel = bitmc_desktop::Cancel::new();
    cancel.cancel();
    assert!(refused(model.log_z().population(100).cancel(&cancel)).contains("cancelled"));
    // A glass that ten replicas cannot know.
    let edges: Vec<_> =
        pairs(40).into_iter().map(|(a, b)| (a, b, if (a * b + a) % 3 == 0 { 1.0 } else { -1.0 })).collect();
    let glass = Model::ising(40, &edges, &[]).unwrap();
    assert!(glass.log_z().population(10).run().unwrap().warning.unwrap().contains("larger population"));
}

#[test]
fn known_sites_hold_and_condition_the_others() {
    for (name, model, arities, energy) in models() {
        let last = arities.len() - 1;
        let model = model.given(&[(1, 1), (last, 0)]).unwrap();
        let given = |x: &[f64]| if x[1] == 1.0 && x[last] == 0.0 { energy(x) } else { f64::INFINITY };
        let truth = enumerate(&arities, 1.0, given);
        let samples = model.sampler().draws(1000).run().unwrap();
        assert!(distance(&samples, &truth) < 5.0, "{name}");
        let estimate = model.log_z().runs(200).temperatures(200).run().unwrap();
        assert!(
            (estimate.log_z - truth.log_z).abs() < 5.0 * estimate.error.max(1e-4),
            "{name}: {estimate:?}, {}",
            truth.log_z
        );
        let found = model.annealer().sweeps(20_000).run().unwrap();
        assert!((found.states[0].energy - truth.least).abs() < 1e-3, "{name}");
    }
}

#[test]
fn chains_in_far_modes_lead_to_replica_exchange() {
    // Two modes of 48 spins that agree, e^(2·48·.02) = 6.8 apart; a Gibbs chain does not cross.
    let edges: Vec<_> = pairs(48).into_iter().map(|(a, b)| (a, b, 1.7f32 / 48.0)).collect();
    let model = Model::ising(48, &edges, &[0.02; 48]).unwrap();
    // Nothing is frustrated: clusters cross.
    use bitmc_desktop::Plan::{SwendsenWang, Wolff};
    assert!(matches!(model.sampler().run().unwrap().report().sampler, SwendsenWang | Wolff));
    // The same energy as a QUBO, whose class has no clusters among its candidates.
    let (bits, field): (Vec<_>, _) =
        (edges.iter().map(|&(a, b, j)| (a, b, -4.0 * j)).collect(), 0.04 - 2.0 * 47.0 * 1.7 / 48.0);
    let model = Model::qubo(48, &bits, &[-field as f32; 48]).unwrap();
    let samples = model.sampler().run().unwrap();
    assert!(samples.report().sampler.to_string().starts_with("replica exchange"), "{:#?}", samples.report());
    // By the number of ones: E depends on it alone.
    let (mut z, mut mean, mut choose) = (0.0, 0.0, 1.0f64);
    for ones in 0..=48 {
        let m = f64::from(2 * ones - 48);
        let weight = choose * (1.7 / 48.0 * (m * m - 48.0) / 2.0 + 0.02 * m).exp();
        (z, mean) = (z + weight, mean + weight * f64::from(ones) / 48.0);
        choose = choose * f64::from(48 - ones) / f64::from(ones + 1);
    }
    let summary = samples.summary();
    let site = &summary.sites[5].value;
    assert!((site.mean - mean / z).abs() < 5.0 * site.mcse.unwrap(), "{site:?}, exactly {}", mean / z);
    assert!(summary.r_hat.unwrap() < 1.05 || summary.warning().is_some());
    // Gibbs alone says that it cannot be trusted.
    let alone = model.sampler().with("gibbs".parse().unwrap()).run().unwrap().summary();
    assert!(alone.warning().unwrap().contains("do not agree"));
}

#[test]
fn rounding_of_energies_is_no_order_of_the_states() {
    let model = Model::ising(3, &[(0, 1, 0.5), (1, 2, -0.5)], &[0.1, 0.0, 0.0]).unwrap();
    let samples = model.sampler().draws(2000).with("gibbs".parse().unwrap()).run().unwrap();
    let energy = samples.summary().energy;
    assert!(energy.ess_bulk > Some(10_000.0) && energy.ess_tail > Some(10_000.0), "{energy:?}");
    // Negative control: ranks of the energies as they are.
    let energies: Vec<Vec<f64>> = (0..samples.chains()).map(|chain| samples.energies(chain)).collect();
    let ranked = bitmc_desktop::diagnose::diagnose(&energies);
    assert!(ranked.ess_bulk < Some(2000.0), "{ranked:?}");
}

#[test]
fn large_energies_that_move_by_little_have_their_spread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.qubo");
    std::fs::write(&path, "p qubo 0 2 2 0\n0 0 -1000000\n1 1 1\n").unwrap();
    let model = Model::read(&path).unwrap();
    let p = 1.0 / (1.0 + 1f64.exp());
    let sd = (p * (1.0 - p)).sqrt();
    for sampler in ["auto", "gibbs", "langevin:0.2"] {
        let samples = model.sampler().with(sampler.parse().unwrap()).draws(2000).run().unwrap();
        let energy = samples.summary().energy;
        assert!((energy.sd / sd - 1.0).abs() < 0.05 && energy.r_hat < Some(1.05), "{sampler}: {energy:?}");
        assert!((energy.mean - p + 1e6).abs() < 5.0 * energy.mcse.unwrap(), "{sampler}: {energy:?}");
    }
    let table = model.given(&[(0, 1), (1, 0)]).unwrap().sampler().draws(20).run().unwrap().summary().table(0);
    assert!(table.contains("| E | -1000000.0000 | – | 0.0000 |"), "{table}");
}

#[test]
fn a_target_is_reached_at_its_energy_and_not_above() {
    let model = Model::ising(2, &[(0, 1, 0.5)], &[1e6, 0.0]).unwrap();
    for method in [Method::Annealing, Method::Exchange] {
        let search = |target| model.annealer().method(method).sweeps(5000).target(target).run().unwrap();
        let best = search(-1e7).states[0].energy;
        assert_eq!(best, -1_000_000.5);
        assert!(search(best).target.is_some(), "{method:?}");
        assert!(search(best - 1.0).target.is_none(), "{method:?}");
        assert!(search(best - 0.2).target.is_none(), "{method:?}");
        assert!(search(-1e40).target.is_none(), "{method:?}");
    }
}

#[test]
fn reads_of_an_annealing_end_at_its_coldest_temperature() {
    for (name, model, arities, energy) in models() {
        let count = 4000;
        let found = model.annealer().reads(count, 256, None).temperatures(6.0, 1.5).run().unwrap();
        assert_eq!(found.reads.len(), count);
        let layout = found.layout();
        let mean = |of: &dyn Fn(&[f64]) -> f64| -> f64 {
            let value = |(words, _): &(Vec<u32>, f64)| {
                let state = bitmc::Packed::new(layout, words).unwrap();
                of(&state.values().map(f64::from).collect::<Vec<_>>())
            };
            found.reads.iter().map(value).sum::<f64>() / count as f64
        };
        let own: f64 = found.reads.iter().map(|read| read.1).sum::<f64>() / count as f64;
        let (energy_mean, square) = (mean(&|x| energy(x)), mean(&|x| energy(x).powi(2)));
        assert!((own - energy_mean).abs() < 1e-3, "{name}: {own} not {energy_mean}");
        let error = ((square - energy_mean * energy_mean) / count as f64).sqrt();
        let off = |temperature| (own - enumerate(&arities, temperature, &energy).energy).abs() / error;
        assert!(off(1.5) < 5.0, "{name}: {:.1} errors off", off(1.5));
        // Negative control: another temperature.
        assert!(off(1.0) > 5.0, "{name}: blind");
    }
    let model = Model::ising(2, &[(0, 1, 0.5)], &[]).unwrap();
    assert!(model.annealer().reads(0, 1, None).run().is_err());
    assert!(model.annealer().temperatures(1.0, 2.0).run().is_err());
}

#[test]
fn clusters_are_chosen_where_they_pay() {
    let torus = |side: u32, sign: f32| -> Vec<(u32, u32, f32)> {
        let site = |row: u32, column: u32| row % side * side + column % side;
        let pairs = (0..side * side).flat_map(|at| {
            let (row, column) = (at / side, at % side);
            [(at, site(row, column + 1), 0.4407 * sign), (at, site(row + 1, column), 0.4407 * sign)]
        });
        pairs.collect()
    };
    let chosen = |side: u32, sign: f32, field: f32| {
        let model =
            Model::ising((side * side) as usize, &torus(side, sign), &[field; 1024][..(side * side) as usize]);
        let samples = model.unwrap().sampler().draws(200).run().unwrap();
        (samples.report().sampler.to_string(), samples.summary().warning())
    };
    let clusters = |sampler: &str| sampler.starts_with("Swendsen") || sampler.starts_with("Wolff");
    // A critical ferromagnet, and an antiferromagnet on a bipartite graph.
    for sign in [1.0, -1.0] {
        let (sampler, warning) = chosen(32, sign, 0.0);
        assert!(clusters(&sampler) && warning.is_none(), "{sign}: {sampler}, {warning:?}");
    }
    // On an odd torus, or in a field, the antiferromagnet is frustrated.
    assert!(!clusters(&chosen(9, -1.0, 0.0).0));
    assert!(!clusters(&chosen(8, -1.0, 0.5).0));
}

#[test]
fn one_chain_of_a_small_model_needs_no_replica_exchange() {
    for (name, model, ..) in models() {
        for seed in 1..=5 {
            let samples = model.sampler().chains(1).seed(seed).run().unwrap();
            let sampler = samples.report().sampler.to_string();
            assert!(!sampler.starts_with("replica exchange"), "{name}, seed {seed}: {:#?}", samples.report());
        }
    }
    for fields in [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [0.5, -2.0]] {
        for coupling in [0.1, 0.5, -1.0, 2.0] {
            let spins = Model::ising(2, &[(0, 1, coupling)], &fields).unwrap();
            // The same as a QUBO, for which clusters are no candidates.
            let linear = fields.map(|field| 2.0 * (coupling - field));
            let bits = Model::qubo(2, &[(0, 1, -4.0 * coupling)], &linear).unwrap();
            for (model, seed) in [spins, bits].iter().flat_map(|model| (1..=5).map(move |seed| (model, seed))) {
                let sampler = model.sampler().chains(1).seed(seed).run().unwrap().report().sampler.to_string();
                assert!(!sampler.starts_with("replica"), "{coupling}, {fields:?}, seed {seed}: {sampler}");
            }
        }
    }
}

#[test]
fn second_order_says_which_sites_it_takes() {
    let model = Model::potts(2, 3, &[(0, 1, 1.0)], &[]).unwrap();
    let refused = model.sampler().with("second-order:0.5".parse().unwrap()).draws(10).run().unwrap_err();
    assert!(refused.to_string().contains("sites of two values"), "{refused}");
    let model = Model::factors(&[2, 2], &[(&[0, 1], &[1.0, 2.0, 3.0, 4.0])]).unwrap();
    let refused = model.sampler().with("second-order".parse().unwrap()).draws(10).run().unwrap_err();
    assert!(refused.to_string().contains("categories, even two"), "{refused}");
}

/// Two to four ones among eight bits, each at a price; site 7 has one of its own.
struct Few;

impl Function for Few {
    fn layout(&self) -> Layout {
        Layout::binary(8)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        let ones = x.ones() as f32;
        if (2.0..=4.0).contains(&ones) { 0.3 * ones + x.get(7) as f32 } else { f32::INFINITY }
    }

    fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
        if site == 7 { 1.3 } else { 0.3 }
    }
}

#[test]
fn every_sampler_finds_a_start_that_an_energy_of_ones_own_allows() {
    let model = Model::own(Plain(Few));
    let energy = |x: &[f64]| {
        let ones: f64 = x.iter().sum();
        if (2.0..=4.0).contains(&ones) { 0.3 * ones + x[7] } else { f64::INFINITY }
    };
    let truth = enumerate(&[2; 8], 1.0, energy);
    for sampler in ["second-order", "second-order:0.5", "cyclical", "langevin", "gibbs", "exchange"] {
        let samples = model.sampler().with(sampler.parse().unwrap()).draws(2000).seed(5).run().unwrap();
        let off = distance(&samples, &truth);
        assert!(off < 5.0, "{sampler}: {off:.1} errors off");
        let wrong =
            enumerate(&[2; 8], 1.0, |x| if energy(x).is_finite() { 0.3 * energy(x) } else { f64::INFINITY });
        assert!(distance(&samples, &wrong) > 5.0, "{sampler}: blind");
    }
    let found = model.log_z().run().unwrap();
    assert!((found.log_z - truth.log_z).abs() < 5.0 * found.error, "{found:?}, exactly {}", truth.log_z);
}

/// No state is possible.
struct Never;

impl Function for Never {
    fn layout(&self) -> Layout {
        Layout::binary(3)
    }

    fn total(&self, _: Packed<'_>) -> f32 {
        f32::INFINITY
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }
}

#[test]
fn an_energy_without_a_start_says_what_to_do() {
    let refused = Model::own(Plain(Never)).sampler().draws(10).run().unwrap_err().to_string();
    assert!(refused.contains("a large finite energy in place of infinity"), "{refused}");
}

#[test]
fn constants_have_no_order_and_pilots_of_one_state_end() {
    // One possible state: 1, 0 and zeros; its energy is no sum of few powers of two.
    let ends: Vec<[u32; 1]> = (2..9).map(|site| [site]).collect();
    let mut tables: Vec<(&[u32], &[f64])> = vec![(&[0, 1], &[0.0, 0.0, 0.3, 0.0])];
    tables.extend(ends.iter().map(|end| (&end[..], &[0.7, 0.0][..])));
    let one = Model::factors(&[2; 9], &tables).unwrap();
    let samples = one.sampler().draws(50).run().unwrap();
    let summary = samples.summary();
    assert_eq!((summary.energy.sd, summary.r_hat, summary.ess, summary.warning()), (0.0, None, None, None));
    let report = samples.report();
    assert!(report.why.contains("the one state that all are in"), "{}", report.why);
    assert!(report.tried.iter().all(|trial| trial.steps < 100_000) && report.thin == 1, "{report:?}");
    // Two states, each of which keeps its chains, are not one.
    let two = Model::factors(&[2, 2], &[(&[0, 1], &[0.0, 0.3, 0.3, 0.0])]).unwrap();
    let samples = two.sampler().with("gibbs".parse().unwrap()).draws(50).run().unwrap();
    assert!(samples.summary().warning().unwrap().contains("do not agree"));
}

#[test]
fn ln_z_of_many_free_sites_is_not_rounded_to_32_bits() {
    let model = Model::ising(100_000, &[], &[]).unwrap();
    let exact = 100_000.0 * 2f64.ln();
    let annealed = model.log_z().runs(2).temperatures(1).run().unwrap();
    let population = model.log_z().population(2).run().unwrap();
    assert!((annealed.log_z - exact).abs() < 1e-6, "{annealed:?}");
    assert!((population.log_z - exact).abs() < 1e-6, "{population:?}");
    // Known sites have one value.
    let known = model.given(&[(7, 1), (99_999, 0)]).unwrap().log_z().runs(2).temperatures(1).run().unwrap();
    assert!((known.log_z - 99_998.0 * 2f64.ln()).abs() < 1e-6, "{known:?}");
}

#[test]
fn few_draws_say_that_they_have_no_errors() {
    let (_, model, ..) = models().remove(0);
    let warning = |draws| model.sampler().draws(draws).run().unwrap().summary().warning();
    assert!(warning(7).unwrap().contains("at least 8"));
    assert!(!warning(8).unwrap_or_default().contains("at least 8"));
}
