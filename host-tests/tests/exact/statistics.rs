//! Streaming statistics against float64 over the same values.

use bitmc::snapshot::Snapshot;
use bitmc::stats::{BatchMeans, Evidence, Means, Observer, Pairs};
use bitmc::{Info, Layout, Packed};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::snapshot::{load, save};
use bitmc_host_tests::tolerance::ROUNDING;

/// Mean, variance, and the effective sample size by batches of `length`.
fn exact(values: &[f32], length: usize) -> (f64, f64, f64) {
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (values.len() - 1) as f64)
    };
    let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
    let (mean, variance) = moments(&values);
    let batches: Vec<f64> =
        values.chunks(length).map(|batch| batch.iter().sum::<f64>() / length as f64).collect();
    (mean, variance, values.len() as f64 * variance / (length as f64 * moments(&batches).1))
}

/// The origin is on the mean of at least half of the values. Differences to it have a rounding each, of the size of a
/// deviation or of what a far start moves the mean; a square three, and what each of eighteen new origins takes off two.
#[test]
fn a_start_far_off_takes_no_digits() {
    const COUNT: usize = 1 << 18;
    for (start, burn_in) in [(1e6, 1), (-1e6, 1), (1e6, 100), (3e4, 10_000), (0.0, 0)] {
        for mean in [0.02, -3000.0] {
            let mut source = Source::new(5);
            let value = |at: usize| if at < burn_in { start } else { mean } + source.normal(0.01);
            let values: Vec<f32> = (0..COUNT).map(value).collect();
            let mut means = BatchMeans::<64>::new();
            values.iter().for_each(|&value| means.push(value));
            // A power of two: 32 batches.
            let (mean, variance, ess) = exact(&values, COUNT / 32);
            let (found, what) = (f64::from(means.mean()), format!("{burn_in} at {start}, then {mean}"));
            let deviation = variance.sqrt();
            let bound = ROUNDING * (mean.abs() + deviation);
            assert!((found - mean).abs() <= bound, "{what}: {found} {mean}, {bound}");
            let off = f64::from(means.variance()) / variance - 1.0;
            assert!(off.abs() <= 39.0 * ROUNDING, "{what}: variance {off}");
            let off = f64::from(means.ess().unwrap()) / ess - 1.0;
            assert!(off.abs() <= 1e-4, "{what}: effective sample size {off}");
        }
    }
}

const INFO: Info = Info { accepted: true, proposed: 0, log_ratio: 0.0, difference: 0.0, fault: false };

#[test]
fn means_of_full_sums_stand_still() {
    let layout = Layout::ordinal(2, 65_536);
    let (high, low) = ([0xFFFF_0001u32], [0u32]);
    let (high, low) = (Packed::new(layout, &high).unwrap(), Packed::new(layout, &low).unwrap());
    let mut means = Means::new([0; 2]);
    (0..70_000).for_each(|_| means.observe(high, 0.0, &INFO));
    // 65,536 values of 65,535 are 2³² − 2¹⁶: no room for as many as come before the next look.
    assert_eq!((means.count(), means.mean(0), means.mean(1)), (65_536, 1.0, 65_535.0));
    let mut again = Means::new([0; 2]);
    load(&save(&[&means as &dyn Snapshot]), &mut [&mut again]).unwrap();
    for means in [&mut means, &mut again] {
        (0..70_000).for_each(|_| means.observe(low, 0.0, &INFO));
        assert_eq!((means.count(), means.mean(0), means.mean(1)), (65_536, 1.0, 65_535.0));
    }
}

#[test]
fn pairs_of_sites_that_are_not_there_have_no_correlation() {
    let mut pairs = Pairs::new([(0, 1), (0, 3), (3, 4), (u32::MAX, 1)]);
    let state = [0b011u32];
    (0..5).for_each(|_| pairs.observe(Packed::new(Layout::binary(3), &state).unwrap(), 0.0, &INFO));
    let found = pairs.correlations();
    assert_eq!(found[0], 1.0);
    assert!(found[1..].iter().all(|mean| mean.is_nan()), "{found:?}");
}

#[test]
fn the_error_of_an_evidence_is_that_of_a_mean() {
    let mut evidence = Evidence::new();
    assert_eq!(evidence.relative_error(), f32::INFINITY);
    let logs = [0.5f32, -1.0, 2.0, 0.0, f32::NEG_INFINITY];
    for (seen, &log) in logs.iter().enumerate() {
        evidence.add(log);
        if seen == 0 {
            assert_eq!(evidence.relative_error(), f32::INFINITY, "one run says nothing of its error");
            continue;
        }
        let weights: Vec<f64> = logs[..=seen].iter().map(|&log| f64::from(log).exp()).collect();
        let n = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / n;
        let variance = weights.iter().map(|weight| (weight - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt() / mean;
        assert!((f64::from(evidence.relative_error()) / error - 1.0).abs() < 32.0 * ROUNDING);
    }
}
