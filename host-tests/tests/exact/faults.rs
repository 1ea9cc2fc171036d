//! Energies and generators that fail: every step ends, in a legal state, and says so.

use bitmc::energy::EnergyError;
use bitmc::lane::{Bits, Block, LANES};
use bitmc::step::{
    ChromaticGibbs, Colouring, Curvature, EnumeratedGibbs, Gibbs, HammingBall, RandomWalk, SequentialGibbs,
    Swap, Wolff,
};
use bitmc::{
    Bernoulli, BlockGibbs, ChainError, Energy, Function, GibbsWithGradients, Ising, Kernel, Kind, LaneRng,
    Langevin, Layout, LocallyBalanced, Packed, PathAuxiliary, Plain, Potts, SeedableRng, StateError, torus,
};
use bitmc_host_tests::failing::Table;
use bitmc_host_tests::heap::{self, Couplings, Weights};
use bitmc_host_tests::models;
use bitmc_host_tests::naive::{Convention, Independent};
use bitmc_host_tests::passes_on;
use bitmc_host_tests::stuck::Stuck;
use std::cell::Cell;
use std::ops::Range;

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
    // A state of another layout is refused, also where its words would fit.
    let other = Packed::new(Layout::binary(3), &[0]).unwrap();
    let error = ChainError::State(StateError::Layout { need: energy.layout(), got: other.layout() });
    assert_eq!(chain.restart(other).unwrap_err(), error);
    assert_eq!(chain.clamp(other).unwrap_err(), error);
    assert_eq!(error.to_string(), "the state has 3 binary sites: 2 binary sites are needed");
    assert_eq!(Layout::categorical(1, 5).to_string(), "1 categorical site of 5 values");
    assert_eq!(Layout::ordinal(9, 3).to_string(), "9 ordinal sites of 3 values");
    let long = [0; 2];
    assert!(chain.clamp(Packed::new(Layout::binary(33), &long).unwrap()).is_err());
}

/// A gradient of NaN where a site has not so many values is not looked at; one of a value that it has is refused.
#[test]
fn lanes_past_the_values_of_a_site_are_ignored() {
    /// A flat energy whose gradient is NaN from a value on.
    struct Short {
        layout: Layout,
        arities: Vec<u16>,
        nan: usize,
    }
    impl Function for Short {
        fn layout(&self) -> Layout {
            self.layout
        }
        fn arities(&self) -> Option<&[u16]> {
            Some(&self.arities)
        }
        fn total(&self, _: Packed<'_>) -> f32 {
            0.0
        }
        fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
            self.component(x, site, 1)
        }
        fn component(&self, _: Packed<'_>, site: usize, value: usize) -> f32 {
            if value >= self.nan.min(usize::from(self.arities[site])) { f32::NAN } else { 0.0 }
        }
    }
    /// The same with NaN in every lane that is no slope of a value that its site has.
    struct Around(Plain<Short>);
    impl Energy for Around {
        passes_on!(0: layout, cache_len, arities, init, shift, differences);

        fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
            self.0.gradient(x, cache, rows.clone(), out);
            let (layout, arities) = (self.layout(), &self.0.0.arities);
            let first = usize::from(layout.kind() != Kind::Categorical);
            for (row, blocks) in rows.zip(out.chunks_mut(layout.row_blocks())) {
                for (at, slope) in blocks.as_flattened_mut().iter_mut().enumerate() {
                    let component = layout.component(row, at / LANES, at % LANES);
                    if component.is_none_or(|(site, value)| first + value >= usize::from(arities[site])) {
                        *slope = f32::NAN;
                    }
                }
            }
        }
    }
    let start = |layout, arities: &[u16], nan| {
        let energy = Around(Plain(Short { layout, arities: arities.to_vec(), nan }));
        heap::chain(&energy, &vec![0; layout.words()]).map(|_| ())
    };
    let layouts = [
        (Layout::categorical(3, 5), [2u16, 5, 3]),
        (Layout::categorical(3, 70), [66, 70, 2]),
        (Layout::ordinal(3, 5), [1, 5, 2]),
        (Layout::binary(3), [2, 1, 2]),
    ];
    for (layout, arities) in layouts {
        assert_eq!(start(layout, &arities, 99), Ok(()), "{layout:?}");
        let nan = Err(ChainError::Energy(EnergyError::NanGradient));
        assert_eq!(start(layout, &arities, 1), nan, "{layout:?}: the slope of a value that is there");
    }
}

/// In a row of many values the largest logit is found wherever it is: without it exponentials overflow. So is a NaN,
/// which makes a step a fault and is never passed by.
#[test]
fn a_long_row_is_looked_through_to_its_last_value() {
    const VALUES: usize = 230;
    /// Flat but for one slope: the one at state 0, and the one elsewhere.
    struct One {
        value: usize,
        slopes: [f32; 2],
    }
    impl Function for One {
        fn layout(&self) -> Layout {
            Layout::categorical(1, VALUES)
        }
        fn total(&self, _: Packed<'_>) -> f32 {
            0.0
        }
        fn gradient(&self, x: Packed<'_>, site: usize) -> f32 {
            self.component(x, site, 1)
        }
        fn component(&self, x: Packed<'_>, _: usize, value: usize) -> f32 {
            if value == self.value { self.slopes[usize::from(x.get(0) != 0)] } else { 0.0 }
        }
    }
    let sampler = Langevin::adjusted(1.0).unwrap();
    for value in 1..VALUES {
        let steep = Plain(One { value, slopes: [-400.0; 2] });
        let mut chain = heap::chain(&steep, &[0]).unwrap();
        let words = heap::pack_in(steep.layout(), &[value as f64]);
        let to = Packed::new(steep.layout(), &words).unwrap();
        let there = sampler.transition(chain.ring(), to).unwrap();
        assert!(there.log_forward > -1e-6 && !there.fault, "value {value}: {there:?}");

        let nan = Plain(One { value, slopes: [0.0, f32::NAN] });
        let mut chain = heap::chain(&nan, &[0]).unwrap();
        let mut rng = LaneRng::seed_from_u64(value as u64);
        let faults = (0..5).filter(|_| chain.step(&sampler, &mut rng).fault).count();
        assert!(faults > 0 && chain.state().get(0) == 0, "value {value}: {faults} faults");
    }
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
fn samplers_without_gradients_avoid_what_fails() {
    let totals = vec![0.0, f32::NAN, 0.5, f32::NEG_INFINITY, 0.0, f32::INFINITY, 0.25, 0.0];
    let energy = Plain(Table { sites: 3, totals, gradient: vec![0.0] });
    fn check<K: Kernel<Plain<Table>>>(energy: &Plain<Table>, kernel: &K) {
        let mut chain = heap::chain(energy, &[0]).unwrap();
        let (mut rng, mut faults, mut visited) = (LaneRng::seed_from_u64(3), 0, 0u32);
        for _ in 0..2000 {
            let before = chain.energy();
            let info = chain.step(kernel, &mut rng);
            visited |= 1 << chain.state().words()[0];
            faults += u32::from(info.fault);
            let difference = chain.energy() - before;
            assert!(!info.log_ratio.is_nan() && (!info.accepted || info.difference == difference));
            assert_eq!(chain.faults(), faults);
        }
        assert!(faults > 300, "{faults} faults");
        assert_eq!(visited & 0b0010_1010, 0, "states that fail or are forbidden: {visited:b}");
        assert_eq!(visited & 0b0101_0101, 0b0101_0101, "states within reach: {visited:b}");
    }
    check(&energy, &RandomWalk::new(1.5).unwrap());
    check(&energy, &Gibbs::systematic());
    check(&energy, &Gibbs::random(2).unwrap());
    check(&energy, &EnumeratedGibbs::new(Layout::binary(3), 2).unwrap());
    check(&energy, &HammingBall::new(Layout::binary(3), 3, 1).unwrap());
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
    let (walk, gibbs) = (RandomWalk::new(2.0).unwrap(), Gibbs::systematic());
    for _ in 0..50 {
        chain.step(&walk, &mut rng);
        assert!(chain.step(&gibbs, &mut rng).fault && chain.energy() == 0.0);
    }
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

/// Where no field holds a cluster it always flips, also by a uniform that is exactly 1.
#[test]
fn clusters_without_a_field_flip_whatever_the_generator_gives() {
    let mut couplings = Couplings::new(9, 18);
    let model = Ising::spins_edges_once(9, torus(3, 3, 0.5), &[], couplings.borrow()).unwrap();
    for (name, mut rng) in Stuck::all() {
        let mut chain = heap::chain(&model, &[0]).unwrap();
        for _ in 0..20 {
            let info = chain.step(&Wolff, &mut rng);
            assert!(info.accepted && info.proposed > 0 && info.log_ratio == 0.0, "{name}: {info:?}");
        }
    }
}

/// Steps in which everything must stay legal; returns how many were accepted.
fn tread<E: Energy, K: Kernel<E>>(energy: &E, kernel: &K, rng: &mut impl bitmc::Rng, held: u32) -> u32 {
    let layout = energy.layout();
    let mut start = vec![0xAAAA_AAAA; layout.words()];
    *start.last_mut().unwrap() &= layout.last_word();
    let mut chain = heap::chain(energy, &start).unwrap();
    let mask = Layout::binary(layout.sites());
    let mut clamped = vec![0; mask.words()];
    clamped[0] = if mask.words() == 1 { held & mask.last_word() } else { held };
    let clamped = Packed::new(mask, &clamped).unwrap();
    chain.clamp(clamped).unwrap();
    let before: Vec<u32> = chain.state().values().collect();
    let mut accepted = 0;
    for _ in 0..60 {
        let info = chain.step(kernel, rng);
        accepted += u32::from(info.accepted);
        let words = chain.state().words();
        assert!(Packed::new(layout, words).is_ok(), "an illegal state");
        let sites = clamped.values().zip(&before).zip(chain.state().values());
        let still = |((held, &before), now): ((u32, &u32), u32)| held == 0 || before == now;
        assert!(sites.into_iter().all(still), "a clamped site has moved");
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
    let ising =
        Ising::bits_edges_once(fields.len(), [(0, 1, 4e29), (1, 2, -4e29)], &fields, memory.borrow()).unwrap();
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
    let ising = Ising::spins_edges_twice(fields.len(), [(0, 1, 1e-44)], &fields, memory.borrow()).unwrap();
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
                for radius in [0.1, 3.0, 1e9] {
                    let walk = RandomWalk::new(radius).unwrap();
                    tread(&ising, &walk, &mut rng.clone(), held);
                    tread(&own, &walk, &mut rng.clone(), held);
                }
                for gibbs in [Gibbs::systematic(), Gibbs::random(5).unwrap()] {
                    tread(&ising, &gibbs, &mut rng.clone(), held);
                    tread(&rbm, &gibbs, &mut rng.clone(), held);
                    tread(&own, &gibbs, &mut rng.clone(), held);
                }
                let (blocks, ball) = (
                    EnumeratedGibbs::new(ising.layout(), 4).unwrap(),
                    HammingBall::new(ising.layout(), 6, 2).unwrap(),
                );
                tread(&ising, &blocks, &mut rng.clone(), held);
                tread(&own, &blocks, &mut rng.clone(), held);
                tread(&rbm, &ball, &mut rng.clone(), held);
                tread(&own, &ball, &mut rng.clone(), held);
                tread(&ising, &Swap, &mut rng.clone(), held);
                tread(&own, &Swap, &mut rng.clone(), held);
                let mut classes = vec![0; Colouring::words(sites, sites)];
                let colours = Colouring::greedy(ising.form(), &mut classes).unwrap();
                tread(&ising, &ChromaticGibbs::new(colours), &mut rng.clone(), held);
                tread(&ising, &SequentialGibbs, &mut rng.clone(), held);
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

/// Every sampler that draws indices.
fn tread_paths<E: Energy>(energy: &E, rng: &mut (impl bitmc::Rng + Clone), held: u32) {
    for indices in [1, 3, 64] {
        tread(energy, &GibbsWithGradients::new(indices).unwrap(), &mut rng.clone(), held);
        tread(energy, &PathAuxiliary::new(indices).unwrap(), &mut rng.clone(), held);
    }
    tread(energy, &LocallyBalanced, &mut rng.clone(), held);
}

#[test]
fn paths_end_whatever_happens() {
    let good = Stuck::Low(0, rand_xoshiro::Xoshiro128PlusPlus::seed_from_u64(3));
    for (_, mut rng) in Stuck::all().into_iter().chain([("good", good)]) {
        for sites in [1, 16, 33] {
            let model = models::pairwise(Convention::SpinsEdgesOnce, sites, 0.2, 1.0, 7);
            let mut couplings = model.couplings();
            let ising = couplings.ising(&model).unwrap();
            let weights = Weights::new(&models::machine(sites, 21, 1.0, 7)).unwrap();
            let rbm = weights.rbm().unwrap();
            let walls =
                Plain(Table { sites, totals: vec![1.0, f32::INFINITY, 2.0, 0.5], gradient: vec![0.5, -1.0] });
            // All sites free, some, the second alone (no site of one), none of the first 32.
            for held in [0, 0x0F0F_F001, !2, u32::MAX] {
                tread_paths(&ising, &mut rng, held);
                tread_paths(&rbm, &mut rng, held);
                tread_paths(&walls, &mut rng, held);
            }
            for gradient in [3e38, -3e38, f32::INFINITY, f32::NEG_INFINITY] {
                let totals = vec![3e38, -3e38, 1.0];
                tread_paths(&Plain(Table { sites, totals, gradient: vec![gradient, 1.0] }), &mut rng, 4);
            }
        }
        let mut couplings = Couplings::new(9, 18);
        let potts = Potts::new(9, 4, torus(3, 3, 40.0), &[], couplings.borrow()).unwrap();
        for held in [0, 0b1_0110_0110, 0x1FE, 0x1FF] {
            tread_paths(&potts, &mut rng, held);
        }
    }
}

#[test]
fn paths_take_what_there_is() {
    let energy = Plain(Table { sites: 40, totals: vec![7.5], gradient: vec![0.0] });
    let mut rng = LaneRng::seed_from_u64(8);
    let mut step = |held: [u32; 2], kernel: &PathAuxiliary| {
        let mut chain = heap::chain(&energy, &[0, 0]).unwrap();
        chain.clamp(Packed::new(energy.layout(), &held).unwrap()).unwrap();
        chain.step(kernel, &mut rng)
    };
    for indices in [1, 5, 64] {
        let kernel = PathAuxiliary::new(indices).unwrap();
        for (held, free) in [([0, 0], 40), ([u32::MAX, 0xFE], 1), ([u32::MAX, 0xFF], 0)] {
            let info = step(held, &kernel);
            assert!(info.accepted && info.log_ratio == 0.0 && !info.fault, "{info:?}");
            assert_eq!(info.proposed, free.min(indices));
        }
    }
}

#[test]
fn paths_count_faults_and_never_propose_known_walls() {
    // Of eight states one is NaN, one −∞, one forbidden, one has a NaN in its gradient.
    let totals = vec![0.0, f32::NAN, 0.5, f32::NEG_INFINITY, 0.0, f32::INFINITY, 0.25, 0.0];
    let mut gradient = vec![0.0; 8];
    gradient[6] = f32::NAN;
    let energy = Plain(Table { sites: 3, totals, gradient });
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let mut rng = LaneRng::seed_from_u64(3);
    let mut faults = 0;
    for step in 0..2000 {
        let before = chain.state().words()[0];
        let indices = 1 + step % 3;
        let info = if step % 2 == 0 {
            chain.step(&GibbsWithGradients::new(indices).unwrap(), &mut rng)
        } else {
            chain.step(&PathAuxiliary::new(indices).unwrap(), &mut rng)
        };
        let state = chain.state().words()[0];
        assert!([0, 2, 4, 7].contains(&state), "the chain is at {state}");
        assert!(!info.fault || (!info.accepted && info.log_ratio == f32::NEG_INFINITY && state == before));
        faults += u32::from(info.fault);
        assert_eq!(chain.faults(), faults);
    }
    assert!(faults > 300, "{faults} faults");
    // Exact differences see the fault next door before anything is proposed.
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    assert!(chain.step(&LocallyBalanced, &mut rng).fault);

    let energy = Plain(Table { sites: 3, totals: vec![0.0, 1.0, 0.5, f32::INFINITY], gradient: vec![0.0] });
    let mut chain = heap::chain(&energy, &[0]).unwrap();
    let (mut tried, mut walls) = (0, 0);
    for _ in 0..1000 {
        let info = chain.step(&LocallyBalanced, &mut rng);
        assert!(!info.fault && info.difference < f32::INFINITY && info.proposed == 1);
        walls +=
            u32::from(chain.step(&GibbsWithGradients::new(1).unwrap(), &mut rng).difference == f32::INFINITY);
        tried += 1;
    }
    assert!(tried == 1000 && walls > 100, "{walls} walls by the gradient");
}
