//! DMALA without floats: its matrices, from the step itself under a generator that says what it is told, against distributions by
//! enumeration; a long product; an exact start.

use bitmc::energy::Entry;
use bitmc::quantised::{Penalty, QuantisedIsing, QuantisedLangevin, TemperedLangevin};
use bitmc::stats::StateObserver;
use bitmc::step::ParameterError;
use bitmc::{LaneRng, Packed, SeedableRng, StateError};
use bitmc_host_tests::heap;
use bitmc_host_tests::listed::Listed;
use bitmc_host_tests::naive::Target;
use bitmc_host_tests::quantised::{UNIT, Whole, given, stays_exact, value};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::stuck::Stuck;

/// Odds below are never drawn.
const LEAST: f64 = 1.0 / (1u128 << 64) as f64;

/// The relative error of a flow, a site: its odds twice (2⁻²⁸ each), the two products' factor (2⁻²⁹ each), its draw
/// (2⁻²⁷); and as much again for the test.
fn bound(sites: usize) -> f64 {
    (sites + 1) as f64 * 2f64.powi(-26)
}

/// Words that make a draw of odds come out rare or not.
fn told(octaves: u32, rare: bool) -> Vec<u32> {
    let words = 1 + usize::from(octaves > 0) + usize::from(octaves > 32);
    if rare { vec![0; words] } else { vec![u32::MAX] }
}

struct Room {
    fields: Vec<i32>,
    flips: Vec<u32>,
}

impl Room {
    fn new(sites: usize) -> Self {
        Self { fields: vec![0; sites], flips: vec![0; sites.div_ceil(32)] }
    }

    fn chain<'a>(
        &'a mut self,
        model: QuantisedIsing<'a>,
        penalty: Penalty,
        words: &'a mut [u32],
    ) -> QuantisedLangevin<'a> {
        QuantisedLangevin::new(model, penalty, words, &mut self.fields, &mut self.flips).unwrap()
    }
}

/// A chain's `log q(to|from)`, and its acceptance probability, by the words at which it changes its mind.
fn transition(model: QuantisedIsing<'_>, penalty: Penalty, from: &[u32], to: &[u32]) -> (f64, f64) {
    let sites = model.form().sites();
    let (mut room, mut start) = (Room::new(sites), from.to_vec());
    let chain = room.chain(model, penalty, &mut start);
    let (mut log, mut words) = (0.0, vec![]);
    for site in 0..sites {
        let flips = (from[site / 32] ^ to[site / 32]) >> (site % 32) & 1 == 1;
        let (rather, odds) = chain.proposal(site).unwrap();
        let (e, rare) = (value(odds), flips != rather);
        if rare && e < LEAST {
            return (f64::NEG_INFINITY, 0.0);
        }
        log += if rare { (e / (1.0 + e)).ln() } else { -e.ln_1p() };
        words.extend(told(odds.octaves, rare));
    }
    if from == to {
        return (log, 1.0);
    }
    let accepts = |end: &[u32]| {
        let (mut room, mut state) = (Room::new(sites), from.to_vec());
        let mut chain = room.chain(model, penalty, &mut state);
        let all = [&words[..], end].concat();
        let mut listed = Listed(&all);
        let step = chain.step(&mut listed);
        assert!(step.proposed > 0 && chain.state().words() == if step.accepted { to } else { from });
        (step.accepted, listed.0.len())
    };
    // With nothing but zeros it accepts whatever it may accept; those that are left are not asked for.
    let (accepted, left) = accepts(&[0; 3]);
    if !accepted {
        return (log, 0.0);
    }
    let mut probability = 1.0;
    let mut before = vec![];
    for _ in left..3 {
        let (mut low, mut high) = (0u64, 1 << 32);
        while low < high {
            let middle = (low + high) / 2;
            let asked = [&before[..], &[middle as u32], &[0; 3]].concat();
            if accepts(&asked).0 { low = middle + 1 } else { high = middle }
        }
        probability *= low as f64 / 2f64.powi(32);
        before.push(0);
    }
    (log, probability)
}

/// The largest relative asymmetry of flows above what can be drawn, and the matrix.
fn matrix(space: &Space, accept: impl Fn(usize, usize) -> (f64, f64)) -> (f64, Table) {
    let states = space.states();
    let mut rows = vec![vec![0.0; states]; states];
    for (x, row) in rows.iter_mut().enumerate() {
        for y in (0..states).filter(|&y| y != x) {
            let (log, accepted) = accept(x, y);
            row[y] = log.exp() * accepted;
        }
        row[x] = 1.0 - row.iter().sum::<f64>();
    }
    let flow = |x: usize, y: usize| space.distribution[x] * rows[x][y];
    let pairs = (0..states).flat_map(|x| (0..x).map(move |y| (x, y)));
    let uneven = pairs
        .map(|(x, y)| (flow(x, y), flow(y, x)))
        .filter(|(there, back)| there.max(*back) > 16.0 * LEAST)
        .map(|(there, back)| (there / back).ln().abs())
        .fold(0.0, f64::max);
    (uneven, Table { rows })
}

#[test]
fn steps_keep_the_distribution() {
    for (seed, sd, alpha) in [(0, 0.4, 0.5), (1, 3.0, 0.3), (2, 10.0, 2.0), (3, 0.8, 50.0)] {
        let whole = Whole::random(5, sd, seed);
        let (space, (ends, entries)) = (Space::binary(&whole), whole.rows());
        let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
        let penalty = Penalty::from_step_size(alpha).unwrap();
        let found = |x: usize, y: usize| transition(model, penalty, &space.words[x], &space.words[y]);
        let (uneven, table) = matrix(&space, found);
        assert!(uneven <= bound(5), "sd {sd}: {uneven:e}");
        let verdict = space.judge(&table);
        assert!(verdict.stationary(), "sd {sd}: {verdict:?}");
        // What the proposal should be, of the model alone.
        let field = |x: usize, site: usize| {
            let pairs = whole.couplings.iter().filter(|c| c.0 == site || c.1 == site);
            let other = |c: &(usize, usize, i32)| i64::from(c.2) * (x >> (c.0 + c.1 - site) & 1) as i64;
            i64::from(whole.linear[site]) + pairs.map(other).sum::<i64>()
        };
        let log_odds = |x: usize, site: usize| {
            let sign = 1 - 2 * (x >> site & 1) as i64;
            (sign * field(x, site)).div_euclid(2) as f64 - f64::from(penalty.units())
        };
        let (mut room, mut start) = (Room::new(5), [0]);
        for x in 0..32 {
            start[0] = x as u32;
            let chain = room.chain(model, penalty, &mut start);
            for site in 0..5 {
                let (rather, odds) = chain.proposal(site).unwrap();
                let z = log_odds(x, site);
                let truth = (-z.abs() * UNIT).exp();
                assert!(rather == (z > 0.0) && (value(odds) / truth - 1.0).abs() < 2f64.powi(-28));
            }
        }
        // Negative controls: no test; a test that does not know of the halves lost.
        let (uneven, _) = matrix(&space, |x, y| (found(x, y).0, 1.0));
        assert!(uneven > 1e-3, "sd {sd}: no test is not seen");
        let forgetful = |x: usize, y: usize| {
            let (log, accepted) = found(x, y);
            let odd = |state: usize, site: usize| (field(state, site) & 1) as f64;
            let flipped = (0..5).filter(|site| (x ^ y) >> site & 1 == 1);
            let halves: f64 = flipped.map(|site| odd(x, site) - odd(y, site)).sum();
            (log, if accepted < 1.0 { (accepted * (-halves * UNIT / 2.0).exp()).min(1.0) } else { 1.0 })
        };
        let (uneven, _) = matrix(&space, forgetful);
        assert!(uneven > 10.0 * bound(5), "sd {sd}: halves lost are not seen: {uneven:e}");
    }
}

/// A site whose odds of a flip are a half, before any other factor. And one that hardly flips in one state and often does in
/// another, so that its factor is 1 in one product alone.
#[test]
fn factors_of_exactly_one_and_two_are_right() {
    let penalty = Penalty::from_step_size(1.0).unwrap();
    let even = Whole { linear: vec![2 * penalty.units() as i32], couplings: vec![] };
    let far = 64 << 16;
    let rare = Whole { linear: vec![0, -far], couplings: vec![(1, 0, far)] };
    for (name, whole) in [("even", even), ("rare", rare)] {
        let (space, (ends, entries)) = (Space::binary(&whole), whole.rows());
        let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
        let found = |x: usize, y: usize| transition(model, penalty, &space.words[x], &space.words[y]);
        let (uneven, table) = matrix(&space, found);
        assert!(uneven <= bound(whole.linear.len()), "{name}: {uneven:e}");
        assert!(table.rows[0][1] > 0.1, "{name}: {table:?}");
    }
}

struct Seen(Vec<Vec<u32>>);

impl StateObserver for Seen {
    fn see(&mut self, state: Packed<'_>) {
        self.0.push(state.words().to_vec());
    }
}

/// Steps one by one and at once are the same, and so are the observer's states.
#[test]
fn a_run_is_its_steps() {
    let whole = Whole::random(40, 0.8, 5);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let penalty = Penalty::from_step_size(0.5).unwrap();
    let (mut room, mut start) = (Room::new(40), [0; 2]);
    let mut chain = room.chain(model, penalty, &mut start);
    let mut rng = LaneRng::seed_from_u64(6);
    let (mut states, mut accepted) = (vec![], 0);
    for _ in 0..200 {
        accepted += u64::from(chain.step(&mut rng).accepted);
        states.push(chain.state().words().to_vec());
        let energy = whole.energy(&heap::unpack(chain.state()));
        assert!((chain.units() as f64 * UNIT + energy).abs() < 1e-9 * energy.abs().max(1.0));
    }
    assert!((20..180).contains(&accepted), "{accepted}");
    let (mut room, mut start) = (Room::new(40), [0; 2]);
    let mut chain = room.chain(model, penalty, &mut start);
    let mut seen = Seen(vec![]);
    assert_eq!(chain.run(200, &mut LaneRng::seed_from_u64(6), &mut seen), accepted);
    assert_eq!(seen.0, states);
}

/// 300 sites on a line with a second neighbour each: the acceptance of some moves against float64.
#[test]
fn long_products_are_right() {
    let sites = 300;
    let mut whole = Whole::random(sites, 0.5, 17);
    whole.couplings.retain(|c| c.0 - c.1 <= 2);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let penalty = Penalty::from_step_size(0.4).unwrap();
    let values = |words: &[u32]| -> Vec<f64> {
        (0..sites).map(|site| f64::from(words[site / 32] >> (site % 32) & 1)).collect()
    };
    let mut rng = LaneRng::seed_from_u64(4);
    let (mut room, mut from) = (Room::new(sites), vec![0; 10]);
    let mut inside = 0;
    for _ in 0..40 {
        let mut chain = room.chain(model, penalty, &mut from);
        (0..5).for_each(|_| _ = chain.step(&mut rng));
        let mut to = from.clone();
        while to == from {
            Room::new(sites).chain(model, penalty, &mut to).step(&mut rng);
        }
        let (forward, accepted) = transition(model, penalty, &from, &to);
        let (backward, _) = transition(model, penalty, &to, &from);
        let ratio = whole.energy(&values(&from)) - whole.energy(&values(&to)) + backward - forward;
        assert!((accepted.ln() - ratio.min(0.0)).abs() <= bound(sites), "{accepted}: {ratio}");
        inside += usize::from(ratio < -1e-3);
    }
    assert!(inside >= 10, "{inside} moves say something");
}

/// Four million sites in pairs that must not both be 1: from zeros, where every site is as likely to flip as not, the
/// odds of coming back are beyond 2^(−2³²), the most octaves that 32 bits hold. No move is made.
#[test]
fn what_is_far_beyond_every_draw_is_never_accepted() {
    const SITES: usize = 1 << 22;
    let forbidden = |site| Entry { site: site as u32 ^ 1, coupling: -(1 << 30) };
    let entries: Vec<_> = (0..SITES).map(forbidden).collect();
    let (ends, linear): (Vec<_>, _) = ((1..=SITES as u32).collect(), vec![0; SITES]);
    let model = QuantisedIsing::from_rows(&ends, &entries, &linear).unwrap();
    let (mut room, mut words, mut rng) = (Room::new(SITES), vec![0; SITES / 32], LaneRng::seed_from_u64(1));
    let mut chain = room.chain(model, Penalty::from_units(0).unwrap(), &mut words);
    for _ in 0..10 {
        let step = chain.step(&mut rng);
        assert!(step.proposed > SITES as u32 / 3 && !step.accepted);
    }
    assert_eq!(chain.state().ones(), 0);
}

#[test]
fn an_exact_start_stays_exact() {
    let penalty = Penalty::from_step_size(0.6).unwrap();
    stays_exact(71, |model, words, rng| {
        let mut room = Room::new(7);
        let mut chain = room.chain(model, penalty, words);
        (0..8).for_each(|_| _ = chain.step(rng));
    });
}

/// The distribution given the clamped sites, with steps of all sites between; steps that clamp none must be seen.
#[test]
fn clamped_sites_stay_and_the_others_are_drawn_given_them() {
    let (free, penalty) = (0b101_1011, Penalty::from_step_size(0.6).unwrap());
    stays_exact(73, |model, words, rng| {
        let (mut room, before) = (Room::new(7), words[0]);
        let mut chain = room.chain(model, penalty, words);
        (0..4).for_each(|_| _ = chain.step_free(&[free], rng));
        assert_eq!((before ^ chain.state().words()[0]) & !free, 0);
        (0..3).for_each(|_| _ = chain.step(rng));
        (0..2).for_each(|_| _ = chain.step_free(&[free], rng));
    });
    let whole = Whole::random(7, 0.8, 21);
    let (space, (ends, entries)) = (Space::binary(&whole), whole.rows());
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let clamped = 0b010_0100;
    let given = given(&space, free, clamped);
    let (mut rng, mut room) = (LaneRng::seed_from_u64(74), Room::new(7));
    let mut counts = |free: u32| {
        let mut counts = vec![0; 128];
        for _ in 0..20_000 {
            let mut words = [clamped];
            let mut chain = room.chain(model, penalty, &mut words);
            (0..60).for_each(|_| _ = chain.step_free(&[free], &mut rng));
            counts[words[0] as usize] += 1;
        }
        counts
    };
    chi_square("clamped", &counts(free), &given).must_pass();
    chi_square("all free", &counts(127), &given).must_fail();
}

/// A chain that held sites goes on as one that is made from its state. All sites free is a step; none moves nothing.
#[test]
fn steps_of_free_sites_leave_nothing_behind() {
    let whole = Whole::random(75, 0.4, 9);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let penalty = Penalty::from_step_size(0.3).unwrap();
    let (mut room, mut words, mut rng) = (Room::new(75), [0; 3], LaneRng::seed_from_u64(7));
    let mut chain = room.chain(model, penalty, &mut words);
    let (mut moved, mut rejected) = (0, 0);
    for round in 0..300 {
        let held = chain.step_free(&[0x0F0F_0F0F << (round % 5), !0, 0x5A5], &mut rng);
        moved += u32::from(held.accepted) * held.proposed;
        rejected += u32::from(!held.accepted);
        let (mut anew, mut same) = (chain.state().words().to_vec(), rng.clone());
        let (mut room, mut all) = (Room::new(75), rng.clone());
        let mut other = room.chain(model, penalty, &mut anew);
        let expected = other.step(&mut same);
        let (mut anew, mut room) = (chain.state().words().to_vec(), Room::new(75));
        let mut third = room.chain(model, penalty, &mut anew);
        assert_eq!(third.step_free(&[], &mut rng.clone()).proposed, 0);
        assert_eq!(third.state().words(), chain.state().words());
        assert_eq!(third.step_free(&[!0; 3], &mut all), expected);
        assert_eq!(chain.step(&mut rng), expected);
        assert_eq!(chain.state().words(), other.state().words());
        assert_eq!(chain.state().words(), third.state().words());
    }
    assert!(moved > 100 && rejected > 20, "{moved} moves, {rejected} rejected");
}

/// At an inverse temperature the bits are those of the model that is so many times as strong; at another they are not.
#[test]
fn a_temperature_is_a_stronger_model() {
    for unit in [1, 7, 64, 1_001] {
        let mut weak = Whole::random(40, 0.5 / f64::from(unit), 3);
        weak.couplings.retain(|c| c.0 - c.1 <= 3);
        let mut strong = weak.clone();
        strong.linear.iter_mut().for_each(|b| *b *= unit as i32);
        strong.couplings.iter_mut().for_each(|c| c.2 *= unit as i32);
        let (weak_rows, strong_rows) = (weak.rows(), strong.rows());
        let model = QuantisedIsing::from_rows(&weak_rows.0, &weak_rows.1, &weak.linear).unwrap();
        let stronger = QuantisedIsing::from_rows(&strong_rows.0, &strong_rows.1, &strong.linear).unwrap();
        let penalty = Penalty::from_step_size(0.4).unwrap();
        let run = |at: u32| {
            let (mut room, mut words, mut rng) = (Room::new(40), [0; 2], LaneRng::seed_from_u64(5));
            let Room { fields, flips } = &mut room;
            let mut chain = TemperedLangevin::at_unit(model, 3, penalty, &mut words, fields, flips).unwrap();
            chain.set_unit(at).unwrap();
            assert_eq!(chain.unit(), at);
            let step = |_: &u32| {
                chain.step(&mut rng).accepted && chain.step_free(&[0xFF00_FF00, 0x3C], &mut rng).accepted
            };
            ((0..400).filter(step).count(), words)
        };
        let (mut room, mut words, mut rng) = (Room::new(40), [0; 2], LaneRng::seed_from_u64(5));
        let mut chain = room.chain(stronger, penalty, &mut words);
        let step =
            |_: &u32| chain.step(&mut rng).accepted && chain.step_free(&[0xFF00_FF00, 0x3C], &mut rng).accepted;
        let accepted = (0..400).filter(step).count();
        assert!((40..390).contains(&accepted), "unit {unit}: {accepted} accepted");
        assert_eq!(run(unit), (accepted, words), "unit {unit}");
        assert_ne!(run(2 * unit), (accepted, words), "unit {unit}");
    }
}

/// Two temperatures with replica exchange: each chain has its own distribution. A state that goes over whatever the energies
/// are must be seen.
#[test]
fn replica_exchange_keeps_both_distributions() {
    let cold = Whole::random(6, 1.2 / 1_000.0, 5);
    let at = |unit: i32| {
        let mut whole = cold.clone();
        whole.linear.iter_mut().for_each(|b| *b *= unit);
        whole.couplings.iter_mut().for_each(|c| c.2 *= unit);
        Space::binary(&whole)
    };
    let units = [1_000, 300];
    let (ends, entries) = cold.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &cold.linear).unwrap();
    let penalty = Penalty::from_step_size(0.6).unwrap();
    let run = |wrong: bool| {
        let (mut rooms, mut words) = ([Room::new(6), Room::new(6)], [[0], [0]]);
        let mut room = rooms.iter_mut().zip(&mut words);
        let [mut one, mut two] = units.map(|unit| {
            let (Room { fields, flips }, words) = room.next().unwrap();
            TemperedLangevin::at_unit(model, unit, penalty, words, fields, flips).unwrap()
        });
        let (mut rng, mut counts, mut swaps) = (LaneRng::seed_from_u64(8), [vec![0; 64], vec![0; 64]], 0);
        for _ in 0..20_000 {
            for _ in 0..20 {
                one.step(&mut rng);
                two.step(&mut rng);
                if wrong {
                    one.set_unit(units[1]).unwrap();
                }
                swaps += u32::from(one.exchange(&mut two, &mut rng).unwrap());
                one.set_unit(units[0]).unwrap();
            }
            for (counts, chain) in counts.iter_mut().zip([&one, &two]) {
                counts[chain.state().words()[0] as usize] += 1;
            }
        }
        assert!(swaps > 40_000, "{swaps}");
        counts
    };
    let counts = run(false);
    for (counts, unit) in counts.iter().zip(units) {
        chi_square("a temperature", counts, &at(unit as i32).distribution).must_pass();
    }
    chi_square("always", &run(true)[0], &at(units[0] as i32).distribution).must_fail();
}

/// The largest inverse temperature is the one at which the largest field still fits in 31 bits.
#[test]
fn a_temperature_that_is_too_low_is_refused() {
    let pair = [Entry { site: 1, coupling: 1_000 }, Entry { site: 0, coupling: 1_000 }];
    let model = QuantisedIsing::from_rows(&[1, 2], &pair, &[-1_500, 700]).unwrap();
    let penalty = Penalty::from_units(1 << 30).unwrap();
    let most = i32::MAX as u32 / 1_700;
    let (mut room, mut words) = (Room::new(2), [0]);
    let Room { fields, flips } = &mut room;
    let error = StateError::Unit { most, got: most + 1 };
    let refused = TemperedLangevin::at_unit(model, most + 1, penalty, &mut words, fields, flips);
    assert_eq!(refused.unwrap_err(), error);
    let mut chain = TemperedLangevin::at_unit(model, most, penalty, &mut words, fields, flips).unwrap();
    assert_eq!(chain.set_unit(most + 1), Err(error));
    assert_eq!(chain.unit(), most);
    // Site 0 has −1,500 to lose, and site 1 700 to gain: less than the penalty at the lowest temperature.
    let units = |site: usize| chain.proposal(site).map(|(rather, odds)| (rather, odds.octaves));
    let half = |field: u32| ((1 << 30) - i64::from(field * most).div_euclid(2)) as u32 >> 16;
    assert_eq!(units(0), Some((false, ((1 << 30) + 1_500 * most / 2) >> 16)));
    assert_eq!(units(1), Some((false, half(700))));
}

#[test]
fn a_chain_made_again_from_its_state_goes_on_alike() {
    let whole = Whole::random(75, 0.4, 9);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let penalty = Penalty::from_step_size(0.3).unwrap();
    let run = |parts: &[u32]| {
        let (mut words, mut rng) = ([0; 3], LaneRng::seed_from_u64(7));
        let (mut moved, mut rejected) = (0, 0);
        for &steps in parts {
            let mut room = Room::new(75);
            let mut chain = room.chain(model, penalty, &mut words);
            for _ in 0..steps {
                let step = chain.step(&mut rng);
                moved += u32::from(step.accepted) * step.proposed;
                rejected += u32::from(!step.accepted);
            }
        }
        assert!(moved > 100 && rejected > 20, "{moved} moves, {rejected} rejected");
        words
    };
    assert_eq!(run(&[300]), run(&[1, 99, 0, 150, 50]));
}

#[test]
fn what_does_not_fit_is_refused_and_no_generator_hangs() {
    let whole = Whole::random(35, 2.0, 8);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    assert_eq!(Penalty::from_units((1 << 30) + 1).unwrap_err(), ParameterError::Penalty((1 << 30) + 1));
    for alpha in [0.0, -1.0, f32::INFINITY, 1e-40] {
        assert_eq!(Penalty::from_step_size(alpha).unwrap_err(), ParameterError::StepSize(alpha));
    }
    // 65,536/(2α ln 2).
    assert!(matches!(
        Penalty::from_step_size(4e-5),
        Err(ParameterError::Penalty(1_181_800_000..1_181_900_000))
    ));
    assert_eq!(Penalty::from_step_size(1e-30), Err(ParameterError::Penalty(u32::MAX)));
    assert!(Penalty::from_step_size(f32::NAN).is_err());
    // 1/(2α) = ln 2 is a factor of two.
    assert_eq!(Penalty::from_step_size(0.5 / std::f32::consts::LN_2).unwrap().units(), 65_536);
    let penalty = Penalty::from_step_size(0.5).unwrap();
    let (mut fields, mut flips) = ([0; 35], [0; 2]);
    let error = |words: &mut [u32], fields: &mut [i32], flips: &mut [u32]| {
        QuantisedLangevin::new(model, penalty, words, fields, flips).unwrap_err()
    };
    assert_eq!(error(&mut [0], &mut fields, &mut flips), StateError::Words { need: 2, got: 1 });
    assert_eq!(error(&mut [0, 8], &mut fields, &mut flips), StateError::Padding);
    assert_eq!(error(&mut [0, 7], &mut fields[1..], &mut flips), StateError::Fields { need: 35, got: 34 });
    assert_eq!(error(&mut [0, 7], &mut fields, &mut flips[1..]), StateError::Flips { need: 2, got: 1 });
    for units in [0, 20_000, 1 << 30] {
        for (name, mut stuck) in Stuck::all() {
            let (mut words, penalty) = ([0, 0], Penalty::from_units(units).unwrap());
            let mut chain =
                QuantisedLangevin::new(model, penalty, &mut words, &mut fields, &mut flips).unwrap();
            (0..100).for_each(|_| assert!(chain.step(&mut stuck).proposed <= 35));
            assert!(Packed::new(chain.state().layout(), chain.state().words()).is_ok(), "{name}");
            assert!(chain.proposal(35).is_none());
        }
    }
}
