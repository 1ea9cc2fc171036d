//! Transition matrices of categorical and ordinal chains against float64 distributions by enumeration.

use bitmc::energy::Energy;
use bitmc::noise::Diagonal;
use bitmc::step::Curvature;
use bitmc::{
    Gibbs, GibbsWithGradients, Ising, Kind, LaneRng, Langevin, Layout, Packed, Plain, Potts, SeedableRng,
};
use bitmc_host_tests::enumerate::{self, Distribution};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::planes::{Defect, Own, Proposal, Tables};
use bitmc_host_tests::stuck::Stuck;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];
const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];

fn floats(values: &[usize]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

fn pack(layout: Layout, values: &[usize]) -> Vec<u32> {
    heap::pack_in(layout, &floats(values))
}

/// The kernel's transitions between given states, with sites held.
fn transitions(energy: &dyn Energy, sampler: &Langevin<'_>, states: &[Vec<usize>], held: u32) -> Transitions {
    let states: Vec<_> = states.iter().map(|values| floats(values)).collect();
    Transitions::between(energy, sampler, &states, held)
}

/// `distribution` where the held sites keep the values that they have in `at`.
fn given(distribution: &Distribution, tables: &Tables, held: u32, at: &[usize]) -> Distribution {
    let keep = |(state, &energy): (usize, &f64)| {
        let values = tables.values(state);
        let same = (0..values.len()).all(|site| (held >> site) & 1 == 0 || values[site] == at[site]);
        if same { energy } else { f64::INFINITY }
    };
    Distribution::from_energies(at.len(), distribution.energies.iter().enumerate().map(keep).collect())
}

fn judge_all(kind: Kind, arities: &[u16], windows: &[u32]) {
    judge_at(&SCALES, kind, arities, windows);
}

/// A few roundings of logits.
fn bound(formula: &Proposal, tables: &Tables, sd: f64) -> f64 {
    let sites = tables.arities.len() as f64;
    let widest = f64::from(tables.arities.iter().copied().max().unwrap_or(0).max(16));
    let most = 40.0 * sd * sites + formula.curvature * widest * widest;
    16.0 * bitmc_host_tests::tolerance::ROUNDING * (most + 30.0 * sites)
}

/// Log q of every seventh state beside the written formula.
fn compare(formula: &Proposal, tables: &Tables, sd: f64, states: &[Vec<usize>], found: &Transitions) {
    for (x, from) in states.iter().enumerate().step_by(7) {
        for (y, to) in states.iter().enumerate() {
            let (wrote, said) = (formula.log_forward(tables, from, to), found.log_q(x, y));
            let bound = bound(formula, tables, sd);
            assert!(wrote == said || (wrote - said).abs() <= bound, "{from:?} → {to:?}: {wrote} {said}");
        }
    }
}

fn judge_at(scales: &[f64], kind: Kind, arities: &[u16], windows: &[u32]) {
    for (seed, &sd) in scales.iter().enumerate() {
        let tables = Tables::new(kind, arities, sd, seed as u64);
        let (distribution, energy) = (tables.distribution(), Plain(Own(&tables)));
        let states: Vec<_> = (0..tables.states()).map(|state| tables.values(state)).collect();
        for (index, step_size) in STEP_SIZES.into_iter().enumerate() {
            let balance = [0.5, 0.5, 0.3, 0.8, 1.0][index];
            let window = windows[index % windows.len()];
            let curvature = 1.0 / step_size;
            let sampler = Langevin::new(balance, Curvature::Same(curvature), true).unwrap().within(window);
            let found = transitions(&energy, &sampler, &states, 0);
            let verdict = found.judge(&distribution);
            assert!(verdict.passes(), "{kind:?} {arities:?}, sd {sd}, step {step_size}: {verdict:?}");

            // log q is the written formula, to a few roundings of logits of this size.
            let formula = Proposal {
                balance: f64::from(balance),
                curvature: f64::from(curvature),
                window: window as usize,
            };
            compare(&formula, &tables, sd, &states, &found);

            let held = 0b10;
            let clamped = transitions(&energy, &sampler, &states, held);
            let distribution = given(&distribution, &tables, held, &states[states.len() - 1]);
            let verdict = clamped.judge(&distribution);
            assert!(verdict.passes(), "{kind:?} {arities:?} held, sd {sd}, step {step_size}: {verdict:?}");
        }
    }
}

#[test]
fn categorical_of_3_4_5_and_16_values_and_mixed() {
    for arities in [&[3, 3, 3, 3][..], &[4, 4], &[5, 5], &[16, 16], &[2, 3, 5, 4], &[1, 7, 2, 3]] {
        judge_all(Kind::Categorical, arities, &[u32::MAX]);
    }
}

#[test]
fn ordinal_with_and_without_a_window() {
    for arities in [&[3, 3, 3, 3][..], &[5, 5, 5], &[16, 16], &[2, 3, 5, 4]] {
        judge_all(Kind::Ordinal, arities, &[u32::MAX, 1, 2, u32::MAX, 3]);
    }
}

/// From 65 values on a site is worked on alone, its values along the lanes.
#[test]
fn sites_of_many_values() {
    judge_at(&[10.0], Kind::Categorical, &[81, 2], &[u32::MAX]);
    judge_at(&[0.4], Kind::Categorical, &[2, 65], &[u32::MAX]);
    judge_at(&[3.0], Kind::Ordinal, &[2, 70], &[u32::MAX, 1, 2, 40, 17]);
    judge_at(&[0.4], Kind::Ordinal, &[2, 68], &[u32::MAX, 1, 16, 8, 100]);
}

/// One site of many values, whose curvature is a multiple of one a site.
#[test]
fn a_site_of_many_values_has_a_multiple_of_its_curvature() {
    let each = [[0.25; 16]];
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[70], 0.4, 3);
        let energy = Plain(Own(&tables));
        let states: Vec<_> = (0..70).map(|state| tables.values(state)).collect();
        let sampler = Langevin::new(0.5, Curvature::Times(3.0, &each), true).unwrap();
        let found = transitions(&energy, &sampler, &states, 0);
        let verdict = found.judge(&tables.distribution());
        assert!(verdict.passes(), "{kind:?}: {verdict:?}");
        let window = usize::MAX;
        compare(&Proposal { balance: 0.5, curvature: 0.75, window }, &tables, 0.4, &states, &found);
    }
}

/// With a noise of one number a site c = 1/σ + βD may be negative: moving is likelier than staying then, and is cut no other way.
#[test]
fn a_curvature_below_zero_favours_moves() {
    // The first value is far more likely than all others.
    let fields: Vec<_> =
        (0..70).map(|value| if value == 0 { 38.0 } else { (value % 7) as f32 / 8.0 }).collect();
    let tables = Tables::potts(&[], 70, &fields);
    let energy = Plain(Own(&tables));
    for curvature in [-1.0, -40.0] {
        let d = [[curvature; 16]];
        let sampler = Langevin::second_order(Diagonal::new(&d).unwrap(), f32::INFINITY, 1.0).unwrap();
        let formula = Proposal { balance: 1.0, curvature: f64::from(curvature), window: usize::MAX };
        let within = 16.0 * bitmc_host_tests::tolerance::ROUNDING * 80.0;
        // The blocks of the present value and of the last one are special; here they are two, or one.
        for x in [0, 20, 69] {
            let mut chain = heap::chain(&energy, &pack(energy.layout(), &[x])).unwrap();
            for y in 0..70 {
                let to = pack(energy.layout(), &[y]);
                let to = Packed::new(energy.layout(), &to).unwrap();
                let said = f64::from(sampler.transition_given(chain.ring(), to, &[]).unwrap().log_forward);
                let wrote = formula.log_forward(&tables, &[x], &[y]);
                assert!((wrote - said).abs() <= within, "c = {curvature}, {x} → {y}: {said}, not {wrote}");
            }
        }
    }
}

/// Whatever kernel ran before, the slopes are those of the state.
#[test]
fn transitions_among_many_values_take_the_slopes_of_their_state() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[70], 0.4, 3);
        let energy = Plain(Own(&tables));
        let sampler = Langevin::adjusted(2.0).unwrap();
        let formula = Proposal { balance: 0.5, curvature: 0.5, window: usize::MAX };
        let mut rng = LaneRng::seed_from_u64(8);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        for _ in 0..10 {
            chain.step(&Gibbs::systematic(), &mut rng);
            let from = [chain.state().get(0) as usize];
            for value in 0..70 {
                let to = pack(energy.layout(), &[value]);
                let to = Packed::new(energy.layout(), &to).unwrap();
                let said = f64::from(sampler.transition(chain.ring(), to).unwrap().log_forward);
                let wrote = formula.log_forward(&tables, &from, &[value]);
                assert!((wrote - said).abs() <= bound(&formula, &tables, 0.4), "{from:?} → {value}: {said}");
            }
        }
    }
}

#[test]
fn broken_variants_fail() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[4, 3, 5], 1.0, 7);
        let distribution = tables.distribution();
        let proposal = Proposal { balance: 0.5, curvature: 0.5, window: 2 };
        assert!(proposal.variant(&tables, Defect::None).judge(&distribution).passes());
        for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::StaleReverse, Defect::HalfDistance] {
            assert!(!proposal.variant(&tables, defect).judge(&distribution).passes(), "{kind:?} {defect:?}");
        }
    }
}

/// Two values through the categorical path have the distribution of the binary path: a flip costs c there and c/2 here.
#[test]
fn two_values_are_binary() {
    let model = models::pairwise(Convention::BitsEdgesOnce, 6, 0.8, 1.0, 3);
    let (mut couplings, distribution) = (model.couplings(), Distribution::of(&model));
    let binary = couplings.ising(&model).unwrap();
    struct Two<'a>(Ising<'a>);
    impl bitmc::Function for Two<'_> {
        fn layout(&self) -> Layout {
            Layout::categorical(6, 2)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            let mut cache = [[0; 16]; 1];
            self.0.init(Packed::new(Layout::binary(6), x.words()).unwrap(), &mut cache).unwrap()
        }
        fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
            let (mut cache, mut out) = ([[0; 16]; 1], [[0.0; 16]; 1]);
            let x = Packed::new(Layout::binary(6), x.words()).unwrap();
            self.0.init(x, &mut cache).unwrap();
            self.0.gradient(x, &cache, 0..1, &mut out);
            out[0][site]
        }
        fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
            if value == 1 { self.gradient(x, site) } else { 0.0 }
        }
    }
    let two = Plain(Two(binary));
    let states: Vec<Vec<usize>> =
        (0..64).map(|state| enumerate::values(state, 6).iter().map(|&v| v as usize).collect()).collect();
    let sampler = |c: f32| Langevin::new(0.5, Curvature::Same(c), true).unwrap();
    let planes = transitions(&two, &sampler(1.0), &states, 0);
    let flips = transitions(&binary, &sampler(2.0), &states, 0);
    assert!(planes.judge(&distribution).passes());
    for x in 0..64 {
        for y in 0..64 {
            assert!((planes.log_q(x, y) - flips.log_q(x, y)).abs() < 2e-5, "{x} → {y}");
        }
    }
}

#[test]
fn potts_is_its_formula() {
    let mut source = Source::new(11);
    for (sites, arity) in [(4, 3), (3, 5), (2, 16), (40, 4), (17, 7), (3, 64), (3, 65), (18, 100)] {
        let mut edges = Vec::new();
        for b in 0..sites as u32 {
            for a in (0..b).filter(|a| sites < 10 || b - a < 3) {
                edges.push((a, b, source.coarse(1.0)));
            }
        }
        let fields: Vec<f32> = (0..sites * arity).map(|_| source.coarse(1.0)).collect();
        let mut couplings = Couplings::new(sites, edges.len());
        let model = Potts::new(sites, arity, edges.iter().copied(), &fields, couplings.borrow()).unwrap();
        let truth = |x: &[usize]| {
            let agree = edges.iter().filter(|(a, b, _)| x[*a as usize] == x[*b as usize]);
            let pairs: f64 = agree.map(|&(_, _, j)| f64::from(j)).sum();
            -pairs - x.iter().enumerate().map(|(i, k)| f64::from(fields[i * arity + k])).sum::<f64>()
        };
        let layout = model.layout();
        let mut x: Vec<usize> = (0..sites).map(|_| source.below(arity)).collect();
        let mut cache = vec![[0; 16]; model.cache_len()];
        for _ in 0..50 {
            let mut words = pack(layout, &x);
            let before = truth(&x);
            let state = Packed::new(layout, &words).unwrap();
            assert!((f64::from(model.init(state, &mut cache).unwrap()) - before).abs() < 1e-5);
            let mut gradient = vec![[0.0; 16]; layout.gradient_blocks()];
            model.gradient(state, &cache, 0..layout.rows(), &mut gradient);
            for site in 0..sites {
                let mut found = vec![0.0; arity];
                model.differences(&mut words, &cache, site, &mut found);
                for (value, &said) in found.iter().enumerate() {
                    let mut y = x.clone();
                    y[site] = value;
                    let rise = truth(&y) - before;
                    let plane = |k: usize| {
                        let (block, lane) = if arity > 64 {
                            (site * arity.div_ceil(16) + k / 16, k % 16)
                        } else {
                            ((site / 16) * arity + k, site % 16)
                        };
                        f64::from(gradient[block][lane])
                    };
                    assert!((f64::from(said) - rise).abs() < 1e-5);
                    assert!((plane(value) - plane(x[site]) - rise).abs() < 1e-5, "one site is multilinear");
                }
            }
            let y: Vec<usize> =
                x.iter().map(|&v| if source.uniform() < 0.3 { source.below(arity) } else { v }).collect();
            let target = pack(layout, &y);
            let step =
                bitmc::Move::new(Packed::new(layout, &words).unwrap(), Packed::new(layout, &target).unwrap())
                    .unwrap();
            assert!((f64::from(model.shift(&step, &mut cache)) - (truth(&y) - before)).abs() < 1e-5);
            let mut fresh = cache.clone();
            model.init(step.to(), &mut fresh).unwrap();
            assert_eq!(cache, fresh, "the cache must not know how it came here");
            x = y;
        }
    }
}

#[test]
fn steps_draw_what_transitions_say() {
    draws_as_said(Kind::Categorical, &[4, 3, 5]);
    draws_as_said(Kind::Categorical, &[2, 66]);
    draws_as_said(Kind::Ordinal, &[2, 70]);
    draws_as_said(Kind::Categorical, &[1100]);
}

/// Counts of y from one x against N·q·A. The cells that are expected at least ten times have Bonferroni's
/// standard error, 6 for up to a thousand cells: 10⁻⁶ in all; the others are pooled into one.
fn draws_as_said(kind: Kind, arities: &[u16]) {
    let tables = Tables::new(kind, arities, 1.0, 9);
    let energy = Plain(Own(&tables));
    let states: Vec<_> = (0..tables.states()).map(|state| tables.values(state)).collect();
    let sampler = Langevin::adjusted(2.0).unwrap();
    let from = 17;
    let start = pack(energy.layout(), &states[from]);
    let mut chain = heap::chain(&energy, &start).unwrap();
    let said: Vec<f64> = states
        .iter()
        .map(|values| {
            let to = pack(energy.layout(), values);
            let to = Packed::new(energy.layout(), &to).unwrap();
            let found = sampler.transition(chain.ring(), to).unwrap();
            f64::from(found.log_forward + found.log_ratio.min(0.0)).exp()
        })
        .collect();
    let mut rng = LaneRng::seed_from_u64(12);
    let n = if arities == [4, 3, 5] { 400_000 } else { 40_000 };
    let mut counts = vec![0u32; states.len()];
    for _ in 0..n {
        chain.restart(Packed::new(energy.layout(), &start).unwrap()).unwrap();
        chain.step(&sampler, &mut rng);
        let values: Vec<usize> = chain.state().values().map(|v| v as usize).collect();
        counts[states.iter().position(|state| *state == values).unwrap()] += 1;
    }
    let (mut rare, mut rarely) = (0.0, 0.0);
    let check = |what: &str, count: f64, expected: f64| {
        assert!((count - expected).abs() <= 6.0 * expected.sqrt() + 1.0, "{what}: {count} against {expected}");
    };
    for (y, &count) in counts.iter().enumerate().filter(|&(y, _)| y != from) {
        let expected = f64::from(n) * said[y];
        if expected < 10.0 {
            rare += expected;
            rarely += f64::from(count);
        } else {
            check(&format!("to {y}"), f64::from(count), expected);
        }
    }
    check("to the rare ones", rarely, rare);
}

/// Layouts of 40 sites with fields of 1, 2, 4 and 8 bits: three blocks, of which the last is not full.
const FIELDS: [Layout; 6] = [
    Layout::binary(40),
    Layout::categorical(40, 2),
    Layout::ordinal(40, 2),
    Layout::categorical(40, 3),
    Layout::categorical(40, 16),
    Layout::ordinal(40, 17),
];

#[test]
fn the_lanes_of_a_block_are_its_sites() {
    let mut source = Source::new(12);
    for layout in FIELDS {
        let values: Vec<usize> = (0..40).map(|_| source.below(layout.arity())).collect();
        let words = pack(layout, &values);
        let state = Packed::new(layout, &words).unwrap();
        for block in 0..3 {
            let of = |lane| values.get(16 * block + lane).map_or(0, |&value| value as u32);
            assert_eq!(state.lanes(block), std::array::from_fn(of), "{layout}, {block}");
        }
    }
}

/// Every site wants one value, which has all but 10⁻¹³ of the proposal.
struct Wants {
    layout: Layout,
    values: Vec<usize>,
}

impl bitmc::Function for Wants {
    fn layout(&self) -> Layout {
        self.layout
    }
    fn total(&self, x: Packed<'_>) -> f32 {
        60.0 * x.values().zip(&self.values).filter(|&(x, &want)| x as usize != want).count() as f32
    }
    fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
        // Of ordinal sites, which want an end.
        if self.values[site] == 0 { 60.0 } else { -60.0 }
    }
    fn component(&self, _: Packed<'_>, site: usize, value: usize) -> f32 {
        if value == self.values[site] { 0.0 } else { 60.0 }
    }
}

#[test]
fn sites_of_every_block_take_the_value_that_is_drawn() {
    let mut source = Source::new(13);
    let sampler = Langevin::unadjusted(1e9).unwrap();
    for layout in FIELDS {
        let mut rng = LaneRng::seed_from_u64(14);
        for _ in 0..5 {
            let mut value = || match layout.kind() {
                Kind::Categorical => source.below(layout.arity()),
                _ => source.below(2) * (layout.arity() - 1),
            };
            let values: Vec<usize> = (0..40).map(|_| value()).collect();
            let start: Vec<usize> = (0..40).map(|_| value()).collect();
            let energy = Plain(Wants { layout, values: values.clone() });
            let mut chain = heap::chain(&energy, &pack(layout, &start)).unwrap();
            for step in 0..2 {
                chain.step(&sampler, &mut rng);
                assert_eq!(chain.state().words(), pack(layout, &values), "{layout}, step {step}");
            }
        }
    }
}

/// Forty sites of one to five values, three blocks of them.
#[test]
fn sites_of_later_blocks_have_their_own_arities() {
    let arities: Vec<u16> = (0..40).map(|site| [2, 3, 5, 1, 4, 5, 2][site % 7]).collect();
    let mut source = Source::new(15);
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &arities, 0.1, 16);
        let energy = Plain(Own(&tables));
        let layout = energy.layout();
        let sampler = Langevin::adjusted(2.0).unwrap();
        let proposal = Proposal { balance: 0.5, curvature: 0.5, window: usize::MAX };
        let mut state = || arities.iter().map(|&arity| source.below(usize::from(arity))).collect::<Vec<_>>();
        for _ in 0..5 {
            let (x, y) = (state(), state());
            let mut chain = heap::chain(&energy, &pack(layout, &x)).unwrap();
            let to = pack(layout, &y);
            let found = sampler.transition(chain.ring(), Packed::new(layout, &to).unwrap()).unwrap();
            let (forward, reverse) =
                (proposal.log_forward(&tables, &x, &y), proposal.log_forward(&tables, &y, &x));
            for (found, truth) in [(found.log_forward, forward), (found.log_reverse, reverse)] {
                assert!((f64::from(found) - truth).abs() < 1e-3, "{kind:?}: {found} for {truth}");
            }
        }
    }
}

/// Where all values are equally likely each is drawn as often.
#[test]
fn values_that_are_equally_likely_are_drawn_as_often() {
    struct Flat(Layout);
    impl bitmc::Function for Flat {
        fn layout(&self) -> Layout {
            self.0
        }
        fn total(&self, _: Packed<'_>) -> f32 {
            0.0
        }
        fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
            0.0
        }
    }
    let sampler = Langevin::unadjusted(1e9).unwrap();
    for arity in [3, 5] {
        for layout in [Layout::categorical(40, arity), Layout::ordinal(40, arity)] {
            let energy = Plain(Flat(layout));
            let mut chain = heap::chain(&energy, &vec![0; layout.words()]).unwrap();
            let (mut rng, mut counts) = (LaneRng::seed_from_u64(17), vec![0; arity]);
            for _ in 0..200 {
                chain.step(&sampler, &mut rng);
                chain.state().values().for_each(|value| counts[value as usize] += 1);
            }
            let expected = 8000.0 / arity as f64;
            let bound = 5.0 * expected.sqrt();
            let near = counts.iter().all(|&count| (f64::from(count) - expected).abs() < bound);
            assert!(near, "{layout}: {counts:?}");
        }
    }
}

/// ∞ − ∞ is NaN, in whichever block of values.
#[test]
fn a_second_infinite_slope_of_a_site_of_many_values_is_a_fault() {
    struct Walls(f32, Option<usize>);
    impl bitmc::Function for Walls {
        fn layout(&self) -> Layout {
            Layout::categorical(2, 70)
        }
        fn total(&self, _: Packed<'_>) -> f32 {
            0.0
        }
        fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
            0.0
        }
        fn component(&self, _: Packed<'_>, _: usize, value: usize) -> f32 {
            if value == 0 || Some(value) == self.1 { self.0 } else { 0.0 }
        }
    }
    let sampler = Langevin::unadjusted(1.0).unwrap();
    for infinite in [f32::INFINITY, f32::NEG_INFINITY] {
        for second in [None, Some(1), Some(5), Some(16), Some(40), Some(69)] {
            let energy = Plain(Walls(infinite, second));
            let mut chain = heap::chain(&energy, &vec![0; energy.layout().words()]).unwrap();
            let to = pack(energy.layout(), &[7, 9]);
            let found = sampler.transition(chain.ring(), Packed::new(energy.layout(), &to).unwrap()).unwrap();
            // All others are as likely, beside staying at e^(−30); or each of them is at e^(−30).
            let truth = if infinite > 0.0 { -2.0 * 69f64.ln() } else { -60.0 };
            let near = (f64::from(found.log_forward) - truth).abs() < 1e-4;
            assert!(near || second.is_some(), "{infinite}: {found:?} for {truth}");
            let info = chain.step(&sampler, &mut LaneRng::seed_from_u64(18));
            assert_eq!(info.fault, second.is_some(), "{infinite}, {second:?}");
        }
    }
}

/// Slopes of one site of 70 values, the other's are 0; where the other has value 1, those in a list are NaN.
struct Slopes {
    slopes: Vec<f32>,
    nan: Vec<usize>,
}

impl bitmc::Function for Slopes {
    fn layout(&self) -> Layout {
        Layout::categorical(2, 70)
    }
    fn total(&self, _: Packed<'_>) -> f32 {
        0.0
    }
    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }
    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        match site {
            0 if x.get(1) == 1 && self.nan.contains(&value) => f32::NAN,
            0 => self.slopes[value],
            _ => 0.0,
        }
    }
}

/// One value is so much likelier than others that they are cut.
#[test]
fn values_are_cut_below_the_likeliest_of_many() {
    let mut source = Source::new(19);
    let sampler = Langevin::adjusted(0.25).unwrap();
    for likeliest in [1, 20, 40, 66, 69] {
        let mut slopes: Vec<f32> = (0..70).map(|_| source.coarse(3.0)).collect();
        slopes[likeliest] = -80.0;
        let energy = Plain(Slopes { slopes: slopes.clone(), nan: Vec::new() });
        for here in [3, 16, 37, 69, likeliest] {
            // β = ½ and c = 4.
            let logit = |value: usize| match f64::from(slopes[value] - slopes[here]) {
                _ if value == here => 0.0,
                rise => -0.5 * rise - 4.0,
            };
            let most = (0..70).map(logit).fold(0.0, f64::max);
            let cut = |value: usize| (logit(value) - most).max(-30.0);
            let sum: f64 = (0..70).map(|value| cut(value).exp()).sum();
            // The other site stays: 69 others at e^(−4) beside it.
            let other = -(1.0 + 69.0 * (-4.0f64).exp()).ln();
            let mut chain = heap::chain(&energy, &pack(energy.layout(), &[here, 0])).unwrap();
            for value in [0, 3, 15, 16, 37, 64, 69, likeliest, here] {
                let to = pack(energy.layout(), &[value, 0]);
                let to = Packed::new(energy.layout(), &to).unwrap();
                let found = sampler.transition(chain.ring(), to).unwrap().log_forward;
                let truth = cut(value) - sum.ln() + other;
                assert!(
                    (f64::from(found) - truth).abs() < 1e-4,
                    "{likeliest}, {here} to {value}: {found} {truth}"
                );
            }
        }
    }
}

#[test]
fn a_nan_of_any_of_many_values_is_a_fault() {
    for nan in [&[][..], &[3], &[40], &[64], &[69], &[3, 69], &[40, 64]] {
        let energy = Plain(Slopes { slopes: vec![0.0; 70], nan: nan.to_vec() });
        let mut chain = heap::chain(&energy, &pack(energy.layout(), &[0, 0])).unwrap();
        let to = pack(energy.layout(), &[0, 1]);
        let to = Packed::new(energy.layout(), &to).unwrap();
        let found = Langevin::adjusted(1.0).unwrap().transition(chain.ring(), to).unwrap();
        assert_eq!(found.fault, !nan.is_empty(), "{nan:?}");
    }
}

/// With words of ones alone the last value is drawn, and none behind it.
#[test]
fn the_last_of_many_values_is_the_last_that_is_drawn() {
    for (make, arity) in
        [(Layout::categorical as fn(_, _) -> _, 70), (Layout::ordinal, 70), (Layout::categorical, 3000)]
    {
        let (layout, last) = (make(1, arity), arity as u32 - 1);
        struct Flat(Layout);
        impl bitmc::Function for Flat {
            fn layout(&self) -> Layout {
                self.0
            }
            fn total(&self, _: Packed<'_>) -> f32 {
                0.0
            }
            fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
                0.0
            }
        }
        let energy = Plain(Flat(layout));
        let mut chain = heap::chain(&energy, &pack(layout, &[5])).unwrap();
        chain.step(&Langevin::unadjusted(1e9).unwrap(), &mut Stuck::At(u32::MAX));
        assert_eq!(chain.state().get(0), last, "{layout}");
        // Nor the present one, where the index is a move.
        for expected in [last - 1, last, last - 1] {
            chain.step(&GibbsWithGradients::new(1).unwrap(), &mut Stuck::At(u32::MAX));
            assert_eq!(chain.state().get(0), expected, "{layout}");
        }
    }
}
