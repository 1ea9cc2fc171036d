//! Bad input gives an error with a name.

use bitmc::chain::Buffer;
use bitmc::energy::{
    self, EnergyError, Entry, GaussianError, RbmError, Sparse, SparseError, Tempered, pack_rows,
};
use bitmc::lane::{Block, LANES};
use bitmc::quantised::QuantisedIsing;
use bitmc::step::{Curvature, IsingLangevin, ParameterError, SequentialGibbs};
use bitmc::{
    Bernoulli, Chain, ChainError, Energy, Function, Ising, LaneRng, Langevin, LatticeGaussian, Layout, Memory,
    Move, Packed, Plain, Potts, Rbm, SeedableRng, State, StateError, memory, memory_type, torus,
};
use bitmc_host_tests::heap::{self, Couplings};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::Convention;

const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

type Edges<'a> = &'a [(u32, u32, f32)];

/// What each constructor says of edges and fields, in memory of `room` edges; they must agree.
fn compile(edges: Edges<'_>, fields: &[f32], room: usize) -> Result<(), SparseError> {
    let (sites, mut memory) = (fields.len(), Couplings::new(fields.len(), room));
    let edges = || edges.iter().copied();
    let once = Ising::spins_edges_once(sites, edges(), fields, memory.borrow()).map(|_| ());
    let bits = Ising::bits_edges_once(sites, edges(), fields, memory.borrow()).map(|_| ());
    let twice = Ising::spins_edges_twice(sites, edges(), fields, memory.borrow()).map(|_| ());
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
    for double in [(0, 1, 1.0), (1, 0, 1.0), (1, 0, 2.0)] {
        let error = compile(&[good[0], good[1], double], &fields, 3).unwrap_err();
        assert!(matches!(error, Duplicate { a: 0, b: 1 } | Duplicate { a: 1, b: 0 }), "{error:?}");
    }
    assert_eq!(compile(&good, &fields, 1), Err(Entries { need: 4, got: 2 }));
    assert_eq!(compile(&good, &fields, 3), Ok(()));
    assert_eq!(compile(&[(0, 1, 1e31)], &fields, 1), Err(TooLarge { site: 0 }));
    assert_eq!(compile(&[(0, 1, f32::MAX), (0, 2, f32::MAX)], &fields, 2), Err(TooLarge { site: 0 }));
    assert_eq!(compile(&[], &[0.0, f32::MAX], 0), Err(TooLarge { site: 1 }));
    // What is said of a field names the field, and rows are counted in units.
    assert!(TooLarge { site: 1 }.to_string().starts_with("the field and couplings of site 1"));
    assert!(TooManyUnits { site: 1 }.to_string().ends_with("2^30 units"));
    let mut short = Couplings::new(3, 2);
    let result = Ising::spins_edges_once(fields.len(), good, &fields, short.borrow());
    assert_eq!(result.unwrap_err(), Memory { need: 4, got: 3 });
    // The most sites that a layout has, and the largest field.
    let most = i32::MAX as usize;
    let mut of = |sites, fields: &[f32]| Ising::bits_edges_once(sites, [], fields, short.borrow()).err();
    assert_eq!((of(most, &[]), of(most + 1, &[])), (Some(Memory { need: most, got: 3 }), Some(Sites)));
    assert_eq!((of(1, &[1e30]), of(1, &[1e30f32.next_up()])), (None, Some(TooLarge { site: 0 })));
    // A field next to a power of two may be rounded past it: the grid has room for that.
    let mut exponent =
        |field: f32| Ising::bits_edges_once(1, [], &[field], short.borrow()).unwrap().form().exponent();
    assert_eq!([0.75, 1f32.next_down(), 1.0].map(&mut exponent), [-30, -29, -29]);
}

#[test]
fn a_potts_field_that_is_not_finite_is_refused_at_any_value() {
    let mut room = Couplings::new(2, 1);
    for place in 0..6 {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut fields = [0.5, 0.25, -0.5, 0.5, 0.75, 0.25];
            fields[place] = bad;
            let model = Potts::new(2, 3, [(0, 1, 0.5)], &fields, room.borrow()).map(|_| ());
            assert_eq!(model, Err(SparseError::FieldNotFinite { site: place / 3 }), "{bad} at {place}");
        }
    }
}

/// Sites are stated: fields of another number are refused by name, by every constructor, and none is no field.
#[test]
fn fields_are_one_a_site() {
    let edges = || torus(5, 5, 0.3);
    let fields = [0.5; 30];
    let mut room = Couplings::new(30, 60);
    for got in [1, 24, 26, 30] {
        let fields = &fields[..got];
        let wrong = SparseError::Fields { sites: 25, each: 1, got };
        let once = Ising::spins_edges_once(25, edges(), fields, room.borrow()).map(|_| ());
        let twice = Ising::spins_edges_twice(25, edges(), fields, room.borrow()).map(|_| ());
        let bits = Ising::bits_edges_once(25, edges(), fields, room.borrow()).map(|_| ());
        assert_eq!((once, twice, bits), (Err(wrong), Err(wrong), Err(wrong)));
        assert_eq!(wrong.to_string(), format!("fields has {got} values: the model has 25 sites"));
        let wrong = SparseError::Fields { sites: 25, each: 3, got };
        assert_eq!(Potts::new(25, 3, edges(), fields, room.borrow()).map(|_| ()), Err(wrong));
        let said = format!("fields has {got} values: the model has 25 sites of 3 values");
        assert_eq!(wrong.to_string(), said);
        let ones = [1.0; 30];
        for (diagonal, centre) in [(&ones[..got], &ones[..25]), (&ones[..25], &ones[..got])] {
            let model = LatticeGaussian::sparse(25, 5, edges(), diagonal, centre, room.borrow());
            assert_eq!(model.map(|_| ()), Err(GaussianError::Length { need: 25, got }));
        }
        let rows = Sparse::from_rows(&[0; 25], &[], &[0; 30][..got], 0).map(|_| ());
        assert_eq!(rows, Err(SparseError::Fields { sites: 25, each: 1, got }));
    }
    let zeros =
        Ising::bits_edges_once(25, edges(), &[0.0; 25], room.borrow()).unwrap().form().linear().to_vec();
    assert_eq!(Ising::bits_edges_once(25, edges(), &[], room.borrow()).unwrap().form().linear(), zeros);
    assert_eq!(Ising::bits_edges_once(24, [], &fields[..24], room.borrow()).unwrap().form().sites(), 24);
}

/// Memory outlives a constructor's error, and serves the next chain.
#[test]
fn a_refused_start_leaves_the_memory() {
    const L: Layout = Layout::binary(40);
    let mut memory: memory_type!(L, 0) = memory!(L, 0);
    let (model, other) = (Bernoulli::new(&[0.5; 40]).unwrap(), Layout::binary(33));
    let refused = Chain::new(&model, memory.borrow(), Packed::new(other, &[0; 2]).unwrap()).map(|_| ());
    assert_eq!(refused, Err(ChainError::State(StateError::Layout { need: L, got: other })));
    let chain = Chain::new(&model, memory.borrow(), Packed::new(L, &[7, 1]).unwrap()).unwrap();
    assert_eq!(chain.state().words(), [7, 1]);
}

/// Three whole numbers from offsets on; each offset should be one of a site.
struct Windows<'a>(Option<&'a [i32]>);

impl Function for Windows<'_> {
    fn layout(&self) -> Layout {
        Layout::ordinal(3, 5)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        x.values().sum::<u32>() as f32
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        1.0
    }

    fn offsets(&self) -> Option<&[i32]> {
        self.0
    }
}

#[test]
fn offsets_are_one_a_site() {
    const L: Layout = Layout::ordinal(3, 5);
    let start = State::<1>::zeros(L).unwrap();
    let offsets = [-7, 0, 9, 2];
    for got in [0, 1, 2, 4] {
        let energy = Plain(Windows(Some(&offsets[..got])));
        let refused = ChainError::Offsets { sites: 3, got };
        assert_eq!(Chain::new(&energy, memory!(L, 1), start.view()).map(|_| ()), Err(refused));
        let mut rng = LaneRng::seed_from_u64(1);
        assert_eq!(Chain::random(&energy, memory!(L, 1), &mut rng).map(|_| ()), Err(refused));
        let checked = energy::check(&energy, &mut memory!(L, 1), [start.view()]).map(|_| ());
        assert_eq!(checked, Err(refused.into()));
        let said = format!("offsets has {got} values: the energy has 3 sites");
        assert_eq!(refused.to_string(), said);
    }
    for (offsets, integers) in [(None, [0, 0, 0]), (Some(&offsets[..3]), [-7, 0, 9])] {
        let energy = Plain(Windows(offsets));
        let chain = Chain::new(&energy, memory!(L, 1), start.view()).unwrap();
        assert!(chain.integers().eq(integers));
        // On the path to it the whole numbers are the same.
        let path = Tempered::new(&energy, 0.5).unwrap();
        let chain = Chain::new(&path, memory!(L, 2), start.view()).unwrap();
        assert!(chain.integers().eq(integers));
    }
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
    assert_eq!(build(&ends[..2], &good, &[7; 3], 0), Err(Fields { sites: 2, each: 1, got: 3 }));
    assert_eq!(build(&[1, 3, 4, 4], &good, &[7; 3], 0), Err(Fields { sites: 4, each: 1, got: 3 }));
    for exponent in [-101, 101, i32::MIN, i32::MAX] {
        assert_eq!(build(&ends, &good, &[7; 3], exponent), Err(Exponent));
    }
    for exponent in [-100, 100] {
        assert_eq!(build(&ends, &good, &[7; 3], exponent), Ok(()));
    }
    assert_eq!(build(&[3, 1, 4], &good, &[7; 3], 0), Err(Ends { site: 1 }));
    assert_eq!(build(&[1, 3, 5], &good, &[7; 3], 0), Err(Ends { site: 2 }));
    assert_eq!(build(&[1, 3, u32::MAX], &good, &[7; 3], 0), Err(Ends { site: 2 }));
    assert_eq!(build(&[1, 3, 3], &good, &[7; 3], 0), Err(Entries { need: 3, got: 4 }));
    let with = |at: usize, wrong: Entry| {
        let mut entries = good;
        entries[at] = wrong;
        build(&ends, &entries, &[7; 3], 0)
    };
    assert_eq!(with(0, entry(0, 5)), Err(Diagonal { edge: 0 }));
    assert_eq!(with(0, entry(3, 5)), Err(OutOfRange { edge: 0 }));
    assert_eq!(with(0, entry(u32::MAX, 5)), Err(OutOfRange { edge: 0 }));
    assert_eq!(with(2, entry(1, 5)), Err(Diagonal { edge: 2 }));
    assert_eq!(with(2, entry(3, -3)), Err(OutOfRange { edge: 2 }));
    assert_eq!(with(0, entry(1, 4)), Err(Asymmetric { a: 0, b: 1 }));
    assert_eq!(with(0, entry(2, 5)), Err(Asymmetric { a: 0, b: 2 }));
    assert_eq!(with(2, entry(0, 5)), Err(Unsorted { site: 1 }));
    assert_eq!(build(&ends, &[good[0], good[2], good[1], good[3]], &[7; 3], 0), Err(Unsorted { site: 1 }));
    assert_eq!(build(&ends, &good, &[7, i32::MIN, 7], 0), Err(TooManyUnits { site: 1 }));
    let most = (1 << 30) - 5;
    assert_eq!(build(&ends, &good, &[most, 7, 7], 0), Ok(()));
    assert_eq!(build(&ends, &good, &[most + 1, 7, 7], 0), Err(TooManyUnits { site: 0 }));
    // Fields of the other sign bring the sums back below 2³⁰, but −2³¹ has no negative, and cut numbers are not what they were.
    for (coupling, fields) in [(i32::MIN, [0; 2]), (i32::MIN, [1 << 30; 2]), (i32::MAX, [-(1 << 30); 2])] {
        let huge = [entry(1, coupling), entry(0, coupling)];
        assert_eq!(build(&[1, 2], &huge, &fields, 0), Err(TooManyUnits { site: 0 }));
        assert!(QuantisedIsing::from_rows(&[1, 2], &huge, &fields).is_err());
    }
    let largest = [entry(1, i32::MIN + 2), entry(0, i32::MIN + 2)];
    let model = Ising::quadratic(Sparse::from_rows(&[1, 2], &largest, &[1 << 30; 2], -30).unwrap());
    let mut chain = heap::chain(&model, &[0]).unwrap();
    let mut rng = LaneRng::seed_from_u64(1);
    for _ in 0..100 {
        chain.step(&Langevin::adjusted(0.5).unwrap(), &mut rng);
        chain.step(&IsingLangevin::adjusted(0.5).unwrap(), &mut rng);
        chain.step(&SequentialGibbs, &mut rng);
        let truth = [0.0, -1.0, -1.0, 0.0][chain.state().words()[0] as usize];
        assert!((chain.energy() - truth).abs() < 1e-4, "{} {truth}", chain.energy());
    }
}

#[test]
fn what_is_compiled_is_taken_back() {
    // Stars whose couplings add up to just under a power of two, so that every rounding counts.
    for degree in 1..400u32 {
        let coupling = (1.0 / f64::from(degree)) as f32;
        for coupling in [coupling, coupling.next_down(), coupling.next_up(), -coupling] {
            let mut memory = Couplings::new(degree as usize + 1, degree as usize);
            let edges = (1..=degree).map(|leaf| (0, leaf, coupling));
            for spins in [false, true] {
                let compile = if spins { Ising::spins_edges_once } else { Ising::bits_edges_once };
                let model =
                    compile(degree as usize + 1, edges.clone().collect::<Vec<_>>(), &[], memory.borrow())
                        .unwrap();
                let form = model.form();
                let again = Sparse::from_rows(form.ends(), form.entries(), form.linear(), form.exponent());
                assert!(again.is_ok(), "{degree} of {coupling}: {again:?}");
            }
        }
    }
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
    // As many hidden units as sums over them are exact for, and one more.
    for (units, is_legal) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let zeros = vec![[0.0; LANES]; Rbm::row_blocks(units)];
        assert_eq!(build(&zeros, &[0.0], &zeros, units).is_ok(), is_legal, "{units} hidden units");
    }
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
    assert!(matches!(build(&packed, &visible, &wrong, 17), Err(HiddenPadding)));
    let mut wrong = packed.clone();
    (wrong[0][2], wrong[2][2]) = (8e29, -8e29);
    assert_eq!(build(&wrong, &visible, &hidden, 17), Err(TooLarge { unit: 2 }));
    assert!(build(&packed, &[1.0, 2.0, 2e30], &hidden, 17).is_err());
    // The largest bias that is taken, and the next.
    let bias = |bias: f32| {
        let mut hidden = [[0.0; LANES]];
        hidden[0][3] = bias;
        Rbm::new(&[[0.0; LANES]], &[0.0], &hidden, 5).map(|_| ())
    };
    assert_eq!((bias(1e30), bias(-1e30)), (Ok(()), Ok(())));
    assert_eq!((bias(1e30f32.next_up()), bias(1e30f32.next_down())), (Err(TooLarge { unit: 3 }), Ok(())));
    let visible = |bias: f32| Rbm::new(&[[0.0; LANES]], &[bias], &[[0.0; LANES]], 5).map(|_| ());
    assert_eq!((visible(-1e30), visible(1e30f32.next_up())), (Ok(()), Err(VisibleTooLarge { unit: 0 })));
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
    let three = Layout::categorical(3, 3);
    assert_eq!(Packed::new(three, &[0b11_00_01]).unwrap_err(), StateError::Value { site: 2, value: 3 });
    let other = [0; 1];
    let (a, b) = (Packed::new(layout, &[0, 0]).unwrap(), Packed::new(three, &other).unwrap());
    assert!(Move::new(a, b).is_err());
}

#[test]
fn ones_are_the_sites_that_are_not_zero() {
    let mut source = models::Source::new(4);
    for arity in [2, 3, 16, 17, 300] {
        for layout in [Layout::categorical(45, arity), Layout::ordinal(45, arity)] {
            let x: Vec<f64> = (0..45).map(|_| (source.below(2) * source.below(arity)) as f64).collect();
            let words = heap::pack_in(layout, &x);
            let ones = x.iter().filter(|&&value| value != 0.0).count();
            assert_eq!(Packed::new(layout, &words).unwrap().ones(), ones, "{layout}");
        }
    }
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

#[test]
fn whole_numbers_are_offsets_and_values() {
    const L: Layout = Layout::ordinal(3, 5);
    let windows = Windows(Some(&[-7, 0, 9]));
    let words = heap::pack_in(L, &[4.0, 1.0, 3.0]);
    // Of a function and of a reference to it.
    let (by_reference, own) = (Plain(&windows), Plain(Windows(windows.0)));
    for energy in [&by_reference as &dyn Energy, &own] {
        let chain = Chain::new(energy, memory!(L, 1), Packed::new(L, &words).unwrap()).unwrap();
        assert!(chain.integers().eq([-3, 1, 12]));
    }
}

/// A flat energy of three sites, of fewer values each than the layout has.
struct Fewer(Layout);

impl Function for Fewer {
    fn layout(&self) -> Layout {
        self.0
    }

    fn arities(&self) -> Option<&[u16]> {
        Some(&[2, 3, 1])
    }

    fn total(&self, _: Packed<'_>) -> f32 {
        0.0
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        0.0
    }
}

#[test]
fn values_that_a_site_has_not_are_refused() {
    for layout in [Layout::ordinal(3, 5), Layout::categorical(3, 5), Layout::categorical(3, 70)] {
        let energy = Plain(Fewer(layout));
        for (site, arity) in [2, 3, 1].into_iter().enumerate() {
            for value in 0..5 {
                let mut words = vec![0; layout.words()];
                bitmc::packed::set(layout, &mut words, site, value).unwrap();
                let refused = Err(ChainError::State(StateError::Value { site, value }));
                let said = if value < arity { Ok(()) } else { refused };
                assert_eq!(heap::chain(&energy, &words).map(drop), said, "{layout}, {site} {value}");
                let state = Packed::new(layout, &words).unwrap();
                let checked = energy::check(&energy, &mut heap::memory(&energy), [state]).map(drop);
                assert_eq!(checked, said.map_err(Into::into), "{layout}, {site} {value}");
            }
        }
    }
}
