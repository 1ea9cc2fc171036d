//! Samplers that draw indices, against float64 distributions by enumeration of every sequence of draws: detailed
//! balance holds path by path, `π(x) q(path|x) A = π(y) q(path back|y) A'`.

use bitmc::lane::{Bits, Block};
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::step::{Choice, ParameterError, Transition};
use bitmc::{
    Energy, Function, GibbsWithGradients, Ising, Kernel, Kind, LaneRng, Langevin, Layout, LocallyBalanced,
    Packed, PathAuxiliary, Plain, SeedableRng, StateError,
};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::failing::Table;
use bitmc_host_tests::heap::{self, HeapChain, Weights};
use bitmc_host_tests::listed::Listed;
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Target};
use bitmc_host_tests::passes_on;
use bitmc_host_tests::paths::{Defect, Model, Rule, Verdict};
use bitmc_host_tests::planes::{Own, Tables, Wide};
use bitmc_host_tests::stuck::Stuck;
use bitmc_host_tests::tolerance;
use std::cell::RefCell;
use std::ops::Range;

const SCALES: [f64; 3] = [0.4, 3.0, 10.0];

#[derive(Clone, Copy, Debug)]
enum Sampler {
    Gradients(u32),
    Balanced,
    Path(u32),
}

use Sampler::{Balanced, Gradients, Path};

impl Sampler {
    /// What it draws, on sites of this kind.
    fn rule(self, binary: bool) -> Rule {
        let rule = Rule { indices: 1, replace: false, backwards: false, exact: false };
        match self {
            Gradients(indices) => Rule { indices: indices as usize, replace: binary, ..rule },
            Balanced => Rule { exact: true, ..rule },
            Path(indices) => Rule { indices: indices as usize, backwards: true, ..rule },
        }
    }

    fn transition(self, chain: &mut HeapChain<'_, dyn Energy + '_>, path: &[Choice]) -> Transition {
        match self {
            Gradients(indices) => GibbsWithGradients::new(indices).unwrap().transition(chain.ring(), path),
            Balanced => LocallyBalanced.transition(chain.ring(), path),
            Path(indices) => PathAuxiliary::new(indices).unwrap().transition(chain.ring(), path),
        }
        .unwrap()
    }
}

fn pack(layout: Layout, values: &[usize]) -> Vec<u32> {
    let mut words = vec![0; layout.words()];
    for (site, &value) in values.iter().enumerate() {
        bitmc::packed::set(layout, &mut words, site, value as u32).unwrap();
    }
    words
}

fn judge(name: &str, energy: &dyn Energy, model: &Model, samplers: &[Sampler]) {
    let layout = energy.layout();
    let words: Vec<Vec<u32>> = (0..model.states()).map(|x| pack(layout, &model.values(x))).collect();
    let state = |x: usize| Packed::new(layout, &words[x]).unwrap();
    let start = model.distribution.probabilities.iter().position(|&p| p > 0.0).unwrap();
    let mut chain = heap::chain(energy, &words[start]).unwrap();
    let held = [model.held as u32];
    chain.clamp(Packed::new(Layout::binary(layout.sites()), &held).unwrap()).unwrap();
    let chain = RefCell::new(chain);
    for &sampler in samplers {
        let rule = sampler.rule(layout.kind() == Kind::Binary);
        let at = |x: usize, path: &[Choice]| {
            let chain = &mut *chain.borrow_mut();
            chain.restart(state(x)).unwrap();
            sampler.transition(chain, path)
        };
        let verdict = model.judge(rule, |x, path| {
            let found = at(x, path);
            let (forward, ratio) = (f64::from(found.log_forward), f64::from(found.log_ratio));
            assert!(!found.fault, "{name}, {sampler:?}, from {x} along {path:?}: a fault");
            let error = model.error(rule, x, path, forward);
            assert!(error <= 1.0, "{name}, {sampler:?}, from {x} along {path:?}: log q is {error} bounds off");
            (forward, ratio)
        });
        let most = if layout.many_values() { tolerance::ROW_SUM_OF_LOGARITHMS } else { tolerance::ROW_SUM };
        let rows = Verdict { rows: verdict.rows * tolerance::ROW_SUM / most, ..verdict };
        assert!(rows.passes(), "{name}, {sampler:?}, held {:b}: {verdict:?}", model.held);
        // The way back has the probability, bit for bit, that it has as a way there.
        for x in (0..model.states()).filter(|&x| model.distribution.probabilities[x] > 0.0).step_by(5) {
            for path in model.paths(rule, x) {
                let y = model.end(x, &path);
                if model.distribution.probabilities[y] > 0.0 {
                    let (there, back) = (at(x, &path), at(y, &model.back(rule, x, &path)));
                    assert_eq!(there.log_reverse.to_bits(), back.log_forward.to_bits());
                }
            }
        }
    }
}

const BINARY: [Sampler; 6] = [Gradients(1), Gradients(2), Gradients(3), Balanced, Path(2), Path(3)];
const ANY: [Sampler; 5] = [Gradients(1), Gradients(2), Balanced, Path(2), Path(3)];

fn judge_binary(name: &str, energy: &dyn Energy, target: &dyn Target, samplers: &[Sampler]) {
    let mut model = Model::binary(target);
    judge(name, energy, &model, samplers);
    model.held = 0b10_0101 & (model.states() - 1);
    judge(name, energy, &model, samplers);
}

#[test]
fn ising() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::pairwise(Convention::ALL[seed], 5, 0.8, scale, seed as u64);
        let mut couplings = model.couplings();
        let energy = couplings.ising(&model).unwrap();
        judge_binary(&format!("Ising, sd {scale}"), &energy, &model, &BINARY);
    }
    // More indices than sites: all of them.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 4, 0.8, 1.0, 9);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    judge_binary("Ising of 4 sites", &energy, &model, &[Path(4), Path(5), Path(64), Gradients(4)]);
}

#[test]
fn restricted_boltzmann_machine() {
    for (seed, scale) in SCALES.into_iter().enumerate() {
        let model = models::machine(5, 20, scale, seed as u64);
        let weights = Weights::new(&model).unwrap();
        judge_binary(&format!("RBM, sd {scale}"), &weights.rbm().unwrap(), &model, &BINARY);
    }
}

#[test]
fn a_hard_constraint() {
    for scale in [0.25, 2.0, 8.0] {
        let model = Count { sites: 5, most: 3.0, weight: scale };
        judge_binary(&format!("count, {scale}"), &Plain(model), &model, &BINARY);
    }
}

#[test]
fn categorical_and_ordinal_also_mixed() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        for arities in [&[3, 3, 3][..], &[4, 4, 4], &[2, 3, 5, 4], &[1, 7, 2, 3]] {
            for (seed, sd) in SCALES.into_iter().enumerate() {
                let tables = Tables::new(kind, arities, sd, seed as u64);
                let (mut model, own) = (Model::tables(&tables), Plain(Own(&tables)));
                let name = format!("{kind:?} {arities:?}, sd {sd}");
                let samplers = if arities.len() < 4 { &ANY[..] } else { &ANY[..4] };
                judge(&name, &own, &model, samplers);
                model.held = 0b10;
                judge(&name, &own, &model, samplers);
            }
        }
    }
}

/// Every step was a fault.
#[test]
fn sites_of_many_values() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        for arities in [&[3, 3, 3][..], &[2, 3, 5, 4], &[1, 7, 2, 3], &[66, 3], &[66, 1, 2]] {
            for (seed, sd) in SCALES.into_iter().enumerate() {
                if kind == Kind::Ordinal && arities.contains(&66) && sd > 3.0 {
                    continue; // energies in the thousands: the rounding of totals alone is 10⁻⁴
                }
                if arities.len() == 3 && arities.contains(&66) && seed != 1 {
                    continue; // for the time: 132 states of 70 values
                }
                let tables = Tables::new(kind, arities, sd, seed as u64);
                let (mut model, own) = (Model::tables(&tables), Plain(Wide(Own(&tables))));
                model.many = true;
                let name = format!("{kind:?} {arities:?} among 70, sd {sd}");
                let samplers = if arities.len() < 4 { &ANY[..] } else { &ANY[..4] };
                judge(&name, &own, &model, samplers);
                model.held = 0b10;
                judge(&name, &own, &model, samplers);
            }
        }
    }
    // Where the first part of the way back is left out, the test sees it here too.
    let tables = Tables::new(Kind::Categorical, &[3, 4, 3], 1.0, 7);
    let mut model = Model::tables(&tables);
    model.many = true;
    for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::OneIndexBack, Defect::FullSumBack] {
        let rule = Path(2).rule(false);
        let verdict = model.judge(rule, |x, path| model.variant(rule, defect, x, path));
        assert!(!verdict.keeps_the_distribution(), "{defect:?}");
    }
}

#[test]
fn broken_variants_fail() {
    let tables = Tables::new(Kind::Categorical, &[4, 3, 5], 1.0, 7);
    let spins = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.8, 1.0, 3);
    for (binary, model) in [(true, Model::binary(&spins)), (false, Model::tables(&tables))] {
        let verdict = |sampler: Sampler, defect| {
            let rule = sampler.rule(binary);
            model.judge(rule, |x, path| model.variant(rule, defect, x, path))
        };
        for sampler in [Gradients(1), Gradients(2), Balanced, Path(2), Path(3)] {
            assert!(verdict(sampler, Defect::None).passes(), "{sampler:?}");
            for defect in [Defect::NoReverse, Defect::HalfEnergy, Defect::NoRatio] {
                assert!(!verdict(sampler, defect).keeps_the_distribution(), "{sampler:?}, {defect:?}");
            }
        }
        for sampler in [Gradients(2), Path(2), Path(3)] {
            assert!(!verdict(sampler, Defect::OneIndexBack).keeps_the_distribution(), "{sampler:?}");
        }
        for sampler in [Path(2), Path(3)] {
            assert!(!verdict(sampler, Defect::FullSumBack).keeps_the_distribution(), "{sampler:?}");
            // The order of the way there is another way back than the one that is promised: the balance of
            // paths sees it. The sum over paths cannot: with itself as its way back it is a right sampler.
            let forward = verdict(sampler, Defect::ForwardOrderBack);
            assert!(!forward.passes() && forward.asymmetry > 0.01, "{sampler:?}: {forward:?}");
            assert!(forward.keeps_the_distribution(), "{sampler:?}: {forward:?}");
        }
    }
}

#[test]
fn paths_that_are_never_drawn() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 5, 0.8, 1.0, 3);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let mut chain = heap::chain(&energy as &dyn Energy, &[0b00110]).unwrap();
    chain.clamp(Packed::new(energy.layout(), &[0b00001]).unwrap()).unwrap();
    let flip = |site: usize| Choice { site, value: u32::from(!(1..3).contains(&site)) };
    let mut log_q = |sampler: Sampler, path: &[Choice]| sampler.transition(&mut chain, path).log_forward;
    let never = f32::NEG_INFINITY;
    assert!(log_q(Path(2), &[flip(1), flip(3)]) > never);
    assert_eq!(log_q(Path(2), &[flip(1), flip(1)]), never, "a site twice");
    assert!(log_q(Gradients(2), &[flip(1), flip(1)]) > never);
    assert_eq!(log_q(Path(2), &[flip(1)]), never, "too short");
    assert_eq!(log_q(Path(1), &[flip(1), flip(2)]), never, "too long");
    assert_eq!(log_q(Balanced, &[]), never);
    assert_eq!(log_q(Balanced, &[flip(0)]), never, "clamped");
    assert_eq!(log_q(Path(2), &[flip(1), flip(0)]), never, "clamped");
    assert_eq!(log_q(Gradients(1), &[Choice { site: 1, value: 1 }]), never, "no move");
    assert_eq!(log_q(Gradients(64), &[flip(1); 70]), never);
    let choice = |site, value| [Choice { site, value }];
    let refused = LocallyBalanced.transition(chain.ring(), &choice(5, 0)).unwrap_err();
    assert_eq!(refused, StateError::Site { site: 5 });
    let refused = PathAuxiliary::new(1).unwrap().transition(chain.ring(), &choice(4, 2)).unwrap_err();
    assert_eq!(refused, StateError::Value { site: 4, value: 2 });
    for indices in [0, 65, u32::MAX] {
        assert_eq!(PathAuxiliary::new(indices).unwrap_err(), ParameterError::Indices(indices));
        assert_eq!(GibbsWithGradients::new(indices).unwrap_err(), ParameterError::Indices(indices));
    }
}

/// The same table over sites of 70 values, of which each site has two.
struct WideTable<'t>(&'t Table);

impl Function for WideTable<'_> {
    fn layout(&self) -> Layout {
        Layout::ordinal(self.0.sites, 70)
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(&[2, 2])
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.total(Packed::new(self.0.layout(), &[x.get(0) | x.get(1) << 1]).unwrap())
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        self.0.gradient[(x.get(0) | x.get(1) << 1) as usize]
    }
}

#[test]
fn a_path_that_ends_where_no_weight_is_left() {
    // At 0b01 the gradient is infinite: the way up of site 1 has no weight, so a path is over after site 0. Where that leads
    // both sites have weight, and no path back ends after one.
    let totals = vec![0.0, 0.3, -0.2, 0.1];
    let distribution = Distribution::from_energies(2, totals.iter().copied().map(f64::from).collect());
    let table = Table { sites: 2, totals, gradient: vec![0.2, f32::INFINITY, 0.1, -0.3] };
    for energy in [&Plain(&table) as &dyn Energy, &Plain(WideTable(&table))] {
        let mut chain = heap::chain(energy, &vec![0; energy.layout().words()]).unwrap();
        let paths = [&[0][..], &[1], &[0, 1], &[1, 0]];
        let mut matrix = vec![vec![0.0; 4]; 4];
        for (x, row) in (0..4_u32).zip(&mut matrix) {
            let values = [x as usize & 1, x as usize >> 1];
            let mut all = 0.0;
            for path in paths {
                chain.restart(Packed::new(energy.layout(), &pack(energy.layout(), &values)).unwrap()).unwrap();
                let choices: Vec<Choice> =
                    path.iter().map(|&site| Choice { site, value: 1 - ((x >> site) & 1) }).collect();
                let found = Path(2).transition(&mut chain, &choices);
                let (q, y) =
                    (f64::from(found.log_forward).exp(), path.iter().fold(x, |y, site| y ^ (1 << site)));
                all += q;
                let accepted = q * f64::from(found.log_ratio).exp().min(1.0);
                row[y as usize] += accepted;
                row[x as usize] += q - accepted;
            }
            assert!((all - 1.0).abs() < 1e-6, "all paths from {x}: {all}");
        }
        for (y, &truth) in distribution.probabilities.iter().enumerate() {
            let after: f64 = distribution.probabilities.iter().zip(&matrix).map(|(p, row)| p * row[y]).sum();
            assert!((after - truth).abs() < 1e-6, "{:?}, {y}: {after} for {truth}", energy.layout());
        }
    }
}

/// Three sites of 70 values and equal energies. The slopes of the first site draw it up and down by one, far more than the
/// other two, which are alike.
struct Dominant {
    slope: f32,
}

impl Function for Dominant {
    fn layout(&self) -> Layout {
        Layout::categorical(3, 70)
    }

    fn total(&self, _: Packed<'_>) -> f32 {
        0.0
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        let here = x.get(0) as usize;
        let near = value == (here + 1) % 70 || here == (value + 1) % 70;
        if site == 0 && near { -self.slope } else { 0.0 }
    }
}

/// Beside a site of far larger weight, the order of all others was the order of their numbers.
#[test]
fn sites_beside_one_of_far_larger_weight_are_drawn_alike() {
    for slope in [1.0, 1e3, 1e6, 1e9, 1e30, f32::INFINITY] {
        let energy = Plain(Dominant { slope });
        let mut chain = heap::chain(&energy as &dyn Energy, &[0; 1]).unwrap();
        let (mut rng, kernel) = (LaneRng::seed_from_u64(5), GibbsWithGradients::new(2).unwrap());
        let (steps, mut moves) = (2000, [0; 3]);
        for _ in 0..steps {
            let before: Vec<u32> = chain.state().values().collect();
            assert!(!chain.step(&kernel, &mut rng).fault);
            for ((count, before), after) in moves.iter_mut().zip(before).zip(chain.state().values()) {
                *count += i32::from(before != after);
            }
        }
        // Of so many fair coins no more than five standard deviations.
        let bound = 5.0 * f64::from(moves[1] + moves[2]).sqrt();
        assert!(f64::from((moves[1] - moves[2]).abs()) <= bound, "slope {slope}: moves {moves:?}");
        assert!(moves[1] + moves[2] > steps / 4, "slope {slope}: moves {moves:?}");
    }
}

/// Steps and their probabilities, bit for bit: of all orders in which the changed sites can have been drawn
/// one has what the step reports.
fn report<K: for<'e> Kernel<dyn Energy + 'e>>(
    energy: &dyn Energy,
    sampler: Sampler,
    kernel: &K,
    other: &bitmc::Langevin<'_>,
    exact: bool,
) {
    let layout = energy.layout();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut chain = heap::random_chain(energy, &mut rng).unwrap();
    let mut anew = heap::random_chain(energy, &mut rng).unwrap();
    let mut held = vec![0; Layout::binary(layout.sites()).words()];
    held[0] = 0b1011;
    let held = Packed::new(Layout::binary(layout.sites()), &held).unwrap();
    let mut compared = 0;
    for step in 0..1500 {
        // Another sampler in between, and sites clamped and released: weights that were kept past their time
        // would show.
        match step % 20 {
            5 => [&mut chain, &mut anew].into_iter().for_each(|chain| chain.clamp(held).unwrap()),
            9 => chain.run(other, &mut rng, 1, &mut ()),
            15 => [&mut chain, &mut anew].into_iter().for_each(HeapChain::release),
            _ => (),
        }
        anew.restart(chain.state()).unwrap();
        let before: Vec<u32> = chain.state().values().collect();
        let info = chain.step(kernel, &mut rng);
        let rule = sampler.rule(layout.kind() == Kind::Binary);
        let sites = before.iter().zip(chain.state().values()).enumerate();
        let changed = sites.filter(|(_, (from, to))| **from != *to);
        let path: Vec<Choice> = changed.map(|(site, (_, value))| Choice { site, value }).collect();
        if path.len() == rule.indices {
            let orders = if path.len() == 2 { vec![path.clone(), vec![path[1], path[0]]] } else { vec![path] };
            let said = orders.iter().map(|path| sampler.transition(&mut anew, path));
            let same = |said: Transition| {
                let off = (said.log_ratio - info.log_ratio).abs();
                (if exact { said.log_ratio.to_bits() == info.log_ratio.to_bits() } else { off < 1e-5 })
                    && said.difference.to_bits() == info.difference.to_bits()
            };
            assert!(said.into_iter().any(same), "{sampler:?}, step {step}: {info:?}");
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} moves to compare");
}

#[test]
fn steps_report_what_transitions_say() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let tables =
        Tables::new(Kind::Categorical, &[4, 3, 5, 2, 4, 3, 3, 3, 4, 2, 2, 3, 4, 5, 3, 3, 3, 4], 0.3, 5);
    let own = Plain(Own(&tables));
    let langevin = bitmc::Langevin::adjusted(0.3).unwrap();
    // With many values sums over sites are in the order of the draw.
    let wide = Plain(Wide(Own(&tables)));
    for (energy, exact) in [(&ising as &dyn Energy, true), (&own, true), (&wide, false)] {
        report(energy, Gradients(1), &GibbsWithGradients::new(1).unwrap(), &langevin, exact);
        report(energy, Gradients(2), &GibbsWithGradients::new(2).unwrap(), &langevin, exact);
        report(energy, Balanced, &LocallyBalanced, &langevin, exact);
        report(energy, Path(2), &PathAuxiliary::new(2).unwrap(), &langevin, exact);
    }
}

#[test]
fn one_index_is_one_sampler() {
    // For an energy that is linear in every site the three draw from the same probabilities.
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 6);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    fn run<K: for<'e> Kernel<dyn Energy + 'e>>(energy: &dyn Energy, kernel: &K) -> Vec<u32> {
        let mut rng = LaneRng::seed_from_u64(4);
        let mut chain = heap::random_chain(energy, &mut rng).unwrap();
        chain.run(kernel, &mut rng, 1000, &mut ());
        chain.state().words().to_vec()
    }
    let gradients = run(&energy, &GibbsWithGradients::new(1).unwrap());
    assert_eq!(gradients, run(&energy, &PathAuxiliary::new(1).unwrap()));
    assert_eq!(gradients, run(&energy, &LocallyBalanced));
}

/// A few states, in a moment.
#[test]
fn exact_differences_of_few_categorical_states() {
    for (kind, arities) in [(Kind::Categorical, &[2, 3, 3][..]), (Kind::Ordinal, &[1, 3, 4])] {
        let tables = Tables::new(kind, arities, 1.0, 5);
        let (mut model, own) = (Model::tables(&tables), Plain(Own(&tables)));
        judge(&format!("{kind:?} {arities:?}"), &own, &model, &[Balanced]);
        model.held = 0b10;
        judge(&format!("{kind:?} {arities:?}"), &own, &model, &[Balanced]);
    }
}

/// The second move has e^(−25) of the first; the words are those around the end of the first one's share.
#[test]
fn an_index_is_the_one_in_whose_share_its_word_falls() {
    struct Far;
    impl Function for Far {
        fn layout(&self) -> Layout {
            Layout::binary(2)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            50.0 * x.get(1) as f32
        }
        fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
            50.0 * site as f32
        }
    }
    // Both weights in units of 2⁻⁶⁰: a whole number.
    let bits = bitmc::lane::exp(-25.0).to_bits();
    assert_eq!(bits >> 23, 127 - 37);
    let small = u128::from(bits & 0x007F_FFFF | 0x0080_0000);
    let all = (1 << 60) + small;
    // The second one from the share on at which all · share / 2⁶⁴ is 2⁶⁰.
    let first = (1u128 << 124).div_ceil(all) as u64;
    let near = (0..27).flat_map(|bit| [first - (1 << bit), first + (1 << bit)]);
    for share in near.chain([0, first - 1, first, u64::MAX]) {
        let words = [0, 0, share as u32, (share >> 32) as u32, u32::MAX, 0];
        let energy = Plain(Far);
        let info = heap::chain(&energy, &[0]).unwrap().step(&LocallyBalanced, &mut Listed(&words));
        let difference = if share < first { 0.0 } else { 50.0 };
        assert_eq!((info.proposed, info.difference), (1, difference), "{share:#x}");
    }
}

/// Forty sites of three values, three blocks of them, all free or all but two held.
#[test]
fn indices_of_sites_in_later_blocks_have_their_probability() {
    let tables = Tables::new(Kind::Categorical, &[3; 40], 0.1, 6);
    let energy = Plain(Own(&tables));
    let layout = Layout::categorical(40, 3);
    let mut source = models::Source::new(7);
    let x: Vec<usize> = (0..40).map(|_| source.below(3)).collect();
    let words = pack(layout, &x);
    for free in [(0..40).collect::<Vec<_>>(), vec![20, 36]] {
        let mut chain = heap::chain(&energy, &words).unwrap();
        let mask: Vec<f64> = (0..40).map(|site| f64::from(!free.contains(&site))).collect();
        let mask = heap::pack(&mask);
        chain.clamp(Packed::new(Layout::binary(40), &mask).unwrap()).unwrap();
        // Of two moves from a state, one after the other; what is drawn is taken away.
        let log_q = |x: &[usize], moves: [(usize, usize); 2]| {
            let weight = |site, value| (-0.5 * tables.slope(x, site, value)).exp();
            let of = |site: usize| -> f64 {
                (0..3).filter(|&value| value != x[site]).map(|value| weight(site, value)).sum()
            };
            let all: f64 = free.iter().map(|&site| of(site)).sum();
            let [(a, b), (c, d)] = moves;
            (weight(a, b) / all * weight(c, d) / (all - of(a))).ln()
        };
        let moves = [(20, (x[20] + 1) % 3), (36, (x[36] + 2) % 3)];
        let mut y = x.clone();
        moves.iter().for_each(|&(site, value)| y[site] = value);
        let path = moves.map(|(site, value)| Choice { site, value: value as u32 });
        let back = [(20, x[20]), (36, x[36])];
        for (sampler, back) in [(Path(2), [back[1], back[0]]), (Gradients(2), back)] {
            let found = match sampler {
                Path(indices) => PathAuxiliary::new(indices).unwrap().transition(chain.ring(), &path),
                _ => GibbsWithGradients::new(2).unwrap().transition(chain.ring(), &path),
            };
            let (found, forward, reverse) = (found.unwrap(), log_q(&x, moves), log_q(&y, back));
            let ratio = tables.energy(&x) - tables.energy(&y) + reverse - forward;
            let pairs = [(found.log_forward, forward), (found.log_reverse, reverse), (found.log_ratio, ratio)];
            for (found, truth) in pairs {
                assert!((f64::from(found) - truth).abs() < 1e-4, "{sampler:?}: {found} for {truth}");
            }
        }
        let mut rng = LaneRng::seed_from_u64(8);
        for _ in 0..50 {
            let info = chain.step(&PathAuxiliary::new(2).unwrap(), &mut rng);
            assert!(info.proposed == 2 && info.log_ratio > f32::NEG_INFINITY, "{info:?}");
        }
    }
}

/// A flat energy whose gradient, where site 5 has value 1, is NaN at some sites.
struct Broken {
    layout: Layout,
    bad: Vec<usize>,
}

impl Function for Broken {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn total(&self, _: Packed<'_>) -> f32 {
        0.0
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        if x.get(5) == 1 && self.bad.contains(&site) { f32::NAN } else { 0.0 }
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        if value == 1 { self.gradient(x, site) } else { 0.0 }
    }
}

#[test]
fn a_nan_in_any_blocks_of_a_gradient_is_a_fault() {
    let mut couplings = heap::Couplings::new(40, 39);
    let edges = (0..39).map(|site| (site, site + 1, 0.25));
    let model = Ising::spins_edges_once(40, edges, &[], couplings.borrow()).unwrap();
    let mut d = [[0.0; 16]; 3];
    let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
    let flips = Langevin::second_order(noise, 1.0, 0.8).unwrap().metropolis_flips().unwrap();
    for layout in [Layout::binary(40), Layout::categorical(40, 3), Layout::ordinal(40, 3)] {
        for bad in [&[][..], &[0], &[37], &[0, 1], &[0, 20], &[20, 37], &[0, 20, 37]] {
            let energy = Plain(Broken { layout, bad: bad.to_vec() });
            let mut chain = heap::chain(&energy, &vec![0; layout.words()]).unwrap();
            let path = [Choice { site: 5, value: 1 }];
            let found = [
                GibbsWithGradients::new(1).unwrap().transition(chain.ring(), &path),
                PathAuxiliary::new(1).unwrap().transition(chain.ring(), &path),
            ];
            for found in found {
                assert_eq!(found.unwrap().fault, !bad.is_empty(), "{layout}, {bad:?}");
            }
            if layout.kind() == Kind::Binary {
                let to = [1 << 5, 0];
                let to = Packed::new(layout, &to).unwrap();
                let found = flips.transition_given(chain.ring(), to, &[[0.0; 16]; 3]).unwrap();
                assert_eq!(found.fault, !bad.is_empty(), "flips, {bad:?}");
            }
        }
    }
}

/// Moves that all are far less likely than to stay are as likely, beside each other, as their slopes say.
#[test]
fn moves_of_many_values_are_weighed_without_staying() {
    struct Steep;
    impl Steep {
        fn slope(site: usize, value: usize) -> f64 {
            if value == 0 {
                0.0
            } else {
                40.0 + 2.0 * site as f64 + (0.75 - 0.25 * site as f64) * (value as f64 - 1.0)
            }
        }
    }
    impl Function for Steep {
        fn layout(&self) -> Layout {
            Layout::categorical(2, 70)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            x.values().enumerate().map(|(site, value)| Self::slope(site, value as usize)).sum::<f64>() as f32
        }
        fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
            0.0
        }
        fn component(&self, _: Packed<'_>, site: usize, value: usize) -> f32 {
            Self::slope(site, value) as f32
        }
    }
    let energy = Plain(Steep);
    let mut chain = heap::chain(&energy, &vec![0; energy.layout().words()]).unwrap();
    let of = |site| (1..70).map(|value| (-0.5 * Steep::slope(site, value)).exp()).sum::<f64>();
    let all: f64 = of(0) + of(1);
    for value in [1, 15, 16, 40, 69] {
        let path = [Choice { site: 1, value: value as u32 }];
        let found = GibbsWithGradients::new(1).unwrap().transition(chain.ring(), &path).unwrap();
        let truth = -0.5 * Steep::slope(1, value) - all.ln();
        assert!((f64::from(found.log_forward) - truth).abs() < 1e-4, "{value}: {found:?} for {truth}");
    }
}

/// Among sites of many values, too, nothing is said of the far end.
#[test]
fn paths_of_many_values_that_are_never_drawn() {
    let tables = Tables::new(Kind::Categorical, &[3, 4, 3], 1.0, 7);
    let energy = Plain(Wide(Own(&tables)));
    let mut chain = heap::chain(&energy as &dyn Energy, &pack(energy.layout(), &[0, 1, 2])).unwrap();
    chain.clamp(Packed::new(Layout::binary(3), &[0b001]).unwrap()).unwrap();
    let to = |site, value| Choice { site, value };
    let [one, two] = [to(1, 0), to(2, 0)];
    assert!(Path(2).transition(&mut chain, &[one, two]).log_forward > f32::NEG_INFINITY);
    let infinite = f32::NEG_INFINITY;
    let (log_forward, log_reverse, log_ratio) = (infinite, infinite, infinite);
    let never = Transition { log_forward, log_reverse, difference: 0.0, log_ratio, fault: false };
    for (sampler, path, why) in [
        (Path(2), &[one, to(1, 2)][..], "a site twice"),
        (Path(2), &[one], "too short"),
        (Path(1), &[one, two], "too long"),
        (Gradients(1), &[one, two], "too long"),
        (Gradients(64), &[one; 70], "far too long"),
        (Balanced, &[], "no move"),
        (Balanced, &[to(0, 1)], "clamped"),
        (Path(2), &[one, to(0, 1)], "clamped"),
        (Gradients(1), &[to(1, 1)], "the value that it has"),
        (Gradients(1), &[to(2, 5)], "a value that it has not"),
    ] {
        assert_eq!(sampler.transition(&mut chain, path), never, "{sampler:?}: {why}");
    }
}

/// An energy that insists on as much room for a gradient as it is promised.
struct Roomy<'t>(Plain<Wide<'t>>);

impl Energy for Roomy<'_> {
    passes_on!(0: layout, cache_len, arities, init, shift, differences);

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let need = rows.len() * self.layout().row_blocks();
        assert!(out.len() >= need, "{} blocks for rows {rows:?} of {}", out.len(), self.layout());
        Energy::gradient(&self.0, x, cache, rows, out);
    }
}

#[test]
fn gradients_of_many_values_have_the_room_that_is_promised() {
    for kind in [Kind::Categorical, Kind::Ordinal] {
        let tables = Tables::new(kind, &[3, 4, 3], 0.3, 7);
        let energy = Roomy(Plain(Wide(Own(&tables))));
        let mut rng = LaneRng::seed_from_u64(9);
        let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
        let mut moved = 0;
        for _ in 0..20 {
            moved += chain.step(&GibbsWithGradients::new(2).unwrap(), &mut rng).moved();
            moved += chain.step(&PathAuxiliary::new(2).unwrap(), &mut rng).moved();
            moved += chain.step(&LocallyBalanced, &mut rng).moved();
        }
        assert!(moved > 20 && chain.faults() == 0, "{kind:?}: {moved} moves");
    }
}

/// A stuck generator gives all sites the same time. Sorted by it without changing the order of equals, the first come first.
#[test]
fn of_sites_with_equal_times_the_first_are_the_path() {
    let energy = Plain(Dominant { slope: 0.0 });
    for indices in [1, 2] {
        for word in [0x1234_5678, 0x8000_0000] {
            let mut chain = heap::chain(&energy as &dyn Energy, &[0; 1]).unwrap();
            let info = chain.step(&GibbsWithGradients::new(indices).unwrap(), &mut Stuck::At(word));
            assert!(info.accepted && info.proposed == indices, "{info:?}");
            let changed: Vec<bool> = chain.state().values().map(|value| value != 0).collect();
            assert_eq!(changed, [0, 1, 2].map(|site| site < indices), "word {word:#x}");
        }
    }
}
