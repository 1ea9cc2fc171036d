//! What observers say of a few steps, beside the same counted by hand; of none; and where they are full.

use bitmc::flow::Reservoir;
use bitmc::lane::LANES;
use bitmc::stats::{Acceptance, Average, BatchMeans, Best, Evidence, LogSum, Observer, Pairs, StateObserver};
use bitmc::{Info, Layout, Packed};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::snapshot::{load, save, sealed};
use bitmc_host_tests::stuck::Stuck;

fn state(words: &[u32; 1]) -> Packed<'_> {
    Packed::new(Layout::binary(3), words).unwrap()
}

#[test]
fn acceptance_counts_what_steps_did() {
    let mut found = Acceptance::new();
    for (accepted, proposed, fault) in
        [(true, 3, false), (false, 2, true), (false, 4, false), (true, 1, false), (false, 0, true)]
    {
        let mut info = Info::default();
        (info.accepted, info.proposed, info.fault) = (accepted, proposed, fault);
        found.observe(state(&[0]), 0.0, &info);
    }
    let counts = [found.steps, found.accepted, found.proposed_flips, found.accepted_flips, found.faults];
    assert_eq!(counts, [5, 2, 10, 4, 2]);
}

#[test]
fn the_best_of_equal_states_is_the_first() {
    let mut best = Best::new([0; 1]);
    for (words, energy) in [([1], 2.0), ([2], 1.0), ([3], 1.0), ([4], 1.5)] {
        best.observe(state(&words), energy, &Info::default());
    }
    assert_eq!((best.words(), best.energy()), (Some(&[2][..]), Some(1.0)));
}

#[test]
fn a_variance_is_known_from_the_second_value_on() {
    let mut means = BatchMeans::<16>::new();
    assert_eq!((means.variance(), means.mean()), (0.0, 0.0));
    means.push(1.0);
    assert_eq!((means.variance(), means.mean()), (0.0, 1.0));
    means.push(4.0);
    assert_eq!((means.variance(), means.mean()), (4.5, 2.5));
}

/// After 64 values sixteen batches are eight of eight.
#[test]
fn eight_batches_of_eight_are_enough_and_fewer_are_not() {
    let mut source = Source::new(3);
    let values: Vec<f32> = (0..64).map(|_| source.normal(1.0)).collect();
    let (mut means, mut fewer) = (BatchMeans::<16>::new(), BatchMeans::<8>::new());
    for (number, &value) in values.iter().enumerate() {
        assert_eq!((means.ess(), fewer.ess()), (None, None), "{number} values");
        means.push(value);
        fewer.push(value);
    }
    let spread = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
    };
    let values: Vec<f64> = values.into_iter().map(f64::from).collect();
    let batches: Vec<f64> = values.chunks(8).map(|batch| batch.iter().sum::<f64>() / 8.0).collect();
    let exact = 8.0 * spread(&values) / spread(&batches);
    let found = means.ess().map_or(0.0, f64::from);
    assert!((found / exact - 1.0).abs() < 1e-4, "{found} {exact}");
    assert_eq!(fewer.ess(), None);
    // Batches that are all alike say nothing.
    let mut alike = BatchMeans::<16>::new();
    (0..64).for_each(|number| alike.push(if number % 2 == 0 { 1.0 } else { -1.0 }));
    assert_eq!(alike.ess(), None);
}

/// Near 2⁻⁷⁴ squares are a few of the least float. Their mean is too small for a float, and those of the means of two batches,
/// which are rounded up, are not.
#[test]
fn without_a_variance_there_is_no_effective_sample_size() {
    let root = |square: f64| (square * f64::from(f32::from_bits(1))).sqrt() as f32;
    let mut means = BatchMeans::<16>::new();
    for sign in [0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0] {
        (0..8).for_each(|at| means.push(sign * root(if at == 0 { 2.49 } else { 1.49 })));
    }
    assert_eq!((means.count(), means.variance()), (64, 0.0));
    assert_eq!((means.ess(), means.standard_error()), (None, None));
}

#[test]
fn of_nothing_there_is_no_share_and_no_mean() {
    assert_eq!((LogSum::new().share(1.0), LogSum::new().log()), (0.0, f32::NEG_INFINITY));
    assert_eq!((Average::new().mean(), Average::new().equal_weights()), (0.0, 0.0));
    let mut evidence = Evidence::new();
    for _ in 0..3 {
        assert_eq!(evidence.relative_error(), f32::INFINITY);
        evidence.add(f32::NEG_INFINITY);
    }
}

/// The largest count is the mark of a pair without sites.
#[test]
fn pairs_that_are_full_stay() {
    let mut pairs = Pairs::new([(0, 1)]);
    let mut bytes = save(&[&pairs]);
    // Behind the frame, the name and the pairs: how often they were alike, and the count.
    bytes[32..36].copy_from_slice(&5u32.to_le_bytes());
    bytes[36..40].copy_from_slice(&(u32::MAX - 2).to_le_bytes());
    load(&sealed(bytes), &mut [&mut pairs]).unwrap();
    assert_eq!(pairs.alike(), (u32::MAX - 2, [Some(5)]));
    for _ in 0..3 {
        pairs.see(state(&[3]));
        assert_eq!(pairs.alike(), (u32::MAX - 1, [Some(6)]));
    }
}

/// Weights went on adding up past the largest count, so that their mean grew.
#[test]
fn evidence_that_is_full_stays() {
    let mut evidence = Evidence::new();
    evidence.add(0.5);
    // The sum of one weight, whose count is the last word before the checksum.
    let mut bytes = save(&[&evidence]);
    let count = bytes.len() - 8;
    bytes[count..count + 4].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
    load(&sealed(bytes), &mut [&mut evidence]).unwrap();
    evidence.add(0.5);
    let (full, log_z) = (evidence.count(), evidence.log_z());
    for _ in 0..3 {
        evidence.add(0.5);
        assert_eq!((evidence.count(), evidence.log_z()), (u32::MAX, log_z));
    }
    assert_eq!(full, u32::MAX);
}

/// Of one weight the share is 1, and a uniform can be 1 too.
#[test]
fn a_reservoir_takes_the_first_whatever_is_drawn() {
    for (name, mut rng) in Stuck::all() {
        let mut reservoir = Reservoir::new([[-1.0; LANES]]);
        assert!(!reservoir.offer(&[[2.0; LANES]], f32::NEG_INFINITY, &mut rng), "{name}");
        assert!(reservoir.offer(&[[3.0; LANES]], 0.0, &mut rng), "{name}");
        assert_eq!(reservoir.sample(), [[3.0; LANES]], "{name}");
    }
}
