//! Transition matrices of chains that are told their energies: right, and told the gradient at the old state.

use crate::open::{HeapOpen, evaluate, here, open};
use bitmc::lane::{Block, LANES, LogProduct};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, Noise, SparseMatrix};
use bitmc::open::{Ask, open_snapshot_len};
use bitmc::snapshot::{BoundedSnapshot, FRAME, Writer};
use bitmc::step::{Choice, Curvature, Cycle, Transition, langevin_cycle};
use bitmc::{
    Function, GibbsWithGradients, Ising, Kind, LaneRng, Langevin, Layout, Move, Packed, PathAuxiliary, Plain,
    RandomWalk, Rng, Schedule, SeedableRng,
};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::{self, Couplings, HeapChain};
use bitmc_host_tests::matrix::Transitions;
use bitmc_host_tests::noise::{Auxiliary, factor};
use bitmc_host_tests::paths::{Model, Rule};
use bitmc_host_tests::planes::{Own, Tables, Wide};
use bitmc_host_tests::space::Space;
use bitmc_host_tests::tolerance;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

type PlainChain<'c, 'f> = HeapChain<'c, Plain<&'f dyn Function>>;
/// Energy and gradient for a move from a state to another.
type Told<'t> = &'t dyn Fn(Packed<'_>, Packed<'_>) -> (f32, Vec<f32>);

/// The energy at y, but the gradient at x: the negative control.
fn stale(function: &dyn Function) -> impl Fn(Packed<'_>, Packed<'_>) -> (f32, Vec<f32>) {
    move |x, y| (function.total(y), evaluate(function, x).1)
}

fn right(function: &dyn Function) -> impl Fn(Packed<'_>, Packed<'_>) -> (f32, Vec<f32>) {
    move |_, y| evaluate(function, y)
}

/// Puts a chain at a state, where it is in step `steps`: it was told as often that a proposal has an infinite energy.
fn place<K: Ask>(
    one: &mut HeapOpen<'_>,
    (x, at): (Packed<'_>, &(f32, Vec<f32>)),
    kernel: &K,
    steps: u32,
    rng: &mut LaneRng,
) {
    one.restart(x, at.0, &at.1).unwrap();
    for _ in 0..steps {
        one.ask(kernel, rng).unwrap();
        assert!(!one.tell(f32::INFINITY, &[]).unwrap().accepted);
    }
}

/// The matrix of a sampler in step `steps` of a chain, from its `log q` and from what it said when told.
fn matrix<'f, K: Ask>(
    space: &Space,
    function: &'f dyn Function,
    (kernel, steps): (&K, u32),
    log_q: impl Fn(&mut PlainChain<'_, 'f>, Packed<'_>) -> f32,
    told: Told<'_>,
) -> Transitions {
    let plain = Plain(function);
    let (states, start) = (space.states(), space.distribution.iter().position(|&p| p > 0.0).unwrap());
    let mut chain = heap::chain(&plain, &space.words[start]).unwrap();
    let mut one = open(function, space.state(start));
    let mut rng = LaneRng::seed_from_u64(3);
    let mut log_a = vec![None; states * states];
    let mut forward = vec![f32::NEG_INFINITY; states * states];
    for x in (0..states).filter(|&x| space.distribution[x] > 0.0) {
        chain.restart(space.state(x)).unwrap();
        for y in 0..states {
            forward[x * states + y] = log_q(&mut chain, space.state(y));
        }
        let wanted = (0..states).filter(|&y| forward[x * states + y] > f32::NEG_INFINITY).count();
        let (mut found, at) = (0, evaluate(function, space.state(x)));
        for _ in 0..4_000_000 {
            if found == wanted {
                break;
            }
            place(&mut one, (space.state(x), &at), kernel, steps, &mut rng);
            let number = space.number(one.ask(kernel, &mut rng).unwrap());
            let cell = &mut log_a[x * states + number];
            if cell.is_none() {
                let (energy, gradient) = told(space.state(x), space.state(number));
                *cell = Some(one.tell(energy, &gradient).unwrap().log_ratio);
                found += 1;
            }
        }
        assert_eq!(found, wanted, "not every state was proposed from {x}");
    }
    Transitions::new(states, |x, y| {
        let cell = x * states + y;
        (f64::from(forward[cell]), log_a[cell].map_or(f64::NEG_INFINITY, f64::from))
    })
}

/// Small functions of every kind, with a step size.
fn models() -> [(Tables, Layout, f32); 3] {
    [
        (Tables::new(Kind::Categorical, &[3, 2, 3], 0.6, 11), Layout::categorical(3, 3), 3.0),
        (Tables::new(Kind::Ordinal, &[4, 3], 0.7, 12), Layout::ordinal(2, 4), 6.0),
        (Tables::new(Kind::Categorical, &[2, 2, 2, 2], 0.8, 13), Layout::categorical(4, 2), 2.0),
    ]
}

/// Calls `judge` for each model: its space, its function and a step size.
fn each_model(mut judge: impl FnMut(&Space, &dyn Function, f32)) {
    for (tables, layout, scale) in &models() {
        judge(&Space::tables(tables, *layout), &Own(tables), *scale);
    }
    // Binary, one state forbidden.
    let count = Count { sites: 4, most: 3.0, weight: 0.375 };
    judge(&Space::binary(&count), &count, 2.0);
}

/// Langevin in a step of a cycle or alone: its matrix is right, and is not where it is told the old gradient.
fn judge_langevin<K: Ask, N: Noise + std::fmt::Debug>(
    space: &Space,
    function: &dyn Function,
    (kernel, steps): (&K, u32),
    sampler: &Langevin<'_, N>,
) -> Transitions {
    let log_q = |chain: &mut PlainChain<'_, '_>, y: Packed<'_>| {
        sampler.transition_given(chain.ring(), y, &[]).unwrap().log_forward
    };
    let name = format!("{:?}, step {steps}, {sampler:?}", space.layout);
    let found = matrix(space, function, (kernel, steps), log_q, &right(function));
    let verdict = found.judge(space.exact());
    assert!(verdict.passes(), "{name}: {verdict:?}");
    let verdict = matrix(space, function, (kernel, steps), log_q, &stale(function)).judge(space.exact());
    assert!(!verdict.passes(), "{name}, told the old gradient: {verdict:?}");
    found
}

#[test]
fn told_langevin_keeps_the_distribution() {
    each_model(|space, function, scale| {
        let each = [std::array::from_fn(|lane| (0.5 + 0.25 * lane as f32) / scale); 1];
        let adjusted = Langevin::adjusted(scale).unwrap();
        for sampler in [
            adjusted,
            Langevin::balanced(0.7 * scale, 0.8).unwrap(),
            adjusted.within(1),
            adjusted.within(2),
            Langevin::new(0.5, Curvature::Each(&each), true).unwrap(),
            Langevin::new(0.6, Curvature::Times(0.7, &each), true).unwrap().within(2),
        ] {
            judge_langevin(space, function, (&sampler, 0), &sampler);
        }
        // D alone is no noise.
        let second = Langevin::second_order(Diagonal::new(&each).unwrap(), scale, 0.8).unwrap();
        judge_langevin(space, function, (&second, 0), &second);
        let walk = RandomWalk::new(1.2).unwrap();
        let log_q = |chain: &mut PlainChain<'_, '_>, y: Packed<'_>| {
            walk.transition(chain.ring(), y).unwrap().log_forward
        };
        let verdict = matrix(space, function, (&walk, 0), log_q, &right(function)).judge(space.exact());
        assert!(verdict.passes(), "{:?}, random walk: {verdict:?}", space.layout);
        let half = |_: Packed<'_>, y: Packed<'_>| (0.5 * function.total(y), vec![]);
        let verdict = matrix(space, function, (&walk, 0), log_q, &half).judge(space.exact());
        assert!(!verdict.passes(), "{:?}, random walk, told half the energy: {verdict:?}", space.layout);
    });
}

#[test]
fn a_told_cycle_keeps_the_distribution() {
    each_model(|space, function, scale| {
        if space.states() > 16 {
            return;
        }
        let step_size = Schedule::cyclical_step_size(2.0 * scale, 0.7 * scale, 3).unwrap();
        let kernels = langevin_cycle::<3>(&step_size, &Schedule::cosine(0.9, 0.5, 3).unwrap()).unwrap();
        let cycle = Cycle::new(&kernels).unwrap();
        // Each position has the probabilities of its own kernel.
        let steps: Vec<Transitions> = (0..)
            .zip(&kernels)
            .map(|(step, sampler)| judge_langevin(space, function, (&cycle, step), sampler))
            .collect();
        // All three in turn: the distribution stays, though the product is not reversible.
        let through = |p: Vec<f64>, step: &Transitions| -> Vec<f64> {
            let moved = |x: usize, y: usize| if p[x] > 0.0 { p[x] * step.moves(x, y) } else { 0.0 };
            let states = 0..p.len();
            let net =
                |y| -> f64 { states.clone().filter(|&x| x != y).map(|x| moved(x, y) - moved(y, x)).sum() };
            states.clone().map(|y| p[y] + net(y)).collect()
        };
        let end = steps.iter().fold(space.distribution.clone(), through);
        let worst = end.iter().zip(&space.distribution).fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs()));
        assert!(worst <= 3.0 * tolerance::STATIONARITY, "{:?}: {worst}", space.layout);
        // A kernel at the position of another is seen.
        let log_q = |chain: &mut PlainChain<'_, '_>, y: Packed<'_>| {
            kernels[0].transition(chain.ring(), y).unwrap().log_forward
        };
        let verdict = matrix(space, function, (&cycle, 1), log_q, &right(function)).judge(space.exact());
        assert!(!verdict.passes(), "{:?}, position 1 as position 0: {verdict:?}", space.layout);
    });
}

/// The sites of the path that was asked, in its order: they stand in the snapshot before the proposal and its normaliser.
fn path_of(chain: &HeapOpen<'_>) -> Vec<Choice> {
    let layout = chain.state().layout();
    let mut bytes = vec![0; FRAME + open_snapshot_len(layout)];
    let len = Writer::new(&mut bytes).put(chain).finish().unwrap();
    let end = len - 4 - 4 * layout.words() - LogProduct::LEN - 6;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let sites = end - 4 - 4 * 64;
    let y = chain.asked().unwrap();
    (0..word(end - 4) as usize)
        .map(|index| word(sites + 4 * index) as usize)
        .map(|site| Choice { site, value: y.get(site) })
        .collect()
}

/// What is said when every path from every state is told.
fn told_paths<K: Ask>(
    space: &Space,
    function: &dyn Function,
    kernel: &K,
    (model, rule): (&Model, Rule),
    told: Told<'_>,
) -> HashMap<(usize, Vec<(usize, u32)>), f64> {
    let mut said = HashMap::new();
    let start = space.distribution.iter().position(|&p| p > 0.0).unwrap();
    let (mut one, mut rng) = (open(function, space.state(start)), LaneRng::seed_from_u64(4));
    for x in (0..space.states()).filter(|&x| space.distribution[x] > 0.0) {
        let (mut left, at) = (model.paths(rule, x).len(), evaluate(function, space.state(x)));
        for _ in 0..4_000_000 {
            if left == 0 {
                break;
            }
            one.restart(space.state(x), at.0, &at.1).unwrap();
            let gradient = here(&one, function);
            one.ask_with(kernel, &gradient, &mut rng).unwrap();
            let path = path_of(&one).iter().map(|choice| (choice.site, choice.value)).collect();
            if let std::collections::hash_map::Entry::Vacant(slot) = said.entry((x, path)) {
                let y = one.asked().unwrap().words().to_vec();
                let (energy, gradient) = told(space.state(x), Packed::new(space.layout, &y).unwrap());
                slot.insert(f64::from(one.tell(energy, &gradient).unwrap().log_ratio));
                left -= 1;
            }
        }
        assert_eq!(left, 0, "not every path was drawn from {x}");
    }
    said
}

/// A sampler that draws indices: path by path, and the distribution; not where it is told the old gradient.
fn judge_paths<'f, K: Ask>(
    name: &str,
    (space, function): (&Space, &'f dyn Function),
    (model, rule): (&Model, Rule),
    kernel: &K,
    transition: impl Fn(&mut PlainChain<'_, 'f>, &[Choice]) -> Transition,
) {
    let plain = Plain(function);
    let start = space.distribution.iter().position(|&p| p > 0.0).unwrap();
    let chain = RefCell::new(heap::chain(&plain, &space.words[start]).unwrap());
    let verdict = |told: Told<'_>| {
        let said = told_paths(space, function, kernel, (model, rule), told);
        model.judge(rule, |x, path| {
            let chain = &mut *chain.borrow_mut();
            chain.restart(space.state(x)).unwrap();
            let log_q = f64::from(transition(chain, path).log_forward);
            let path = path.iter().map(|choice| (choice.site, choice.value)).collect();
            (log_q, said[&(x, path)])
        })
    };
    let mut found = verdict(&right(function));
    if model.many {
        found.rows *= tolerance::ROW_SUM / tolerance::ROW_SUM_OF_LOGARITHMS;
    }
    assert!(found.passes(), "{name}, {rule:?}: {found:?}");
    let old = verdict(&stale(function));
    assert!(!old.keeps_the_distribution(), "{name}, {rule:?}, told the old gradient: {old:?}");
}

fn judge_indices(name: &str, space: &Space, function: &dyn Function, model: &Model, binary: bool) {
    let rule = Rule { indices: 1, replace: binary, backwards: false, exact: false };
    for indices in 1..=3 {
        let kernel = GibbsWithGradients::new(indices).unwrap();
        let rule = Rule { indices: indices as usize, ..rule };
        judge_paths(name, (space, function), (model, rule), &kernel, |chain, path| {
            kernel.transition(chain.ring(), path).unwrap()
        });
        let kernel = PathAuxiliary::new(indices).unwrap();
        let rule = Rule { replace: false, backwards: true, ..rule };
        judge_paths(name, (space, function), (model, rule), &kernel, |chain, path| {
            kernel.transition(chain.ring(), path).unwrap()
        });
    }
}

#[test]
fn told_paths_keep_the_distribution() {
    for (tables, layout, _) in &models() {
        let (own, mut model) = (Own(tables), Model::tables(tables));
        judge_indices(&format!("{layout:?}"), &Space::tables(tables, *layout), &own, &model, false);
        // The same among 70 values.
        let wide = Wide(own);
        model.many = true;
        let space = Space::tables(tables, Function::layout(&wide));
        judge_indices(&format!("{:?}", space.layout), &space, &wide, &model, false);
    }
    let count = Count { sites: 4, most: 3.0, weight: 0.375 };
    judge_indices("binary", &Space::binary(&count), &count, &Model::binary(&count), true);
}

/// A noise that has drawn this.
#[derive(Clone, Copy)]
struct Drawn<'e, N> {
    noise: N,
    eta: &'e [Block],
}

impl<N: Noise> Noise for Drawn<'_, N> {
    const SOME: bool = N::SOME;

    fn d(&self) -> Option<&[Block]> {
        self.noise.d()
    }

    fn sites(&self) -> Option<usize> {
        self.noise.sites()
    }

    fn draw<R: Rng + ?Sized>(&self, _: &mut R, eta: &mut [Block], _: usize) {
        eta.copy_from_slice(self.eta);
    }

    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize) {
        self.noise.follow(step, eta, planes);
    }
}

/// A sampler of second order: point by point of its auxiliary variable, and integrated over it where that has few components.
/// Moves that are proposed less than once in fifty times have the ratio of the chain over the function. Returns how often it
/// was integrated.
fn judge_noise<N: Noise + Copy>(
    name: &str,
    (space, function): (&Space, &dyn Function),
    noise: N,
    window: Option<u32>,
) -> usize {
    let (plain, layout) = (Plain(function), space.layout);
    let values = |x: usize| space.state(x).values().map(|value| value as usize).collect::<Vec<_>>();
    let factor = factor(&noise, layout.sites(), 4 * LANES);
    let mut integrated = 0;
    for (precision, step_size, balance) in [(1.0f32, f32::INFINITY, 1.0), (0.25, 2.0, 0.8)] {
        let sampler = Langevin::second_order(noise, step_size, balance).unwrap().precision(precision).unwrap();
        let sampler = window.map_or(sampler, |window| sampler.within(window));
        let (rng, told_cells) = (RefCell::new(LaneRng::seed_from_u64(5)), Cell::new(0));
        let run = |told: Told<'_>| {
            let transition = |from: &[u32], to: Packed<'_>, eta: &[Block]| {
                let mut chain = heap::chain(&plain, from).unwrap();
                let found = sampler.transition_given(chain.ring(), to, eta).unwrap();
                if found.log_forward < 0.02f32.ln() {
                    return found;
                }
                // A draw is divided by √κ: exactly, for κ = 1 and ¼.
                let scaled: Vec<Block> = eta.iter().map(|block| block.map(|x| x * precision.sqrt())).collect();
                let drawn = Drawn { noise, eta: &scaled };
                let drawn = Langevin::second_order(drawn, step_size, balance).unwrap();
                let drawn = drawn.precision(precision).unwrap();
                let drawn = window.map_or(drawn, |window| drawn.within(window));
                let x = Packed::new(layout, from).unwrap();
                let (at, mut one) = (evaluate(function, x), open(function, x));
                for _ in 0..100_000 {
                    one.restart(x, at.0, &at.1).unwrap();
                    if one.ask(&drawn, &mut *rng.borrow_mut()).unwrap() == to {
                        let (energy, gradient) = told(x, to);
                        told_cells.set(told_cells.get() + 1);
                        let log_ratio = one.tell(energy, &gradient).unwrap().log_ratio;
                        return Transition { log_ratio, ..found };
                    }
                }
                panic!("{name}: never proposed");
            };
            let auxiliary = Auxiliary {
                layout,
                states: (0..space.states()).map(values).collect(),
                log_pi: space.distribution.iter().map(|p| p.ln()).collect(),
                transition: &transition,
                factor: factor.clone(),
                precision: f64::from(precision),
                without_auxiliary: false,
            };
            let mut draws = LaneRng::seed_from_u64(6);
            let mut normal = || bitmc::random::normals(&mut draws).map(|z| 2.0 * f64::from(z));
            let points: Vec<Vec<f64>> =
                (0..6).map(|_| normal().into_iter().cycle().take(auxiliary.components()).collect()).collect();
            let integral = auxiliary.few_components().then(|| auxiliary.integrate());
            (auxiliary.asymmetry(&points), integral)
        };
        let name = format!("{name}, κ {precision}, σ {step_size}, α {balance}");
        let (asymmetry, integral) = run(&right(function));
        assert!(asymmetry <= tolerance::ASYMMETRY, "{name}: {asymmetry}");
        let least = 6 * space.states();
        assert!(told_cells.get() > least, "{name}: {} ratios were told", told_cells.get());
        let (old, broken) = run(&stale(function));
        assert!(old > 100.0 * tolerance::ASYMMETRY, "{name}, told the old gradient: {old}");
        if let (Some(found), Some(broken)) = (integral, broken) {
            assert!(found.passes(), "{name}, integrated: {found:?}");
            assert!(!broken.passes(), "{name}, integrated, told the old gradient: {broken:?}");
            integrated += 1;
        }
    }
    integrated
}

#[test]
fn told_chains_of_second_order_keep_the_distribution() {
    let mut integrated = 0;
    let mut judge_all = |space: &Space, function: &dyn Function| {
        let (sites, name) = (space.layout.sites(), format!("{:?}", space.layout));
        let of = |value: f32| [std::array::from_fn(|lane| if lane < sites { value } else { 0.0 })];
        // W with couplings of .25 between neighbours.
        let mut memory = Couplings::new(sites, sites);
        let edges = (1..sites as u32).map(|site| (site - 1, site, 0.25));
        let form = Ising::bits_edges_once(sites, edges, &vec![0.0; sites], memory.borrow()).unwrap().form();
        let matrix = SparseMatrix::of(form);
        let mut own = [[0.0; LANES]];
        let edgewise = Edgewise::new(matrix, &mut own).unwrap();
        integrated += judge_noise(&format!("{name}, edge-wise"), (space, function), edgewise, Some(1));
        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
        let mut root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
        let mut d = of(0.5);
        let dense = Dense::new(DenseMatrix::of(&matrix, &mut rows).unwrap(), &mut d, &mut root).unwrap();
        integrated += judge_noise(&format!("{name}, dense"), (space, function), dense, None);
    };
    for (kind, arities) in [(Kind::Ordinal, &[3, 2][..]), (Kind::Categorical, &[2, 2])] {
        let tables = Tables::new(kind, arities, 0.6, 21);
        let own = Own(&tables);
        judge_all(&Space::tables(&tables, Function::layout(&own)), &own);
    }
    let count = Count { sites: 2, most: 3.0, weight: 0.375 };
    judge_all(&Space::binary(&count), &count);
    assert!(integrated >= 6, "{integrated}");
}
