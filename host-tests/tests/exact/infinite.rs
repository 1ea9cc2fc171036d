//! Gradients of ±∞, and finite ones whose products overflow: a logit of −∞ is cut at 30 below the largest as every
//! other is, in the draw and on the way back, and ∞ − ∞ is a fault that shuts a state off in both directions.

use bitmc::chain::Ring;
use bitmc::noise::{Diagonal, Edgewise, SparseMatrix};
use bitmc::step::{Curvature, Transition};
use bitmc::{
    Energy, Function, GibbsWithGradients, Info, Ising, Kernel, Kind, LaneRng, Langevin, Layout, Packed,
    PathAuxiliary, Plain,
};
use bitmc_host_tests::enumerate::Distribution;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::models::Source;
use bitmc_host_tests::space::Space;
use bitmc_host_tests::stat::replicas::Plan;
use bitmc_host_tests::stat::{Verdict, chi_square};

const LIMIT: f64 = bitmc::draw::LOGIT_LIMIT as f64;

/// The number of a state: mixed radix, site 0 fastest.
fn place(arities: &[u16], x: &[usize]) -> usize {
    arities.iter().zip(x).rev().fold(0, |number, (&arity, &value)| number * usize::from(arity) + value)
}

/// A table of energies, and of ∂E/∂x by state, site and value (one value a site unless it is categorical).
struct Slopes {
    layout: Layout,
    arities: Vec<u16>,
    energies: Vec<f64>,
    slopes: Vec<Vec<Vec<f32>>>,
}

impl Slopes {
    /// From functions of the values: E, and ∂E/∂x at a site and value.
    fn new(
        layout: Layout,
        arities: &[u16],
        energy: impl Fn(&[usize]) -> f64,
        mut slope: impl FnMut(&[usize], usize, usize) -> f32,
    ) -> Self {
        let mut of = Self { layout, arities: arities.to_vec(), energies: vec![], slopes: vec![] };
        let states: usize = arities.iter().map(|&arity| usize::from(arity)).product();
        for x in (0..states).map(|state| of.values(state)).collect::<Vec<_>>() {
            of.energies.push(energy(&x));
            let values = |site: usize| if layout.kind() == Kind::Categorical { arities[site] } else { 1 };
            let mut at = |site| (0..usize::from(values(site))).map(|k| slope(&x, site, k)).collect();
            of.slopes.push((0..arities.len()).map(&mut at).collect());
        }
        of
    }

    /// The exact differences of an energy as its gradient: by value, or for a binary site E at 1 less E at 0.
    fn differences(layout: Layout, arities: &[u16], energy: impl Fn(&[usize]) -> f64) -> Self {
        let at = |x: &[usize], site: usize, value: usize| {
            let mut x = x.to_vec();
            x[site] = value;
            energy(&x)
        };
        Self::new(layout, arities, &energy, |x, site, value| match layout.kind() {
            Kind::Binary => (at(x, site, 1) - at(x, site, 0)) as f32,
            _ => (at(x, site, value) - energy(x)) as f32,
        })
    }

    fn values(&self, mut state: usize) -> Vec<usize> {
        let digit = |&arity: &u16| {
            let value = state % usize::from(arity);
            state /= usize::from(arity);
            value
        };
        self.arities.iter().map(digit).collect()
    }

    fn number(&self, x: Packed<'_>) -> usize {
        place(&self.arities, &x.values().map(|value| value as usize).collect::<Vec<_>>())
    }

    fn space(&self) -> Space {
        let pack = |state| {
            let values: Vec<f64> = self.values(state).iter().map(|&v| v as f64).collect();
            heap::pack_in(self.layout, &values)
        };
        let distribution = Distribution::from_energies(self.arities.len(), self.energies.clone());
        Space::new(self.layout, (0..self.energies.len()).map(pack).collect(), distribution)
    }
}

impl Function for Slopes {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(&self.arities)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.energies[self.number(x)] as f32
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        self.slopes[self.number(x)][site][0]
    }

    fn component(&self, x: Packed<'_>, site: usize, value: usize) -> f32 {
        self.slopes[self.number(x)][site][value]
    }
}

/// What is wrong with the naive sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// A logit of −∞ has weight 0, which on the way back counts as 1.
    ZeroIsOne,
    /// A logit of −∞ has weight 0 on the way there, and is cut on the way back.
    CutOneWay,
}

/// The proposal of METHODS.md §1, written out: logits in f32, weights in f64.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    balance: f32,
    curvature: f32,
    window: usize,
}

impl Proposal {
    fn sampler(&self) -> Langevin<'static> {
        let sampler = Langevin::new(self.balance, Curvature::Same(self.curvature), true).unwrap();
        if self.window < 1000 { sampler.within(self.window as u32) } else { sampler }
    }

    /// The logits of a site's values; `None` where a value may not be taken.
    fn logits(&self, model: &Slopes, x: usize, site: usize) -> Vec<Option<f32>> {
        let (slopes, here) = (&model.slopes[x][site], model.values(x)[site]);
        let logit = |k: usize| {
            let v = k as f32 - here as f32;
            let z = match model.layout.kind() {
                Kind::Categorical => -(self.balance * (slopes[k] - slopes[here])) - self.curvature,
                _ => -(self.balance * slopes[0] * v) - 0.5 * self.curvature * (v * v),
            };
            let far = model.layout.kind() == Kind::Ordinal && k.abs_diff(here) > self.window;
            if k == here { Some(0.0) } else { (!far).then_some(z.min_or_nan(f32::MAX)) }
        };
        (0..usize::from(model.arities[site])).map(logit).collect()
    }

    /// Whether a logit at a state is NaN.
    fn fails(&self, model: &Slopes, x: usize) -> bool {
        let sites = 0..model.arities.len();
        sites.into_iter().any(|site| self.logits(model, x, site).into_iter().flatten().any(f32::is_nan))
    }

    /// log q(y|x). `zero` is the weight of a logit of −∞.
    fn log_q(&self, model: &Slopes, x: usize, y: usize, zero: Option<f64>) -> f64 {
        let to = model.values(y);
        let site = |site: usize| {
            let logits = self.logits(model, x, site);
            let most = logits.iter().flatten().fold(0.0, |a: f64, &z| a.max(f64::from(z)));
            let weight = |z: &Option<f32>, zero: Option<f64>| match (*z, zero) {
                (None, _) => 0.0,
                (Some(f32::NEG_INFINITY), Some(zero)) => zero,
                (Some(z), _) => (f64::from(z) - most).max(-LIMIT).exp(),
            };
            let sum: f64 = logits.iter().map(|z| weight(z, zero.map(|_| 0.0))).sum();
            weight(&logits[to[site]], zero).ln() - sum.ln()
        };
        (0..to.len()).map(site).sum()
    }

    fn naive(&self, model: &Slopes, defect: Defect) -> Transitions {
        let states = model.energies.len();
        let shut: Vec<bool> = (0..states).map(|x| self.fails(model, x)).collect();
        Transitions::new(states, |x, y| {
            if shut[x] {
                return (if x == y { 0.0 } else { f64::NEG_INFINITY }, f64::NEG_INFINITY);
            }
            let (there, back) = match defect {
                Defect::None => (None, None),
                Defect::ZeroIsOne => (Some(0.0), Some(1.0)),
                Defect::CutOneWay => (Some(0.0), None),
            };
            let forward = self.log_q(model, x, y, there);
            let allowed = !shut[y] && model.energies[y] < f64::INFINITY && forward > f64::NEG_INFINITY;
            let ratio = || model.energies[x] - model.energies[y] + self.log_q(model, y, x, back) - forward;
            (forward, if allowed { ratio() } else { f64::NEG_INFINITY })
        })
    }
}

trait MinOrNan {
    fn min_or_nan(self, other: f32) -> f32;
}

impl MinOrNan for f32 {
    fn min_or_nan(self, other: f32) -> f32 {
        if other < self { other } else { self }
    }
}

/// The kernel's transitions. A state whose weights fail keeps its chain, as a fault; the reverse probability of a move is
/// the forward one of the move back, bit for bit.
fn transitions(
    model: &Slopes,
    transition: impl Fn(Ring<'_, dyn Energy + '_>, Packed<'_>) -> Transition,
) -> (Transitions, Vec<bool>) {
    let (space, energy) = (model.space(), Plain(model));
    let states = space.states();
    let mut chain = space.chain(&energy as &dyn Energy, 0);
    let mut found = vec![None; states * states];
    for x in (0..states).filter(|&x| space.distribution[x] > 0.0) {
        chain.restart(space.state(x)).unwrap();
        for y in 0..states {
            found[x * states + y] = Some(transition(chain.ring(), space.state(y)));
        }
    }
    // Where a chain cannot even stay without a fault.
    let shut: Vec<bool> = (0..states).map(|x| found[x * states + x].is_some_and(|at| at.fault)).collect();
    for (cell, there) in found.iter().enumerate() {
        let (x, y) = (cell / states, cell % states);
        let (Some(there), Some(back)) = (there, &found[y * states + x]) else { continue };
        assert!(!there.log_ratio.is_nan());
        assert_eq!(there.fault, shut[x] || shut[y], "{x} → {y}: {there:?}");
        assert!(!there.fault || there.log_ratio == f32::NEG_INFINITY, "{x} → {y}: {there:?}");
        assert!(there.fault || there.log_forward.to_bits() == back.log_reverse.to_bits(), "{there:?} {back:?}");
    }
    let of = |x: usize, y: usize| match &found[x * states + y] {
        Some(_) if shut[x] => (if x == y { 0.0 } else { f64::NEG_INFINITY }, f64::NEG_INFINITY),
        Some(there) => (f64::from(there.log_forward), f64::from(there.log_ratio)),
        None => (f64::NEG_INFINITY, f64::NEG_INFINITY),
    };
    (Transitions::new(states, of), shut)
}

/// Checks the kernel: detailed balance, and log q against the formula. Returns how many states are shut off.
fn judge(what: &str, model: &Slopes, proposal: Proposal) -> usize {
    let distribution = Distribution::from_energies(model.arities.len(), model.energies.clone());
    let sampler = proposal.sampler();
    let (found, shut) = transitions(model, |ring, to| sampler.transition(ring, to).unwrap());
    let verdict = found.judge(&distribution);
    assert!(verdict.passes(), "{what}, {proposal:?}: {verdict:?}");
    let naive = proposal.naive(model, Defect::None);
    assert!(
        naive.judge(&distribution).passes(),
        "{what}, {proposal:?}, naive: {:?}",
        naive.judge(&distribution)
    );
    let states = model.energies.len();
    for (x, y) in (0..states * states).map(|cell| (cell / states, cell % states)) {
        if distribution.probabilities[x] > 0.0 {
            assert_eq!(shut[x], proposal.fails(model, x));
            let (said, wrote) = (found.log_q(x, y), naive.log_q(x, y));
            let close = said == wrote || (said - wrote).abs() <= 1e-4;
            assert!(close, "{what}, {proposal:?}, {x} → {y}: {said} {wrote}");
        }
    }
    shut.iter().filter(|&&shut| shut).count()
}

/// E = √x: the gradient at 0 is +∞.
fn root(arity: u16) -> Slopes {
    let layout = Layout::ordinal(1, usize::from(arity));
    Slopes::new(layout, &[arity], |x| (x[0] as f64).sqrt(), |x, _, _| 0.5 / (x[0] as f32).sqrt())
}

/// Five allowed states of eight; 111 is two moves away from all others.
fn island(x: &[usize]) -> f64 {
    let allowed = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]];
    if allowed.iter().any(|state| state[..] == *x) { 0.0 } else { f64::INFINITY }
}

fn islands() -> [(&'static str, Slopes); 3] {
    let of = |layout| Slopes::differences(layout, &[2, 2, 2], island);
    [
        ("binary", of(Layout::binary(3))),
        ("planes", of(Layout::categorical(3, 2))),
        ("rows", of(Layout::categorical(3, 65))),
    ]
}

const FAR: usize = usize::MAX;

const PROPOSALS: [Proposal; 6] = [
    Proposal { balance: 0.5, curvature: 10.0, window: FAR },
    Proposal { balance: 0.5, curvature: 1.0, window: FAR },
    Proposal { balance: 0.8, curvature: 0.25, window: FAR },
    Proposal { balance: 1.0, curvature: 0.0, window: FAR },
    Proposal { balance: 0.5, curvature: 0.5, window: 1 },
    Proposal { balance: 0.5, curvature: 0.1, window: 2 },
];

#[test]
fn an_infinite_gradient_keeps_the_distribution() {
    for proposal in PROPOSALS {
        for arity in [4, 64, 70, 300] {
            assert_eq!(judge(&format!("√x of {arity} values"), &root(arity), proposal), 0);
        }
        for (name, model) in islands() {
            assert_eq!(judge(name, &model, proposal), 0);
        }
    }
}

#[test]
fn the_faults_of_infinite_gradients_are_seen() {
    for (what, model) in [("√x", root(4)), ("√x, rows", root(70))].into_iter().chain(islands()) {
        // Binary logits have always been cut; the naive sampler shows what it would be otherwise.
        let distribution = Distribution::from_energies(model.arities.len(), model.energies.clone());
        for proposal in &PROPOSALS[1..3] {
            for defect in [Defect::ZeroIsOne, Defect::CutOneWay] {
                // Where nothing is proposed that has no way back, there is nothing to see.
                let seen = !proposal.naive(&model, defect).judge(&distribution).passes();
                let there = defect == Defect::ZeroIsOne || what.starts_with('√');
                assert!(seen || !there, "{what}, {proposal:?}: {defect:?} is not seen");
            }
        }
    }
}

/// Any gradient at all: E and its slopes have nothing to do with each other.
fn wild(layout: Layout, arities: &[u16], source: &mut Source) -> Slopes {
    let states: usize = arities.iter().map(|&arity| usize::from(arity)).product();
    let energies: Vec<f64> = (0..states).map(|_| f64::from(source.coarse(1.0))).collect();
    let slopes = [0.0, 1.0, -1.0, 3e38, -3e38, 2e38, f32::INFINITY, f32::NEG_INFINITY];
    let chosen: Vec<f32> = (0..100_000).map(|_| slopes[source.below(slopes.len())]).collect();
    Slopes::new(
        layout,
        arities,
        |x| energies[place(arities, x)],
        |x, site, value| chosen[(place(arities, x) * 7 + site * 131 + value * 17) % chosen.len()],
    )
}

#[test]
fn no_gradient_whatever_breaks_detailed_balance() {
    let mut source = Source::new(33);
    let (mut shut, mut all) = (0, 0);
    for number in 0..120 {
        let arities: &[u16] = [&[2, 2, 2][..], &[4], &[5, 3], &[3, 1, 4], &[7]][number % 5];
        let most = usize::from(*arities.iter().max().unwrap());
        let many = if number % 2 == 0 { most } else { 66 };
        let sites = arities.len();
        let mut layouts = vec![Layout::categorical(sites, many), Layout::ordinal(sites, many)];
        if most == 2 {
            layouts.push(Layout::binary(sites));
        }
        for layout in layouts {
            let model = wild(layout, arities, &mut source);
            shut += judge("wild", &model, PROPOSALS[number % PROPOSALS.len()]);
            all += model.energies.len();
        }
    }
    // Both kinds of states are tried.
    assert!(shut > all / 20 && shut < all * 19 / 20, "{shut} of {all} states are shut off");
}

#[test]
fn second_order_with_infinite_gradients() {
    let d = [[0.25; 16]];
    let sampler = Langevin::second_order(Diagonal::new(&d).unwrap(), 2.0, 0.7).unwrap();
    for (what, model) in [("√x", root(4)), ("√x, rows", root(70))].into_iter().chain(islands()) {
        let distribution = Distribution::from_energies(model.arities.len(), model.energies.clone());
        let (found, _) = transitions(&model, |ring, to| sampler.transition_given(ring, to, &[]).unwrap());
        let verdict = found.judge(&distribution);
        assert!(verdict.passes(), "{what}: {verdict:?}");
    }
}

/// Replicas from exact starts.
fn exact_start<K: Kernel<Plain<Slopes>> + Sync>(what: &str, model: Slopes, kernel: &K) -> Verdict {
    let (space, energy) = (model.space(), Plain(model));
    let plan = Plan { replicas: 9_600, ..Plan::usual(33) };
    let ends = space.ends(&plan, &energy, kernel, 0);
    chi_square(what, &ends, &space.distribution)
}

#[test]
fn exact_starts_stay_exact() {
    let mut couplings = Couplings::new(3, 2);
    let edges = [(0, 1, 0.2), (1, 2, -0.1)];
    let form = Ising::spins_edges_once(3, edges, &[0.0; 3], couplings.borrow()).unwrap();
    let mut d = [[0.0; 16]];
    let noise = Edgewise::new(SparseMatrix::of(form.form()), &mut d).unwrap();
    for number in 0..3 {
        let model = || {
            let [(_, a), (_, b), (_, c)] = islands();
            [a, b, c].into_iter().nth(number).unwrap()
        };
        exact_start("DMALA", model(), &Langevin::adjusted(1.0).unwrap()).must_pass();
        exact_start("AB-1st", model(), &Langevin::balanced(2.0, 0.8).unwrap()).must_pass();
        if number < 2 {
            let second = Langevin::second_order(noise, 2.0, 0.8).unwrap();
            exact_start("AB-edge", model(), &second).must_pass();
            exact_start("GWG-3", model(), &GibbsWithGradients::new(3).unwrap()).must_pass();
            exact_start("PAS-3", model(), &PathAuxiliary::new(3).unwrap()).must_pass();
        }
        exact_start("DULA taken for DMALA", model(), &Langevin::unadjusted(1.0).unwrap()).must_fail();
    }
    for arity in [4, 70] {
        exact_start("√x, DMALA", root(arity), &Langevin::adjusted(2.0).unwrap()).must_pass();
        exact_start("√x, windows", root(arity), &Langevin::adjusted(2.0).unwrap().within(2)).must_pass();
        exact_start("√x, DULA", root(arity), &Langevin::unadjusted(2.0).unwrap()).must_fail();
    }
}

/// GWG and PAS give a move of logit −∞ no weight at all: they keep the distribution, and never come to 111.
#[test]
fn paths_never_reach_the_island() {
    for (name, model) in islands().into_iter().take(2) {
        let (space, energy) = (model.space(), Plain(&model));
        let mut rng = LaneRng::stream(33, 1);
        let mut chain = space.chain(&energy, 0);
        let mut reached = |kernel: &dyn Fn(&mut _, &mut LaneRng) -> bitmc::Info| {
            let mut counts = [0u64; 8];
            chain.restart(space.state(0)).unwrap();
            for _ in 0..40_000 {
                let info = kernel(&mut chain, &mut rng);
                assert!(!info.fault);
                counts[space.number(chain.state())] += 1;
            }
            counts
        };
        for counts in [
            reached(&|chain, rng| chain.step(&GibbsWithGradients::new(3).unwrap(), rng)),
            reached(&|chain, rng| chain.step(&PathAuxiliary::new(3).unwrap(), rng)),
        ] {
            assert_eq!(counts[7], 0, "{name}: {counts:?}");
        }
    }
}

#[test]
fn chains_that_step_together_are_cut_alike() {
    for (name, model) in islands() {
        let (space, energy) = (model.space(), Plain(&model));
        let sampler = Langevin::adjusted(1.0).unwrap();
        let start = || std::array::from_fn::<_, 4, _>(|_| space.chain(&energy, 0));
        let rngs = || std::array::from_fn::<_, 4, _>(|stream| LaneRng::stream(5, stream as u32));
        let (mut ones, mut one_rngs, mut others, mut other_rngs) = (start(), rngs(), start(), rngs());
        let mut moved = 0;
        for _ in 0..500 {
            let mut infos = vec![Info::default(); ones.len()];
            sampler.step_together(&mut ones, &mut one_rngs, &mut infos).unwrap();
            for (number, (chain, rng)) in others.iter_mut().zip(&mut other_rngs).enumerate() {
                let info = chain.step(&sampler, rng);
                assert_eq!((info, chain.core()), (infos[number], ones[number].core()), "{name}");
                moved += info.moved();
            }
        }
        assert!(moved > 100, "{name}: {moved}");
    }
}
