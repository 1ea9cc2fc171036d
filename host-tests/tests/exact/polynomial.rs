//! Polynomials: energies, sums and transitions against float64, flips that visit their terms alone, and bad input.

use bitmc::energy::{Energy, EnergyError, PolynomialError};
use bitmc::lane::{Bits, LANES};
use bitmc::step::{Choice, Curvature, Gibbs};
use bitmc::{GibbsWithGradients, Langevin, Move, Packed, Polynomial, PolynomialMemory};
use bitmc_host_tests::comparison::{Case, cache_of, gradient_of, same_bits};
use bitmc_host_tests::enumerate::{Distribution, values};
use bitmc_host_tests::heap;
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::naive::Target;
use bitmc_host_tests::passes_on;
use bitmc_host_tests::paths::{Model, Rule};
use bitmc_host_tests::polynomial::{Terms, Weights};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::table::Table;
use bitmc_host_tests::tolerance::{DOUBLE, ISING_GRID, ROUNDING};
use std::cell::RefCell;

/// A model, and what it is compared with.
fn case(terms: &Terms, steps: usize, exact: bool) {
    let mut memory = terms.memory();
    let energy = terms.model(memory.borrow()).unwrap();
    let listed = terms.terms.iter().filter(|(list, _)| list.len() > 1).count();
    let most = if terms.spins { Polynomial::spins_cache_len } else { Polynomial::bits_cache_len };
    assert!(energy.cache_len() <= most(terms.sites, listed));
    // The unit is 2⁻³⁰ of the power of two above the largest sum of weights: at most 2⁻²⁹ of that sum. A term is off by half a unit.
    let unit = if exact { 0.0 } else { terms.reach() * ISING_GRID };
    let (count, size) = (terms.terms.len() as f64, terms.size());
    Case {
        energy: &energy,
        target: terms,
        // A rounding of the sum, one of the constant for each of its terms, and one where they are added.
        total: &|_| (ROUNDING * (2.0 + count / 10.0) + DOUBLE) * size + count * unit,
        gradient: &|x| {
            let gradient = terms.gradient(x).into_iter();
            gradient.map(|g| ROUNDING * g.abs() + count * unit + DOUBLE * size).collect()
        },
        multilinear: true,
    }
    .check(&format!("spins {}, {} sites", terms.spins, terms.sites), &mut Source::new(9), steps);
    let mut source = Source::new(3);
    same_bits(&energy, &source.state(terms.sites), &source.state(terms.sites));
}

#[test]
fn energies_gradients_and_moves() {
    for sites in [1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 65] {
        for order in 1..=5 {
            for spins in [false, true] {
                let mut source = Source::new((sites * 10 + order) as u64);
                let shape = (sites, 3 * sites, order);
                case(&Terms::random(spins, shape, Weights::Coarse, 1.0, &mut source), 6, true);
                case(&Terms::random(spins, shape, Weights::Fine, 1.0, &mut source), 6, false);
            }
        }
    }
    // No terms at all, constants alone, and a term of all sites twice.
    for spins in [false, true] {
        case(&Terms { spins, sites: 20, terms: vec![] }, 4, true);
        case(&Terms { spins, sites: 20, terms: vec![(vec![], 3.5), (vec![], -1.0)] }, 4, true);
        let all: Vec<u32> = (0..20).chain(0..20).collect();
        case(&Terms { spins, sites: 20, terms: vec![(all, 2.0), ((0..20).collect(), -1.0)] }, 40, true);
    }
}

/// What may go wrong in the cache of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    /// Bits: a term of which one zero is left does not reach that site.
    LastZero,
    /// Bits: a term that becomes all ones does not reach its other sites.
    AllOnes,
    /// Spins: a site that flips keeps its own sum.
    Own,
    /// What is kept of the terms stays where it was.
    Records,
    /// A difference is half of what it is.
    HalfDifference,
}

/// A model with a defect.
struct Broken<'a>(Polynomial<'a>, &'a Terms, Defect);

impl Broken<'_> {
    /// How many zeros a term has.
    fn zeros(&self, term: usize, x: impl Fn(usize) -> u32) -> usize {
        self.1.distinct(term).iter().filter(|&&site| x(site) == 0).count()
    }

    /// The sites whose sums the defect forgets.
    fn forgotten(&self, step: &Move<'_>) -> Vec<usize> {
        if self.2 == Defect::Own {
            return step.changes().map(|change| change.site).collect();
        }
        let mut sites = vec![];
        for term in 0..self.1.terms.len() {
            let before = self.zeros(term, |site| step.before(site));
            let after = self.zeros(term, |site| step.to().get(site));
            let members = self.1.distinct(term);
            match self.2 {
                Defect::LastZero if before > 1 && after == 1 => {
                    sites.extend(members.iter().filter(|&&site| step.to().get(site) == 0));
                }
                Defect::AllOnes if before > 0 && after == 0 => sites.extend(members),
                _ => {}
            }
        }
        sites
    }
}

impl Energy for Broken<'_> {
    passes_on!(0: layout, cache_len, init, gradient);

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let before = cache.to_vec();
        let difference = self.0.shift(step, cache);
        for site in self.forgotten(step) {
            cache[site / LANES][site % LANES] = before[site / LANES][site % LANES];
        }
        if self.2 == Defect::Records {
            let sums = self.layout().blocks();
            cache[sums..].copy_from_slice(&before[sums..]);
        }
        difference
    }
    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.0.differences(words, cache, site, out);
        if self.2 == Defect::HalfDifference {
            out.iter_mut().for_each(|out| *out *= 0.5);
        }
    }
}

/// Flips sites of a model of whole weights. Counts the steps after which anything differs, bit for bit, from what is computed
/// from nothing, or from float64.
fn mismatches(energy: &dyn Energy, terms: &Terms, flips: usize, source: &mut Source) -> usize {
    let layout = energy.layout();
    let mut x = source.state(terms.sites);
    let (_, mut cache) = cache_of(energy, &x);
    let mut wrong = 0;
    for flip in 0..flips {
        let mut y = x.clone();
        // One site, and now and then any number of them.
        let many = flip % 16 == 0;
        let site = source.below(terms.sites);
        y.iter_mut().for_each(|y| {
            if many && source.one_in(2) {
                *y = 1.0 - *y
            }
        });
        y[site] = 1.0 - x[site];
        let (here, there) = (heap::pack(&x), heap::pack(&y));
        let step = Move::new(Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
        let difference = energy.shift(&step.unwrap(), &mut cache);
        let truth = (terms.energy(&y) - terms.energy(&x)) as f32;
        let (total, fresh) = cache_of(energy, &y);
        let gradient = gradient_of(energy, &y, &cache);
        let slopes = terms.gradient(&y);
        let mut out = [f32::NAN; 2];
        energy.differences(&mut heap::pack(&y), &cache, site, &mut out);
        let other = f64::from(out[1 - y[site] as usize]);
        let right = cache == fresh
            && difference == truth
            && f64::from(total) == terms.energy(&y)
            && gradient.as_flattened().iter().zip(&slopes).all(|(&found, &truth)| f64::from(found) == truth)
            && other == (1.0 - 2.0 * y[site]) * slopes[site];
        wrong += usize::from(!right);
        x = y;
    }
    wrong
}

#[test]
fn thousands_of_flips_leave_no_trace() {
    for spins in [false, true] {
        for (order, sites, count) in [(1, 20, 40), (2, 30, 80), (3, 30, 80), (4, 50, 120), (5, 30, 80)] {
            let mut source = Source::new(order as u64);
            let terms = Terms::random(spins, (sites, count, order), Weights::Whole, 1.0, &mut source);
            let mut memory = terms.memory();
            let model = terms.model(memory.borrow()).unwrap();
            assert_eq!(mismatches(&model, &terms, 5000, &mut source), 0, "spins {spins}, order {order}");
            if order < 3 {
                continue;
            }
            let defects: &[Defect] = if spins {
                &[Defect::Own, Defect::Records, Defect::HalfDifference]
            } else {
                &[Defect::LastZero, Defect::AllOnes, Defect::Records, Defect::HalfDifference]
            };
            for &defect in defects {
                let wrong = mismatches(&Broken(model, &terms, defect), &terms, 200, &mut source);
                assert!(wrong > 20, "spins {spins}, order {order}, {defect:?}: {wrong} of 200");
            }
        }
    }
}

/// All words of the cache that a flip need not visit hold anything at all, and stay what they are. What is visited is counted.
#[test]
fn a_flip_visits_its_own_terms_alone() {
    for spins in [false, true] {
        let mut source = Source::new(6);
        let (sites, count) = (300, 900);
        let terms = Terms::random(spins, (sites, count, 5), Weights::Whole, 1.0, &mut source);
        let mut memory = terms.memory();
        let model = terms.model(memory.borrow()).unwrap();
        let kept: Vec<Vec<usize>> =
            (0..count).map(|term| terms.distinct(term)).filter(|sites| sites.len() > 1).collect();
        let layout = model.layout();
        let start = layout.blocks() * LANES;
        let mut visited = [0, 0];
        for _ in 0..200 {
            let x = source.state(sites);
            let site = source.below(sites);
            let mut y = x.clone();
            y[site] = 1.0 - y[site];
            let (here, there) = (heap::pack(&x), heap::pack(&y));
            let (here, there) = (Packed::new(layout, &here).unwrap(), Packed::new(layout, &there).unwrap());
            // The words of the terms of the site, of the site, and of the sites that these terms reach.
            let (_, right) = cache_of(&model, &x);
            let (_, moved) = cache_of(&model, &y);
            let mut near = vec![false; right.len() * LANES];
            near[site] = true;
            for (term, members) in kept.iter().enumerate().filter(|(_, members)| members.contains(&site)) {
                let zeros = members.iter().filter(|&&other| other != site && x[other] == 0.0);
                let zeros: Vec<usize> = zeros.copied().collect();
                visited[0] += 1;
                let reached = match zeros.len() {
                    _ if spins => members.clone(),
                    0 => members.clone(),
                    1 => zeros,
                    _ => vec![],
                };
                visited[1] += reached.iter().filter(|&&other| other != site).count();
                reached.iter().for_each(|&other| near[other] = true);
                let words = if spins {
                    start + term / 32..start + term / 32 + 1
                } else {
                    start + 2 * term..start + 2 * term + 2
                };
                near[words].fill(true);
            }
            let mut cache = right.clone();
            for (word, &near) in cache.as_flattened_mut().iter_mut().zip(&near) {
                if !near {
                    *word = source.word();
                }
            }
            let anything = cache.clone();
            let difference = model.shift(&Move::new(here, there).unwrap(), &mut cache);
            assert_eq!(f64::from(difference), terms.energy(&y) - terms.energy(&x));
            let words = cache.as_flattened().iter().zip(anything.as_flattened()).zip(moved.as_flattened());
            for (word, ((&found, &anything), &moved)) in words.enumerate() {
                assert_eq!(found, if near[word] { moved } else { anything }, "spins {spins}, word {word}");
            }
        }
        // About 6.5 terms a flip. Over bits they reach few other sites, over spins all of theirs.
        let [terms, sums] = visited.map(|count| count as f64 / 200.0);
        assert!((4.0..9.0).contains(&terms), "{terms} terms a flip");
        let range = if spins { 12.0..25.0 } else { 3.0..9.0 };
        assert!(range.contains(&sums), "spins {spins}: {sums} sums a flip");
    }
}

/// Models of six sites, with weak and strong weights.
fn small(mut see: impl FnMut(&str, &Terms, Polynomial<'_>)) {
    for spins in [false, true] {
        for (seed, sd) in [0.4, 2.0, 8.0].into_iter().enumerate() {
            let mut source = Source::new(seed as u64 + 20);
            let terms = Terms::random(spins, (6, 14, 5), Weights::Coarse, sd, &mut source);
            let mut memory = terms.memory();
            see(&format!("spins {spins}, sd {sd}"), &terms, terms.model(memory.borrow()).unwrap());
        }
    }
}

fn defects(spins: bool) -> &'static [Defect] {
    if spins { &[Defect::Own] } else { &[Defect::LastZero, Defect::AllOnes] }
}

#[test]
fn langevin_keeps_the_distribution() {
    small(|name, terms, model| {
        let distribution = Distribution::of(terms);
        let states: Vec<Vec<f64>> = (0..64).map(|state| values(state, 6)).collect();
        for (balance, step_size) in [(0.5, 0.1), (0.5, 0.5), (0.3, 2.0), (0.8, 8.0), (1.0, 1000.0)] {
            let sampler = Langevin::new(balance, Curvature::Same(1.0 / step_size), true).unwrap();
            let judge = |energy: &dyn Energy, held: u32| {
                let distribution =
                    if held == 0 { &distribution } else { &distribution.given(held as usize, 0) };
                Transitions::between(energy, &sampler, &states, held).judge(distribution)
            };
            for held in [0, 0b10_0100] {
                let verdict = judge(&model, held);
                assert!(verdict.passes(), "{name}, step size {step_size}, held {held:b}: {verdict:?}");
            }
            assert!(judge(&Broken(model, terms, Defect::None), 0).passes());
            for &defect in defects(terms.spins) {
                let verdict = judge(&Broken(model, terms, defect), 0);
                assert!(!verdict.passes(), "{name}, step size {step_size}, {defect:?}: {verdict:?}");
            }
        }
    });
}

#[test]
fn gibbs_keeps_the_distribution() {
    small(|name, terms, model| {
        let space = Space::binary(terms);
        let judge = |energy: &dyn Energy| {
            let update = |site: usize| {
                space.table(energy, 0, |chain, x, row| {
                    let mut log_p = [f32::NAN; 2];
                    assert!(!Gibbs::conditional(chain.ring(), site, &mut log_p));
                    row[x & !(1 << site)] += f64::from(log_p[0]).exp();
                    row[x | 1 << site] += f64::from(log_p[1]).exp();
                })
            };
            let updates: Vec<Table> = (0..6).map(update).collect();
            let all = updates.iter().fold(Table::identity(64), |sweep, update| sweep.then(update));
            updates.iter().all(|update| space.judge(update).passes()) && space.judge(&all).stationary()
        };
        assert!(judge(&model), "{name}");
        assert!(!judge(&Broken(model, terms, Defect::HalfDifference)), "{name}: half of a difference");
    });
}

#[test]
fn gibbs_with_gradients_keeps_the_distribution() {
    small(|name, terms, model| {
        let paths = Model::binary(terms);
        for indices in [1, 2] {
            let kernel = GibbsWithGradients::new(indices).unwrap();
            let rule = Rule { indices: indices as usize, replace: true, backwards: false, exact: false };
            let judge = |energy: &dyn Energy| {
                let chain = RefCell::new(heap::chain(energy, &[0]).unwrap());
                paths.judge(rule, |x, path: &[Choice]| {
                    let chain = &mut *chain.borrow_mut();
                    chain.restart(Packed::new(energy.layout(), &[x as u32]).unwrap()).unwrap();
                    let found = kernel.transition(chain.ring(), path).unwrap();
                    (f64::from(found.log_forward), f64::from(found.log_ratio))
                })
            };
            assert!(judge(&model).passes(), "{name}, {indices} indices: {:?}", judge(&model));
            for &defect in defects(terms.spins) {
                let verdict = judge(&Broken(model, terms, defect));
                assert!(!verdict.passes(), "{name}, {indices} indices, {defect:?}: {verdict:?}");
            }
        }
    });
}

#[test]
fn lists_of_many_forms_are_the_same_model() {
    let list: [(&[u32], f32); 5] =
        [(&[], 1.0), (&[2], -0.5), (&[0, 2], 2.0), (&[3, 1, 0], -1.5), (&[1, 1], 0.25)];
    let (ends, sites) = ([0, 1, 3, 6, 8], [2, 0, 2, 3, 1, 0, 1, 1]);
    let mut starts = vec![0];
    starts.extend(ends);
    let flat = starts.windows(2).map(|pair| &sites[pair[0]..pair[1]]).zip(list.map(|(_, weight)| weight));
    let vectors: Vec<(Vec<u32>, f32)> = list.iter().map(|(sites, weight)| (sites.to_vec(), *weight)).collect();
    let mut memory = PolynomialMemory::<4, 3, 7>::new();
    let answers = |model: Polynomial<'_>| -> Vec<(f32, Vec<Bits>)> {
        (0..16).map(|state| cache_of(&model, &values(state, 4))).collect()
    };
    let bits = answers(Polynomial::bits(4, list, memory.borrow()).unwrap());
    assert_eq!(bits, answers(Polynomial::bits(4, flat.clone(), memory.borrow()).unwrap()));
    assert_eq!(bits, answers(Polynomial::bits(4, vectors, memory.borrow()).unwrap()));
    let spins = answers(Polynomial::spins(4, flat, memory.borrow()).unwrap());
    assert_eq!(spins, answers(Polynomial::spins(4, list.iter().copied(), memory.borrow()).unwrap()));
    assert_ne!(bits, spins);
    // Arrays of one length, and terms that are listed twice.
    let once = answers(
        Polynomial::spins(4, [([0, 1, 2], 1.0), ([1, 2, 3], 2.0)], PolynomialMemory::<4, 2, 6>::new().borrow())
            .unwrap(),
    );
    let thrice = [([1, 2, 3], 0.5), ([0, 1, 2], 1.0), ([3, 2, 1], 1.5)];
    let thrice = answers(Polynomial::spins(4, thrice, PolynomialMemory::<4, 3, 9>::new().borrow()).unwrap());
    let sums = |answers: &[(f32, Vec<Bits>)]| -> Vec<(f32, Bits)> {
        answers.iter().map(|(e, cache)| (*e, cache[0])).collect()
    };
    assert_eq!(sums(&once), sums(&thrice));
}

#[test]
fn bad_input_has_a_name() {
    use PolynomialError::{Constant, Members, Memory, NotFinite, OutOfRange, Rounded, Sites, TooLarge};
    let build = |sites: usize, list: &[(&[u32], f32)], room: [usize; 3]| {
        let mut errors = [false, true].map(|spins| {
            let terms = list.iter().map(|(sites, weight)| (sites.to_vec(), *weight)).collect();
            let terms = Terms { spins, sites, terms };
            let mut memory = bitmc_host_tests::polynomial::Memory {
                sites: vec![[7; 2]; room[0]],
                terms: vec![[7; 2]; room[1]],
                members: vec![[7; 2]; room[2]],
            };
            terms.model(memory.borrow()).map(|_| ())
        });
        assert_eq!(errors[0], errors[1]);
        std::mem::replace(&mut errors[0], Ok(()))
    };
    let two: &[(&[u32], f32)] = &[(&[0], 1.0), (&[0, 1, 2], -1.0)];
    assert_eq!(build(3, two, [3, 1, 3]), Ok(()));
    assert_eq!(build(3, two, [4, 2, 5]), Ok(()));
    assert_eq!(build(3, &[], [3, 0, 0]), Ok(()));
    assert_eq!(build(0, two, [3, 1, 3]), Err(Sites));
    assert_eq!(build(1 << 31, two, [3, 1, 3]), Err(Sites));
    let most = i32::MAX as usize;
    assert_eq!(build(most, two, [3, 1, 3]), Err(Memory { need: most, got: 3 }));
    assert_eq!(build(2, two, [3, 1, 3]), Err(OutOfRange { term: 1, site: 2, sites: 2 }));
    assert_eq!(
        build(2, &[(&[u32::MAX], 1.0)], [3, 1, 3]),
        Err(OutOfRange { term: 0, site: u32::MAX, sites: 2 })
    );
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(build(3, &[two[1], (&[1], bad)], [3, 1, 3]), Err(NotFinite { term: 1 }));
        assert_eq!(build(3, &[(&[], bad)], [3, 1, 3]), Err(NotFinite { term: 0 }));
    }
    assert_eq!(build(3, &[(&[1], 1e31)], [3, 1, 3]), Err(TooLarge { site: 1 }));
    assert_eq!(build(3, &[(&[1, 2], f32::MAX), (&[2, 0], f32::MAX)], [3, 2, 4]), Err(TooLarge { site: 0 }));
    assert_eq!(build(3, &[(&[2], 6e29), (&[2, 0], 6e29)], [3, 1, 2]), Err(TooLarge { site: 2 }));
    assert_eq!(build(3, &[(&[], 6e29), (&[], 6e29)], [3, 1, 2]), Err(Constant));
    assert_eq!(build(3, &[(&[], f32::MAX), (&[], f32::MAX)], [3, 1, 2]), Err(Constant));
    assert_eq!(build(3, &[(&[], 1e30)], [3, 0, 0]), Ok(()));
    assert_eq!(build(3, &[(&[], 1e30f32.next_up())], [3, 0, 0]), Err(Constant));
    assert_eq!(build(3, two, [2, 1, 3]), Err(Memory { need: 3, got: 2 }));
    assert_eq!(build(3, two, [3, 0, 3]), Err(PolynomialError::Terms { need: 1, got: 0 }));
    assert_eq!(build(3, two, [3, 1, 2]), Err(Members { need: 3, got: 2 }));
    let far: &[(&[u32], f32)] = &[(&[0], 1e9), (&[1, 2], 0.3)];
    assert_eq!(build(3, far, [3, 1, 2]), Err(Rounded { term: 1 }));
    // Constants are not on the grid, and near numbers are not changed by much.
    assert_eq!(build(3, &[(&[], 1e9), (&[1, 2], 0.3)], [3, 1, 2]), Ok(()));
    assert_eq!(build(3, &[(&[], 0.3), (&[0], 1e9)], [3, 0, 0]), Ok(()));
    assert_eq!(build(3, &[(&[0], 1e3), (&[1, 2], 0.3)], [3, 1, 2]), Ok(()));
    let mut memory = PolynomialMemory::<3, 1, 2>::new();
    let rounded = Polynomial::bits(3, far.iter().copied(), memory.borrow().allow_rounding()).unwrap();
    assert_eq!(cache_of(&rounded, &[1.0, 1.0, 1.0]).0, 1e9);

    let short = rounded.init(Packed::new(rounded.layout(), &[0]).unwrap(), &mut [[0; LANES]; 1]);
    assert_eq!(short, Err(EnergyError::Cache { need: 2, got: 1 }));
    let none = rounded.init(Packed::new(rounded.layout(), &[0]).unwrap(), &mut []);
    assert_eq!(none, Err(EnergyError::Cache { need: 2, got: 0 }));
    for (error, text) in [
        (Sites, "1 to 2^31 - 1 sites"),
        (OutOfRange { term: 4, site: 9, sites: 5 }, "term 4 names site 9: the model has 5 sites"),
        (NotFinite { term: 7 }, "term 7"),
        (Rounded { term: 8 }, "term 8"),
        (TooLarge { site: 3 }, "site 3"),
        (Constant, "1e30"),
        (Memory { need: 17, got: 16 }, "17 sites is needed, for 16"),
        (PolynomialError::Terms { need: 17, got: 16 }, "17 terms"),
        (Members { need: 17, got: 16 }, "17 members"),
    ] {
        assert!(error.to_string().contains(text), "{error}");
    }
}

/// Sums of weights up to the limit of fixed point stay in it.
#[test]
fn the_largest_sums_fit() {
    for spins in [false, true] {
        // 2³⁰ units less 13,760: the constructor allows for the roundings of a sum of 64 weights.
        let list: Vec<u32> = (0..3).collect();
        for sign in [1.0, -1.0] {
            let weight = sign * 16_777_001.0;
            let terms = Terms { spins, sites: 3, terms: vec![(list.clone(), weight); 64] };
            let mut memory = terms.memory();
            let model = terms.model(memory.borrow()).unwrap();
            assert_eq!(mismatches(&model, &terms, 200, &mut Source::new(1)), 0);
        }
        let terms = Terms { spins, sites: 2, terms: vec![(vec![0, 1], 1e30), (vec![1], 0.0)] };
        let mut memory = terms.memory();
        assert_eq!(mismatches(&terms.model(memory.borrow()).unwrap(), &terms, 100, &mut Source::new(1)), 0);
    }
}

/// Where all terms of a site have one sign, its sum has 29 or 30 bits: no more, also where it is a power of two.
#[test]
fn a_sum_has_at_most_thirty_bits() {
    for spins in [false, true] {
        for count in 1..=100u8 {
            let weight = 1.0 / f32::from(count);
            let terms = Terms { spins, sites: 1, terms: vec![(vec![0], weight); count.into()] };
            let mut memory = terms.memory();
            let (_, cache) = cache_of(&terms.model(memory.borrow()).unwrap(), &[1.0]);
            assert!((1 << 28..1 << 30).contains(&cache[0][0]), "{count} terms: {}", cache[0][0]);
        }
    }
}

/// Of bits: two words for each term of two sites or more. Of spins: one bit.
#[test]
fn a_cache_has_its_terms_behind_its_sites() {
    for (terms, bits, spins) in [(0, 0, 0), (8, 1, 1), (9, 2, 1), (512, 64, 1), (513, 65, 2), (1025, 129, 3)] {
        assert_eq!(Polynomial::bits_cache_len(40, terms), 3 + bits, "{terms} terms");
        assert_eq!(Polynomial::spins_cache_len(40, terms), 3 + spins, "{terms} terms");
    }
}

/// An iterator whose copy has other terms.
struct Changing {
    at: u32,
    count: u32,
    wild: bool,
}

impl Clone for Changing {
    fn clone(&self) -> Self {
        Self { at: 0, count: 12 - self.count, wild: false }
    }
}

impl Iterator for Changing {
    type Item = (Vec<u32>, f32);

    fn next(&mut self) -> Option<Self::Item> {
        self.at += 1;
        let list = if self.wild { vec![self.at, u32::MAX, 3, 1, 2] } else { vec![self.at % 4, 3, 0] };
        (self.at <= self.count).then_some((list, if self.wild { f32::NAN } else { 1.0 }))
    }
}

#[test]
fn terms_that_change_while_they_are_read_do_no_harm() {
    for (count, wild) in [(3, false), (9, false), (3, true), (9, true)] {
        for form in [false, true] {
            let mut memory = PolynomialMemory::<4, 9, 27>::new();
            let terms = Changing { at: 0, count, wild };
            let make = if form { Polynomial::spins } else { Polynomial::bits };
            let model = make(4, terms, memory.borrow()).unwrap();
            let (x, y) = (values(0, 4), values(9, 4));
            let mut cache = vec![[0; LANES]; model.cache_len()];
            let (here, there) = (heap::pack(&x), heap::pack(&y));
            let (here, there) =
                (Packed::new(model.layout(), &here).unwrap(), Packed::new(model.layout(), &there).unwrap());
            assert!(model.init(here, &mut cache).is_ok());
            assert!(model.shift(&Move::new(here, there).unwrap(), &mut cache).is_finite());
        }
    }
}
