//! Gibbs sampling without floats: its odds and draws against float64, its matrices against distributions by enumeration, and
//! an exact start.

use bitmc::energy::{Entry, SparseBuffers, SparseError};
use bitmc::quantised::{Odds, PER_OCTAVE, QuantisedGibbs, QuantisedIsing, TableGibbs, TemperedGibbs};
use bitmc::stats::{Draws, Every, Means, Pairs};
use bitmc::{Ising, LaneRng, Packed, SeedableRng, StateError, torus};
use bitmc_host_tests::listed::{Listed, count};
use bitmc_host_tests::models::Source;
use bitmc_host_tests::quantised::{UNIT, Whole, given, stays_exact, value};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::stuck::Stuck;

#[test]
fn odds_are_powers_of_two() {
    let check = |units: u32| {
        let (odds, truth) = (Odds::new(units), (-f64::from(units) / f64::from(PER_OCTAVE)).exp2());
        // Two factors within half of 2⁻³⁰ each, and the product rounded down, all of numbers above ½.
        assert!((value(odds) / truth - 1.0).abs() <= 2f64.powi(-28), "{units}");
        assert!(odds.mantissa > 1 << 29 && odds.mantissa <= 1 << 30);
    };
    (0..PER_OCTAVE).for_each(check);
    (0..1000).for_each(|i| check(i * 66_067));
    // Monotone, so that likelier stays likelier.
    assert!((1..PER_OCTAVE).all(|units| Odds::new(units).mantissa <= Odds::new(units - 1).mantissa));
}

/// How many of the 2³² values of the last word say yes, the words before being as given.
fn yes(odds: Odds, before: &[u32]) -> u64 {
    count(1 << 32, |word| odds.draw(&mut Listed(&[before, &[word as u32]].concat()))) as u64
}

#[test]
fn draws_have_the_probability_of_their_odds() {
    for units in (0..70 * PER_OCTAVE).step_by(7_919) {
        let odds = Odds::new(units);
        let e = value(odds);
        let whole = odds.octaves as usize / 32;
        let before = vec![0; whole + usize::from(!odds.octaves.is_multiple_of(32))];
        if odds.octaves >= 64 {
            assert!(!odds.draw(&mut Listed(&[0, 0, 0])));
            continue;
        }
        // The zeros before are a probability of 2^(−octaves): the most that the word before may be is one less.
        if let [rest @ .., _] = &before[..] {
            let bound = 1u32.checked_shl(32 - odds.octaves % 32).unwrap_or(1);
            let word = |word: u32| [rest, &[word, 0]].concat();
            assert!(odds.draw(&mut Listed(&word(bound - 1))) && !odds.draw(&mut Listed(&word(bound))));
        }
        let p = yes(odds, &before) as f64 * (-32.0 - f64::from(odds.octaves)).exp2();
        assert!((p / (e / (1.0 + e)) - 1.0).abs() <= 2f64.powi(-27), "{units}: {p:e}");
    }
}

/// The matrix of an update of each site, from the odds that a sweep draws by, `crippled` or not.
fn updates(space: &Space, model: QuantisedIsing<'_>, crippled: bool) -> Vec<Table> {
    let sites = space.layout.sites();
    let states = space.states();
    let row = |site: usize, x: usize| {
        let (mut words, mut fields) = (space.words[x].clone(), vec![0; sites]);
        let chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        let (likely, odds) = chain.conditional(site).unwrap();
        let dropped = Odds { mantissa: odds.mantissa & !0xFF_FFFF, ..odds };
        let e = value(if crippled { dropped } else { odds });
        let mut row = vec![0.0; states];
        for (to, p) in [(likely, 1.0 / (1.0 + e)), (1 - likely, e / (1.0 + e))] {
            row[x & !(1 << site) | (to as usize) << site] = p;
        }
        row
    };
    (0..sites).map(|site| Table { rows: (0..states).map(|x| row(site, x)).collect() }).collect()
}

#[test]
fn updates_keep_the_distribution() {
    for (seed, sd) in [0.4, 3.0, 10.0].into_iter().enumerate() {
        let whole = Whole::random(6, sd, seed as u64);
        let (space, (ends, entries)) = (Space::binary(&whole), whole.rows());
        let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
        let found = updates(&space, model, false);
        for (site, update) in found.iter().enumerate() {
            let verdict = space.judge(update);
            assert!(verdict.passes(), "sd {sd}, site {site}: {verdict:?}");
        }
        let sweep = found.iter().fold(Table::identity(64), |sweep, update| sweep.then(update));
        let verdict = space.judge(&sweep);
        assert!(verdict.stationary(), "sd {sd}: {verdict:?}");
        let seen = updates(&space, model, true).iter().any(|update| !space.judge(update).passes());
        assert!(seen, "sd {sd}: six binary places in place of thirty are not seen");
    }
}

#[test]
fn an_exact_start_stays_exact() {
    stays_exact(61, |model, words, rng| {
        let mut fields = [0; 7];
        let mut chain = QuantisedGibbs::new(model, words, &mut fields).unwrap();
        (0..6).for_each(|_| _ = chain.sweep(rng));
    });
}

/// The distribution given the clamped sites, in whichever state they are; a sweep that clamps none must be seen.
#[test]
fn clamped_sites_stay_and_the_others_are_drawn_given_them() {
    let free = 0b101_1011;
    stays_exact(63, |model, words, rng| {
        let (mut fields, before) = ([0; 7], words[0]);
        let mut chain = QuantisedGibbs::new(model, words, &mut fields).unwrap();
        (0..6).for_each(|_| _ = chain.sweep_free(&[free], rng));
        assert_eq!((before ^ words[0]) & !free, 0);
    });
    let whole = Whole::random(7, 0.8, 21);
    let (space, (ends, entries)) = (Space::binary(&whole), whole.rows());
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let (clamped, mut fields) = (0b010_0100, [0; 7]);
    let distribution = given(&space, free, clamped);
    let mut rng = LaneRng::seed_from_u64(64);
    let mut counts = |free: u32| {
        let mut counts = vec![0; 128];
        for _ in 0..20_000 {
            let mut words = [clamped];
            let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
            (0..30).for_each(|_| _ = chain.sweep_free(&[free], &mut rng));
            counts[words[0] as usize] += 1;
        }
        counts
    };
    chi_square("clamped", &counts(free), &distribution).must_pass();
    chi_square("all free", &counts(127), &distribution).must_fail();
}

#[test]
fn a_sweep_over_all_sites_is_the_sweep_and_none_moves_nothing() {
    let whole = Whole::random(75, 1.0, 9);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let run = |free: Option<&[u32]>| {
        let (mut words, mut fields, mut rng) = ([0; 3], [0; 75], LaneRng::seed_from_u64(7));
        let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        let mut sweep = || match free {
            Some(free) => chain.sweep_free(free, &mut rng),
            None => chain.sweep(&mut rng),
        };
        ((0..50).map(|_| sweep()).sum::<u32>(), words)
    };
    assert_eq!(run(None), run(Some(&[u32::MAX; 3])));
    assert_eq!(run(Some(&[])), (0, [0; 3]));
    assert_eq!(run(Some(&[u32::MAX])).1[1..], [0; 2]);
}

/// Energies of all states, to the unit; pairs counted twice must be seen.
#[test]
fn units_are_the_energy_with_its_sign_turned() {
    let whole = Whole::random(6, 3.0, 4);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let mut twice = 0;
    for x in 0..64_u32 {
        let (mut words, mut fields) = ([x], [0; 6]);
        let chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        let on = |site: usize| i64::from(x >> site & 1);
        let linear: i64 = whole.linear.iter().enumerate().map(|(site, &b)| i64::from(b) * on(site)).sum();
        let pairs: i64 = whole.couplings.iter().map(|&(a, b, k)| i64::from(k) * on(a) * on(b)).sum();
        assert_eq!(chain.units(), linear + pairs, "{x}");
        twice += u32::from(chain.units() != linear + 2 * pairs);
    }
    assert!(twice > 50);
}

#[test]
fn models_are_rounded_to_the_nearest_unit() {
    let whole = Whole::random(40, 0.5, 5);
    let edges: Vec<_> =
        whole.couplings.iter().map(|&(a, b, k)| (a as u32, b as u32, (f64::from(k) * UNIT) as f32)).collect();
    let fields: Vec<f32> = whole.linear.iter().map(|&b| (f64::from(b) * UNIT) as f32).collect();
    let count = 2 * edges.len();
    let (mut ends, mut linear, mut entries) = ([0; 40], [0; 40], vec![Entry::default(); count]);
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let ising = Ising::bits_edges_once(fields.len(), edges, &fields, borrowed).unwrap();
    let (mut ends, mut linear, mut entries) = ([0; 40], [0; 40], vec![Entry::default(); count]);
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let model = QuantisedIsing::round(ising.form(), borrowed).unwrap();
    let (right, rows) = whole.rows();
    // The float that a whole number became is within a few of 2⁻²⁴ of it, of two units or so at most.
    assert!(model.form().ends() == right && model.form().linear() == whole.linear);
    assert_eq!(model.form().entries(), rows);
    let (mut ends, mut linear, mut entries) = ([0; 40], [0; 40], entries.clone());
    let short = SparseBuffers::new(&mut ends[1..], &mut linear, &mut entries);
    assert_eq!(
        QuantisedIsing::round(ising.form(), short).unwrap_err(),
        SparseError::Memory { need: 40, got: 39 }
    );
    let short = SparseBuffers::new(&mut ends, &mut linear, &mut entries[1..]);
    assert_eq!(
        QuantisedIsing::round(ising.form(), short).unwrap_err(),
        SparseError::Entries { need: count, got: count - 1 }
    );
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut []);
    let steep = Ising::bits_edges_once(1, [], &[12_000.0], borrowed).unwrap();
    let (mut ends, mut linear) = ([0; 1], [0; 1]);
    let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut []);
    assert_eq!(
        QuantisedIsing::round(steep.form(), borrowed).unwrap_err(),
        SparseError::TooManyUnits { site: 0 }
    );
}

/// Spins without fields, at couplings of all sizes: half a unit and a relative 3·10⁻⁷, and the field that is left.
#[test]
fn rounding_is_as_close_as_it_says() {
    let (mut left, mut far) = (0, 0);
    for step in 0..2000 {
        let coupling = 1e-3 * 1.0069f32.powi(step);
        let (mut ends, mut linear, mut entries) = ([0; 9], [0; 9], [Entry::default(); 36]);
        let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let ising = Ising::spins_edges_once(9, torus(3, 3, coupling), &[], borrowed).unwrap();
        let (mut ends, mut linear, mut entries) = ([0; 9], [0; 9], [Entry::default(); 36]);
        let borrowed = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let Ok(model) = QuantisedIsing::round(ising.form(), borrowed) else { break };
        let (k, b) = (model.form().entries()[0].coupling, model.form().linear()[0]);
        let close = |got: i32, nats: f64| {
            let units = nats / UNIT;
            (f64::from(got) - units).abs() <= 0.5 + 3e-7 * units.abs()
        };
        let nats = 4.0 * f64::from(coupling);
        assert!(close(k, nats) && close(b, -2.0 * nats), "{coupling}: {k} and {b}");
        if nats < 18.0 {
            assert!((b + 2 * k).abs() <= 1, "{coupling}: a field of {} is left", b + 2 * k);
            left += u32::from(b + 2 * k != 0);
        }
        far = step;
    }
    assert!(far > 1900 && left > 100, "{far} couplings, {left} fields are left");
}

#[test]
fn the_parts_of_a_sweep_are_the_sweep() {
    let whole = Whole::random(75, 1.0, 9);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let run = |parts: &[(usize, usize)]| {
        let (mut words, mut fields, mut rng) = ([0; 3], [0; 75], LaneRng::seed_from_u64(7));
        let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        let mut flips = 0;
        for _ in 0..50 {
            flips += parts.iter().map(|&(from, to)| chain.sweep_sites(from..to, &mut rng)).sum::<u32>();
        }
        (flips, words)
    };
    assert_eq!(run(&[(0, 75)]), run(&[(0, 1), (1, 1), (1, 32), (32, 50), (50, 75), (75, 900)]));
    assert_ne!(run(&[(0, 75)]), run(&[(32, 75), (0, 32)]));
}

#[test]
fn what_does_not_fit_is_refused_and_no_generator_hangs() {
    let whole = Whole::random(35, 2.0, 8);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let mut fields = [0; 35];
    let error = |words: &mut [u32], fields: &mut [i32]| QuantisedGibbs::new(model, words, fields).unwrap_err();
    assert_eq!(error(&mut [0], &mut fields), StateError::Words { need: 2, got: 1 });
    assert_eq!(error(&mut [0, 8], &mut fields), StateError::Padding);
    assert_eq!(
        error(&mut [0, 7], &mut fields[1..]).to_string(),
        "fields has 34 values: the model has 35 sites"
    );
    assert_eq!(error(&mut [0, 7], &mut fields[1..]), StateError::Fields { need: 35, got: 34 });
    assert!(QuantisedIsing::from_rows(&[1], &[], &[0]).is_err());
    for (name, mut stuck) in Stuck::all() {
        let mut words = [0, 0];
        let mut chain = QuantisedGibbs::new(model, &mut words, &mut fields).unwrap();
        (0..100).for_each(|_| assert!(chain.sweep(&mut stuck) <= 35));
        assert!(Packed::new(chain.state().layout(), chain.state().words()).is_ok(), "{name}");
        assert!(chain.conditional(35).is_none());
    }
}

/// A model of small numbers, and what it is at an inverse temperature.
fn small(sites: usize, seed: u64, unit: u32) -> (Whole, Whole) {
    let mut source = Source::new(seed);
    let mut draw = || source.below(7) as i32 - 3;
    let linear = (0..sites).map(|_| draw()).collect();
    let pairs = (0..sites).flat_map(|a| (0..a).map(move |b| (a, b)));
    let small = Whole { linear, couplings: pairs.map(|(a, b)| (a, b, draw())).collect() };
    let mut large = small.clone();
    large.linear.iter_mut().for_each(|b| *b *= unit as i32);
    large.couplings.iter_mut().for_each(|coupling| coupling.2 *= unit as i32);
    (small, large)
}

/// Updates by `chances` keep the distribution at each temperature; those of a temperature 1/64 lower are seen. `chances` has the
/// probabilities of 0 and 1 at a site, of a model, at a temperature, in a state.
fn keep_the_distribution(chances: impl Fn(QuantisedIsing<'_>, u32, &mut [u32], usize) -> [f64; 2]) {
    for (seed, unit) in [3_000, 20_000, 90_000].into_iter().enumerate() {
        let (small, large) = small(6, seed as u64, unit);
        let (space, (ends, entries)) = (Space::binary(&large), small.rows());
        let model = QuantisedIsing::from_rows(&ends, &entries, &small.linear).unwrap();
        let updates = |unit: u32| -> Vec<Table> {
            let row = |site: usize, x: usize| {
                let mut row = vec![0.0; 64];
                for (value, p) in
                    chances(model, unit, &mut space.words[x].clone(), site).into_iter().enumerate()
                {
                    row[x & !(1 << site) | value << site] = p;
                }
                row
            };
            (0..6).map(|site| Table { rows: (0..64).map(|x| row(site, x)).collect() }).collect()
        };
        for (site, update) in updates(unit).iter().enumerate() {
            let verdict = space.judge(update);
            assert!(verdict.passes(), "unit {unit}, site {site}: {verdict:?}");
        }
        assert!(updates(unit + unit / 64).iter().any(|update| !space.judge(update).passes()), "unit {unit}");
    }
}

#[test]
fn sweeps_by_a_table_keep_the_distribution() {
    keep_the_distribution(|model, unit, words, site| {
        let (mut fields, mut table) = ([0; 6], vec![u64::MAX; TableGibbs::table_len(&model)]);
        let mut chain = TableGibbs::with_table(model, 7, words, &mut fields, &mut table).unwrap();
        chain.set_unit(unit);
        let p = chain.probability(site).unwrap();
        [p.wrapping_neg(), p].map(|p| p as f64 * (-64f64).exp2())
    });
}

#[test]
fn sweeps_at_a_temperature_keep_the_distribution() {
    keep_the_distribution(|model, unit, words, site| {
        let mut fields = [0; 6];
        let mut chain = TemperedGibbs::at_unit(model, 7, words, &mut fields).unwrap();
        chain.set_unit(unit);
        assert_eq!(chain.unit(), unit);
        let (likely, odds) = chain.conditional(site).unwrap();
        let e = value(odds);
        let [rare, often] = [e / (1.0 + e), 1.0 / (1.0 + e)];
        if likely == 1 { [rare, often] } else { [often, rare] }
    });
}

/// What a sweep of one site draws from the first words of a generator: 1 below the probability, in units of 2⁻⁶⁴.
#[test]
fn a_draw_by_a_table_compares_64_bits() {
    for field in [-40, -3, -1, 0, 1, 2, 60] {
        let linear = [field];
        let model = QuantisedIsing::from_rows(&[0], &[], &linear).unwrap();
        let (mut words, mut fields, mut table) = ([0], [0], [0]);
        let mut chain = TableGibbs::with_table(model, 50_000, &mut words, &mut fields, &mut table).unwrap();
        let p = chain.probability(0).unwrap();
        let truth = 1.0 / (1.0 + (-f64::from(field) * 50_000.0 / f64::from(PER_OCTAVE)).exp2());
        let found = p as f64 * (-64f64).exp2();
        // The last digits of a float near 1, or of the probability itself.
        let last = if field > 0 { 2f64.powi(-52) } else { 2f64.powi(-64) };
        assert!((found - truth).abs() <= 2f64.powi(-27) * truth.min(1.0 - truth) + last, "{field}: {found:e}");
        let mut draw = |at: u64| {
            chain.sweep(&mut Listed(&[(at >> 32) as u32, at as u32, 0]));
            chain.state().get(0) == 1
        };
        for at in [p - 1, p / 2, p - (1 << 33)] {
            assert!(draw(at), "{field}");
        }
        for at in [p, p.saturating_add(1), p.saturating_add(1 << 33)] {
            assert!(!draw(at), "{field}");
        }
    }
}

#[test]
fn chains_of_sweeps_by_a_table_reach_the_distribution() {
    let (small, large) = small(7, 5, 15_000);
    let (space, (ends, entries)) = (Space::binary(&large), small.rows());
    let counts = |linear: &[i32]| {
        let model = QuantisedIsing::from_rows(&ends, &entries, linear).unwrap();
        let (mut words, mut fields) = ([0], [0; 7]);
        let mut table = vec![0; TableGibbs::table_len(&model)];
        let mut rng = LaneRng::seed_from_u64(8);
        let mut chain = TableGibbs::with_table(model, 15_000, &mut words, &mut fields, &mut table).unwrap();
        let mut counts = vec![0; 128];
        for _ in 0..20_000 {
            (0..20).for_each(|_| _ = chain.sweep(&mut rng));
            counts[chain.state().words()[0] as usize] += 1;
        }
        counts
    };
    chi_square("by a table", &counts(&small.linear), &space.distribution).must_pass();
    let mut off = small.linear.clone();
    off[3] += 1;
    chi_square("a field that is one more", &counts(&off), &space.distribution).must_fail();
}

#[test]
fn a_table_that_is_too_short_is_refused() {
    let (small, _) = small(5, 2, 1);
    let (ends, entries) = small.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &small.linear).unwrap();
    let need = TableGibbs::table_len(&model);
    let (mut words, mut fields, mut table) = ([0], [0; 5], vec![0; need - 1]);
    let error = TableGibbs::with_table(model, 9, &mut words, &mut fields, &mut table).unwrap_err();
    assert_eq!(error, StateError::Table { need, got: need - 1 });
    // All neighbourhoods that there are: no field is outside.
    let reach = |site: usize, sign: i32| -> i32 {
        let of = small.couplings.iter().filter(|c| c.0 == site || c.1 == site);
        small.linear[site] + of.map(|c| c.2).filter(|k| k.signum() == sign).sum::<i32>()
    };
    let (least, most) = ((0..5).map(|s| reach(s, -1)).min(), (0..5).map(|s| reach(s, 1)).max());
    assert_eq!(need as i32, most.unwrap() - least.unwrap() + 1);
}

/// At unit 1 the bits are those of a chain without a temperature, and beyond 2³² units nothing is drawn that is not certain.
#[test]
fn a_temperature_of_one_is_none_and_the_coldest_is_certain() {
    let whole = Whole::random(7, 0.8, 21);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let (mut a, mut b, mut fields, mut others) = ([0], [0], [0; 7], [0; 7]);
    let mut plain = QuantisedGibbs::new(model, &mut a, &mut fields).unwrap();
    let mut at_one = TemperedGibbs::at_unit(model, 1, &mut b, &mut others).unwrap();
    let (mut rng, mut same) = (LaneRng::seed_from_u64(3), LaneRng::seed_from_u64(3));
    for _ in 0..200 {
        assert_eq!(plain.sweep(&mut rng), at_one.sweep(&mut same));
        assert_eq!(plain.state().words(), at_one.state().words());
    }
    at_one.set_unit(u32::MAX);
    for _ in 0..50 {
        at_one.sweep(&mut rng);
    }
    let still = at_one.state().words()[0];
    assert_eq!((0..50).map(|_| at_one.sweep(&mut rng)).sum::<u32>(), 0);
    for site in 0..7 {
        let (likely, odds) = at_one.conditional(site).unwrap();
        assert!(odds.octaves > 64 && likely == still >> site & 1, "{site}");
    }
    at_one.set_unit(0);
    assert!((0..7).all(|site| value(at_one.conditional(site).unwrap().1) == 1.0));
}

/// The probability with which two chains change states, all last words of the generator counted: of pairs of states at which it
/// is above ½, and certain in the other direction.
#[test]
fn chains_change_places_with_the_probability_of_replica_exchange() {
    let (small, _) = small(6, 4, 1);
    let (ends, entries) = small.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &small.linear).unwrap();
    let units = |state: u32| -> i64 {
        let (mut words, mut fields) = ([state], [0; 6]);
        TemperedGibbs::at_unit(model, 1, &mut words, &mut fields).unwrap().units()
    };
    let mut partial = 0;
    for (x, y) in (0..64).flat_map(|x| [(x, (x * 7 + 5) % 64), (x, 63 - x)]) {
        let (cold, hot) = (9_000, 4_000);
        let accepts = |word: u32| {
            let (mut a, mut b, mut fields, mut others) = ([x], [y], [0; 6], [0; 6]);
            let mut one = TemperedGibbs::at_unit(model, cold, &mut a, &mut fields).unwrap();
            let mut two = TemperedGibbs::at_unit(model, hot, &mut b, &mut others).unwrap();
            let swapped = one.exchange(&mut two, &mut Listed(&[word, 0, 0])).unwrap();
            let (now, then) = if swapped { (y, x) } else { (x, y) };
            assert_eq!((one.state().words()[0], two.state().words()[0]), (now, then));
            assert_eq!((one.unit(), two.unit()), (cold, hot));
            // The fields went with the states.
            assert_eq!((one.units(), two.units()), (units(now), units(then)));
            swapped
        };
        let log = (f64::from(cold) - f64::from(hot)) * (units(y) - units(x)) as f64 / f64::from(PER_OCTAVE);
        if log >= 0.0 {
            assert!(accepts(u32::MAX) && accepts(0), "{x}, {y}");
        } else if log > -1.0 {
            partial += 1;
            let p = count(1 << 32, |word| accepts(word as u32)) as f64 * (-32f64).exp2();
            assert!((p / log.exp2() - 1.0).abs() < 2f64.powi(-27), "{x}, {y}: {p}, {log}");
        } else {
            assert!(!accepts(u32::MAX) && accepts(0) == (log >= -32.0), "{x}, {y}: {log}");
        }
    }
    assert!(partial > 20, "{partial} pairs");
}

/// Three temperatures, by tables and by odds: each chain has its own distribution. One that is told another temperature when
/// it changes places must be seen.
#[test]
fn replica_exchange_keeps_every_distribution() {
    let units = [4_000, 9_000, 15_000];
    let cold = small(7, 5, units[2]);
    let spaces = units.map(|unit| Space::binary(&small(7, 5, unit).1));
    let (ends, entries) = cold.0.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &cold.0.linear).unwrap();
    let counts = |wrong: bool| {
        let (mut words, mut fields) = ([[0]; 3], [[0; 7]; 3]);
        let mut room = words.iter_mut().zip(fields.iter_mut());
        let mut chains = units.map(|unit| {
            let (words, fields) = room.next().unwrap();
            TemperedGibbs::at_unit(model, unit, words, fields).unwrap()
        });
        let mut rng = LaneRng::seed_from_u64(8);
        let mut counts = [(); 3].map(|()| vec![0; 128]);
        for round in 0..20_000 {
            for sweep in 0..12 {
                chains.iter_mut().for_each(|chain| _ = chain.sweep(&mut rng));
                let low = (round + sweep) % 2;
                let [_, one, two] = &mut chains;
                if wrong {
                    two.set_unit(units[0]);
                    two.exchange(one, &mut rng).unwrap();
                    two.set_unit(units[2]);
                } else {
                    let (before, after) = chains.split_at_mut(low + 1);
                    after[0].exchange(&mut before[low], &mut rng).unwrap();
                }
            }
            for (counts, chain) in counts.iter_mut().zip(&chains) {
                counts[chain.state().words()[0] as usize] += 1;
            }
        }
        counts
    };
    for (counts, space) in counts(false).iter().zip(&spaces) {
        chi_square("a rung", counts, &space.distribution).must_pass();
    }
    chi_square("told another temperature", &counts(true)[2], &spaces[2].distribution).must_fail();

    let room = |space: usize| vec![0; space * TableGibbs::table_len(&model)];
    let (mut a, mut b, mut fields, mut others, mut first, mut second) =
        ([0], [0], [0; 7], [0; 7], room(1), room(1));
    let mut hot = TableGibbs::with_table(model, units[0], &mut a, &mut fields, &mut first).unwrap();
    let mut cold = TableGibbs::with_table(model, units[2], &mut b, &mut others, &mut second).unwrap();
    let (mut rng, mut counts) = (LaneRng::seed_from_u64(9), vec![0; 128]);
    for _ in 0..20_000 {
        for _ in 0..20 {
            hot.sweep(&mut rng);
            cold.sweep(&mut rng);
            cold.exchange(&mut hot, &mut rng).unwrap();
        }
        counts[cold.state().words()[0] as usize] += 1;
    }
    chi_square("by tables", &counts, &spaces[2].distribution).must_pass();
}

#[test]
fn chains_of_other_models_do_not_change_places() {
    let (small, _) = small(6, 4, 1);
    let (ends, entries) = small.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &small.linear).unwrap();
    let mut other = small.linear.clone();
    other[5] += 1;
    let mut stronger = entries.clone();
    stronger.iter_mut().for_each(|entry| entry.coupling *= 2);
    let others = [
        QuantisedIsing::from_rows(&ends, &entries, &other).unwrap(),
        QuantisedIsing::from_rows(&ends, &stronger, &small.linear).unwrap(),
    ];
    for other in others {
        let (mut a, mut b, mut fields, mut rest) = ([1], [2], [0; 6], [0; 6]);
        let mut one = TemperedGibbs::at_unit(model, 9, &mut a, &mut fields).unwrap();
        let mut two = TemperedGibbs::at_unit(other, 5, &mut b, &mut rest).unwrap();
        assert_eq!(one.exchange(&mut two, &mut Listed(&[])), Err(StateError::Model));
        assert_eq!((one.state().words(), two.state().words()), (&[1][..], &[2][..]));
    }
    // The same numbers in other memory are the same model.
    let (ends, entries) = (ends.clone(), entries.clone());
    let copy = QuantisedIsing::from_rows(&ends, &entries, &small.linear).unwrap();
    let (mut a, mut b, mut fields, mut rest) = ([1], [2], [0; 6], [0; 6]);
    let mut one = TemperedGibbs::at_unit(model, 9, &mut a, &mut fields).unwrap();
    let mut two = TemperedGibbs::at_unit(copy, 9, &mut b, &mut rest).unwrap();
    assert_eq!(one.exchange(&mut two, &mut Listed(&[7])), Ok(true));
}

/// A model that is rounded for a temperature has, at that temperature, the odds of the one that is rounded without.
#[test]
fn models_are_rounded_for_a_temperature() {
    let fields: Vec<f32> = (0..25).map(|site| 0.3 * (site % 7) as f32 - 1.0).collect();
    let edges = torus(5, 5, 0.7);
    let (mut ends, mut linear, mut entries) = (vec![0; 25], vec![0; 25], vec![Entry::default(); 100]);
    let floats = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
    let model = Ising::spins_edges_twice(25, edges, &fields, floats).unwrap();
    let odds = |unit: u32| -> Vec<f64> {
        let (mut ends, mut linear, mut entries) = (vec![0; 25], vec![0; 25], vec![Entry::default(); 100]);
        let room = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let rounded = QuantisedIsing::round_at(model.form(), unit.try_into().unwrap(), room).unwrap();
        let (mut words, mut sums) = ([0b1_0110_1001_1101_0010_1100], [0; 25]);
        let chain = TemperedGibbs::at_unit(rounded, unit, &mut words, &mut sums).unwrap();
        let of = |site| {
            let (likely, odds) = chain.conditional(site).unwrap();
            value(odds).ln() * if likely == 1 { -1.0 } else { 1.0 }
        };
        (0..25).map(of).collect()
    };
    let exact = odds(1);
    for unit in [2, 64, 1000] {
        // A field and four couplings, each by half of `unit` units; 4e-5 is that of the exact one.
        let bound = 2.5 * f64::from(unit) * 1.0577e-5 + 4e-5;
        let worst = exact.iter().zip(odds(unit)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= bound, "{unit}: {worst}");
        assert!(unit < 64 || worst > 1e-5, "{unit}: rounded more coarsely, and it does not show");
    }
}

/// Observers of states see each state once, and so do those behind [`Every`].
#[test]
fn observers_see_every_state_in_whole_numbers() {
    let whole = Whole::random(7, 0.8, 21);
    let (ends, entries) = whole.rows();
    let model = QuantisedIsing::from_rows(&ends, &entries, &whole.linear).unwrap();
    let (mut a, mut b, mut fields, mut others) = ([0], [0], [0; 7], [0; 7]);
    let mut by_hand = QuantisedGibbs::new(model, &mut a, &mut fields).unwrap();
    let mut chain = QuantisedGibbs::new(model, &mut b, &mut others).unwrap();
    let (mut rng, mut same) = (LaneRng::seed_from_u64(3), LaneRng::seed_from_u64(3));
    let (mut means, mut pairs) = (Means::new([0; 7]), Pairs::new([(0, 1), (2, 9)]));
    let mut draws = Every::new(10, Draws::<1, 5>::new());
    assert_eq!((means.sum(0), pairs.alike()), (None, (0, [None; 2])));
    let changed = chain.run(50, &mut rng, &mut ((&mut means, &mut pairs), &mut draws));
    let (mut sums, mut alike, mut all, mut tenth) = ([0; 7], 0, 0, Vec::new());
    for sweep in 1..=50 {
        all += u64::from(by_hand.sweep(&mut same));
        let bits: Vec<_> = by_hand.state().values().collect();
        sums.iter_mut().zip(&bits).for_each(|(sum, bit)| *sum += bit);
        alike += u32::from(bits[0] == bits[1]);
        if sweep % 10 == 0 {
            tenth.push([by_hand.state().words()[0]]);
        }
    }
    assert_eq!((changed, means.count()), (all, 50));
    assert_eq!(std::array::from_fn(|site| means.sum(site).unwrap()), sums);
    assert!(means.sum(7).is_none() && sums.iter().any(|&sum| sum > 0 && sum < 50));
    assert_eq!(pairs.alike(), (50, [Some(alike), None]));
    assert_eq!(draws.observer.words().unwrap(), tenth);
}
