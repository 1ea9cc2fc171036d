//! The streaming statistics against a stored trace, and effective sample sizes against series whose law is
//! known.

use bitmc::stats::{Acceptance, BatchMeans, Best, Every, Means, Observer, Pairs, Watch};
use bitmc::{Info, LaneRng, Langevin, Packed, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::stat::models::{complete, normal};
use bitmc_host_tests::stat::replicas::{pieces, reference_rng};
use bitmc_host_tests::stat::{Batches, Verdict};

#[test]
fn observers_agree_with_the_trace() {
    let spins = complete(40, 0.2, 71);
    let mut memory = spins.couplings();
    let model = memory.ising(&spins).unwrap();
    let sampler = Langevin::adjusted(0.2).unwrap();
    let mut rng = LaneRng::seed_from_u64(72);
    let mut chain = heap::random_chain(&model, &mut rng).unwrap();
    const PAIRS: [(u32, u32); 3] = [(0, 1), (5, 39), (31, 32)];

    let mut trace: Vec<(Vec<u32>, f32, Info)> = Vec::new();
    let keep = Watch(|x: Packed<'_>, energy: f32, info: &Info| trace.push((x.words().to_vec(), energy, *info)));
    let (mut means, mut pairs) = (Means::new([0; 40]), Pairs::new(PAIRS));
    let (mut best, mut acceptance) = (Best::new([0; 2]), Acceptance::new());
    let mut thinned = Every::new(7, Means::new([0; 40]));
    let mut energies = BatchMeans::<64>::new();
    let all = &mut ((&mut means, &mut pairs), ((&mut best, &mut acceptance), (&mut thinned, &mut energies)));
    chain.run(&sampler, &mut rng, 10_000, &mut (keep, all));

    assert_eq!((trace.len(), means.count(), thinned.observer.count()), (10_000, 10_000, 10_000 / 7));
    let bit = |words: &[u32], site: usize| (words[site / 32] >> (site % 32)) & 1;
    for site in 0..40 {
        let ones = |trace: &mut dyn Iterator<Item = &(Vec<u32>, f32, Info)>| -> u32 {
            trace.map(|(words, ..)| bit(words, site)).sum()
        };
        // One division of two integers: to the bit.
        assert_eq!(means.mean(site), ones(&mut trace.iter()) as f32 / 10_000.0);
        assert_eq!(thinned.observer.mean(site), ones(&mut trace.iter().skip(6).step_by(7)) as f32 / 1428.0);
    }
    for ((a, b), correlation) in PAIRS.into_iter().zip(pairs.correlations()) {
        let product = |words: &[u32]| if bit(words, a as usize) == bit(words, b as usize) { 1 } else { -1 };
        assert_eq!(correlation, trace.iter().map(|(words, ..)| product(words)).sum::<i32>() as f32 / 10_000.0);
    }
    let (words, least, _) = trace.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!((best.energy(), best.words()), (*least, &words[..]));
    let infos = || trace.iter().map(|(.., info)| info);
    let expected = Acceptance {
        steps: 10_000,
        accepted: infos().filter(|info| info.accepted).count() as u64,
        proposed_flips: infos().map(|info| u64::from(info.proposed)).sum(),
        accepted_flips: infos().filter(|info| info.accepted).map(|info| u64::from(info.proposed)).sum(),
        faults: 0,
    };
    assert_eq!(acceptance, expected);
    assert!(acceptance.accepted > 100 && acceptance.accepted < 9_900, "a chain that shows both outcomes");

    let energy: Batches = Batches(trace.iter().map(|&(_, energy, _)| f64::from(energy)).collect());
    let (mean, variance) = (energy.moments().mean(), energy.moments().variance());
    // A running mean in f32 rounds at every step, relative to the spread around the first value: n · 2⁻²⁴.
    let bound = 10_000.0 * f64::from(f32::EPSILON) / 2.0;
    assert!(
        (f64::from(energies.mean()) - mean).abs()
            < bound * (variance.sqrt() + (mean - f64::from(trace[0].1)).abs())
    );
    assert!((f64::from(energies.variance()) / variance - 1.0).abs() < 4.0 * bound);
    let error = f64::from(energies.standard_error().unwrap());
    let from_ess = (f64::from(energies.variance()) / f64::from(energies.ess().unwrap())).sqrt();
    assert!((error / from_ess - 1.0).abs() < 4.0 * f64::from(f32::EPSILON));
}

/// The variance of a mean of k values of a stationary AR(1) series of variance 1:
/// `((1+φ)/(1−φ) − 2φ(1−φᵏ)/(k(1−φ)²))/k`.
fn variance_of_mean(phi: f64, k: f64) -> f64 {
    ((1.0 + phi) / (1.0 - phi) - 2.0 * phi * (1.0 - phi.powf(k)) / (k * (1.0 - phi).powi(2))) / k
}

/// 256 stationary AR(1) series of coefficient `phi`, and their 1/ESS against what it is on average if the
/// coefficient were `assumed`. With m batches of length b, `1/ESS = s²/(m v)`, and s² is on average
/// `m/(m−1) · (V(b) − V(mb))` exactly, V the variance of a mean.
fn check(phi: f64, assumed: f64, length: u32, seed: u64) -> Verdict {
    const CAPACITY: u32 = 64;
    let inverse = pieces(|piece| {
        let mut rng = reference_rng(seed, piece);
        [(); 4].map(|()| {
            let mut statistic = BatchMeans::<{ CAPACITY as usize }>::new();
            let mut value = normal(&mut rng);
            for _ in 0..length {
                statistic.push((1000.0 + value) as f32);
                value = phi * value + (1.0 - phi * phi).sqrt() * normal(&mut rng);
            }
            assert_eq!(statistic.count(), length);
            1.0 / f64::from(statistic.ess().unwrap())
        })
    });
    let mut b = 1;
    while length / b >= CAPACITY {
        b *= 2;
    }
    let (m, b) = (f64::from(length / b), f64::from(b));
    let spread = variance_of_mean(assumed, b) - variance_of_mean(assumed, m * b);
    let batches = Batches(inverse.into_iter().flatten().collect());
    let what = format!("AR({phi}) taken for AR({assumed}): {length} / ESS");
    let scaled = Batches(batches.0.iter().map(|inverse| inverse * f64::from(length)).collect());
    scaled.against(&what, f64::from(length) * spread / (m - 1.0))
}

#[test]
fn effective_sample_sizes() {
    check(0.0, 0.0, 50_000, 73).must_pass();
    check(0.9, 0.9, 50_000, 74).must_pass();
    check(-0.5, -0.5, 20_000, 75).must_pass();
    check(0.9, 0.0, 20_000, 76).must_fail();
    check(0.9, 0.88, 50_000, 77).must_fail();
}

#[test]
fn too_few_values_have_no_size() {
    let mut statistic = BatchMeans::<64>::new();
    assert_eq!((statistic.ess(), statistic.standard_error()), (None, None));
    // Full batches are merged in pairs: at 256 values there are 32 batches of eight.
    (0..255).for_each(|value| statistic.push((value % 13) as f32));
    assert_eq!((statistic.ess(), statistic.standard_error()), (None, None));
    statistic.push(1.0);
    assert!(statistic.ess().is_some() && statistic.standard_error().is_some());
    let mut constant = BatchMeans::<64>::new();
    (0..1000).for_each(|_| constant.push(3.5));
    assert_eq!((constant.ess(), constant.mean(), constant.variance()), (None, 3.5, 0.0));
}

#[test]
fn every_counts_from_one() {
    for (period, seen) in [(0, 10), (1, 10), (3, 3), (10, 1), (11, 0)] {
        let mut every = Every::new(period, BatchMeans::<8>::new());
        let info = Info { accepted: true, proposed: 0, log_ratio: 0.0, difference: 0.0, fault: false };
        let layout = bitmc::Layout::binary(3);
        (0..10).for_each(|_| every.observe(Packed::new(layout, &[0]).unwrap(), 1.0, &info));
        assert_eq!(every.observer.count(), seen, "period {period}");
    }
}
