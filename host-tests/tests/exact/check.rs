//! `energy::check` finds what is wrong with an energy, and nothing where nothing is. That the kernel's own energies pass is
//! in `comparison::Case`, too.

use bitmc::chain::Buffer;
use bitmc::energy::{Answer, CheckError, Checked, EnergyError, Slope, Tempered, check};
use bitmc::lane::{Bits, Block};
use bitmc::{
    Chain, ChainError, Energy, Function, LaneRng, Langevin, Layout, Move, Packed, Plain, Potts, SeedableRng,
    StateError,
};
use bitmc_chains::models::{Circle, Heights, IndependentSet, Ladder};
use bitmc_host_tests::comparison::consistent;
use bitmc_host_tests::factors::Graph;
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::passes_on;
use core::cell::Cell;
use core::ops::Range;

/// Some allowed states.
fn states<E: Energy + ?Sized>(energy: &E, count: usize, seed: u64) -> Vec<Vec<u32>> {
    let (layout, mut source) = (energy.layout(), Source::new(seed));
    let mut cache = vec![[0; 16]; energy.cache_len()];
    let mut found = Vec::new();
    while found.len() < count {
        let arity = |site| energy.arities().map_or(layout.arity(), |arities| usize::from(arities[site]));
        let sparse = source.uniform();
        let mut value = |site| if source.uniform() < sparse { 0.0 } else { source.below(arity(site)) as f64 };
        let words = heap::pack_in(layout, &(0..layout.sites()).map(&mut value).collect::<Vec<_>>());
        if energy.init(Packed::new(layout, &words).unwrap(), &mut cache).is_ok_and(f32::is_finite) {
            found.push(words);
        }
    }
    found
}

#[test]
fn right_energies_pass() {
    fn passes(name: &str, energy: &dyn Energy) -> Checked {
        consistent(name, energy, &states(energy, 3, 1))
    }
    // A product over many values, ordinal ones, and constraints.
    let circle = passes("70 values", &Plain(Circle));
    assert!(circle.moves == 3 * 3 * 69 && circle.slope.is_some_and(|slope| (slope - 1.0).abs() < 1e-5));
    assert!(passes("300 values in order", &Plain(Heights)).gap < 1e-5);
    assert!(passes("5 values in order", &Plain(Ladder)).gap < 1e-5);
    // The constraint is not in the gradient: forbidden moves are not compared.
    let set = passes("independent sets", &Plain(IndependentSet));
    assert!(set.moves > 10 && set.moves < 120 && set.slope == Some(1.0) && set.gap == 0.0, "{set:?}");
    // Mixed arities, with hard constraints and without: multilinear.
    for walls in [0.0, 0.15] {
        let graph = Graph::random(&[2, 3, 5, 1, 4, 2, 3], 1.0, walls, true, 4);
        let mut compiled = graph.compiled();
        let checked = passes("factors", &compiled.model().unwrap());
        assert!(
            checked.slope.is_some_and(|slope| (slope - 1.0).abs() < 1e-4) && checked.gap < 1e-4,
            "{checked:?}"
        );
    }
    let mut memory = Couplings::new(9, 9);
    let edges: Vec<_> = (0..9).map(|site| (site, (site + 1) % 9, 0.7)).collect();
    let fields: Vec<f32> = (0..9 * 5).map(|index| (index % 7) as f32 * 0.3).collect();
    let potts = Potts::new(9, 5, edges, &fields, memory.borrow()).unwrap();
    let checked = passes("Potts", &potts);
    assert!(checked.slope.is_some_and(|slope| (slope - 1.0).abs() < 1e-4), "{checked:?}");
    let tempered = Tempered::new(&potts, 0.4).unwrap();
    passes("tempered Potts", &tempered);
}

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    None,
    /// ∂E/∂x has the other sign.
    Sign,
    /// ∂E/∂x of one component is NaN.
    Nan,
    /// The gradient of a row alone is that of the first one.
    FirstRow,
    /// All points have the gradient of the first.
    FirstPoint,
    /// A move of one site has twice its difference.
    TwiceShift,
    /// A move of many sites has that of its first site alone.
    OneOfMany,
    /// `shift` leaves the cache where it was.
    StaleCache,
    /// The difference of value 1 of site 2 is off by .01.
    Difference,
    /// A constraint that `differences` does not know.
    NoConstraint,
    /// `differences` leaves the site at another value.
    Words,
    /// The total depends on when it is asked for.
    Total,
    /// The total of a neighbour is NaN.
    Fault,
}

/// An energy with a flaw.
struct Flawed<E> {
    energy: E,
    flaw: Flaw,
    asked: Cell<u32>,
}

impl<E: Energy> Flawed<E> {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }
}

impl<E: Energy> Energy for Flawed<E> {
    passes_on!(energy: layout, cache_len, arities);

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        let total = self.energy.init(x, cache)?;
        self.asked.set(self.asked.get() + 1);
        match self.flaw {
            Flaw::Total if self.asked.get() == 1 => Ok(total + 1.0),
            Flaw::Fault if x.get(2) == 1 && x.get(1) == 1 => Err(EnergyError::Nan),
            Flaw::NoConstraint if x.get(2) == 1 && x.get(1) == 1 => Ok(f32::INFINITY),
            _ => Ok(total),
        }
    }

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        let rows = if self.is(Flaw::FirstRow) && rows.len() == 1 { 0..1 } else { rows };
        self.energy.gradient(x, cache, rows, out);
        let out = out.as_flattened_mut();
        match self.flaw {
            Flaw::Sign => out.iter_mut().for_each(|g| *g = -*g),
            Flaw::Nan => out[1] = f32::NAN,
            _ => {}
        }
    }

    fn gradients(&self, points: &mut [Slope<'_>]) {
        let Some((first, rest)) = points.split_first_mut() else { return };
        for point in std::iter::once(&mut *first) {
            self.gradient(point.x, point.cache, 0..point.x.layout().rows(), point.out);
        }
        for point in rest {
            if self.is(Flaw::FirstPoint) {
                point.out.copy_from_slice(first.out);
            } else {
                self.gradient(point.x, point.cache, 0..point.x.layout().rows(), point.out);
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let (count, before) = (step.count(), cache.to_vec());
        let difference = self.energy.shift(step, cache);
        let change = step.changes().next().unwrap();
        if self.is(Flaw::StaleCache) {
            cache.copy_from_slice(&before);
        }
        match self.flaw {
            Flaw::TwiceShift if count == 1 => 2.0 * difference,
            Flaw::OneOfMany if count > 1 => {
                let mut cache = before;
                let layout = self.layout();
                let mut from: Vec<u32> = step.to().words().to_vec();
                for change in step.changes() {
                    bitmc::packed::set(layout, &mut from, change.site, change.from).unwrap();
                }
                let mut to = from.clone();
                bitmc::packed::set(layout, &mut to, change.site, change.to).unwrap();
                let (from, to) = (Packed::new(layout, &from).unwrap(), Packed::new(layout, &to).unwrap());
                self.energy.shift(&Move::new(from, to).unwrap(), &mut cache)
            }
            _ => difference,
        }
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.energy.differences(words, cache, site, out);
        if self.is(Flaw::Difference) && site == 2 {
            out[1] += 0.01;
        }
        if self.is(Flaw::Words) && site == 2 {
            bitmc::packed::set(self.layout(), words, site, 1).unwrap();
        }
    }
}

/// Every flaw that an energy can have, and what is said of it.
fn each_is_found(name: &str, energy: &impl Energy, states: &[Vec<u32>]) {
    let found = |flaw| {
        let flawed = Flawed { energy: By(energy), flaw, asked: Cell::new(0) };
        let states = states.iter().map(|words| Packed::new(energy.layout(), words).unwrap());
        check(&flawed, &mut heap::memory(energy), states)
    };
    assert!(found(Flaw::None).is_ok(), "{name}: {:?}", found(Flaw::None));
    let off = |flaw| match found(flaw) {
        Err(error @ CheckError::Off { answer, site, value, need, got, .. }) => {
            assert!(error.to_string().contains(&format!("site {site}, value {value}")), "{error}");
            (answer, site, need, got)
        }
        other => panic!("{name}, {flaw:?}: {other:?}"),
    };
    assert!(matches!(found(Flaw::Sign), Err(CheckError::Sign { slope }) if slope < 0.0), "{name}");
    assert!(off(Flaw::Nan).0 == Answer::Gradient && off(Flaw::Nan).3.is_nan(), "{name}");
    let (answer, _, need, got) = off(Flaw::Total);
    assert_eq!((answer, need), (Answer::Total, got + 1.0), "{name}");
    assert_eq!(off(Flaw::Words), (Answer::Words, 2, 0.0, 1.0), "{name}");
    let (answer, _, need, got) = off(Flaw::Fault);
    assert!(answer == Answer::Total && need.is_finite() && got.is_nan(), "{name}");
    let (answer, site, need, got) = off(Flaw::Difference);
    assert_eq!((answer, site), (Answer::Differences, 2), "{name}");
    assert!((got - need - 0.01).abs() < 1e-3, "{name}: by how much");
    let (answer, _, need, got) = off(Flaw::NoConstraint);
    assert!(answer == Answer::Differences && need == f32::INFINITY && got.is_finite(), "{name}");
    let (answer, _, need, got) = off(Flaw::TwiceShift);
    assert!(answer == Answer::Shift && (got - 2.0 * need).abs() < 1e-3, "{name}");
    assert!(matches!(off(Flaw::OneOfMany).0, Answer::Move | Answer::Back), "{name}");
    let (answer, ..) = off(Flaw::StaleCache);
    assert!(matches!(answer, Answer::Cache | Answer::CacheGradient | Answer::Back), "{name}: {answer:?}");
    if energy.layout().rows() > 1 && energy.layout().arity() < Layout::MANY {
        assert_eq!(off(Flaw::FirstRow).0, Answer::Gradient, "{name}");
    }
    if !energy.layout().row_is_site() {
        assert_eq!(off(Flaw::FirstPoint).0, Answer::Gradients, "{name}");
    }
}

/// An energy by reference.
struct By<'e, E>(&'e E);

impl<E: Energy> Energy for By<'_, E> {
    passes_on!(0: layout, cache_len, arities, init, gradient, shift, differences);
}

/// Allowed states, in the first of which site 1 is 1 and site 2 is 0: [`Flaw::Fault`] and [`Flaw::NoConstraint`] are one
/// move away, and no state of the list has both at 1.
fn before_the_flaws(energy: &impl Energy) -> Vec<Vec<u32>> {
    let layout = energy.layout();
    let mut list = states(energy, 3, 2);
    bitmc::packed::set(layout, &mut list[0], 1, 1).unwrap();
    list.iter_mut().for_each(|words| bitmc::packed::set(layout, words, 2, 0).unwrap());
    list
}

#[test]
fn every_flaw_is_found() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 20, 0.5, 0.5, 3);
    let mut memory = model.couplings();
    let ising = memory.ising(&model).unwrap();
    each_is_found("Ising", &ising, &before_the_flaws(&ising));
    let graph = Graph::random(&[2, 3, 5, 1, 4, 2, 3, 5, 3, 3, 2, 4, 2, 3, 5, 1, 4, 2, 3], 0.5, 0.0, true, 4);
    let mut compiled = graph.compiled();
    let factors = compiled.model().unwrap();
    each_is_found("factors", &factors, &before_the_flaws(&factors));
    each_is_found("in order", &Plain(Ladder), &before_the_flaws(&Plain(Ladder)));
    each_is_found("70 values", &Plain(Circle), &before_the_flaws(&Plain(Circle)));
    each_is_found("300 values in order", &Plain(Pulled), &before_the_flaws(&Plain(Pulled)));
}

/// [`Heights`] that pull at each other.
struct Pulled;

impl Function for Pulled {
    fn layout(&self) -> Layout {
        Heights.layout()
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        Heights.total(x) + (x.get(0) * x.get(1) + x.get(1) * x.get(2)) as f32 / 4096.0
    }

    fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
        let near = if site == 1 { x.get(0) + x.get(2) } else { x.get(1) };
        Heights.gradient(x, site) + near as f32 / 4096.0
    }
}

#[test]
fn what_cannot_be_checked_is_named() {
    let energy = Plain(IndependentSet);
    let layout = energy.layout();
    let start = [0u32; 2];
    let start = Packed::new(layout, &start).unwrap();
    let mut memory = heap::memory(&energy);
    let other = Packed::new(Layout::binary(3), &[0]).unwrap();
    let refused = check(&energy, &mut memory, [start, other]).unwrap_err();
    let error = StateError::Layout { need: layout, got: other.layout() };
    assert_eq!(refused, CheckError::Chain(ChainError::State(error)));
    assert_eq!(refused.to_string(), "the state has 3 binary sites: 40 binary sites are needed");
    let forbidden = Packed::new(layout, &[3, 0]).unwrap();
    let refused = check(&energy, &mut memory, [forbidden]).unwrap_err();
    assert_eq!(refused, CheckError::Chain(ChainError::Energy(EnergyError::Forbidden)));
    memory.cache.pop();
    let refused = check(&energy, &mut memory, [start]).unwrap_err();
    let short = ChainError::Memory { buffer: Buffer::Cache, need: 2, got: 1 };
    assert_eq!(refused, CheckError::Chain(short));
    // No state says nothing.
    assert_eq!(check(&energy, &mut heap::memory(&energy), []), Ok(Checked::default()));
}

/// A constant hides the differences of an energy in the rounding of its totals.
#[test]
fn an_energy_with_a_large_constant_is_named() {
    struct Far(f32);
    impl Function for Far {
        fn layout(&self) -> Layout {
            Layout::binary(8)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            self.0 + 0.3 * x.ones() as f32
        }
        fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
            0.3
        }
    }
    let look = |constant| {
        let energy = Plain(Far(constant));
        let states = [[0u32], [255]];
        let states = states.iter().map(|words| Packed::new(Layout::binary(8), words).unwrap());
        check(&energy, &mut heap::memory(&energy), states)
    };
    for constant in [1e5, -1e5] {
        assert!(look(constant).is_ok(), "{constant}");
    }
    for energy in [1e6, -1e6, 1e7, 131_072.0] {
        assert_eq!(look(energy).unwrap_err(), CheckError::Large { state: 0, energy });
    }
    // Nothing is lost of differences that are as large. Gaussians of large energies, whose differences are not those of totals,
    // stand among the tests of `gaussian`.
    struct Steep;
    impl Function for Steep {
        fn layout(&self) -> Layout {
            Layout::binary(8)
        }
        fn total(&self, x: Packed<'_>) -> f32 {
            1e6 * (1 + x.ones()) as f32
        }
        fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
            1e6
        }
    }
    let states = [[0u32], [7]];
    let states = states.iter().map(|words| Packed::new(Layout::binary(8), words).unwrap());
    assert!(check(&Plain(Steep), &mut heap::memory(&Plain(Steep)), states).is_ok());
}

/// A sum of many terms: a chain's total is rounded at every step.
struct Coarse(Cell<f32>);

impl Function for Coarse {
    fn layout(&self) -> Layout {
        Layout::binary(50)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.0.get() + 0.1 * x.ones() as f32
    }

    fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
        0.1
    }
}

#[test]
fn a_chain_takes_its_energy_anew() {
    let energy = Plain(Coarse(Cell::new(3000.0)));
    let mut rng = LaneRng::seed_from_u64(4);
    let mut chain = heap::random_chain(&energy, &mut rng).unwrap();
    chain.clamp(Packed::new(Layout::binary(50), &[7, 0]).unwrap()).unwrap();
    let sampler = Langevin::adjusted(1.0).unwrap();
    chain.run(&sampler, &mut rng, 1000, &mut ());
    // The same energy with another constant, as a model that was changed.
    let (state, steps, old) = (chain.state().words().to_vec(), chain.steps(), chain.energy());
    energy.0.0.set(2500.0);
    let drift = chain.refresh().unwrap();
    let total = energy.0.total(chain.state());
    assert_eq!((chain.energy(), drift), (total, old - total));
    assert!((drift - 500.0).abs() < 0.1, "{drift}");
    assert_eq!((chain.state().words(), chain.steps(), chain.faults()), (&state[..], steps, 0));
    assert_eq!(chain.refresh(), Ok(0.0));
    // The cache too: without it the first step would see a difference of 500.
    let mut fresh = Chain::resume(
        &energy,
        heap::memory(&energy),
        Packed::new(Layout::binary(50), &state).unwrap(),
        chain.core(),
    )
    .unwrap();
    fresh.clamp(Packed::new(Layout::binary(50), &[7, 0]).unwrap()).unwrap();
    let mut other = rng.clone();
    for _ in 0..100 {
        let info = chain.step(&sampler, &mut rng);
        assert_eq!(info, fresh.step(&sampler, &mut other));
        assert!(info.difference.abs() < 10.0);
        assert_eq!(chain.state().words()[0] & 7, state[0] & 7);
    }
    // What cannot be is refused, and the chain is as it was.
    let before = (chain.state().words().to_vec(), chain.core());
    for (constant, error) in [(f32::NAN, EnergyError::Nan), (f32::INFINITY, EnergyError::Forbidden)] {
        energy.0.0.set(constant);
        assert_eq!(chain.refresh(), Err(error));
        assert_eq!((chain.state().words().to_vec(), chain.core()), before);
    }
}

#[test]
fn a_chain_that_takes_its_energy_anew_keeps_its_draws() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.3, 0.5, 3);
    let mut memory = model.couplings();
    let ising = memory.ising(&model).unwrap();
    let mut rngs = [LaneRng::seed_from_u64(5), LaneRng::seed_from_u64(5)];
    let mut chains = rngs.each_mut().map(|rng| heap::random_chain(&ising, rng).unwrap());
    let sampler = Langevin::adjusted(0.3).unwrap();
    for _ in 0..500 {
        let [one, two] = &mut chains;
        assert!(one.refresh().unwrap().abs() < 1e-3);
        assert_eq!(one.step(&sampler, &mut rngs[0]), two.step(&sampler, &mut rngs[1]));
        assert_eq!(one.state(), two.state());
    }
}

/// An energy whose answers are altered: what `gradient` wrote for some rows, and the differences of a site.
struct Altered<E, G, D> {
    energy: E,
    gradient: G,
    differences: D,
}

impl<E: Energy, G: Fn(Range<usize>, &mut [f32]), D: Fn(usize, &mut [f32])> Energy for Altered<E, G, D> {
    passes_on!(energy: layout, cache_len, arities, init, shift);

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        self.energy.gradient(x, cache, rows.clone(), out);
        (self.gradient)(rows, out.as_flattened_mut());
    }

    fn differences(&self, words: &mut [u32], cache: &[Bits], site: usize, out: &mut [f32]) {
        self.energy.differences(words, cache, site, out);
        (self.differences)(site, out);
    }
}

/// `constant + Σ slopeᵢxᵢ`, and what it says of its slopes.
struct Line {
    layout: Layout,
    arities: Option<Vec<u16>>,
    constant: f32,
    slopes: Vec<f32>,
    said: Vec<f32>,
}

impl Line {
    /// Of bits.
    fn bits(constant: f32, slopes: &[f32], said: &[f32]) -> Plain<Self> {
        let layout = Layout::binary(slopes.len());
        let (slopes, said) = (slopes.to_vec(), said.to_vec());
        Plain(Self { layout, arities: None, constant, slopes, said })
    }

    /// 0 everywhere.
    fn flat(layout: Layout, arities: Option<Vec<u16>>) -> Plain<Self> {
        let zeros = vec![0.0; layout.sites()];
        Plain(Self { layout, arities, constant: 0.0, slopes: zeros.clone(), said: zeros })
    }
}

impl Function for Line {
    fn layout(&self) -> Layout {
        self.layout
    }

    fn arities(&self) -> Option<&[u16]> {
        self.arities.as_deref()
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.constant + x.values().zip(&self.slopes).map(|(value, slope)| value as f32 * slope).sum::<f32>()
    }

    fn gradient(&self, _: Packed<'_>, site: usize) -> f32 {
        self.said[site]
    }
}

/// [`check`] at zeros alone.
fn at_zeros(energy: &impl Energy) -> Result<Checked, CheckError> {
    let zeros = vec![0; energy.layout().words()];
    check(energy, &mut heap::memory(energy), [Packed::new(energy.layout(), &zeros).unwrap()])
}

/// At zeros d is a site's slope, and p what is said of it.
#[test]
fn slopes_correlations_and_gaps_are_those_of_few_moves() {
    let of = |d: &[f32], p: &[f32]| at_zeros(&Line::bits(0.0, d, p)).unwrap();
    let none = of(&[0.0; 3], &[1.0; 3]);
    assert_eq!((none.slope, none.correlation, none.gap), (Some(0.0), None, 1.0), "all d are 0");
    let none = of(&[1.0; 3], &[0.0; 3]);
    assert_eq!((none.slope, none.correlation, none.gap), (None, None, 1.0), "all p are 0");
    // The first of two sites with the same gap, and between them one with none.
    let found = of(&[0.0, 5.0, 1.0], &[1.0, 5.0, 0.0]);
    assert_eq!((found.moves, found.gap, found.gap_site), (3, 1.0, 0));
    assert_eq!(found.slope, Some(25.0 / 26.0));
    assert!((found.correlation.unwrap() - 25.0 / 26.0).abs() < 1e-6);
    // Σ pd = −1, Σ p² = 1, Σ d² = 100: a correlation of −.1 is not below −.1, and −1/9 is.
    let found = of(&[-1.0, 9.0, 3.0, 3.0], &[1.0, 0.0, 0.0, 0.0]);
    assert_eq!((found.slope, found.correlation), (Some(-1.0), Some(-0.1)));
    assert_eq!((found.gap, found.gap_site), (9.0, 1));
    let wrong = at_zeros(&Line::bits(0.0, &[-1.0, 4.0, 8.0], &[1.0, 0.0, 0.0]));
    assert_eq!(wrong, Err(CheckError::Sign { slope: -1.0 }));
}

#[test]
fn moves_that_are_too_large_are_not_in_the_sums() {
    let of = |d: &[f32], p: &[f32]| at_zeros(&Line::bits(0.0, d, p)).unwrap();
    let found = of(&[1e15], &[1e15]);
    assert_eq!((found.moves, found.slope, found.gap), (1, Some(1.0), 0.0));
    let above = f32::from_bits(1e15f32.to_bits() + 1);
    assert_eq!(of(&[above], &[above]).slope, None);
    for (d, p) in [(1.0, 1e16), (1e16, 1.0)] {
        let found = of(&[d, 1.0], &[p, 1.0]);
        assert_eq!((found.moves, found.slope, found.gap), (2, Some(1.0), 0.0), "{d} {p}");
    }
}

/// `2⁻²⁰ (|E(x)| + |E(y)| + Σᵢ maxₖ |E(xᵢ = k) − E(x)|)`, and no more.
#[test]
fn a_difference_may_be_off_by_the_rounding_of_totals() {
    let off = |constant: f32, slopes: [f32; 2], by: f32| {
        let differences = move |site: usize, out: &mut [f32]| out[1] += if site == 0 { by } else { 0.0 };
        let energy = Line::bits(constant, &slopes, &slopes);
        at_zeros(&Altered { energy, gradient: |_: Range<usize>, _: &mut [f32]| {}, differences }).map(drop)
    };
    let refused = |need: f32, got: f32| {
        Err(CheckError::Off { answer: Answer::Differences, state: 0, site: 0, value: 1, need, got })
    };
    // The sum is 2²⁰ with a difference that is off by 1.
    let rest = 1_048_575.0;
    for by in [1.0, -1.0] {
        assert_eq!(off(0.0, [0.0, rest], by), Ok(()));
        assert_eq!(off(0.0, [0.0, rest], 1.5 * by), refused(0.0, 1.5 * by));
    }
    // 2⁻²⁰ · 2000 is .0019.
    assert_eq!(off(1000.0, [0.0; 2], 0.0015), Ok(()));
    assert_eq!(off(1000.0, [0.0; 2], 0.003), refused(0.0, 0.003));
}

/// However many moves there are, each difference has to be that of totals; and small is what is below 2⁻¹⁷ of the energy.
#[test]
fn any_number_of_small_differences_of_totals_are_lost() {
    let lost = |constant: f32, slopes: &[f32], by: f32| {
        let differences = move |site: usize, out: &mut [f32]| out[1] += if site == 0 { by } else { 0.0 };
        let energy = Line::bits(constant, slopes, slopes);
        let found = at_zeros(&Altered { energy, gradient: |_: Range<usize>, _: &mut [f32]| {}, differences });
        assert!(found.is_ok() || found == Err(CheckError::Large { state: 0, energy: constant }), "{found:?}");
        found.is_err()
    };
    for sites in 1..=5 {
        assert!(lost(1e6, &vec![0.25; sites], 0.0), "{sites} moves");
        assert!(!lost(1e6, &vec![0.25; sites], 0.125), "{sites} moves, one difference of its own");
    }
    // 2⁻¹⁷ of it is 1.
    assert!(!lost(131_072.0, &[1.0, 2.0], 0.0));
    assert!(lost(131_072.0, &[63.0 / 64.0, 2.0], 0.0));
}

/// Where in `row_blocks` blocks a row has a component, and in which row.
fn place_of(layout: Layout, site: usize, value: usize) -> (usize, usize) {
    if layout.row_is_site() { (site, value) } else { (site / 16, value * 16 + site % 16) }
}

#[test]
fn the_component_of_a_gradient_that_is_off_is_named() {
    let same = |_: usize, _: &mut [f32]| {};
    for layout in [Layout::binary(40), Layout::ordinal(40, 5), Layout::categorical(40, 5)] {
        let values = layout.slopes().min(layout.arity());
        for (site, value) in (0..40).flat_map(|site| (0..values).map(move |value| (site, value))) {
            let (row, at) = place_of(layout, site, value);
            let off = |answer: Answer, need: f32, got: f32| {
                move |found: Result<Checked, CheckError>| match found {
                    Err(CheckError::Off { answer: said, state: 0, site: s, value: v, need: n, got: g }) => {
                        (said, s, v as usize) == (answer, site, value)
                            && (n.to_bits(), g.to_bits()) == (need.to_bits(), got.to_bits())
                    }
                    _ => false,
                }
            };
            // That of a row alone.
            let gradient = |rows: Range<usize>, out: &mut [f32]| {
                if rows == (row..row + 1) {
                    out[at] += 1.0;
                }
            };
            let found = at_zeros(&Altered { energy: Line::flat(layout, None), gradient, differences: same });
            assert!(off(Answer::Gradient, 0.0, 1.0)(found), "{layout}, {site} {value}: {found:?}");
            // A NaN of all rows.
            let gradient = |rows: Range<usize>, out: &mut [f32]| {
                if rows.contains(&row) {
                    out[(row - rows.start) * layout.row_blocks() * 16 + at] = f32::NAN;
                }
            };
            let found = at_zeros(&Altered { energy: Line::flat(layout, None), gradient, differences: same });
            assert!(
                off(Answer::Gradient, f32::NAN, f32::NAN)(found),
                "{layout}, {site} {value}: {found:?} for a NaN"
            );
        }
    }
    // One site a row.
    let layout = Layout::categorical(3, 70);
    for (site, value) in [(0, 0), (0, 69), (1, 17), (2, 0), (2, 69)] {
        let gradient = |rows: Range<usize>, out: &mut [f32]| {
            if rows == (site..site + 1) {
                out[value] = f32::NAN;
            }
        };
        let found = at_zeros(&Altered { energy: Line::flat(layout, None), gradient, differences: same });
        let Err(CheckError::Off { answer, site: s, value: v, .. }) = found else { panic!("{found:?}") };
        assert_eq!((answer, s, v), (Answer::Gradient, site, value as u32));
    }
}

#[test]
fn components_of_values_that_a_site_has_not_may_be_anything() {
    let arities = [2u16, 5, 3];
    for layout in [Layout::categorical(3, 5), Layout::categorical(3, 70)] {
        let gradient = |rows: Range<usize>, out: &mut [f32]| {
            for (site, &arity) in arities.iter().enumerate() {
                for value in usize::from(arity)..layout.arity() {
                    let (row, at) = place_of(layout, site, value);
                    if rows.contains(&row) {
                        out[(row - rows.start) * layout.row_blocks() * 16 + at] = f32::NAN;
                    }
                }
            }
        };
        let energy = Line::flat(layout, Some(arities.to_vec()));
        let found = at_zeros(&Altered { energy, gradient, differences: |_: usize, _: &mut [f32]| {} });
        assert_eq!(found.map(|found| found.moves), Ok(1 + 4 + 2), "{layout}");
    }
}

/// `E = .7 (n − 2)² − 1.1 x₀` with n ones. Its cache has the total, which `shift` reads, and n for each row of the gradient,
/// which reads it; its differences read neither.
struct Counted {
    /// Moves of fewer sites leave the total where it was.
    total: usize,
    /// Moves of another number of sites leave the n of a row where it was.
    ones: [Range<usize>; 2],
}

impl Counted {
    fn energy(x: Packed<'_>) -> f32 {
        0.7 * (x.ones() as f32 - 2.0).powi(2) - 1.1 * x.get(0) as f32
    }
}

impl Energy for Counted {
    fn layout(&self) -> Layout {
        Layout::binary(20)
    }

    fn cache_len(&self) -> usize {
        1
    }

    fn init(&self, x: Packed<'_>, cache: &mut [Bits]) -> Result<f32, EnergyError> {
        cache[0][0] = Self::energy(x).to_bits();
        cache[0][1..3].fill(x.ones() as u32);
        Ok(Self::energy(x))
    }

    fn gradient(&self, _x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        for (row, out) in rows.zip(out) {
            *out = [1.4 * (cache[0][1 + row] as f32 - 2.0); 16];
            if row == 0 {
                out[0] -= 1.1;
            }
        }
    }

    fn shift(&self, step: &Move<'_>, cache: &mut [Bits]) -> f32 {
        let (before, after) = (f32::from_bits(cache[0][0]), Self::energy(step.to()));
        if step.count() >= self.total {
            cache[0][0] = after.to_bits();
        }
        for (ones, n) in self.ones.iter().zip(&mut cache[0][1..]) {
            if ones.contains(&step.count()) {
                *n = step.to().ones() as u32;
            }
        }
        after - before
    }

    fn differences(&self, words: &mut [u32], _cache: &[Bits], site: usize, out: &mut [f32]) {
        let layout = self.layout();
        let here = Packed::new(layout, words).unwrap();
        let (present, before) = (here.get(site), Self::energy(here));
        for (value, out) in (0..).zip(out) {
            bitmc::packed::set(layout, words, site, value).unwrap();
            *out = Self::energy(Packed::new(layout, words).unwrap()) - before;
        }
        bitmc::packed::set(layout, words, site, present).unwrap();
    }
}

/// What differences do not read of a cache is compared, too: behind moves of one site and of many.
#[test]
fn a_cache_that_stays_behind_is_found() {
    let layout = Layout::binary(20);
    let found = |total, ones: [Range<usize>; 2]| {
        let words = [2, 0xF_0F0F, 0x0_3333].each_ref().map(std::slice::from_ref);
        let energy = Counted { total, ones };
        check(&energy, &mut heap::memory(&energy), words.map(|words| Packed::new(layout, words).unwrap()))
    };
    let answer = |total, ones| match found(total, ones) {
        Err(CheckError::Off { answer, state, site, need, .. }) => (answer, state, site, need),
        other => panic!("{other:?}"),
    };
    let of = |total, ones: Range<usize>| answer(total, [ones.clone(), ones]).0;
    let sound = found(1, [1..21, 1..21]);
    assert!(sound.is_ok_and(|checked| checked.gap < 1e-4), "{sound:?}");
    assert_eq!(of(9, 1..21), Answer::Back, "the total of moves of one site");
    assert_eq!(of(21, 1..21), Answer::Back, "the total of all moves");
    assert_eq!(of(1, 2..21), Answer::CacheGradient, "the gradient of moves of one site");
    assert_eq!(of(1, 21..21), Answer::CacheGradient, "the gradient of all moves");
    // In the second row alone: behind the move of site 16, when two sites are 1, and behind one of many sites to the next state.
    assert_eq!(answer(1, [1..21, 2..21]), (Answer::CacheGradient, 0, 16, 0.0));
    assert_eq!(answer(1, [1..21, 1..2]), (Answer::CacheGradient, 1, 16, 1.4 * 10.0));
}
