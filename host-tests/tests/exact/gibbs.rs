//! Gibbs sampling: the conditionals that it draws from, composed to the matrices of its scans, against distributions
//! by enumeration. A systematic scan is not reversible: it must keep the distribution.

use bitmc::energy::SparseError;
use bitmc::random::gumbels;
use bitmc::step::{Gibbs, ParameterError};
use bitmc::{
    Bernoulli, BlockGibbs, Energy, Function, Kind, LaneRng, Layout, Packed, Plain, Potts, SeedableRng,
};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::{Convention, Machine, Target};
use bitmc_host_tests::planes::{Own, Tables};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::chi_square;
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::stuck::Stuck;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const HELD: u32 = 0b10_0110;

/// The matrix of an update of each site.
fn updates(space: &Space, energy: &dyn Energy, held: u32) -> Vec<Table> {
    let update = |site: usize| {
        space.table(energy, held, |chain, x, row| {
            let mut log_p = vec![f32::NAN; space.layout.arity()];
            assert!(!Gibbs::conditional(chain.ring(), site, &mut log_p));
            for (value, log_p) in (0..).zip(log_p).filter(|(_, log_p)| *log_p > f32::NEG_INFINITY) {
                let mut words = space.words[x].clone();
                bitmc::packed::set(space.layout, &mut words, site, value).unwrap();
                row[space.number(Packed::new(space.layout, &words).unwrap())] += f64::from(log_p).exp();
            }
        })
    };
    (0..space.layout.sites()).map(update).collect()
}

/// All sites from the same old state: fields that are not kept up to date.
fn stale(space: &Space, updates: &[Table]) -> Table {
    let entry = |x: usize, y: usize| {
        let site = |(site, update): (usize, &Table)| {
            let mut words = space.words[x].clone();
            bitmc::packed::set(space.layout, &mut words, site, space.state(y).get(site)).unwrap();
            update.rows[x][space.number(Packed::new(space.layout, &words).unwrap())]
        };
        updates.iter().enumerate().map(site).product()
    };
    let rows = (0..space.states()).map(|x| (0..space.states()).map(|y| entry(x, y)).collect());
    Table { rows: rows.collect() }
}

fn sweep(updates: &[Table]) -> Table {
    updates.iter().fold(Table::identity(updates[0].rows.len()), |sweep, update| sweep.then(update))
}

/// `weak` couplings show stale fields; under strong ones nothing moves but where it must.
fn judge(name: &str, energy: &dyn Energy, space: &Space, weak: bool) {
    for held in [0, HELD] {
        let distribution = space.given(held, space.distribution.iter().rposition(|&p| p > 0.0).unwrap());
        let updates = updates(space, energy, held);
        for (site, update) in updates.iter().enumerate() {
            let verdict = distribution.judge(update);
            assert!(verdict.passes(), "{name}, held {held:b}, site {site}: {verdict:?}");
        }
        let verdict = distribution.judge(&sweep(&updates));
        assert!(verdict.stationary(), "{name}, held {held:b}, systematic scan: {verdict:?}");
        let verdict = distribution.judge(&Table::mean(&updates));
        assert!(verdict.passes(), "{name}, held {held:b}, random scan: {verdict:?}");
        let seen = !distribution.judge(&stale(space, &updates)).stationary();
        assert!(seen || !weak || held != 0, "{name}: stale fields are not seen");
    }
}

#[test]
fn binary_models() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::SpinsEdgesOnce, 6, 0.8, scale, seed as u64);
        let mut couplings = model.couplings();
        judge(
            &format!("Ising, sd {scale}"),
            &couplings.ising(&model).unwrap(),
            &Space::binary(&model),
            scale < 1.0,
        );
        let model = models::machine(6, 20, scale, seed as u64);
        let weights = Weights::new(&model).unwrap();
        judge(&format!("RBM, sd {scale}"), &weights.rbm().unwrap(), &Space::binary(&model), scale < 1.0);
    }
}

#[test]
fn categorical_and_ordinal_models() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        for arities in [&[3, 3, 3, 3][..], &[4, 4, 4], &[17, 5], &[2, 3, 5, 4], &[1, 7, 2, 3]] {
            for (seed, scale) in SCALES.into_iter().enumerate() {
                let tables = Tables::new(kind, arities, scale, seed as u64);
                let energy = Plain(Own(&tables));
                judge(
                    &format!("{kind:?} {arities:?}"),
                    &energy,
                    &Space::tables(&tables, energy.layout()),
                    scale < 1.0,
                );
            }
        }
    }
}

#[test]
fn a_hard_constraint() {
    for scale in [0.25, 2.0, 8.0] {
        let model = Count { sites: 6, most: 4.0, weight: scale };
        judge(&format!("count, {scale}"), &Plain(model), &Space::binary(&model), scale < 1.0);
    }
}

#[test]
fn steps_draw_what_the_conditionals_say() {
    let tables = Tables::new(Kind::Ordinal, &[2, 3, 5, 4], 0.7, 5);
    let energy = Plain(Own(&tables));
    let space = Space::tables(&tables, energy.layout());
    let mut rng = LaneRng::seed_from_u64(22);
    for held in [0, 0b0100] {
        let updates = updates(&space, &energy, held);
        let (sweep, random) = (sweep(&updates), Table::mean(&updates));
        let mut chain = space.chain(&energy, held);
        let mut compare = |what: &str, kernel: Gibbs, table: &Table, other: &Table| {
            let counts = space.counts(&mut chain, &kernel, 41, 200_000, &mut rng);
            chi_square(what, &counts, &table.rows[41]).must_pass();
            chi_square("another scan", &counts, &other.rows[41]).must_fail();
        };
        compare("a sweep", Gibbs::systematic(), &sweep, &stale(&space, &updates));
        compare("an update", Gibbs::random(1).unwrap(), &random, &sweep);
        compare("three updates", Gibbs::random(3).unwrap(), &random.then(&random).then(&random), &sweep);
    }
}

/// A few values in a layout of many.
#[test]
fn sites_of_few_and_of_many_values() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[70, 1, 3], 0.7, 6);
        let energy = Plain(Own(&tables));
        let space = Space::tables(&tables, energy.layout());
        let mut rng = LaneRng::seed_from_u64(23);
        let updates = updates(&space, &energy, 0);
        let mut chain = space.chain(&energy, 0);
        let counts = space.counts(&mut chain, &Gibbs::systematic(), 41, 300_000, &mut rng);
        chi_square("a sweep", &counts, &sweep(&updates).rows[41]).must_pass();
        chi_square("another scan", &counts, &stale(&space, &updates).rows[41]).must_fail();
    }
}

/// Starts and fields far above the others, up to where differences have 31 bits.
#[test]
fn potts_models_at_the_ends_of_their_fixed_point() {
    let law = |fields: &[f32; 3], counts: &[u64]| {
        let weights = fields.map(|field| f64::from(field).exp());
        let sum: f64 = weights.iter().sum();
        chi_square("fields", counts, &weights.map(|weight| weight / sum))
    };
    let mut rng = LaneRng::seed_from_u64(29);
    // From a value that is worse by ten million each time.
    let fields = [0.0, 0.0, 1.0, -1e7];
    let all = fields.repeat(16);
    let mut couplings = Couplings::new(16, 0);
    let model = Potts::new(16, 4, [], &all, couplings.borrow()).unwrap();
    let (start, mut counts) = (heap::pack_in(model.layout(), &[3.0; 16]), [0; 4]);
    for _ in 0..20_000 {
        let mut chain = heap::chain(&model, &start).unwrap();
        chain.step(&Gibbs::systematic(), &mut rng);
        chain.state().values().for_each(|value| counts[value as usize] += 1);
    }
    assert_eq!(counts[3], 0);
    law(&[0.0, 0.0, 1.0], &counts[..3]).must_pass();
    law(&[0.0, 0.0, 1.02], &counts[..3]).must_fail();
    // Fields that fill the fixed point which others have chosen; those beyond are refused.
    let mut couplings = Couplings::new(1, 0);
    let model = Potts::new(1, 3, [], &[1.0, -1.0, 0.0], couplings.borrow()).unwrap();
    let most = f32::from_bits(model.form().unit().to_bits() + (30 << 23));
    assert_eq!(model.with_linear(&[most, -most, 0.0]).err(), Some(SparseError::FieldScale { site: 0 }));
    let near = most * (1.0 - f32::EPSILON);
    let fields = [near, -near, 0.0];
    let model = model.with_linear(&fields).unwrap();
    let (mut chain, mut counts) = (heap::chain(&model, &[0]).unwrap(), [0; 3]);
    for _ in 0..200_000 {
        chain.step(&Gibbs::systematic(), &mut rng);
        counts[chain.state().get(0) as usize] += 1;
    }
    law(&fields, &counts).must_pass();
    law(&[near, 0.0, -near], &counts).must_fail();
}

/// Odds of e³⁰, from the state where every site has the other value.
#[test]
fn binary_sites_beside_clamped_ones_are_drawn() {
    let logits: Vec<f32> = (0..40).map(|site| if site % 3 == 0 { 30.0 } else { -30.0 }).collect();
    let energy = Bernoulli::new(&logits).unwrap();
    let likely: Vec<f64> = logits.iter().map(|&logit| f64::from(u8::from(logit > 0.0))).collect();
    let unlikely: Vec<f64> = likely.iter().map(|one| 1.0 - one).collect();
    let held = |site: usize| site % 5 == 2;
    let mask = heap::pack(&(0..40).map(|site| f64::from(u8::from(held(site)))).collect::<Vec<_>>());
    for kernel in [Gibbs::systematic(), Gibbs::random(2000).unwrap()] {
        let mut chain = heap::chain(&energy, &heap::pack(&unlikely)).unwrap();
        chain.clamp(Packed::new(energy.layout(), &mask).unwrap()).unwrap();
        chain.step(&kernel, &mut LaneRng::seed_from_u64(8));
        let expected = (0..40).map(|site| if held(site) { unlikely[site] } else { likely[site] });
        assert_eq!(heap::unpack(chain.state()), expected.collect::<Vec<_>>(), "{kernel:?}");
    }
}

#[test]
fn a_sweep_adds_up() {
    // The energy of the chain after many sweeps is that of its state, and the distance is that of the ends.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.5, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    for kernel in [Gibbs::systematic(), Gibbs::random(200).unwrap()] {
        let mut moved = 0;
        for _ in 0..500 {
            let before = heap::unpack(chain.state());
            let info = chain.step(&kernel, &mut rng);
            let after = heap::unpack(chain.state());
            assert!(info.accepted && info.log_ratio == 0.0 && !info.fault);
            assert_eq!(info.proposed as usize, before.iter().zip(&after).filter(|(a, b)| a != b).count());
            let rise = model.energy(&after) - model.energy(&before);
            // One rounding of the sum: every difference is exact, to a rounding of its own value.
            assert!((f64::from(info.difference) - rise).abs() <= 1e-5 * (1.0 + rise.abs()), "{rise}");
            moved += info.moved();
        }
        assert!(moved > 3000, "{moved}");
        let truth = model.energy(&heap::unpack(chain.state()));
        assert!((f64::from(chain.energy()) - truth).abs() <= 1e-4, "{} {truth}", chain.energy());
    }
}

/// The machine whose weights and biases stand on the grid that the largest of them leaves.
fn on_its_grid(machine: &Machine) -> Machine {
    let hidden = machine.hidden.len();
    let size = |of: &[f32]| of.iter().fold(0f64, |most, x| most.max(f64::from(x.abs())));
    let column = |unit: usize| machine.weights.iter().skip(unit).step_by(hidden).map(|w| f64::from(w.abs()));
    let reach = (0..hidden).map(|unit| f64::from(machine.hidden[unit].abs()) + column(unit).sum::<f64>());
    let rows = machine.weights.chunks(hidden).zip(&machine.visible);
    let rows = rows.map(|(row, a)| f64::from(a.abs()) + row.iter().map(|w| f64::from(w.abs())).sum::<f64>());
    let reach = reach.chain(rows).fold(0.0, f64::max);
    let unit = |largest: f64, bits: i32| (largest.log2().floor() as i32 + 1 - bits).max(-100);
    let unit = f64::from(unit(size(&machine.weights), 22).max(unit(reach, 30))).exp2();
    let round =
        |of: &[f32]| of.iter().map(|&x| ((f64::from(x) / unit).round_ties_even() * unit) as f32).collect();
    Machine {
        weights: round(&machine.weights),
        visible: round(&machine.visible),
        hidden: round(&machine.hidden),
    }
}

/// A bias that pins a unit takes digits of all weights: both ways of block Gibbs must go by what is left of them.
#[test]
fn block_gibbs_over_huge_biases() {
    for (number, bias) in [0.0, 1e5, -1e7, 1e8, 1e9].into_iter().enumerate() {
        for hidden in [false, true] {
            let mut machine = models::machine(4, 3, 1.3, 40 + number as u64);
            if hidden {
                machine.hidden[1] = bias
            } else {
                machine.visible[2] = bias
            };
            let (rounded, weights) = (on_its_grid(&machine), Weights::new(&machine).unwrap());
            let (rbm, space) = (weights.rbm().unwrap(), Space::binary(&rounded));
            let plan = Plan { replicas: 96_000, steps: 4, seed: 90 + number as u64 };
            let what = format!("a bias of {bias}, hidden {hidden}");
            let ends = space.ends(&plan, &rbm, &BlockGibbs, 0);
            chi_square(&format!("{what}: block Gibbs"), &ends, &space.distribution).must_pass();
            let other = space.ends(&plan, &rbm, &Gibbs::systematic(), 0);
            chi_square(&format!("{what}: Gibbs"), &other, &space.distribution).must_pass();
            if bias.abs() >= 1e8 {
                // The negative control: weights that kept their digits.
                let distribution = Space::binary(&machine).distribution;
                chi_square(&format!("{what}, all digits"), &ends, &distribution).must_fail();
            }
        }
    }
}

#[test]
fn parameters() {
    assert_eq!(Gibbs::random(0), Err(ParameterError::NoUpdates));
}

/// Two sites; the energies of values count, whatever the other site is.
struct Listed {
    layout: Layout,
    energies: Vec<f32>,
}

impl Function for Listed {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        x.values().map(|value| self.energies[value as usize]).sum()
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }
}

/// Of a few values, of two blocks and of many.
#[test]
fn a_value_whose_energy_fails_is_a_fault_and_never_drawn() {
    for arity in [3, 16, 20, 70] {
        for (bad, failed) in [(f32::NAN, true), (f32::NEG_INFINITY, true), (f32::INFINITY, false), (1.0, false)]
        {
            for place in [1, arity - 1] {
                let mut energies: Vec<f32> = (0..arity).map(|value| 0.25 * ((5 * value) % 13) as f32).collect();
                energies[place] = bad;
                let weight = |value: usize| match f64::from(energies[value]) {
                    energy if energy.is_finite() => (-energy).exp(),
                    _ => 0.0,
                };
                let sum: f64 = (0..arity).map(weight).sum();
                let logs: Vec<f64> = (0..arity).map(|value| (weight(value) / sum).ln()).collect();
                for layout in [Layout::categorical(2, arity), Layout::ordinal(2, arity)] {
                    let energy = Plain(Listed { layout, energies: energies.clone() });
                    let mut chain = heap::chain(&energy, &vec![0; layout.words()]).unwrap();
                    let mut out = vec![0.0; arity];
                    let fault = Gibbs::conditional(chain.ring(), 0, &mut out);
                    assert_eq!(fault, failed, "{layout}, {bad} at {place}");
                    for (found, truth) in out.iter().zip(&logs) {
                        let near = (f64::from(*found) - truth).abs() < 4e-6;
                        assert!(near || f64::from(*found) == *truth, "{layout}, {bad}: {found} for {truth}");
                    }
                    let info = chain.step(&Gibbs::systematic(), &mut LaneRng::seed_from_u64(5));
                    assert_eq!(info.fault, failed, "{layout}, {bad} at {place}: a step");
                    assert!(chain.state().values().all(|value| energies[value as usize].is_finite()));
                }
            }
        }
    }
}

/// With words of ones alone the last value is drawn that has a weight; one below 2⁻⁷⁴ has none.
#[test]
fn the_rarest_of_many_values_that_can_be_drawn() {
    for (rarest, drawn) in [(51.0, 69), (52.0, 64)] {
        let mut energies = vec![f32::INFINITY; 70];
        // e^(−41.6) is 2⁻⁶⁰, e^(−51) is 2⁻⁷³·⁶, e^(−52) is 2⁻⁷⁵.
        (energies[0], energies[64], energies[69]) = (0.0, 41.6, rarest);
        let layout = Layout::categorical(1, 70);
        let energy = Plain(Listed { layout, energies });
        let mut chain = heap::chain(&energy, &[0]).unwrap();
        chain.step(&Gibbs::systematic(), &mut Stuck::At(u32::MAX));
        assert_eq!(chain.state().get(0), drawn, "{rarest}");
    }
}

/// A uniform of 0 is no value of weight 0.
#[test]
fn a_uniform_of_nothing_draws_no_forbidden_value() {
    let layout = Layout::categorical(1, 3);
    let energy = Plain(Listed { layout, energies: vec![f32::INFINITY, 0.0, 1.0] });
    let mut chain = heap::chain(&energy, &[1]).unwrap();
    let info = chain.step(&Gibbs::systematic(), &mut Stuck::At(0));
    assert_eq!((chain.state().get(0), info.fault), (2, false));
}

/// Sweeps of a Potts model beside float64 with the same noise; every fifth site is held. Of how many the states agree, and
/// differ: those with a value that is too near to tell are left out. The noise counts `weight` times. Couplings are `scale`
/// times others; above 1 there are no fields, so that values tie that no neighbour has.
fn largest_sums(sites: usize, arity: usize, weight: f64, scale: f32) -> (u32, u32) {
    let mut source = Source::new(sites as u64);
    let mut edges = models::pairwise(Convention::BitsEdgesOnce, sites, 4.0 / sites as f64, 0.8, 7).edges;
    edges.iter_mut().for_each(|(_, _, coupling)| *coupling *= scale);
    let field = if scale > 1.0 { 0.0 } else { scale };
    let fields: Vec<f32> = (0..sites * arity).map(|_| field * source.normal(0.5)).collect();
    let tables = Tables::potts(&edges, arity, &fields);
    let mut couplings = Couplings::new(sites, edges.len());
    let model = Potts::new(sites, arity, edges.iter().copied(), &fields, couplings.borrow()).unwrap();
    // As any energy: it is asked what it is.
    let energy: &dyn Energy = &model;
    let held = |site: usize| site % 5 == 3;
    let mask: Vec<f64> = (0..sites).map(|site| f64::from(u8::from(held(site)))).collect();
    let mut rng = LaneRng::seed_from_u64(26);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    chain.clamp(Packed::new(Layout::binary(sites), &heap::pack(&mask)).unwrap()).unwrap();
    let (mut copy, mut same, mut different) = (rng.clone(), 0, 0);
    for _ in 0..300 {
        let before: Vec<usize> = chain.state().values().map(|value| value as usize).collect();
        let (mut x, mut clear) = (before.clone(), true);
        for block in (0..sites).step_by(16) {
            let noise: Vec<_> = (0..arity).map(|_| gumbels(&mut copy)).collect();
            for site in (block..sites).take(16).filter(|&site| !held(site)) {
                let mut energy = |value: usize| {
                    x[site] = value;
                    tables.energy(&x)
                };
                let first = energy(0);
                let mut sum =
                    |value: usize| weight * f64::from(noise[value][site - block]) + (first - energy(value));
                let mut sums: Vec<_> = (0..arity).map(&mut sum).zip(0..).collect();
                sums.sort_by(|a, b| b.0.total_cmp(&a.0));
                x[site] = sums[0].1;
                clear &= sums[0].0 - sums[1].0 > 1e-4;
            }
        }
        let info = chain.step(&Gibbs::systematic(), &mut rng);
        let after: Vec<usize> = chain.state().values().map(|value| value as usize).collect();
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert!(info.accepted && !info.fault && info.proposed as usize == moved);
        if clear {
            (same, different) = (same + u32::from(after == x), different + u32::from(after != x));
        }
        let truth = tables.energy(&after);
        assert!((f64::from(chain.energy()) - truth).abs() <= 1e-4 * (1.0 + truth.abs()), "{truth}");
    }
    (same, different)
}

#[test]
fn sweeps_of_potts_models_take_the_largest_sums_of_field_and_noise() {
    for (sites, arity) in [(1, 3), (15, 3), (16, 2), (17, 5), (70, 4), (40, 64)] {
        let (same, different) = largest_sums(sites, arity, 1.0, 1.0);
        assert!(different == 0 && same > 250, "{sites} sites of {arity}: {same}, {different}");
        // Negative control: noise of another temperature.
        let (_, different) = largest_sums(sites, arity, 0.5, 1.0);
        assert!(different > 10, "{sites} sites of {arity}: {different} differ at another temperature");
    }
}

/// Fields far below the units of the noise, and with units far above all noise.
#[test]
fn sweeps_of_very_weak_and_very_strong_potts_models() {
    for exponent in [-70, -55, -30, 6, 20, 37, 38, 39, 60, 90] {
        let scale = 2f32.powi(exponent);
        let (same, different) = largest_sums(40, 5, 1.0, scale);
        assert!(different == 0 && same > 250, "2^{exponent}: {same}, {different}");
        // Negative control: the least noise.
        let (_, different) = largest_sums(40, 5, -1.0, scale);
        assert!(different > 250, "2^{exponent}: {different} differ with other noise");
    }
}

/// What sweeps over a Potts model draw from one state.
#[test]
fn sweeps_of_potts_models_draw_what_the_conditionals_say() {
    let edges = [(0, 1, 0.9), (1, 2, -0.6), (2, 3, 0.5), (0, 3, 1.1), (0, 2, -1.3)];
    let fields: Vec<f32> = (0..12).map(|place| ((7 * place) % 5) as f32 / 4.0).collect();
    let tables = Tables::potts(&edges, 3, &fields);
    let mut couplings = Couplings::new(4, edges.len());
    let model = Potts::new(4, 3, edges.iter().copied(), &fields, couplings.borrow()).unwrap();
    let space = Space::tables(&tables, model.layout());
    let mut rng = LaneRng::seed_from_u64(27);
    for held in [0, 0b0100] {
        let updates = updates(&space, &model, held);
        let mut chain = space.chain(&model, held);
        let counts = space.counts(&mut chain, &Gibbs::systematic(), 41, 400_000, &mut rng);
        chi_square("a sweep", &counts, &sweep(&updates).rows[41]).must_pass();
        chi_square("another scan", &counts, &stale(&space, &updates).rows[41]).must_fail();
    }
}
