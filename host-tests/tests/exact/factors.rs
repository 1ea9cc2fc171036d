//! Factor graphs: energies, fields and transitions against float64, and bad input.

use bitmc::energy::{Energy, EnergyError, FactorError, FactorsBuffers};
use bitmc::lane::{Bits, LANES};
use bitmc::step::Curvature;
use bitmc::{ChainError, Factor, Factors, FactorsMemory, LaneRng, Langevin, Layout, Move, Packed, SeedableRng};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::factors::Graph;
use bitmc_host_tests::heap;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::passes_on;
use bitmc_host_tests::tolerance::{DOUBLE, ISING_GRID, ROUNDING};

const NEVER: f32 = f32::NEG_INFINITY;

fn pack(layout: Layout, values: &[usize]) -> Vec<u32> {
    let mut words = vec![0; layout.words()];
    for (site, &value) in values.iter().enumerate() {
        bitmc::packed::set(layout, &mut words, site, value as u32).unwrap();
    }
    words
}

/// Walks at random, and compares everything at every state.
fn check(name: &str, graph: &Graph, seed: u64, fine: bool) {
    let mut compiled = graph.compiled();
    let model = compiled.model().unwrap();
    let (layout, arities) = (model.layout(), &graph.arities);
    let walls = graph.tables.iter().any(|table| table.values.contains(&NEVER));
    assert_eq!(model.cache_len(), Factors::cache_len(arities.len(), layout.arity(), walls));
    assert_eq!(model.arities(), Some(&arities[..]));
    // Half a unit of the grid an entry; the unit is 2⁻³⁰ of the power of two above the largest field.
    let unit = if fine { graph.reach() * ISING_GRID } else { 0.0 };
    let bound = |size: f64, terms: usize| ROUNDING * size.abs() + unit * terms as f64 + DOUBLE * graph.reach();
    let all = graph.tables.len();
    let mut source = Source::new(seed);
    let state = |source: &mut Source| arities.iter().map(|&a| source.below(a.into())).collect::<Vec<usize>>();
    let mut x = state(&mut source);
    let mut cache = vec![[0xDEAD_BEEF; LANES]; model.cache_len()];
    let mut words = pack(layout, &x);
    model.init(Packed::new(layout, &words).unwrap(), &mut cache).unwrap();
    for _ in 0..20 {
        let here = Packed::new(layout, &words).unwrap();
        let mut fresh = cache.clone();
        let total = f64::from(model.init(here, &mut fresh).unwrap());
        assert_eq!(cache, fresh, "{name}: the cache remembers the way here");
        let truth = graph.energy(&x);
        assert!(total == truth || (total - truth).abs() <= bound(truth, all), "{name}: {total} for {truth}");

        let arity = layout.arity();
        let mut gradient = vec![[f32::NAN; LANES]; layout.gradient_blocks()];
        model.gradient(here, &cache, 0..layout.rows(), &mut gradient);
        let blocks = layout.row_blocks();
        for first in 0..layout.rows() {
            let mut part = vec![[f32::NAN; LANES]; blocks];
            model.gradient(here, &cache, first..first + 1, &mut part);
            assert_eq!(part, gradient[first * blocks..(first + 1) * blocks]);
        }
        for site in 0..arities.len() {
            let mut out = vec![f32::NAN; arity];
            let mut borrowed = words.clone();
            model.differences(&mut borrowed, &cache, site, &mut out);
            assert_eq!(borrowed, words);
            let (own, own_walls) = graph.field(&x, site);
            for (value, &found) in out.iter().enumerate() {
                if value >= usize::from(arities[site]) {
                    assert_eq!(found, f32::INFINITY);
                    continue;
                }
                let mut y = x.clone();
                y[site] = value;
                let (field, count) = graph.field(&y, site);
                let truth = match count.cmp(&own_walls) {
                    std::cmp::Ordering::Greater => f64::INFINITY,
                    std::cmp::Ordering::Less => f64::NEG_INFINITY,
                    std::cmp::Ordering::Equal => own - field,
                };
                let close = (f64::from(found) - truth).abs() <= bound(truth, 2 * all);
                assert!(f64::from(found) == truth || close, "{name}: site {site} to {value}: {found}, {truth}");
                // The field, and the same for each hard constraint.
                let slope = -field + f64::from(Factors::WALL) * count as f64;
                let (block, lane) = if layout.row_is_site() {
                    (site * blocks + value / LANES, value % LANES)
                } else {
                    (site / LANES * arity + value, site % LANES)
                };
                let plane = f64::from(gradient[block][lane]);
                let size = field.abs() + 2.0 * slope.abs();
                assert!((plane - slope).abs() <= bound(size, all), "{name}: gradient {plane} for {slope}");
            }
        }

        let share = source.uniform();
        let target = state(&mut source);
        let y: Vec<usize> =
            x.iter().zip(&target).map(|(&x, &y)| if source.uniform() < share { y } else { x }).collect();
        let to = pack(layout, &y);
        let step = Move::new(here, Packed::new(layout, &to).unwrap()).unwrap();
        let shift = f64::from(model.shift(&step, &mut cache));
        let (before, after) = (graph.energy(&x), graph.energy(&y));
        if before.is_finite() {
            let truth = after - before;
            let close = (shift - truth).abs() <= bound(truth, 2 * all);
            assert!(shift == truth || close, "{name}: shift {shift} for {truth}");
        }
        (x, words) = (y, to);
    }
}

#[test]
fn energies_fields_and_moves() {
    for sites in [1, 2, 3, 15, 16, 17, 33, 65] {
        for (seed, walls) in [(1, 0.0), (2, 0.1)] {
            for fine in [false, true] {
                let arities: Vec<u16> = (0..sites).map(|site| [2, 3, 4, 1, 7][site % 5]).collect();
                let graph = Graph::random(&arities, 2.0, walls, fine, seed);
                check(&format!("{sites} sites, walls {walls}, fine {fine}"), &graph, seed, fine);
            }
        }
    }
    check("many values", &Graph::random(&[70, 3, 2, 80, 5], 2.0, 0.02, true, 4), 4, true);
    check("two values", &Graph::random(&[2; 40], 3.0, 0.05, true, 3), 3, true);
}

/// Where both ends break a constraint, the other log values count; who breaks fewer is infinitely better.
#[test]
fn differences_from_a_state_that_breaks_a_constraint() {
    let tables = [NEVER, NEVER, 0.5, /**/ NEVER, 0.25, 1.0, /**/ 0.125, 2.0, -1.0];
    let factors = [Factor::two(0, 1, 0), Factor::one(1, 6)];
    let mut memory = FactorsMemory::<2, 3>::new();
    let model = Factors::new(&[2, 3], &factors, &tables, memory.borrow()).unwrap();
    let mut words = pack(model.layout(), &[0, 0]);
    let mut cache = vec![[0; LANES]; model.cache_len()];
    let start = model.init(Packed::new(model.layout(), &words).unwrap(), &mut cache);
    assert_eq!(start, Ok(f32::INFINITY));
    let mut differences = |site| {
        let mut out = [f32::NAN; 3];
        model.differences(&mut words, &cache, site, &mut out);
        out
    };
    assert_eq!(differences(0), [0.0, 0.0, f32::INFINITY]);
    assert_eq!(differences(1), [0.0, 0.125 - 2.0, f32::NEG_INFINITY]);
}

/// The sampler's transitions, with sites held; rows of forbidden states are empty.
fn transitions(energy: &dyn Energy, sampler: &Langevin<'_>, graph: &Graph, held: u32) -> Transitions {
    let layout = energy.layout();
    let words: Vec<_> = (0..graph.states()).map(|state| pack(layout, &graph.values(state))).collect();
    let start = (0..words.len()).find(|&state| graph.energy(&graph.values(state)).is_finite()).unwrap();
    let mut chain = heap::chain(energy, &words[start]).unwrap();
    chain.clamp(Packed::new(Layout::binary(layout.sites()), &[held]).unwrap()).unwrap();
    Transitions::new(words.len(), |x, y| {
        if chain.restart(Packed::new(layout, &words[x]).unwrap()).is_err() {
            return (f64::NEG_INFINITY, f64::NEG_INFINITY);
        }
        let found = sampler.transition(chain.ring(), Packed::new(layout, &words[y]).unwrap()).unwrap();
        assert!(!found.fault);
        (f64::from(found.log_forward), f64::from(found.log_ratio))
    })
}

/// The distribution where the held sites keep the values that they have in state `at`.
fn given(graph: &Graph, distribution: &Distribution, held: u32, at: usize) -> Distribution {
    let at = graph.values(at);
    let same = |x: &[usize]| (0..x.len()).all(|site| held >> site & 1 == 0 || x[site] == at[site]);
    let energies = distribution.energies.iter().enumerate();
    let energies = energies.map(|(x, &e)| if same(&graph.values(x)) { e } else { f64::INFINITY });
    Distribution::from_energies(at.len(), energies.collect())
}

const STEP_SIZES: [f32; 5] = [0.1, 0.5, 2.0, 8.0, 1000.0];

#[test]
fn transitions_keep_the_distribution() {
    for (seed, sd) in [0.4, 3.0, 10.0].into_iter().enumerate() {
        for (arities, walls) in [
            (&[2, 3, 4, 2][..], 0.0),
            (&[4, 2, 3, 2], 0.1),
            (&[3, 3, 4], 0.2),
            (&[2; 6], 0.1),
            (&[1, 4, 3], 0.1),
        ] {
            let graph = Graph::random(arities, sd, walls, false, seed as u64);
            let mut compiled = graph.compiled();
            let (model, distribution) = (compiled.model().unwrap(), graph.distribution());
            let possible = distribution.probabilities.iter().filter(|&&p| p > 0.0).count();
            assert!(walls == 0.0 || (1..distribution.energies.len()).contains(&possible), "{possible}");
            let at = distribution.probabilities.iter().position(|&p| p > 1e-3).unwrap();
            for (index, step_size) in STEP_SIZES.into_iter().enumerate() {
                let balance = [0.5, 0.5, 0.3, 0.8, 1.0][index];
                let sampler = Langevin::new(balance, Curvature::Same(1.0 / step_size), true).unwrap();
                let name = format!("{arities:?}, walls {walls}, sd {sd}, step {step_size}");
                let verdict = transitions(&model, &sampler, &graph, 0).judge(&distribution);
                assert!(verdict.passes(), "{name}: {verdict:?}");
                let held = transitions(&model, &sampler, &graph, 0b10);
                let verdict = held.judge(&given(&graph, &distribution, 0b10, at));
                assert!(verdict.passes(), "{name}, held: {verdict:?}");
            }
        }
    }
}

/// What may go wrong in a factor graph.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    /// The fields stay where they were: the gradient is stale.
    Stale,
    /// A difference adds up the fields of both ends, as if the sites changed one by one from the start.
    OneByOne,
}

struct Broken<'a>(Factors<'a>, Defect);

impl Energy for Broken<'_> {
    passes_on!(0: layout, cache_len, arities, init, gradient, differences);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = cache.to_vec();
        let difference = self.0.shift(step, cache);
        if self.1 == Defect::Stale {
            cache.copy_from_slice(&before);
            return difference;
        }
        let mut words = step.to().words().to_vec();
        for change in step.changes() {
            bitmc::packed::set(self.layout(), &mut words, change.site, change.from).unwrap();
        }
        let mut out = vec![0.0; self.layout().arity()];
        let mut sum = 0.0;
        for change in step.changes() {
            self.0.differences(&mut words, &before, change.site, &mut out);
            sum += out[change.to as usize];
        }
        sum
    }
}

#[test]
fn broken_variants_fail() {
    for walls in [0.0, 0.1] {
        let graph = Graph::random(&[2, 3, 4], 1.0, walls, false, 5);
        let mut compiled = graph.compiled();
        let (model, distribution) = (compiled.model().unwrap(), graph.distribution());
        let sampler = Langevin::adjusted(2.0).unwrap();
        assert!(transitions(&model, &sampler, &graph, 0).judge(&distribution).passes());
        for defect in [Defect::Stale, Defect::OneByOne] {
            let broken = Broken(model, defect);
            assert!(
                !transitions(&broken, &sampler, &graph, 0).judge(&distribution).passes(),
                "{defect:?}, {walls}"
            );
        }
        // A table read with its first site fastest has another distribution.
        let mut turned = graph.clone();
        let table = turned.tables.iter_mut().find(|table| table.sites.len() == 3).unwrap();
        table.sites.reverse();
        assert!(!transitions(&model, &sampler, &graph, 0).judge(&turned.distribution()).passes());
    }
}

#[test]
fn tables_may_be_shared() {
    let alike = [1.0, 0.0, 0.0, 1.0];
    let ring: Vec<Factor> = (0..6).map(|site| Factor::two(site, (site + 1) % 6, 0)).collect();
    let mut memory = FactorsMemory::<6, 12>::new();
    let model = Factors::new(&[2; 6], &ring, &alike, memory.borrow()).unwrap();
    let mut cache = [[0; LANES]; Factors::cache_len(6, 2, false)];
    let words = [0b001011];
    assert_eq!(model.init(Packed::new(model.layout(), &words).unwrap(), &mut cache), Ok(-2.0));
}

#[test]
fn a_chain_cannot_start_where_it_must_not_be() {
    let tables = [0.0, NEVER, NEVER, 0.0];
    let factors = [Factor::two(0, 1, 0)];
    let mut memory = FactorsMemory::<2, 2>::new();
    let model = Factors::new(&[2, 2], &factors, &tables, memory.borrow()).unwrap();
    assert!(matches!(heap::chain(&model, &[0b01]), Err(ChainError::Energy(EnergyError::Forbidden))));
    // Only both sites together can move, and they do: a site is proposed with probability σ(−2), so both in
    // every 70th step. Of the 1,400 sojourns the share of one state has a deviation of .019.
    let mut chain = heap::chain(&model, &[0b00]).unwrap();
    let (sampler, mut rng) = (Langevin::adjusted(1e6).unwrap(), LaneRng::seed_from_u64(1));
    let mut seen = [0u32; 4];
    for _ in 0..100_000 {
        chain.step(&sampler, &mut rng);
        seen[chain.state().words()[0] as usize] += 1;
    }
    assert!(seen[1] + seen[2] == 0 && seen[0].abs_diff(50_000) < 9_300, "{seen:?}");
    assert_eq!(chain.faults(), 0);
}

#[test]
fn bad_input_has_a_name() {
    use FactorError::*;
    let build = |arities: &[u16], factors: &[Factor], tables: &[f32], room: (usize, usize)| {
        let (mut ends, mut members) = (vec![0; room.0], vec![0; room.1]);
        let memory = FactorsBuffers::new(&mut ends, &mut members);
        Factors::new(arities, factors, tables, memory).map(|_| ())
    };
    let (two, room) = ([Factor::two(0, 1, 0)], (2, 2));
    assert_eq!(build(&[2, 3], &two, &[0.0; 6], room), Ok(()));
    assert_eq!(build(&[2, 3], &[], &[], (2, 0)), Ok(()));
    assert_eq!(build(&[], &[], &[], room), Err(Sites));
    assert_eq!(build(&[2, 0], &two, &[0.0; 6], room), Err(Arity { site: 1 }));
    assert_eq!(build(&[2], &two, &[0.0; 6], room), Err(OutOfRange { factor: 0 }));
    assert_eq!(build(&[2, 3], &[Factor::three(0, 1, 0, 0)], &[0.0; 12], (2, 3)), Err(Repeated { factor: 0 }));
    assert_eq!(build(&[2, 3], &two, &[0.0; 5], room), Err(Table { factor: 0, need: 6, got: 5 }));
    let late = [two[0], Factor::one(0, 6)];
    assert_eq!(build(&[2, 3], &late, &[0.0; 7], (2, 3)), Err(Table { factor: 1, need: 2, got: 1 }));
    assert_eq!(build(&[2, 3], &late, &[0.0; 5], (2, 3)), Err(Table { factor: 0, need: 6, got: 5 }));
    let far = [Factor::one(0, u32::MAX)];
    assert_eq!(build(&[2], &far, &[0.0; 7], (1, 1)), Err(Table { factor: 0, need: 2, got: 0 }));
    for bad in [f32::NAN, f32::INFINITY] {
        let tables = [0.0, 0.0, 0.0, bad, NEVER, 0.0];
        assert_eq!(build(&[2, 3], &two, &tables, room), Err(Entry { factor: 0, entry: 3 }));
    }
    assert_eq!(build(&[2, 3], &two, &[NEVER; 6], room), Err(Impossible { factor: 0 }));
    assert_eq!(build(&[2, 3], &two, &[1e31; 6], room), Err(TooLarge { site: 0 }));
    let single = |value: f32| build(&[2], &[Factor::one(0, 0)], &[value, 0.0], (1, 1));
    assert_eq!((single(-1e30), single(1e30f32.next_up())), (Ok(()), Err(TooLarge { site: 0 })));
    let twice = [Factor::one(1, 0), Factor::one(1, 0)];
    assert_eq!(build(&[2, 2], &twice, &[f32::MAX; 2], room), Err(TooLarge { site: 1 }));
    assert_eq!(build(&[2, 3], &two, &[0.0; 6], (1, 2)), Err(Memory { need: 2, got: 1 }));
    assert_eq!(build(&[2, 3], &two, &[0.0; 6], (2, 1)), Err(Members { need: 2, got: 1 }));
    let huge = [Factor::three(0, 1, 2, 0)];
    let need = 65_535usize.pow(3);
    assert_eq!(build(&[65_535; 3], &huge, &[0.0; 9], (3, 3)), Err(Table { factor: 0, need, got: 9 }));

    let graph = Graph::random(&[2, 3], 1.0, 0.0, false, 1);
    let mut compiled = graph.compiled();
    let model = compiled.model().unwrap();
    let short = model.init(Packed::new(model.layout(), &[0]).unwrap(), &mut [[0; LANES]; 2]);
    assert_eq!(short, Err(EnergyError::Cache { need: 3, got: 2 }));
    for error in [Sites, Arity { site: 3 }, Entry { factor: 1, entry: 2 }, Impossible { factor: 7 }] {
        assert!(!error.to_string().is_empty());
    }
}
