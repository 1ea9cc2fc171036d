//! Streaming statistics against a stored trace, in float64 over the same values.

use bitmc::snapshot::Snapshot;
use bitmc::stats::{Acceptance, Average, BatchMeans, Best, Every, Evidence, Means, Observer, Pairs, Watch};
use bitmc::{Info, LaneRng, Langevin, Layout, Packed, SeedableRng};
use bitmc_host_tests::heap;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::snapshot::{load, save};
use bitmc_host_tests::stat::Batches;
use bitmc_host_tests::stat::models::complete;
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

/// The way from a small origin to a large mean is no float: what rounding drops of it moves sums, too. Of the large value's
/// difference the small origin is dropped, one of 1024.
#[test]
fn an_origin_that_moves_far_takes_its_last_digits_along() {
    const BLOCK: usize = 1024;
    let (small, large) = (1.0 / 4096.0, 16_777_216.0);
    let with = |value: f32, other: f32| (0..BLOCK).map(move |at| if at == 700 { other } else { value });
    let first: Vec<f32> = with(small, large).collect();
    let see = |values: &[f32]| {
        let mut means = BatchMeans::<16>::new();
        values.iter().for_each(|&value| means.push(value));
        means
    };
    // The large values cancel: their mean is that of small ones.
    let values: Vec<f32> = first.iter().copied().chain(with(0.0, -large)).collect();
    let (mean, ..) = exact(&values, BLOCK);
    let off = f64::from(see(&values).mean()) / mean - 1.0;
    assert!(off.abs() < 0.002, "mean {off}");
    // The means of eight batches: one is 2¹⁴ + 2⁻¹², the others are 2¹⁴ + 2⁻⁹.
    let values: Vec<f32> =
        first.iter().copied().chain(std::iter::repeat_n(16_384.0 + 1.0 / 512.0, 7 * BLOCK)).collect();
    let (.., ess) = exact(&values, BLOCK);
    let off = f64::from(see(&values).ess().unwrap()) / ess - 1.0;
    assert!(off.abs() < 0.002, "effective sample size {off}");
}

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
        assert_eq!(means.mean(site), Some(ones(&mut trace.iter()) as f32 / 10_000.0));
        let sevenths = ones(&mut trace.iter().skip(6).step_by(7));
        assert_eq!(thinned.observer.mean(site), Some(sevenths as f32 / 1428.0));
    }
    for ((a, b), correlation) in PAIRS.into_iter().zip(pairs.correlations()) {
        let product = |words: &[u32]| if bit(words, a as usize) == bit(words, b as usize) { 1 } else { -1 };
        let sum: i32 = trace.iter().map(|(words, ..)| product(words)).sum();
        assert_eq!(correlation, Some(sum as f32 / 10_000.0));
    }
    let (words, least, _) = trace.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!((best.energy(), best.words()), (Some(*least), Some(&words[..])));
    let infos = || trace.iter().map(|(.., info)| info);
    let expected = Acceptance {
        steps: 10_000,
        accepted: infos().filter(|info| info.accepted).count() as u64,
        proposed_flips: infos().map(|info| u64::from(info.proposed)).sum(),
        accepted_flips: infos().filter(|info| info.accepted).map(|info| u64::from(info.proposed)).sum(),
        faults: 0,
    };
    assert_eq!(acceptance, expected);
    let rates = [expected.accepted, expected.accepted_flips, expected.proposed_flips];
    assert_eq!(
        [acceptance.rate(), acceptance.jump_distance(), acceptance.proposed()],
        rates.map(|count| count as f32 / 10_000.0)
    );
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

/// What serde reads is not looked at: with no step left to wait for, thinning goes on all the same.
#[test]
fn thinning_goes_on_from_nothing_left() {
    let layout = Layout::binary(1);
    let state = Packed::new(layout, &[0]).unwrap();
    for (period, left, shown) in [(3u64, 0u64, 4), (3, 1, 4), (3, 3, 3), (0, 0, 10)] {
        let bytes = postcard::to_allocvec(&(period, left, Acceptance::new())).unwrap();
        let mut thinned: Every<Acceptance> = postcard::from_bytes(&bytes).unwrap();
        (0..10).for_each(|_| thinned.observe(state, 0.0, &Info::default()));
        assert_eq!(thinned.observer.steps, shown, "{left} of {period} left");
    }
}

#[test]
fn means_of_full_sums_stand_still() {
    let layout = Layout::ordinal(2, 65_536);
    let (high, low) = ([0xFFFF_0001u32], [0u32]);
    let (high, low) = (Packed::new(layout, &high).unwrap(), Packed::new(layout, &low).unwrap());
    let mut means = Means::new([0; 2]);
    (0..70_000).for_each(|_| means.observe(high, 0.0, &Info::default()));
    // 65,536 values of 65,535 are 2³² − 2¹⁶: no room for as many as come before the next look.
    assert_eq!((means.count(), means.mean(0), means.mean(1)), (65_536, Some(1.0), Some(65_535.0)));
    let mut again = Means::new([0; 2]);
    load(&save(&[&means as &dyn Snapshot]), &mut [&mut again]).unwrap();
    for means in [&mut means, &mut again] {
        (0..70_000).for_each(|_| means.observe(low, 0.0, &Info::default()));
        assert_eq!((means.count(), means.mean(0), means.mean(1)), (65_536, Some(1.0), Some(65_535.0)));
    }
}

/// 2³² − 1 − 2²⁴ is the last sum that has room for 256 of the largest values.
#[test]
fn a_sum_with_room_for_all_up_to_the_next_look_goes_on() {
    let layout = Layout::ordinal(1, 65_536);
    let mut means = Means::new([0]);
    let mut add = |value: u32, count: u32| {
        let state = [value];
        let state = Packed::new(layout, &state).unwrap();
        (0..count).for_each(|_| means.observe(state, 0.0, &Info::default()));
        (means.count(), means.sum(0).map(u64::from))
    };
    add(65_535, 65_280);
    add(65_279, 1);
    let sum = (1u64 << 32) - 1 - (1 << 24);
    assert_eq!(add(0, 255), (65_536, Some(sum)));
    let sum = sum + 256 * 65_535;
    assert_eq!(add(65_535, 256), (65_792, Some(sum)));
    assert_eq!(add(65_535, 1), (65_792, Some(sum)), "now it is full");
}

#[test]
fn pairs_of_sites_that_are_not_there_have_no_correlation() {
    let mut pairs = Pairs::new([(0, 1), (0, 3), (3, 4), (u32::MAX, 1)]);
    let state = [0b011u32];
    (0..5).for_each(|_| pairs.observe(Packed::new(Layout::binary(3), &state).unwrap(), 0.0, &Info::default()));
    let found = pairs.correlations();
    assert_eq!(found[0], Some(1.0));
    assert!(found[1..].iter().all(|mean| mean.is_none()), "{found:?}");
    // A larger state does not bring them back.
    (0..5).for_each(|_| pairs.observe(Packed::new(Layout::binary(5), &state).unwrap(), 0.0, &Info::default()));
    let found = pairs.correlations();
    assert_eq!(found[0], Some(1.0));
    assert!(found[1..].iter().all(|mean| mean.is_none()), "{found:?}");
}

/// What is not known is not a number. Each of these was 0, or a part of a state.
#[test]
fn statistics_of_another_size_have_no_answer() {
    let (layout, none) = (Layout::binary(40), Info::default());
    let (words, fewer) = ([u32::MAX, 0xFF], [u32::MAX]);
    let x = Packed::new(layout, &words).unwrap();
    let (mut means, mut pairs) = (Means::new([7; 40]), Pairs::new([(0, 1)]));
    let mut best = [Best::new(vec![0; 1]), Best::new(vec![0; 2]), Best::new(vec![0; 3])];
    assert_eq!((means.mean(0), pairs.correlations()), (None, [None]), "nothing was seen");
    assert!(best.iter().all(|best| (best.energy(), best.words()) == (None, None)));
    let (mut short, mut long) = (Means::new([0; 39]), Means::new([0; 41]));
    for step in 0..600 {
        // Every sum and every look at them.
        [&mut means as &mut dyn Observer, &mut short, &mut long]
            .into_iter()
            .for_each(|it| it.observe(x, 0.0, &none));
        pairs.observe(x, 0.0, &none);
        best.iter_mut().for_each(|best| best.observe(x, -(step as f32), &none));
    }
    assert_eq!([means.mean(39), means.mean(40)], [Some(1.0), None]);
    assert_eq!([short.mean(38), short.mean(39)], [Some(1.0), None]);
    assert_eq!([long.mean(39), long.mean(40), long.mean(41)], [Some(1.0), None, None]);
    assert_eq!(long.count(), 600);
    let found = best.each_ref().map(|best| (best.energy(), best.words()));
    assert_eq!(found, [(None, None), (Some(-599.0), Some(&words[..])), (None, None)]);
    assert_eq!(pairs.correlations(), [Some(1.0)]);
    // A smaller state later, and over a stop: sites that it does not have have no mean from there on.
    let mut again = Means::new([0; 41]);
    load(&save(&[&long as &dyn Snapshot]), &mut [&mut again]).unwrap();
    assert_eq!([again.mean(39), again.mean(40)], [Some(1.0), None]);
    again.observe(Packed::new(Layout::binary(32), &fewer).unwrap(), 0.0, &none);
    assert_eq!([again.mean(31), again.mean(32)], [Some(1.0), None]);
    // Spins have two values.
    for layout in [Layout::categorical(32, 3), Layout::ordinal(32, 4)] {
        let mut pairs = Pairs::new([(0, 1)]);
        pairs.observe(Packed::new(layout, &[0, 0]).unwrap(), 0.0, &none);
        assert_eq!(pairs.correlations(), [None], "{layout}");
    }
}

#[test]
fn the_error_of_an_evidence_is_that_of_a_mean() {
    let mut evidence = Evidence::new();
    assert_eq!(evidence.relative_error(), f32::INFINITY);
    assert!(evidence.log_z().is_nan(), "no run says anything of Z");
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

/// Log weights that rise far above the first, in one step and in many, and up to where the sum is not yet rescaled.
#[test]
fn the_error_of_an_evidence_does_not_depend_on_the_scale_of_its_weights() {
    let mut source = Source::new(8);
    let mut series: Vec<Vec<f32>> = vec![vec![0.0, 39.0, 41.0], (0..1000).map(|step| step as f32).collect()];
    for (level, count, deviation) in
        [(50.0, 100, 0.0), (39.9, 100, 0.0), (39.9, 10_000, 0.0), (38.0, 10_000, 1.0)]
    {
        let rest: Vec<f32> = (0..count).map(|_| level + source.normal(deviation)).collect();
        series.push([&[0.0], &rest[..]].concat());
        series.push([&[0.0, 30.0], &rest[..]].concat());
        series.push([&rest[..], &[0.0]].concat());
    }
    for logs in &series {
        let mut evidence = Evidence::new();
        logs.iter().for_each(|&log| evidence.add(log));
        let most = logs.iter().fold(f32::MIN, |most, &log| most.max(log));
        let weights: Vec<f64> = logs.iter().map(|&log| f64::from(log - most).exp()).collect();
        let (n, sum) = (weights.len() as f64, weights.iter().sum::<f64>());
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        let equal = sum * sum / squares;
        let error = ((n / equal - 1.0).max(0.0) / (n - 1.0)).sqrt();
        let what = format!("{} weights from {}", logs.len(), logs[0]);
        // Differences of logs are rounded at the size of the logs.
        let within = 1e-4;
        let off = f64::from(evidence.equal_weights()) / equal - 1.0;
        assert!(off.abs() < within, "{what}: {} equal weights for {equal}", evidence.equal_weights());
        let off = f64::from(evidence.relative_error()) - error;
        assert!(off.abs() < within, "{what}: error {} for {error}", evidence.relative_error());
        let log_z = f64::from(most) + (sum / n).ln();
        assert!((f64::from(evidence.log_z()) - log_z).abs() < within * 10.0, "{what}: {log_z}");
    }
}

#[test]
fn sums_of_many_weights_go_on_growing() {
    const COUNT: u32 = 100_000_000;
    let mut average = Average::new();
    for step in 0..COUNT {
        average.add(-3.0, if step % 4 == 0 { 1.0 } else { 0.0 });
    }
    let log = f64::from(COUNT).ln() - 3.0;
    // Sums of a float each, moved on a few thousand times.
    let bound = 4096.0 * ROUNDING;
    assert!((f64::from(average.weights().log()) - log).abs() < bound, "{} {log}", average.weights().log());
    assert!((f64::from(average.mean()) - 0.25).abs() < bound, "{}", average.mean());
    assert!((f64::from(average.equal_weights()) / f64::from(COUNT) - 1.0).abs() < bound);
}

/// Each far below a digit of the sum: in one float beside it a part of them in thousands would be lost.
#[test]
fn a_million_small_values_are_not_lost_beside_a_large_one() {
    const COUNT: u32 = 1 << 20;
    let small = 1.23f32 / 33_554_432.0;
    let mut average = Average::new();
    average.add(0.0, 1.0);
    (0..COUNT).for_each(|_| average.add(0.0, small));
    let truth = (1.0 + f64::from(COUNT) * f64::from(small)) / f64::from(COUNT + 1);
    let off = f64::from(average.mean()) / truth - 1.0;
    assert!(off.abs() < 1e-5, "{off}");
    // Negative control.
    let mut rest = 0.0f32;
    (0..COUNT).for_each(|_| rest += small);
    let off = (1.0 + f64::from(rest)) / f64::from(COUNT + 1) / truth - 1.0;
    assert!(off.abs() > 1e-4, "{off}");
}

/// Where large values cancel, what rounding dropped of them is as large as the sum. Small ones must not be lost beside it.
#[test]
fn a_million_small_values_are_not_lost_where_large_ones_cancel() {
    const COUNT: u32 = 1 << 20;
    let (large, small) = (33_554_432.0f32, 1.0 / 67_108_864.0);
    let mut average = Average::new();
    [large, 1.0, -large, 0.75].into_iter().for_each(|value| average.add(0.0, value));
    (0..COUNT).for_each(|_| average.add(0.0, small));
    let truth = (1.75 + f64::from(COUNT) * f64::from(small)) / f64::from(COUNT + 4);
    let off = f64::from(average.mean()) / truth - 1.0;
    assert!(off.abs() < 4.0 * ROUNDING, "{off}");
}

/// Together they are past the largest float for a while. The sum is not, beside what rounding dropped: just 2⁻¹² of it.
#[test]
fn values_come_back_from_past_the_largest_float() {
    let (large, half_a_digit) = (8191.0 * 2f32.powi(115), 2f32.powi(103));
    let mut average = Average::new();
    average.add(0.0, large);
    (0..8191).for_each(|_| average.add(0.0, half_a_digit));
    assert_eq!(average.mean(), f32::INFINITY);
    average.add(0.0, -large);
    let truth = 8191.0 * f64::from(half_a_digit) / 8193.0;
    let off = f64::from(average.mean()) / truth - 1.0;
    assert!(off.abs() < 4.0 * ROUNDING, "{off}");
}

/// Up to e⁴⁰ above the first one, weights are floats beside the first: so one of e⁻⁷⁰ is, too, and its large value counts.
#[test]
fn a_weight_with_just_enough_headroom_leaves_small_ones_as_they_are() {
    let mut average = Average::new();
    let (mut weights, mut values) = (0.0, 0.0);
    for (log, value) in [(0.0f32, 0.0f32), (40.0, 0.0), (-70.0, 1e38)] {
        average.add(log, value);
        weights += f64::from(log).exp();
        values += f64::from(log).exp() * f64::from(value);
    }
    let off = f64::from(average.mean()) / (values / weights) - 1.0;
    assert!(off.abs() < 16.0 * ROUNDING, "{off}");
}
