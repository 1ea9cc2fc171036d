//! The discrete Gaussian distribution, its probabilities counted; and AB-edge over it: both directions of every flow, summed over
//! all its values. That a step draws as it says is in `stat/exact_start.rs`.

use bitmc::energy::{Entry, Sparse};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::random::DiscreteGaussian;
use bitmc::step::{IsingBalanced, ParameterError};
use bitmc::{Energy, Ising, LaneRng, Packed, SeedableRng};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::matrix::Verdict;
use bitmc_host_tests::naive::{Convention, Pairwise, Target};
use bitmc_host_tests::tolerance::ROUNDING;
use bitmc_host_tests::{enumerate, tolerance};
use std::collections::BTreeMap;

/// From the least precision to one where little but 0 is drawn.
const PRECISIONS: [f32; 8] = [DiscreteGaussian::LEAST, 0.1, 0.25, 0.501, 1.0, 1.7628, 2.0, 9.0];

/// Magnitude bits of a draw that no precision gives anything but 0.
const NONE: u32 = 0x7FFF;

/// The first of thirty-two draws, from its sixteen bits and a second word, and whether that was asked for.
fn first(distribution: &DiscreteGaussian, half: u32, second: u32) -> (i16, bool) {
    let mut words = [NONE | NONE << 16; LANES + 1];
    words[0] = half | NONE << 16;
    words[LANES] = second;
    let mut listed = Listed(&words);
    let [first, rest @ ..] = distribution.draw(&mut listed);
    assert!(rest.iter().all(|&other| other == 0));
    (first, listed.0.is_empty())
}

/// The probability of every number that is drawn at all: halves counted, and second words where they are asked for.
fn probabilities(distribution: &DiscreteGaussian) -> BTreeMap<i16, f64> {
    let mut found = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for half in 0..1 << 16 {
        let (number, asks) = first(distribution, half, u32::MAX);
        if asks {
            shared.entry(half >> 15).or_insert_with(Vec::new).push(half);
        } else {
            *found.entry(number).or_insert(0.0) += 1.0 / 65_536.0;
        }
    }
    for halves in shared.values() {
        // All that ask are decided alike: the last one as the first.
        let (&half, &last) = (halves.first().unwrap(), halves.last().unwrap());
        let (size, sign) = (first(distribution, half, 0).0.abs(), first(distribution, half, 0).0.signum());
        let range = 1u128 << 32;
        let mut below = 0;
        for number in (0..=size).rev() {
            let end = count(range, |word| first(distribution, half, word as u32).0.abs() >= number);
            assert_eq!(end, count(range, |word| first(distribution, last, word as u32).0.abs() >= number));
            let share = (end - below) as f64 / range as f64;
            *found.entry(sign * number).or_insert(0.0) += share * halves.len() as f64 / 65_536.0;
            below = end;
        }
        assert_eq!(below, range);
    }
    found
}

fn exactly(precision: f64, number: i16) -> f64 {
    let weight = |k: f64| (-0.5 * precision * k * k).exp();
    let total = 1.0 + 2.0 * (1..200).map(|k| weight(f64::from(k))).sum::<f64>();
    weight(f64::from(number)) / total
}

/// How far probabilities are from those of a precision, at most, in their bounds: an argument rounded once, an exponential
/// within two roundings, their sum, a quotient; and 2⁻⁴⁷ for each of up to 64 shared values. What 0 has is the rest of 1.
fn off(found: &BTreeMap<i16, f64>, precision: f64) -> f64 {
    let bound = |number: i16| {
        let p = exactly(precision, number);
        let relative = ROUNDING * (0.5 * precision * f64::from(number).powi(2) + 8.0);
        p * relative + 64.0 * 2f64.powi(-47)
    };
    let of_zero = || 2.0 * (1..40).map(bound).sum::<f64>();
    let each = found.iter().map(|(&number, p)| {
        let bound = if number == 0 { of_zero() } else { bound(number) };
        (p - exactly(precision, number)).abs() / bound
    });
    each.fold(0.0, f64::max)
}

#[test]
fn probabilities_are_those_of_the_formula() {
    for precision in PRECISIONS {
        let distribution = DiscreteGaussian::new(precision).unwrap();
        assert_eq!(distribution.precision(), precision);
        let found = probabilities(&distribution);
        let exact = f64::from(precision);
        let (most, total) = (found.keys().max().unwrap(), found.values().sum::<f64>());
        println!("{precision}: up to {most}, {:.2} of the bound", off(&found, exact));
        assert!((total - 1.0).abs() < 1e-12, "{precision}: they add up to {total}");
        assert!(found.iter().all(|(k, p)| found[&-k] == *p), "{precision}: signs");
        assert!(off(&found, exact) <= 1.0, "{precision}: {} of the bound", off(&found, exact));
        // What is not drawn is beyond 32, or rarer than 2⁻⁴².
        assert!(*most == 32 || exactly(exact, most + 1) < 2f64.powi(-42), "{precision}: up to {most}");
        // Negative controls: another precision, and what sixteen bits alone could say.
        assert!(off(&found, exact * 1.0001) > 1.0, "{precision}: the broken variant passes");
        let rounded = found.iter().map(|(&k, p)| (k, (p * 65_536.0).round() / 65_536.0)).collect();
        assert!(off(&rounded, exact) > 1.0, "{precision}: the rounded variant passes");
    }
}

#[test]
fn a_distribution_without_a_precision_is_none() {
    for bad in [0.0, -1.0, 0.0624, f32::NAN, f32::INFINITY] {
        assert!(DiscreteGaussian::new(bad).is_none(), "{bad}");
    }
    let huge = probabilities(&DiscreteGaussian::new(f32::MAX).unwrap());
    assert_eq!(huge.into_iter().collect::<Vec<_>>(), [(0, 1.0)]);
}

/// A few sites whose couplings have one magnitude.
fn targets() -> Vec<Pairwise> {
    let of = |coupling: f32, signs: &[(u32, u32, f32)]| Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: signs.iter().map(|&(a, b, sign)| (a, b, sign * coupling)).collect(),
        fields: vec![0.3, -0.7, 0.1],
    };
    let mixed = [(0, 1, 1.0), (0, 2, -1.0), (1, 2, 1.0)];
    // |W| = 4J: a grid of one part, of one with the largest λ, and of two.
    vec![of(0.3, &mixed[..2]), of(0.5, &mixed), of(0.8, &mixed)]
}

/// The number of parts of |W| that the docs say, and the precision of whole numbers.
fn grid(magnitude: f64, precision: f64) -> (f64, f64) {
    let parts = [1.0, 2.0, 4.0].into_iter().find(|m| precision * magnitude / (m * m) <= 2.0).unwrap();
    (parts, precision * magnitude / (parts * parts))
}

/// Both directions of every flow, summed over all whole numbers of all edges; those of a grid of `parts`.
fn sum(
    target: &Pairwise,
    sampler: &IsingBalanced<'_>,
    energy: &Ising<'_>,
    parts: f64,
    distribution: f64,
) -> Verdict {
    let (sites, edges) = (target.fields.len(), &target.edges);
    let n = 1 << sites;
    let step = 4.0 * f64::from(edges[0].2.abs()) / parts;
    let most = (60.0 / distribution).sqrt() as i32;
    let base = (2 * most + 1) as usize;
    let log_pi: Vec<f64> = (0..n).map(|x| -target.energy(&enumerate::values(x, sites))).collect();
    let total: f64 = log_pi.iter().map(|p| p.exp()).sum();
    let words: Vec<_> = (0..n).map(|x| heap::pack(&enumerate::values(x, sites))).collect();
    let (mut flow, mut rows) = (vec![0.0; n * n], vec![0.0; n]);
    for point in 0..base.pow(edges.len() as u32) {
        let (mut eta, mut probability) = ([0.0f64; 3], 1.0);
        for (edge, &(a, b, coupling)) in edges.iter().enumerate() {
            let k = (point / base.pow(edge as u32) % base) as i32 - most;
            probability *= exactly(distribution, k as i16);
            eta[a as usize] += step * f64::from(k);
            eta[b as usize] += step * f64::from(k) * f64::from(coupling.signum());
        }
        let mut block = [[0.0; LANES]];
        block[0].iter_mut().zip(eta).for_each(|(slot, eta)| *slot = eta as f32);
        for x in 0..n {
            let mut chain = heap::chain(energy, &words[x]).unwrap();
            for y in 0..n {
                let to = Packed::new(energy.layout(), &words[y]).unwrap();
                let given = sampler.transition_given(chain.ring(), to, &block).unwrap();
                assert!(!given.fault);
                let q = probability * f64::from(given.log_forward).exp();
                rows[x] += q;
                flow[x * n + y] += log_pi[x].exp() / total * q * f64::from(given.log_ratio).min(0.0).exp();
            }
        }
    }
    Verdict::of(&flow, &rows)
}

#[test]
fn flows_balance_summed_over_the_grid() {
    for target in targets() {
        let mut memory = target.couplings();
        let energy = memory.ising(&target).unwrap();
        let mut d = [[0.0; LANES]];
        let noise = Edgewise::new(SparseMatrix::of(energy.form()), &mut d).unwrap();
        let magnitude = 4.0 * f64::from(target.edges[0].2.abs());
        for (precision, step_size, balance) in
            [(1.0, f32::INFINITY, 1.0), (1.0, 0.7, 0.6), (0.75, 1.5, 0.8), (2.0, f32::INFINITY, 1.0)]
        {
            let sampler = IsingBalanced::discrete(noise, step_size, balance).unwrap();
            let sampler = sampler.precision(precision).unwrap();
            let name = format!("|W| {magnitude}, κ {precision}, σ {step_size}, α {balance}");
            let (parts, distribution) = grid(magnitude, f64::from(precision));
            let found = sum(&target, &sampler, &energy, parts, distribution);
            println!("{name}: {found:?}");
            assert!(found.passes(), "{name}: {found:?}");
            // Negative controls: a grid of which the means are no points, as coarse as it takes to see that, and noise of another
            // precision.
            let coarse = 0.3 * parts * (distribution / 0.5).sqrt();
            let beside = sum(&target, &sampler, &energy, coarse, distribution * (parts / coarse).powi(2));
            assert!(!beside.passes(), "{name}: a grid beside the means passes {beside:?}");
            let other = sum(&target, &sampler, &energy, parts, 1.01 * distribution);
            assert!(!other.passes(), "{name}: another precision passes {other:?}");
        }
    }
}

#[test]
fn couplings_without_a_grid_are_named() {
    let error = |edges: &[(u32, u32, f32)], sites: usize, precision: f32| {
        let mut memory = Couplings::new(sites, edges.len());
        let model = Ising::bits_edges_once(sites, edges.iter().copied(), &[], memory.borrow()).unwrap();
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
        IsingBalanced::discrete(noise, 1.0, 0.5).and_then(|kernel| kernel.precision(precision)).map(|_| ())
    };
    assert_eq!(error(&[(0, 1, 1.0), (1, 2, -1.0), (0, 2, 0.0)], 3, 1.0), Ok(()));
    assert_eq!(error(&[(0, 1, 1.0), (1, 2, -1.5)], 3, 1.0), Err(ParameterError::UnequalCouplings));
    assert_eq!(error(&[(0, 1, 0.03)], 2, 1.0), Err(ParameterError::WeakCoupling(0.03)));
    assert_eq!(error(&[(0, 1, 0.5)], 2, 0.1), Err(ParameterError::WeakCoupling(0.05)));
    assert_eq!(error(&[], 2, 1.0), Err(ParameterError::WeakCoupling(0.0)));
    assert_eq!(error(&[(0, 1, 0.5)], 2, 2e6), Err(ParameterError::Precision(2e6)));
    let star = |leaves| (1..=leaves).map(|leaf| (0, leaf, 1.0)).collect::<Vec<_>>();
    assert_eq!(error(&star(1023), 1024, 1.0), Ok(()));
    assert_eq!(error(&star(1024), 1025, 1.0), Err(ParameterError::Degree(1024)));
}

/// By rows and by runs a chain of the same distribution; strong couplings, many parts of a grid.
#[test]
fn every_move_is_accepted_without_a_bound() {
    for coupling in [0.02, 0.4407, 30.0] {
        let mut memory = Couplings::new(130, 260);
        let edges = bitmc::torus(10, 13, coupling);
        let model = Ising::spins_edges_once(130, edges, &vec![0.1; 130], memory.borrow()).unwrap();
        let mut d = [[0.0; LANES]; 9];
        let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
        let mut runs = vec![Default::default(); Edgewise::runs(SparseMatrix::of(model.form()))];
        for noise in [noise, noise.by_runs(&mut runs).unwrap()] {
            let sampler = IsingBalanced::discrete(noise, f32::INFINITY, 1.0).unwrap();
            let mut rng = LaneRng::seed_from_u64(9);
            let mut chain = heap::random_chain(&model, &mut rng).unwrap();
            for _ in 0..200 {
                let info = chain.step(&sampler, &mut rng);
                assert!(info.accepted && info.log_ratio == 0.0, "{coupling}: {info:?}");
            }
            let spins = chain.state();
            let spin = |site: u32| 2.0 * f64::from(spins.get(site as usize)) - 1.0;
            let pairs: f64 = bitmc::torus(10, 13, 1.0).map(|(a, b, _)| spin(a) * spin(b)).sum();
            let exact = -f64::from(coupling) * pairs - 0.1 * (0..130).map(spin).sum::<f64>();
            let off = (f64::from(chain.energy()) - exact).abs();
            assert!(off <= 300.0 * tolerance::ROUNDING * (1.0 + exact.abs()), "{coupling}: off by {off}");
        }
    }
}

/// A word more decides about the shared ones alone, and the highest bit of a draw is its sign there too.
#[test]
fn second_words_decide_what_is_shared_and_nothing_else() {
    for precision in PRECISIONS {
        let gaussian = DiscreteGaussian::new(precision).unwrap();
        let shared = (0..NONE).take_while(|&half| first(&gaussian, half, u32::MAX).1).count() as u32;
        assert!(shared > 0, "{precision}");
        let (most, _) = first(&gaussian, 0, 0);
        // What no word leads to is rarer than 2⁻⁴⁸.
        assert!(exactly(f64::from(precision), most) > 2f64.powi(-49), "{precision}: up to {most}");
        for half in 0..shared {
            assert_eq!(first(&gaussian, half, 0), (most, true), "{precision}: {half}");
            assert_eq!(first(&gaussian, half | 1 << 15, 0), (-most, true), "{precision}: {half}");
        }
        // Beside one that is shared, the first that is not.
        let mut words = [NONE | NONE << 16; LANES + 1];
        (words[0], words[LANES]) = (shared << 16, 0);
        let mut listed = Listed(&words);
        let draws = gaussian.draw(&mut listed);
        assert!(listed.0.is_empty());
        assert_eq!(draws[..2], [most, first(&gaussian, shared, 0).0], "{precision}");
    }
}

/// One of a thousand draws or fewer, as the docs say. Among these precisions are some that give a magnitude just 16 of the 2¹⁵
/// values: with those the shared ones would be more.
#[test]
fn few_draws_take_a_second_word() {
    for precision in PRECISIONS.into_iter().chain([0.0712, 0.0713, 0.0719, 0.0731]) {
        let gaussian = DiscreteGaussian::new(precision).unwrap();
        let shared = (0..=NONE).filter(|&half| first(&gaussian, half, u32::MAX).1).count();
        assert!(1000 * shared <= 1 << 15, "{precision}: {shared} of 2^15");
    }
}

/// The noise of a step is the sum of its draws, edge by edge. Couplings of 0 take none by rows, and none of them by runs.
#[test]
fn a_step_draws_as_its_transition_is_given() {
    // |W| = 1: of a fine grid, and of one whose unit it is.
    let couplings = |edge: usize| [1.0, 1.0, -1.0, 0.0, -1.0][edge % 5];
    let target = Pairwise {
        convention: Convention::SpinsEdgesOnce,
        edges: (0..32).map(|a| (a, a + 1, 0.25 * couplings(a as usize))).collect(),
        fields: (0..33).map(|site| [0.3, -0.7, 0.1][site % 3]).collect(),
    };
    let mut memory = target.couplings();
    check_draws(&memory.ising(&target).unwrap(), &target.edges);
    let (mut ends, mut entries) = (Vec::new(), Vec::new());
    for site in 0..33usize {
        let mut entry = |other: usize, edge| {
            entries.push(Entry { site: other as u32, coupling: couplings(edge) as i32 });
        };
        if site > 0 {
            entry(site - 1, site - 1);
        }
        if site < 32 {
            entry(site + 1, site);
        }
        ends.push(entries.len() as u32);
    }
    let linear: Vec<i32> = (0..33).map(|site| site % 3 - 1).collect();
    check_draws(&Ising::quadratic(Sparse::from_rows(&ends, &entries, &linear, 0).unwrap()), &target.edges);
}

fn check_draws(energy: &Ising<'_>, edges: &[(u32, u32, f32)]) {
    let matrix = SparseMatrix::of(energy.form());
    let mut d = [[0.0; LANES]; 3];
    let mut runs = vec![Default::default(); Edgewise::runs(matrix)];
    let by_rows = Edgewise::new(matrix, &mut d).unwrap();
    let magnitude = 4.0 * f64::from(edges[0].2.abs());
    let (parts, precision) = grid(magnitude, 1.0);
    let unit = (magnitude / parts) as f32;
    let gaussian = DiscreteGaussian::new(precision as f32).unwrap();
    for (noise, zeros) in [(by_rows, false), (by_rows.by_runs(&mut runs).unwrap(), true)] {
        let sampler = IsingBalanced::discrete(noise, 1.5, 0.8).unwrap();
        let mut rng = LaneRng::seed_from_u64(5);
        let mut chain = heap::random_chain(energy, &mut rng).unwrap();
        let (mut compared, mut told_apart) = (0, 0);
        for step in 0..1000 {
            let before = chain.state().words().to_vec();
            let draws = gaussian.draw(&mut rng.clone());
            let info = chain.step(&sampler, &mut rng);
            if info.moved() == 0 {
                continue;
            }
            let mut k = draws.into_iter();
            let mut eta = [[[0.0f32; LANES]; 3]; 2];
            for &(a, b, coupling) in edges.iter().filter(|edge| zeros || edge.2 != 0.0) {
                let k = unit * f32::from(k.next().unwrap());
                let sign = if coupling == 0.0 { 0.0 } else { coupling.signum() };
                // The second is the negative control: all couplings of one sign.
                for (eta, sign) in eta.iter_mut().zip([sign, sign.abs()]) {
                    eta.as_flattened_mut()[a as usize] += sign.abs() * k;
                    eta.as_flattened_mut()[b as usize] += sign * k;
                }
            }
            let [said, otherwise] = eta.map(|eta| {
                let mut other = heap::chain(energy, &before).unwrap();
                sampler.transition_given(other.ring(), chain.state(), &eta).unwrap().log_ratio
            });
            assert!((said - info.log_ratio).abs() < 1e-4, "step {step}: {said} {}", info.log_ratio);
            compared += 1;
            told_apart += u32::from((otherwise - info.log_ratio).abs() > 1e-2);
        }
        assert!(compared > 50 && told_apart > compared / 2, "{compared} {told_apart}");
    }
}

/// The coarsest grid on which whole numbers have precision 2 at most: one of |W| itself where it is just 2, and finer ones.
#[test]
fn a_step_draws_on_the_grid_that_the_docs_say() {
    for magnitude in [2.0f32, 4.0, 7.0, 9.0] {
        let target = Pairwise {
            convention: Convention::SpinsEdgesOnce,
            edges: (0..32)
                .map(|a| (a, a + 1, 0.25 * magnitude * [-1.0, -1.0, -1.0, 1.0][a as usize % 4]))
                .collect(),
            fields: (0..33).map(|site| [0.3, -0.7, 0.1][site % 3]).collect(),
        };
        let mut memory = target.couplings();
        check_draws(&memory.ising(&target).unwrap(), &target.edges);
    }
}
