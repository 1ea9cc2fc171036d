//! Tuners: what they choose has the wished acceptance rate, their error bars are right for one chain and for
//! a batch, a frozen one never changes, and one that was copied in the middle goes on bit for bit.

use bitmc::snapshot::{Reader, Writer};
use bitmc::step::Cycle;
use bitmc::tune::{CycleSettings, CycleTuner, Rate, RateTuner, Trial, TuneError};
use bitmc::{Energy, Info, Kernel, LaneRng, Langevin, RandomWalk, SeedableRng};
use bitmc_host_tests::heap::{self, HeapChain, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Pairwise};
use bitmc_host_tests::snapshot::{load, save, sealed};
use bitmc_host_tests::stat::Moments;
use bitmc_host_tests::stuck::Stuck;

const BLANK: Trial = Trial { step_size: 0.0, balance: 0.0, rate: 0.0, error: 0.0 };

fn spins() -> Pairwise {
    models::pairwise(Convention::SpinsEdgesOnce, 100, 0.05, 0.6, 11)
}

/// The share of accepted steps in a long run.
fn rate<E: Energy, K: Kernel<E>>(chain: &mut HeapChain<'_, E>, kernel: &K, rng: &mut LaneRng) -> f64 {
    let mut rate = Rate::new(4000);
    (0..4000).for_each(|_| rate.observe(&chain.step(kernel, rng)));
    f64::from(rate.mean())
}

/// Tunes one chain to a rate and measures it.
fn reached<E: Energy, K: Kernel<E>>(
    energy: &E,
    (first, bounds, target): (f32, (f32, f32), f32),
    kernel: impl Fn(f32) -> K,
) -> f64 {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    let mut tuner = RateTuner::new(first, bounds, target).unwrap();
    for _ in 0..3000 {
        let info = chain.step(&kernel(tuner.parameter()), &mut rng);
        tuner.observe(&info);
    }
    tuner.freeze();
    assert!(tuner.is_frozen() && tuner.steps() == 3000);
    let chosen = tuner.parameter();
    let frozen = tuner;
    tuner.observe(&chain.step(&kernel(chosen), &mut rng));
    assert_eq!(tuner, frozen, "a frozen tuner never changes");
    rate(&mut chain, &kernel(chosen), &mut rng)
}

#[test]
fn a_rate_is_reached_on_spins_and_on_an_rbm() {
    let model = spins();
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let weights = Weights::new(&models::machine(60, 20, 0.5, 3)).unwrap();
    let rbm = weights.rbm().unwrap();
    let langevin = |step_size| Langevin::adjusted(step_size).unwrap();
    // The mean of 3,000 correlated probabilities is within a few hundredths; .05 is no tuner's luck, for
    // the same steps with the sign turned end at a bound, near 0 or 1.
    for first in [0.02, 0.3, 20.0] {
        let wish = (first, (0.01, 100.0), RateTuner::LOCALLY_BALANCED);
        for found in [reached(&ising, wish, langevin), reached(&rbm, wish, langevin)] {
            assert!((found - 0.574).abs() < 0.05, "from {first}: {found}");
        }
    }
    let walk = |radius: f32| RandomWalk::new(radius).unwrap();
    let found = reached(&ising, (1.0, (0.5, 100.0), RateTuner::RANDOM_WALK), walk);
    assert!((found - 0.234).abs() < 0.05, "{found}");
}

/// Runs a tuner to its end over a batch of chains; `each` sees it after every step.
fn tune<E: Energy>(
    chains: &mut [HeapChain<'_, E>],
    rng: &mut LaneRng,
    tuner: &mut CycleTuner<[Trial; 8]>,
    mut each: impl FnMut(&CycleTuner<[Trial; 8]>),
) -> Vec<Trial> {
    let mut tried = Vec::new();
    while let Some(kernel) = tuner.kernel() {
        for chain in chains.iter_mut() {
            tried.extend(tuner.observe(&chain.step(&kernel, rng)));
            each(tuner);
        }
    }
    tried
}

/// A tuned cycle is laid out as the algorithm says, and its ends have the wished rate.
fn judge<E: Energy>(name: &str, energy: &E, settings: CycleSettings, ends: (bool, bool)) {
    let mut rng = LaneRng::seed_from_u64(5);
    let mut chains: Vec<_> =
        (0..settings.chains).map(|_| heap::random_chain(energy, &mut rng).unwrap()).collect();
    let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
    let tried = tune(&mut chains, &mut rng, &mut tuner, |_| ());
    assert!(tuner.is_frozen());
    // Rounds of five for each end, ten for each of the six inner positions; burn-in in whole cycles.
    let candidates = 2 * settings.rounds as usize * 5 + 6 * 10;
    assert_eq!((tried.len(), tuner.tried()), (candidates, candidates as u32));
    let steps = 50 + 48 + candidates as u64 * u64::from(settings.steps);
    assert_eq!(tuner.steps(), steps * u64::from(settings.chains));
    let positions = tuner.positions();
    assert!(positions.windows(2).all(|pair| pair[0].balance >= pair[1].balance), "{name}: {positions:?}");
    assert!(positions.windows(2).all(|pair| pair[0].step_size >= pair[1].step_size), "{name}: {positions:?}");
    assert_eq!((positions[0].balance, positions[7].balance), (settings.balance.1, 0.5));
    // What was chosen was tried.
    let (smallest, largest) = tuner.ends();
    for chosen in [smallest, largest, positions[0], positions[3], positions[6]] {
        assert!(tried.contains(&chosen), "{name}: {chosen:?}");
    }
    println!("{name}: {smallest:?} … {largest:?}");
    let kernels = tuner.kernels::<8>().unwrap();
    for (wanted, trial) in [(ends.0, smallest), (ends.1, largest)] {
        if wanted {
            assert!((trial.rate - 0.5).abs() < 0.15, "{name}: {trial:?}");
            let kernel = Langevin::balanced(trial.step_size, trial.balance).unwrap();
            let found = rate(&mut chains[0], &kernel, &mut rng);
            // The trial's own error is some hundredths: the wish is met, and what it says of it is true.
            assert!((found - 0.5).abs() < 0.2, "{name}: {trial:?} has {found}");
        }
    }
    let before = tuner;
    let cycle = Cycle::new(&kernels).unwrap();
    for _ in 0..200 {
        assert_eq!(tuner.observe(&chains[0].step(&cycle, &mut rng)), None);
    }
    assert_eq!(tuner, before, "a frozen tuner never changes");
}

#[test]
fn a_cycle_is_tuned_for_one_chain_and_for_a_batch() {
    let model = spins();
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let weights = Weights::new(&models::machine(60, 20, 0.5, 3)).unwrap();
    let rbm = weights.rbm().unwrap();
    let one = CycleSettings::default();
    let batch = CycleSettings { chains: 100, steps: 1, ..one };
    for (name, settings) in [("one chain", one), ("a batch", batch)] {
        // On these spins no large step size has half of its proposals accepted at β = .95: the paper's remedy
        // is a smaller β, and its scripts start at a ceiling of 5.
        let milder = CycleSettings { balance: (0.5, 0.6), step_size: (0.05, 5.0), rounds: 40, ..settings };
        judge(&format!("Ising, {name}"), &ising, milder, (true, true));
        judge(&format!("RBM, {name}"), &rbm, milder, (true, true));
        judge(&format!("RBM at the defaults, {name}"), &rbm, settings, (true, false));
    }
}

/// Where no large step size has the wished rate, the balance falls by .05 after each search until one has.
#[test]
fn the_largest_balance_is_lowered_where_that_is_wanted() {
    let model = spins();
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let ends = |lower_balance| {
        let settings = CycleSettings {
            step_size: (0.05, 5.0),
            rounds: 30,
            target: 0.7,
            lower_balance,
            ..CycleSettings::default()
        };
        let mut rng = LaneRng::seed_from_u64(5);
        let mut chains = [heap::random_chain(&ising, &mut rng).unwrap()];
        let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
        let tried = tune(&mut chains, &mut rng, &mut tuner, |_| ());
        let mut largest: Vec<_> = tried.iter().map(|trial| trial.balance).collect();
        largest.retain(|&balance| balance > 0.5);
        largest.truncate(tried.len() - 30 * 5 - 60);
        assert_eq!(tuner.positions()[7], tuner.ends().0);
        (tuner.ends().1, tried.len(), tuner.positions()[0].balance, largest)
    };
    let (without, few, top, all) = ends(false);
    assert!(without.rate < 0.525 && (without.balance, top) == (0.95, 0.95), "{without:?}");
    assert_eq!((few, all), (2 * 30 * 5 + 60, vec![0.95; 150]));
    let (lowered, many, top, all) = ends(true);
    assert!(lowered.rate >= 0.525 && top == lowered.balance, "{lowered:?}");
    // The first balance that has the rate ends the search.
    assert!(lowered.balance < 0.95 && lowered.balance > 0.55, "{lowered:?}");
    // So many searches of 150 candidates each, at balances that fall by .05.
    let searches = ((0.95 - lowered.balance) / 0.05).round() as usize + 1;
    assert_eq!(many, (1 + searches) * 150 + 60);
    for (search, balances) in all.chunks(150).enumerate() {
        let balance = 0.95 - 0.05 * search as f32;
        assert!(balances.iter().all(|found| (found - balance).abs() < 1e-5), "{search}: {balances:?}");
    }
    println!("{without:?}, {lowered:?} after {searches} searches");
}

/// A snapshot keeps whether the balance is lowered; one that was written before there was a choice says no.
#[test]
fn a_snapshot_keeps_whether_the_balance_is_lowered() {
    for lower_balance in [false, true] {
        let settings = CycleSettings { lower_balance, ..CycleSettings::default() };
        let tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
        let mut bytes = [0; 2048];
        let length = Writer::new(&mut bytes).put(&tuner).finish().unwrap();
        let name: &[u8] = if lower_balance { b"csel" } else { b"cset" };
        assert_eq!(&bytes[16..20], name);
        let other = CycleSettings { lower_balance: !lower_balance, rounds: 3, ..settings };
        let mut read = CycleTuner::new([BLANK; 8], other).unwrap();
        assert_ne!(read, tuner);
        let mut reader = Reader::new(&bytes[..length]).unwrap();
        reader.get(&mut read).unwrap();
        reader.finish().unwrap();
        assert_eq!(read, tuner);
    }
}

/// With many rounds the search for the smallest step size stays where half is accepted, and that for the largest ends there:
/// noise does not carry the one up to the ceiling, nor the other past the one.
#[test]
fn more_rounds_do_no_harm() {
    let model = spins();
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    for (rounds, step_size, seed) in [(100, (0.05, 60.0), 0), (200, (0.05, 60.0), 3), (40, (0.05, 0.5), 4)] {
        let settings = CycleSettings { rounds, step_size, ..CycleSettings::default() };
        let mut rng = LaneRng::seed_from_u64(seed);
        let mut chains = [heap::random_chain(&ising, &mut rng).unwrap()];
        let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
        tune(&mut chains, &mut rng, &mut tuner, |_| ());
        let (smallest, largest) = tuner.ends();
        println!("{rounds} rounds: {smallest:?} … {largest:?}");
        assert!(smallest.step_size <= largest.step_size, "{smallest:?} … {largest:?}");
        let positions = tuner.positions();
        assert!(positions.windows(2).all(|pair| pair[0].step_size >= pair[1].step_size), "{positions:?}");
        let found = rate(&mut chains[0], &Langevin::balanced(smallest.step_size, 0.5).unwrap(), &mut rng);
        assert!((found - 0.5).abs() < 0.2, "{smallest:?} has {found}");
    }
}

/// Of a batch with rate 1 and one with rate ½ the mean is ¾, and its error ¼. Of one batch alone nothing is known.
#[test]
fn an_error_bar_needs_two_batches() {
    let mut rate = Rate::new(80);
    let mut info = Info::default();
    for (batch, log_ratio) in [0.0, 0.5f32.ln()].into_iter().enumerate() {
        info.log_ratio = log_ratio;
        for _ in 0..10 {
            assert_eq!(rate.standard_error(), 1.0, "{batch}");
            rate.observe(&info);
        }
    }
    assert!((rate.mean() - 0.75).abs() < 1e-6 && (rate.standard_error() - 0.25).abs() < 1e-6, "{rate:?}");
}

/// As many steps as are looked at, all of one probability. Plain sums of f32 are off by .003, with an error of 0.
#[test]
fn a_rate_of_a_million_steps_is_no_less_right() {
    for probability in [0.4966f32, 0.7, 0.9] {
        let (mut rate, mut info) = (Rate::new(1 << 20), Info::default());
        info.log_ratio = probability.ln();
        (0..1 << 20).for_each(|_| rate.observe(&info));
        assert!((rate.mean() - probability).abs() < 1e-6, "{rate:?}");
        assert!(rate.standard_error() < 1e-6, "{rate:?}");
    }
}

#[test]
fn error_bars_are_right_for_one_chain_and_for_a_batch() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 20, 0.2, 0.3, 11);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let kernel = Langevin::adjusted(0.8).unwrap();
    let mut rng = LaneRng::seed_from_u64(8);
    let mut chains: Vec<_> = (0..16).map(|_| heap::random_chain(&energy, &mut rng).unwrap()).collect();
    for chain in &mut chains {
        chain.run(&kernel, &mut rng, 500, &mut ());
    }
    for count in [1, 16] {
        let (mut means, mut variance, mut naive) = (Moments::default(), 0.0, 0.0);
        for _ in 0..400 {
            let (mut rate, mut single) = (Rate::new(400), Moments::default());
            for _ in 0..400 / count {
                for chain in chains.iter_mut().take(count) {
                    let info = chain.step(&kernel, &mut rng);
                    rate.observe(&info);
                    single.push(f64::from(info.log_ratio).exp().min(1.0));
                }
            }
            assert_eq!(rate.count(), 400);
            assert!((f64::from(rate.mean()) - single.mean()).abs() < 1e-5);
            means.push(f64::from(rate.mean()));
            variance += f64::from(rate.standard_error()).powi(2) / 400.0;
            naive += single.standard_error().powi(2) / 400.0;
        }
        // Both variances come from 400 runs: their ratio has a deviation of √(2/400) · √(1 + 1/7) = .075, and
        // 4.89 of those are .37. A chain's memory of a few steps takes a little from a batch of 50.
        let (ratio, as_if) = (variance / means.variance(), naive / means.variance());
        println!("{count} chains: {ratio:.3}, as if steps were independent {as_if:.3}");
        assert!((0.63..1.37).contains(&ratio), "{count} chains: {ratio}");
        // Negative control: the error of independent steps, for one chain.
        assert!(count > 1 || as_if < 0.63, "the check cannot see memory: {as_if}");
    }
}

/// A plain float no longer sees a probability among the millions before it: the rate does not fall for that.
#[test]
fn a_rate_stays_true_over_millions_of_steps() {
    let info = |log_ratio| {
        let mut info = Info::default();
        (info.accepted, info.proposed, info.log_ratio) = (true, 1, log_ratio);
        info
    };
    for steps in [1000, 1 << 20, 40_000_000] {
        let (mut sure, mut any) = (Rate::new(steps), Rate::new(steps));
        let mut source = models::Source::new(3);
        for _ in 0..40_000_000 {
            sure.observe(&info(0.0));
        }
        for _ in 0..2_000_000 {
            any.observe(&info((source.uniform() as f32).ln()));
        }
        assert_eq!((sure.mean(), sure.count(), any.count()), (1.0, 1 << 20, 1 << 20));
        assert!(
            (f64::from(any.mean()) - 0.5).abs() < 5.0 * (1.0 / 12.0 / f64::from(1 << 20)).sqrt(),
            "{any:?}"
        );
        assert!(any.standard_error() > 0.0 && any.standard_error() < 1e-3, "{any:?}");
    }
}

#[test]
fn a_tuner_that_was_copied_goes_on_bit_for_bit() {
    let model = spins();
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let settings = CycleSettings { chains: 2, steps: 3, rounds: 4, ..CycleSettings::default() };
    let mut rng = LaneRng::seed_from_u64(5);
    let start = rng.clone();
    let chains =
        |rng: &mut LaneRng| -> Vec<_> { (0..2).map(|_| heap::random_chain(&energy, rng).unwrap()).collect() };
    let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
    let mut history = Vec::new();
    tune(&mut chains(&mut rng), &mut rng, &mut tuner, |tuner| history.push(*tuner));
    // Every copy is all there is: it is put in the tuner's place before each of the same steps.
    let mut rng = start;
    let mut chains = chains(&mut rng);
    let mut again = CycleTuner::new([BLANK; 8], settings).unwrap();
    for (number, copies) in history.chunks(2).enumerate() {
        let kernel = again.kernel().unwrap();
        for (chain, copy) in chains.iter_mut().zip(copies) {
            again.observe(&chain.step(&kernel, &mut rng));
            assert_eq!(again, *copy, "step {number}");
            again = *copy;
        }
    }
    assert!(again.is_frozen() && history.len() > 500, "{}", history.len());
    // Frozen early: a legal cycle of what is known.
    for at in [0, 30, 150, 250, history.len() - 20] {
        let mut early = history[at];
        early.freeze();
        assert_eq!(early.kernel().map(|_| ()), None);
        let frozen = early;
        early.observe(&Info::default());
        assert_eq!(early, frozen);
        assert!(early.kernels::<8>().is_ok());
        assert!(early.positions().windows(2).all(|pair| pair[0].step_size >= pair[1].step_size));
    }
}

#[test]
fn illegal_settings_are_refused_and_bad_steps_survived() {
    let good = CycleSettings::default();
    let refused = |settings| CycleTuner::new([BLANK; 8], settings).unwrap_err();
    for counts in [
        CycleSettings { chains: 0, ..good },
        CycleSettings { steps: 0, ..good },
        CycleSettings { step_sizes: 1, ..good },
        CycleSettings { balances: 1, ..good },
    ] {
        assert_eq!(refused(counts), TuneError::Count);
    }
    assert_eq!(CycleTuner::new([BLANK; 1], good).unwrap_err(), TuneError::Count);
    assert!(CycleTuner::new([BLANK; 2], CycleSettings { step_sizes: 2, balances: 2, ..good }).is_ok());
    // Without a burn-in the first step is that of a candidate.
    let at_once = CycleSettings { burn_in: 0, chains: 1, steps: 1, ..good };
    let mut tuner = CycleTuner::new([BLANK; 8], at_once).unwrap();
    let first = tuner.observe(&Info::default()).map(|trial| (trial.step_size, trial.balance));
    assert_eq!(first, Some((good.step_size.0, good.balance.0)));
    for value in [0.0, 1.0, -0.5, f32::NAN] {
        assert!(matches!(refused(CycleSettings { target: value, ..good }), TuneError::Share(_)));
        assert!(matches!(refused(CycleSettings { learning_rate: value, ..good }), TuneError::Share(_)));
        assert!(RateTuner::new(1.0, (0.1, 2.0), value).is_err());
    }
    for balance in [(0.4, 0.9), (0.5, 1.1), (0.5, f32::NAN)] {
        assert!(matches!(refused(CycleSettings { balance, ..good }), TuneError::Share(_)), "{balance:?}");
    }
    assert_eq!(
        refused(CycleSettings { balance: (0.9, 0.5), ..good }),
        TuneError::Order { lower: 0.9, upper: 0.5 }
    );
    assert_eq!(
        refused(CycleSettings { step_size: (2.0, 1.0), ..good }),
        TuneError::Order { lower: 2.0, upper: 1.0 }
    );
    assert_eq!(RateTuner::new(1.5, (2.0, 1.0), 0.5), Err(TuneError::Order { lower: 2.0, upper: 1.0 }));
    for step_size in [(0.0, 1.0), (1.0, f32::INFINITY), (1e-40, 1.0), (0.1, f32::NAN)] {
        assert!(matches!(refused(CycleSettings { step_size, ..good }), TuneError::Bound(_)), "{step_size:?}");
        assert!(RateTuner::new(1.0, step_size, 0.5).is_err());
    }
    assert_eq!(RateTuner::new(3.0, (0.1, 2.0), 0.5), Err(TuneError::First(3.0)));

    // Whatever steps report, parameters stay between their bounds and the tuner ends.
    for log_ratio in [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, -1e38, 0.0] {
        let mut info = Info::default();
        (info.log_ratio, info.fault) = (log_ratio, log_ratio.is_nan());
        let mut tuner = CycleTuner::new([BLANK; 8], good).unwrap();
        let mut steps = 0u32;
        while tuner.kernel().is_some() {
            tuner.observe(&info);
            steps += 1;
        }
        assert_eq!(steps, 98 + 270 * 100);
        for trial in tuner.positions() {
            assert!(trial.step_size >= 0.05 && trial.step_size <= 60.0, "{trial:?}");
            assert!(trial.balance >= 0.5 && trial.balance <= 0.95, "{trial:?}");
        }
        let mut tuner = RateTuner::new(1.0, (0.1, 2.0), 0.5).unwrap();
        (0..100).for_each(|_| tuner.observe(&info));
        assert!((0.1..=2.0).contains(&tuner.parameter()));
    }
}

/// What a tuner keeps of steps that all have one log ratio: of equal candidates the first, of a balance that cannot be lowered
/// the least, and of a cycle that is cut short the positions that it has reached.
#[test]
fn equal_candidates_and_early_ends() {
    let settings = CycleSettings { burn_in: 0, steps: 1, rounds: 2, ..CycleSettings::default() };
    let begun = |settings| {
        let tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
        assert!(!tuner.is_frozen());
        tuner
    };
    let info = |log_ratio: f32| {
        let mut info = Info::default();
        info.log_ratio = log_ratio;
        info
    };
    // Every step is accepted: each position takes the first balance that it tries, which is the least.
    let mut tuner = begun(settings);
    while !tuner.is_frozen() {
        tuner.observe(&info(0.0));
    }
    assert!(tuner.positions()[1..7].iter().all(|trial| (trial.balance, trial.rate) == (0.5, 1.0)), "{tuner:?}");

    // Without rounds the step sizes are as given, and the first candidate is the second position's.
    let mut tuner = begun(CycleSettings { rounds: 0, ..settings });
    let mut tried = 0;
    while !tuner.is_frozen() {
        tried += u32::from(tuner.observe(&info(0.0)).is_some());
    }
    assert_eq!((tried, tuner.tried()), (6 * settings.balances, 6 * settings.balances));

    // Cut short among the balances, it keeps those that it has.
    let mut tuner = begun(settings);
    let before = 2 * settings.rounds * settings.step_sizes;
    (0..before + 3 * settings.balances).for_each(|_| _ = tuner.observe(&info(0.0)));
    let reached: Vec<Trial> = tuner.positions()[1..4].to_vec();
    assert!(reached.iter().all(|trial| trial.rate == 1.0));
    tuner.freeze();
    assert!(tuner.is_frozen() && tuner.positions()[1..4] == reached && tuner.positions()[4].rate == 0.0);
    // Before that it lays them out between the ends that it has found: the smallest step size has grown.
    let mut tuner = begun(CycleSettings { step_size: (0.05, 1.0), ..settings });
    (0..settings.rounds * settings.step_sizes).for_each(|_| _ = tuner.observe(&info(0.0)));
    tuner.freeze();
    assert!(tuner.ends().0.step_size > 0.05);
    assert_eq!(tuner.positions()[7].step_size, tuner.ends().0.step_size);

    // No step is accepted at any balance: it ends at the least, from ½ as from above.
    for largest in [0.5, 0.62] {
        let settings = CycleSettings { lower_balance: true, balance: (0.5, largest), ..settings };
        let mut tuner = begun(settings);
        let searches = if largest == 0.5 { 1 } else { 4 };
        let most = (1 + searches) * settings.rounds * settings.step_sizes + 6 * settings.balances;
        (0..most).for_each(|_| _ = tuner.observe(&info(f32::NEG_INFINITY)));
        assert!(tuner.is_frozen() && tuner.tried() == most, "{largest}: {} of {most}", tuner.tried());
        assert_eq!(tuner.ends().1.balance, 0.5);
    }
}

/// Bounds may be equal: then there is one value.
#[test]
fn one_value_is_a_range() {
    let mut tuner = RateTuner::new(0.7, (0.7, 0.7), 0.5).unwrap();
    assert!(!tuner.is_frozen());
    (0..10).for_each(|_| tuner.observe(&Info::default()));
    assert_eq!(tuner.parameter(), 0.7);
    let settings = CycleSettings { balance: (0.6, 0.6), step_size: (2.0, 2.0), ..CycleSettings::default() };
    assert!(CycleTuner::new([BLANK; 8], settings).is_ok());
}

/// A snapshot whose position is not in the cycle.
#[test]
fn a_position_beyond_the_cycle_is_refused() {
    let settings = CycleSettings { burn_in: 0, steps: 1, rounds: 0, ..CycleSettings::default() };
    let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
    (0..4 * settings.balances).for_each(|_| _ = tuner.observe(&Info::default()));
    let mut bytes = save(&[&tuner]);
    let phase = |position: u8| [4, position, 0, 0, 0];
    let at = bytes.windows(5).position(|window| window == phase(5)).unwrap();
    for (position, is_legal) in [(5, true), (7, true), (8, false), (200, false)] {
        bytes[at..at + 5].copy_from_slice(&phase(position));
        let mut other = CycleTuner::new([BLANK; 8], settings).unwrap();
        assert_eq!(load(&sealed(bytes.clone()), &mut [&mut other]).is_ok(), is_legal, "{position}");
    }
}

#[test]
fn stuck_generators_end_tuning() {
    let model = spins();
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let settings = CycleSettings { steps: 2, rounds: 3, ..CycleSettings::default() };
    for (name, mut rng) in Stuck::all() {
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let mut tuner = CycleTuner::new([BLANK; 8], settings).unwrap();
        while let Some(kernel) = tuner.kernel() {
            tuner.observe(&chain.step(&kernel, &mut rng));
        }
        assert_eq!(chain.faults(), 0, "{name}");
    }
}
