//! Bad input gives an error with a name (TESTING.md L2); failed generators and interrupted chains do no
//! harm (L3).

use bitmc::chain::Buffer;
use bitmc::energy::{EnergyError, Entry, RbmError, Sparse, SparseError, pack_rows};
use bitmc::lane::{Block, LANES};
use bitmc::step::{Curvature, ParameterError};
use bitmc::{
    Bernoulli, BlockGibbs, Chain, ChainError, Energy, Function, Info, Ising, Kernel, LaneRng, Langevin, Layout,
    Memory, Move, Packed, Plain, Rbm, SeedableRng, State, StateError,
};
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Independent};
use bitmc_host_tests::stuck::Stuck;
use std::cell::Cell;

const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

type Edges<'a> = &'a [(u32, u32, f32)];

/// What each constructor says of edges and fields, in memory of `room` edges; they must agree.
fn compile(edges: Edges<'_>, fields: &[f32], room: usize) -> Result<(), SparseError> {
    let mut memory = Couplings::new(fields.len(), room);
    let edges = || edges.iter().copied();
    let once = Ising::spins_edges_once(edges(), fields, memory.lend()).map(|_| ());
    let bits = Ising::bits_edges_once(edges(), fields, memory.lend()).map(|_| ());
    let twice = Ising::spins_edges_twice(edges(), fields, memory.lend()).map(|_| ());
    assert_eq!((once, once), (bits, twice));
    once
}

#[test]
fn edges() {
    use SparseError::*;
    let fields = [0.5; 4];
    let good = [(0, 1, 1.0), (2, 1, -1.0)];
    assert_eq!(compile(&good, &fields, 2), Ok(()));
    assert_eq!(compile(&[], &fields, 0), Ok(()));
    assert_eq!(compile(&[], &[0.5], 0), Ok(()));
    assert_eq!(compile(&[], &[], 0), Err(Sites));
    for bad in NOT_FINITE {
        assert_eq!(compile(&[good[0], (2, 3, bad)], &fields, 2), Err(CouplingNotFinite { edge: 1 }));
        assert_eq!(compile(&good, &[0.5, 0.5, bad, 0.5], 2), Err(FieldNotFinite { site: 2 }));
    }
    assert_eq!(compile(&[good[0], (3, 3, 1.0)], &fields, 2), Err(Diagonal { edge: 1 }));
    assert_eq!(compile(&[good[0], (3, 4, 1.0)], &fields, 2), Err(OutOfRange { edge: 1 }));
    assert_eq!(compile(&[(u32::MAX, 0, 1.0)], &fields, 2), Err(OutOfRange { edge: 0 }));
    for twin in [(0, 1, 1.0), (1, 0, 1.0), (1, 0, 2.0)] {
        let error = compile(&[good[0], good[1], twin], &fields, 3).unwrap_err();
        assert!(matches!(error, Duplicate { a: 0, b: 1 } | Duplicate { a: 1, b: 0 }), "{error:?}");
    }
    assert_eq!(compile(&good, &fields, 1), Err(Memory { need: 4, got: 2 }));
    assert_eq!(compile(&good, &fields, 3), Ok(()));
    assert_eq!(compile(&[(0, 1, 1e31)], &fields, 1), Err(TooLarge { site: 0 }));
    assert_eq!(compile(&[(0, 1, f32::MAX), (0, 2, f32::MAX)], &fields, 2), Err(TooLarge { site: 0 }));
    assert_eq!(compile(&[], &[0.0, f32::MAX], 0), Err(TooLarge { site: 1 }));
    let mut short = Couplings::new(3, 2);
    let result = Ising::spins_edges_once(good, &fields, short.lend());
    assert_eq!(result.unwrap_err(), Memory { need: 4, got: 3 });
}

#[test]
fn rows() {
    use SparseError::*;
    let entry = |site, coupling| Entry { site, coupling };
    // 0 − 1 − 2.
    let good = [entry(1, 5), entry(0, 5), entry(2, -3), entry(1, -3)];
    let build = |ends: &[u32], entries: &[Entry], linear: &[i32], exponent| {
        Sparse::from_rows(ends, entries, linear, exponent).map(|_| ())
    };
    let ends = [1, 3, 4];
    assert_eq!(build(&ends, &good, &[7; 3], -4), Ok(()));
    assert_eq!(build(&[], &[], &[], 0), Err(Sites));
    assert_eq!(build(&[0], &[], &[1], 0), Ok(()));
    assert_eq!(build(&ends[..2], &good, &[7; 3], 0), Err(Memory { need: 3, got: 2 }));
    assert_eq!(build(&[1, 3, 4, 4], &good, &[7; 3], 0), Err(Memory { need: 3, got: 4 }));
    for exponent in [-101, 101, i32::MIN, i32::MAX] {
        assert_eq!(build(&ends, &good, &[7; 3], exponent), Err(Exponent));
    }
    for exponent in [-100, 100] {
        assert_eq!(build(&ends, &good, &[7; 3], exponent), Ok(()));
    }
    assert_eq!(build(&[3, 1, 4], &good, &[7; 3], 0), Err(Ends { site: 1 }));
    assert_eq!(build(&[1, 3, 5], &good, &[7; 3], 0), Err(Ends { site: 2 }));
    assert_eq!(build(&[1, 3, u32::MAX], &good, &[7; 3], 0), Err(Ends { site: 2 }));
    assert_eq!(build(&[1, 3, 3], &good, &[7; 3], 0), Err(Memory { need: 4, got: 3 }));
    let with = |at: usize, wrong: Entry| {
        let mut entries = good;
        entries[at] = wrong;
        build(&ends, &entries, &[7; 3], 0)
    };
    assert_eq!(with(0, entry(0, 5)), Err(Diagonal { edge: 0 }));
    assert_eq!(with(0, entry(3, 5)), Err(OutOfRange { edge: 0 }));
    assert_eq!(with(0, entry(u32::MAX, 5)), Err(OutOfRange { edge: 0 }));
    assert_eq!(with(0, entry(1, 4)), Err(Asymmetric { a: 0, b: 1 }));
    assert_eq!(with(0, entry(2, 5)), Err(Asymmetric { a: 0, b: 2 }));
    assert_eq!(with(2, entry(0, 5)), Err(Unsorted { site: 1 }));
    assert_eq!(build(&ends, &[good[0], good[2], good[1], good[3]], &[7; 3], 0), Err(Unsorted { site: 1 }));
    assert_eq!(build(&ends, &good, &[7, i32::MIN, 7], 0), Err(TooLarge { site: 1 }));
    let most = (1 << 30) - 5;
    assert_eq!(build(&ends, &good, &[most, 7, 7], 0), Ok(()));
    assert_eq!(build(&ends, &good, &[most + 1, 7, 7], 0), Err(TooLarge { site: 0 }));
    let huge = [entry(1, i32::MIN), entry(0, i32::MIN)];
    assert_eq!(build(&[1, 2], &huge, &[0; 2], 0), Err(TooLarge { site: 0 }));
}

#[test]
fn weights() {
    use RbmError::*;
    let machine = models::machine(3, 17, 1.0, 1);
    let mut packed = vec![[0.0; LANES]; 6];
    pack_rows(&machine.weights, 17, &mut packed).unwrap();
    let mut hidden = vec![[0.0; LANES]; 2];
    pack_rows(&machine.hidden, 17, &mut hidden).unwrap();
    let visible = machine.visible.clone();
    let build = |w: &[Block], a: &[f32], b: &[Block], units| Rbm::new(w, a, b, units).map(|_| ());
    assert_eq!(build(&packed, &visible, &hidden, 17), Ok(()));
    assert_eq!(build(&packed, &[], &hidden, 17), Err(Units));
    assert_eq!(build(&packed, &visible, &[], 0), Err(Units));
    assert_eq!(build(&packed, &visible, &hidden[..1], 17), Err(Length { need: 2, got: 1 }));
    assert_eq!(build(&packed[..5], &visible, &hidden, 17), Err(Length { need: 6, got: 5 }));
    assert_eq!(build(&packed, &visible[..2], &hidden, 17), Err(Length { need: 4, got: 6 }));
    for bad in NOT_FINITE {
        let mut wrong = packed.clone();
        wrong[3][0] = bad;
        assert_eq!(build(&wrong, &visible, &hidden, 17), Err(WeightNotFinite { visible: 1, hidden: 16 }));
        let mut wrong = visible.clone();
        wrong[2] = bad;
        assert_eq!(build(&packed, &wrong, &hidden, 17), Err(VisibleNotFinite { unit: 2 }));
        let mut wrong = hidden.clone();
        wrong[0][4] = bad;
        assert_eq!(build(&packed, &visible, &wrong, 17), Err(HiddenNotFinite { unit: 4 }));
    }
    let mut wrong = packed.clone();
    wrong[5][1] = 1e-9;
    assert_eq!(build(&wrong, &visible, &hidden, 17), Err(Padding { visible: 2 }));
    let mut wrong = hidden.clone();
    wrong[1][15] = 1.0;
    assert!(matches!(build(&packed, &visible, &wrong, 17), Err(Padding { .. })));
    let mut wrong = packed.clone();
    (wrong[0][2], wrong[2][2]) = (8e29, -8e29);
    assert_eq!(build(&wrong, &visible, &hidden, 17), Err(TooLarge { unit: 2 }));
    assert!(build(&packed, &[1.0, 2.0, 2e30], &hidden, 17).is_err());
    assert_eq!(pack_rows(&machine.weights, 0, &mut packed), Err(Units));
    assert_eq!(pack_rows(&machine.weights[1..], 17, &mut packed), Err(Length { need: 51, got: 50 }));
    assert_eq!(pack_rows(&machine.weights, 17, &mut packed[..5]), Err(Length { need: 6, got: 5 }));
}

#[test]
fn logits() {
    assert!(Bernoulli::new(&[]).is_none());
    for bad in NOT_FINITE {
        assert!(Bernoulli::new(&[0.0, bad]).is_none());
    }
    // Totals may overflow: that is an error at the start and a fault later, never a panic.
    let energy = Bernoulli::new(&[f32::MAX; 3]).unwrap();
    assert_eq!(heap::chain(&energy, &[7]).unwrap_err(), ChainError::Energy(EnergyError::MinusInfinity));
    let energy = Bernoulli::new(&[-f32::MAX; 3]).unwrap();
    assert_eq!(heap::chain(&energy, &[7]).unwrap_err(), ChainError::Energy(EnergyError::Forbidden));
    assert!(heap::chain(&energy, &[0]).is_ok());
}

#[test]
fn parameters() {
    use ParameterError::{Balance, StepSize};
    for bad in [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-39, f32::from_bits(1)] {
        for result in [Langevin::adjusted(bad), Langevin::unadjusted(bad)] {
            let Err(StepSize(value)) = result else { panic!("step size {bad} passed") };
            assert_eq!(value.to_bits(), bad.to_bits());
        }
    }
    for good in [1e-38, 1e38, f32::MIN_POSITIVE, f32::MAX, 1.0] {
        assert!(Langevin::adjusted(good).is_ok(), "{good}");
    }
    for bad in [0.0, -0.5, 1.000_000_1, 2.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(Langevin::new(bad, Curvature::Same(1.0), true), Err(Balance(_))), "{bad}");
    }
    for good in [f32::MIN_POSITIVE, 0.5, 1.0] {
        assert!(Langevin::new(good, Curvature::Same(0.0), true).is_ok());
    }
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let same = Langevin::new(0.5, Curvature::Same(bad), true);
        assert!(matches!(same, Err(ParameterError::Curvature { site: 0, .. })));
        let mut blocks = [[1.0; LANES]; 2];
        blocks[1][3] = bad;
        let each = Langevin::new(0.5, Curvature::Each(&blocks), true);
        assert!(matches!(each, Err(ParameterError::Curvature { site: 19, .. })));
    }
}

#[test]
fn states() {
    let layout = Layout::binary(33);
    assert_eq!(Packed::new(layout, &[0]).unwrap_err(), StateError::Words { need: 2, got: 1 });
    assert_eq!(Packed::new(layout, &[0; 3]).unwrap_err(), StateError::Words { need: 2, got: 3 });
    assert_eq!(Packed::new(layout, &[0, 2]).unwrap_err(), StateError::Padding);
    assert!(Packed::new(layout, &[u32::MAX, 1]).is_ok());
    assert_eq!(State::<1>::zeros(layout).unwrap_err(), StateError::Words { need: 2, got: 1 });
    let mut state = State::<2>::zeros(layout).unwrap();
    assert_eq!(state.set(33, 0), Err(StateError::Site { site: 33 }));
    assert_eq!(state.set(32, 2), Err(StateError::Value { site: 32, value: 2 }));
    let three = Layout::uniform(3, 3);
    assert_eq!(Packed::new(three, &[0b11_00_01]).unwrap_err(), StateError::Value { site: 2, value: 3 });
    let other = [0; 1];
    let (a, b) = (Packed::new(layout, &[0, 0]).unwrap(), Packed::new(three, &other).unwrap());
    assert!(Move::new(a, b).is_err());
}

#[test]
fn memory() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.1, 1.0, 1);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let start = [0; 2];
    let start = Packed::new(energy.layout(), &start).unwrap();
    let build = |words: usize, cache: usize, weights: usize| {
        let memory = Memory {
            words: vec![0; words],
            cache: vec![[0; LANES]; cache],
            weights: vec![[0.0; LANES]; weights],
        };
        Chain::new(&energy, memory, start).map(|chain| chain.energy())
    };
    let error = |buffer, need, got| Err(ChainError::Memory { buffer, need, got });
    let truth = build(6, 6, 6);
    assert!(truth.is_ok());
    assert_eq!(build(5, 6, 6), error(Buffer::Words, 6, 5));
    assert_eq!(build(6, 5, 6), error(Buffer::Cache, 6, 5));
    assert_eq!(build(6, 6, 5), error(Buffer::Weights, 6, 5));
    assert_eq!(build(0, 0, 0), error(Buffer::Words, 6, 0));
    assert_eq!(build(7, 7, 7), truth);
    let short = energy.init(start, &mut [[0; LANES]; 2]);
    assert_eq!(short, Err(EnergyError::Cache { need: 3, got: 2 }));

    // A chain in memory that is too long goes the same way.
    let run = |extra: usize| {
        let mut memory = heap::memory(&energy);
        memory.words.resize(6 + extra, 0xABCD);
        memory.cache.resize(6 + extra, [77; LANES]);
        memory.weights.resize(6 + extra, [f32::NAN; LANES]);
        let mut chain = Chain::new(&energy, memory, start).unwrap();
        let (sampler, mut rng) = (Langevin::adjusted(0.3).unwrap(), LaneRng::seed_from_u64(2));
        for _ in 0..200 {
            chain.step(&sampler, &mut rng);
        }
        (chain.state().words().to_vec(), chain.energy().to_bits())
    };
    assert_eq!(run(0), run(1));
}

/// An energy in a table: its total and its gradient at the states of number 0, 1, …, then from the start.
#[derive(Debug)]
struct Table {
    sites: usize,
    totals: Vec<f32>,
    gradient: Vec<f32>,
}

impl Function for Table {
    fn layout(&self) -> Layout {
        Layout::binary(self.sites)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.totals[x.words().first().map_or(0, |&word| word as usize) % self.totals.len()]
    }

    fn gradient(&self, x: Packed<'_>, _site: usize) -> f32 {
        self.gradient[x.words()[0] as usize % self.gradient.len()]
    }
}

#[test]
fn starts() {
    let start = |total: f32, gradient: f32| {
        let energy = Plain(Table { sites: 2, totals: vec![total], gradient: vec![gradient] });
        heap::chain(&energy, &[0]).map(|_| ()).unwrap_err()
    };
    assert_eq!(start(f32::INFINITY, 0.0), ChainError::Energy(EnergyError::Forbidden));
    assert_eq!(start(f32::NAN, 0.0), ChainError::Energy(EnergyError::Nan));
    assert_eq!(start(f32::NEG_INFINITY, 0.0), ChainError::Energy(EnergyError::MinusInfinity));
    assert_eq!(start(0.0, f32::NAN), ChainError::Energy(EnergyError::NanGradient));
    let none = Plain(Table { sites: 0, totals: vec![0.0], gradient: vec![0.0] });
    assert_eq!(heap::chain(&none, &[]).unwrap_err(), ChainError::NoSites);

    // A chain that cannot restart stays where it is.
    let totals = vec![1.0, f32::INFINITY, f32::NAN, 2.0];
    let energy = Plain(Table { sites: 2, totals, gradient: vec![0.0] });
    let mut chain = heap::chain(&energy, &[3]).unwrap();
    for bad in [1, 2] {
        assert!(chain.restart(Packed::new(energy.layout(), &[bad]).unwrap()).is_err());
        assert_eq!((chain.state().words(), chain.energy()), (&[3][..], 2.0));
    }
    assert!(chain.restart(Packed::new(Layout::binary(3), &[0]).unwrap()).is_ok(), "one word, no padding set");
    assert!(chain.restart(Packed::new(Layout::binary(3), &[4]).unwrap()).is_err());
    let long = [0; 2];
    assert!(chain.clamp(Packed::new(Layout::binary(33), &long).unwrap()).is_err());
}

#[test]
fn an_energy_that_fails_is_counted() {
    // Of eight states one is NaN, one −∞, one forbidden, one has a NaN in its gradient.
    let totals = vec![0.0, f32::NAN, 0.5, f32::NEG_INFINITY, 0.0, f32::INFINITY, 0.25, 0.0];
    let mut gradient = vec![0.0; 8];
    gradient[6] = f32::NAN;
    let energy = Plain(Table { sites: 3, totals, gradient });
    for adjusted in [true, false] {
        let sampler = Langevin::new(0.5, Curvature::Same(0.5), adjusted).unwrap();
        let mut chain = heap::chain(&energy, &[0]).unwrap();
        let mut rng = LaneRng::seed_from_u64(3);
        let (mut faults, mut forbidden) = (0, 0);
        for _ in 0..2000 {
            let before = chain.state().words()[0];
            let info = chain.step(&sampler, &mut rng);
            let state = chain.state().words()[0];
            assert!([0, 2, 4, 7].contains(&state), "the chain is at {state}");
            assert!(!chain.energy().is_nan() && !info.log_ratio.is_nan());
            if info.fault {
                assert!(!info.accepted && info.log_ratio == f32::NEG_INFINITY && state == before);
                faults += 1;
            } else if info.log_ratio == f32::NEG_INFINITY {
                assert!(!info.accepted && info.difference == f32::INFINITY && state == before);
                forbidden += 1;
            }
            assert_eq!(chain.faults(), faults);
        }
        // Fair bits propose each of the eight states often: three in eight are faults, one in eight forbidden.
        assert!(faults > 300 && forbidden > 100, "{faults} faults, {forbidden} forbidden");
    }
}

#[test]
fn an_energy_that_fails_later_is_counted() {
    /// Healthy at first; then every answer is NaN.
    struct Dying(Cell<u32>);
    impl Dying {
        fn number(&self) -> f32 {
            self.0.set(self.0.get() + 1);
            if self.0.get() > 40 { f32::NAN } else { 0.0 }
        }
    }
    impl Function for Dying {
        fn layout(&self) -> Layout {
            Layout::binary(2)
        }
        fn total(&self, _x: Packed<'_>) -> f32 {
            self.number()
        }
        fn gradient(&self, _x: Packed<'_>, _site: usize) -> f32 {
            self.number()
        }
    }
    let energy = Plain(Dying(Cell::new(0)));
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let mut rng = LaneRng::seed_from_u64(4);
    let mut last = None;
    for step_size in [0.5, 1.0, 2.0].into_iter().cycle().take(100) {
        // New parameters each time: the weights at the state are made again, from a broken gradient too.
        let info = chain.step(&Langevin::adjusted(step_size).unwrap(), &mut rng);
        last = Some(info);
        assert!(chain.energy() == 0.0 && chain.state().words()[0] < 4);
    }
    assert!(last.unwrap().fault && chain.faults() > 80, "{}", chain.faults());
}

#[test]
fn equal_energies_are_always_accepted() {
    for sites in [1, 17, 100] {
        let energy = Plain(Table { sites, totals: vec![7.5], gradient: vec![0.0] });
        let mut chain = heap::chain(&energy, &vec![0; sites.div_ceil(32)]).unwrap();
        let mut rng = LaneRng::seed_from_u64(5);
        for step_size in [1e-38, 0.1, 1.0, 1e38] {
            let sampler = Langevin::adjusted(step_size).unwrap();
            for _ in 0..300 {
                let info = chain.step(&sampler, &mut rng);
                assert!(info.accepted && info.log_ratio == 0.0 && info.difference == 0.0, "{info:?}");
            }
        }
        assert_eq!((chain.energy(), chain.faults()), (7.5, 0));
    }
}

/// Steps in which everything must stay legal; returns how many were accepted.
fn tread<E: Energy, K: Kernel<E>>(energy: &E, kernel: &K, rng: &mut impl bitmc::Rng, held: u32) -> u32 {
    let layout = energy.layout();
    let mut start = vec![0xAAAA_AAAA; layout.words()];
    *start.last_mut().unwrap() &= layout.last_word();
    let mut chain = heap::chain(energy, &start).unwrap();
    let mut clamped = vec![0; layout.words()];
    clamped[0] = held & layout.last_word();
    chain.clamp(Packed::new(layout, &clamped).unwrap()).unwrap();
    let mut accepted = 0;
    for _ in 0..60 {
        let info = chain.step(kernel, rng);
        accepted += u32::from(info.accepted);
        let words = chain.state().words();
        assert!(Packed::new(layout, words).is_ok(), "an illegal state");
        assert_eq!((words[0] ^ start[0]) & clamped[0], 0, "a clamped site has moved");
        assert!(!info.log_ratio.is_nan() && !chain.energy().is_nan(), "{info:?}");
    }
    accepted
}

#[test]
fn huge_gradients_do_no_harm() {
    let mut rng = LaneRng::seed_from_u64(6);
    for gradient in [3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY] {
        for step_size in [1e-38, 1.0, 1e38] {
            let energy = Plain(Table { sites: 5, totals: vec![1.0, 2.0, 0.5], gradient: vec![gradient] });
            tread(&energy, &Langevin::adjusted(step_size).unwrap(), &mut rng, 0);
            tread(&energy, &Langevin::unadjusted(step_size).unwrap(), &mut rng, 1);
        }
    }
    // Totals whose difference overflows: E(y) − E(x) is ±∞.
    let totals = vec![3e38, -3e38, 1.0];
    let energy = Plain(Table { sites: 5, totals, gradient: vec![1.0, 3e38] });
    tread(&energy, &Langevin::adjusted(1.0).unwrap(), &mut rng, 0);
    tread(&energy, &Langevin::unadjusted(1.0).unwrap(), &mut rng, 0);
    // The largest couplings that are allowed.
    let fields = vec![1e29; 33];
    let mut memory = Couplings::new(33, 2);
    let ising = Ising::bits_edges_once([(0, 1, 4e29), (1, 2, -4e29)], &fields, memory.lend()).unwrap();
    tread(&ising, &Langevin::adjusted(1.0).unwrap(), &mut rng, 2);
    let mut machine = models::machine(40, 20, 1.0, 2);
    machine.weights.iter_mut().for_each(|w| *w *= 1e27);
    let weights = Weights::new(&machine).unwrap();
    tread(&weights.rbm().unwrap(), &Langevin::adjusted(1.0).unwrap(), &mut rng, 2);
    tread(&weights.rbm().unwrap(), &BlockGibbs, &mut rng, 2);
    // And the smallest.
    let tiny = Independent { logits: vec![f32::from_bits(1); 33] };
    tread(&Bernoulli::new(&tiny.logits).unwrap(), &Langevin::adjusted(1.0).unwrap(), &mut rng, 0);
    let fields = vec![f32::from_bits(3); 33];
    let ising = Ising::spins_edges_twice([(0, 1, 1e-44)], &fields, memory.lend()).unwrap();
    tread(&ising, &Langevin::adjusted(1.0).unwrap(), &mut rng, 0);
}

#[test]
fn failed_generators_end_every_step() {
    for (name, rng) in Stuck::all() {
        for sites in [1, 16, 33, 70] {
            let model = models::pairwise(Convention::SpinsEdgesOnce, sites, 0.2, 1.0, 7);
            let mut couplings = model.couplings();
            let ising = couplings.ising(&model).unwrap();
            let weights = Weights::new(&models::machine(sites, 21, 1.0, 7)).unwrap();
            let rbm = weights.rbm().unwrap();
            let own =
                Plain(Table { sites, totals: vec![1.0, f32::INFINITY, 2.0, 0.5], gradient: vec![0.5, -1.0] });
            for held in [0, 0x0F0F_F001] {
                for step_size in [0.05, 1.0, 1000.0] {
                    let (dmala, dula) = (Langevin::adjusted(step_size), Langevin::unadjusted(step_size));
                    for sampler in [dmala.unwrap(), dula.unwrap()] {
                        tread(&ising, &sampler, &mut rng.clone(), held);
                        tread(&rbm, &sampler, &mut rng.clone(), held);
                        tread(&own, &sampler, &mut rng.clone(), held);
                    }
                }
                tread(&rbm, &BlockGibbs, &mut rng.clone(), held);
            }
        }
        // A chain starts with them, too.
        let energy = Bernoulli::new(&[0.5; 40]).unwrap();
        assert!(heap::random_chain(&energy, &mut rng.clone()).is_ok(), "{name}");
    }
}

#[test]
fn clamped_sites_never_move_and_the_others_do() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 10, 0.5, 0.3, 8);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    for held in [0u32, 1, 0b10_1010_1010, 0x3FF] {
        let mut chain = heap::chain(&energy, &[0b01_1100_0011]).unwrap();
        let held_words = [held];
        chain.clamp(Packed::new(energy.layout(), &held_words).unwrap()).unwrap();
        let (sampler, mut rng) = (Langevin::adjusted(1.0).unwrap(), LaneRng::seed_from_u64(9));
        let mut moved = 0;
        for _ in 0..500 {
            chain.step(&sampler, &mut rng);
            moved |= chain.state().words()[0] ^ 0b01_1100_0011;
        }
        assert_eq!(moved, !held & 0x3FF);
        chain.release();
        (0..500).for_each(|_| {
            chain.step(&sampler, &mut rng);
            moved |= chain.state().words()[0] ^ 0b01_1100_0011;
        });
        assert_eq!(moved, 0x3FF, "released sites move");
    }
}

/// What a step reported, NaN for NaN.
fn bits(info: Info) -> (bool, u32, u32, u32, bool) {
    let Info { accepted, proposed, log_ratio, difference, fault } = info;
    (accepted, proposed, log_ratio.to_bits(), difference.to_bits(), fault)
}

/// Runs a chain without a stop, and another that is stopped and resumed after every step.
fn resume<E: Energy, K: Kernel<E>>(name: &str, energy: &E, kernel: &K, held: Option<&[u32]>) {
    let mut rng = LaneRng::seed_from_u64(10);
    let mut whole = heap::chain(energy, &vec![0; energy.layout().words()]).unwrap();
    let clamp = |chain: &mut heap::HeapChain<'_, E>| {
        if let Some(held) = held {
            chain.clamp(Packed::new(energy.layout(), held).unwrap()).unwrap();
        }
    };
    clamp(&mut whole);
    let mut moved = 0;
    for step in 0..300 {
        let (words, core) = (whole.state().words().to_vec(), whole.core());
        let (lanes, held_words, used) = rng.state();
        // Everything else is lost: new memory, a new generator.
        let mut rng_again = LaneRng::from_state(lanes, held_words, used).unwrap();
        let state = Packed::new(energy.layout(), &words).unwrap();
        let mut again = Chain::resume(energy, heap::memory(energy), state, core).unwrap();
        clamp(&mut again);
        assert_eq!(again.energy().to_bits(), whole.energy().to_bits(), "{name}, step {step}");
        for after in 0..3 {
            let info = again.step(kernel, &mut rng_again);
            if after == 0 {
                let expected = whole.step(kernel, &mut rng);
                moved += info.moved();
                assert_eq!(bits(info), bits(expected), "{name}, step {step}");
                assert_eq!(rng_again, rng, "{name}, step {step}");
                assert_eq!(again.state().words(), whole.state().words(), "{name}, step {step}");
                assert_eq!(again.energy().to_bits(), whole.energy().to_bits(), "{name}, step {step}");
                assert_eq!(again.faults(), whole.faults());
            }
        }
    }
    assert!(moved > 50, "{name}: {moved} moves show little");
}

#[test]
fn chains_go_on_bit_for_bit() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 70, 0.1, 0.3, 11);
    let mut couplings = model.couplings();
    let ising = couplings.ising(&model).unwrap();
    let weights = Weights::new(&models::machine(50, 21, 0.5, 11)).unwrap();
    let rbm = weights.rbm().unwrap();
    let totals = vec![0.1, 0.7, f32::NAN, 1.3, f32::INFINITY, 0.2, 0.9];
    let own = Plain(Table { sites: 3, totals, gradient: vec![0.3, -0.4] });
    let held = [0b1011, 0, 0];
    for sampler in [Langevin::adjusted(0.3).unwrap(), Langevin::unadjusted(0.3).unwrap()] {
        resume("Ising", &ising, &sampler, None);
        resume("Ising, clamped", &ising, &sampler, Some(&held));
        resume("RBM", &rbm, &sampler, None);
        resume("RBM, clamped", &rbm, &sampler, Some(&held[..2]));
        resume("Plain, with faults", &own, &sampler, None);
    }
    resume("block Gibbs", &rbm, &BlockGibbs, None);
    resume("block Gibbs, clamped", &rbm, &BlockGibbs, Some(&held[..2]));
}
