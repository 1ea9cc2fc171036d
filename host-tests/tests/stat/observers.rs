//! Effective sample sizes against series whose distribution is known.

use bitmc::stats::{BatchMeans, Every, Observer};
use bitmc::{Info, Packed};
use bitmc_host_tests::stat::models::normal;
use bitmc_host_tests::stat::replicas::{pieces, reference_rng};
use bitmc_host_tests::stat::{Batches, Verdict};

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
        let info = Info::default();
        let layout = bitmc::Layout::binary(3);
        (0..10).for_each(|_| every.observe(Packed::new(layout, &[0]).unwrap(), 1.0, &info));
        assert_eq!(every.observer.count(), seen, "period {period}");
    }
}
