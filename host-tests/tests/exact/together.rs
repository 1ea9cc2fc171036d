//! Chains that step together: each is the chain that runs alone, bit for bit, whatever runs beside it.

use bitmc::energy::{CoarseRbm, Slope};
use bitmc::lane::{Bits, Block, LANES};
use bitmc::{Chain, Energy, Function, Info, LaneRng, Langevin, Layout, Packed, Plain, Potts, torus};
use bitmc_host_tests::comparison::{cache_of, gradient_of};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::{self, Couplings, HeapChain, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;
use bitmc_host_tests::passes_on;
use std::cell::Cell;
use std::ops::Range;

fn generators<const N: usize>() -> [LaneRng; N] {
    std::array::from_fn(|stream| LaneRng::stream(7, stream as u32))
}

/// `N` chains from zeros, over the energies in turn, every third site held at will.
fn chains<'e, const N: usize>(energies: &[&'e dyn Energy], held: bool) -> [HeapChain<'e, dyn Energy + 'e>; N] {
    std::array::from_fn(|number| {
        let energy = energies[number % energies.len()];
        let layout = energy.layout();
        let mut chain = heap::chain(energy, &vec![0; layout.words()]).unwrap();
        if held {
            let mask: Vec<f64> = (0..layout.sites()).map(|site| f64::from(site % 3 == 1)).collect();
            chain.clamp(Packed::new(Layout::binary(layout.sites()), &heap::pack(&mask)).unwrap()).unwrap();
        }
        chain
    })
}

/// Steps in which a chain differs from the chain that runs alone by `alone`, and how many sites moved.
fn differences<const N: usize>(
    energies: &[&dyn Energy],
    together: &Langevin<'_>,
    alone: &Langevin<'_>,
    held: bool,
    steps: usize,
) -> (usize, u32) {
    let (mut ones, mut rngs) = (chains::<N>(energies, held), generators::<N>());
    let (mut others, mut other_rngs) = (chains::<N>(energies, held), generators::<N>());
    let (mut different, mut moved) = (0, 0);
    for _ in 0..steps {
        let mut infos = [Info::default(); N];
        together.step_together(&mut ones, &mut rngs, &mut infos).unwrap();
        for (number, (chain, rng)) in others.iter_mut().zip(&mut other_rngs).enumerate() {
            let bits = |info: Info| (info, info.log_ratio.to_bits(), info.difference.to_bits());
            let info = chain.step(alone, rng);
            let one = &ones[number];
            let same = bits(info) == bits(infos[number])
                && one.state().words() == chain.state().words()
                && one.core() == chain.core();
            different += usize::from(!same);
            moved += info.moved();
        }
    }
    (different, moved)
}

/// Checks energies in every number of chains around four and eight.
fn judge(name: &str, energies: &[&dyn Energy], step_size: f32) {
    let (adjusted, unadjusted) =
        (Langevin::adjusted(step_size).unwrap(), Langevin::unadjusted(step_size).unwrap());
    let counts = [
        differences::<0>,
        differences::<1>,
        differences::<3>,
        differences::<4>,
        differences::<5>,
        differences::<9>,
    ];
    for (index, count) in counts.into_iter().enumerate() {
        for (sampler, held) in [(&adjusted, false), (&adjusted, true), (&unadjusted, false)] {
            let (different, moved) = count(energies, sampler, sampler, held, 60);
            assert_eq!(different, 0, "{name}");
            assert!(index == 0 || moved > 5, "{name}: {moved} moves to compare");
        }
    }
}

#[test]
fn chains_are_those_that_run_alone() {
    for (visible, hidden) in [(1, 3), (20, 40), (33, 17), (70, 100)] {
        let machine = models::machine(visible, hidden, 0.3, 3);
        let weights = Weights::new(&machine).unwrap();
        let exact = weights.rbm().unwrap();
        let mut room = vec![[0; LANES]; CoarseRbm::room_len(visible, hidden)];
        let coarse = CoarseRbm::new(exact, &mut room).unwrap();
        judge("RBM", &[&exact], 0.5);
        judge("RBM with 16-bit integers", &[&coarse], 0.5);
        judge("two energies", &[&coarse, &coarse, &exact], 0.5);
    }
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.2, 0.4, 1);
    let mut couplings = model.couplings();
    judge("Ising", &[&couplings.ising(&model).unwrap()], 0.5);
    // From zeros a move to more than two ones is forbidden.
    judge("walls", &[&Plain(Count { sites: 6, most: 2.0, weight: 0.5 })], 1.0);
    for arity in [3, 40] {
        let mut couplings = Couplings::new(9, 18);
        let potts = Potts::new(9, arity, torus(3, 3, 0.1), &[], couplings.borrow()).unwrap();
        judge("Potts", &[&potts], 1.0);
    }
}

/// Two ones at most; beyond there is no slope.
struct Cliff;

impl Function for Cliff {
    fn layout(&self) -> Layout {
        Layout::binary(6)
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        if x.ones() > 2 { f32::INFINITY } else { 0.5 * x.ones() as f32 }
    }

    fn gradient(&self, x: Packed<'_>, _: usize) -> f32 {
        if x.ones() > 2 { f32::NAN } else { 0.5 }
    }
}

/// A move to a forbidden state is no fault, whatever the slope there.
#[test]
fn slopes_of_forbidden_states_are_not_asked_for() {
    judge("a cliff", &[&Plain(Cliff)], 1.0);
}

/// Another energy, whose gradients must have room for their rows. It counts those one by one and those at once.
struct Roomy<E>(E, Cell<usize>, Cell<usize>);

impl<E: Energy> Roomy<E> {
    fn new(energy: E) -> Self {
        Self(energy, Cell::new(0), Cell::new(0))
    }
}

impl<E: Energy> Energy for Roomy<E> {
    passes_on!(0: layout, cache_len, init, shift, differences);

    fn gradient(&self, x: Packed<'_>, cache: &[Bits], rows: Range<usize>, out: &mut [Block]) {
        assert!(rows.len() * self.layout().row_blocks() <= out.len(), "no room for {rows:?}");
        self.1.set(self.1.get() + 1);
        self.0.gradient(x, cache, rows, out);
    }

    fn gradients(&self, points: &mut [Slope<'_>]) {
        let layout = self.layout();
        let room = |point: &Slope<'_>| layout.rows() * layout.row_blocks() <= point.out.len();
        assert!(points.iter().all(room), "no room for all rows");
        self.2.set(self.2.get() + points.len());
        self.0.gradients(points);
    }
}

/// Of categorical sites with many values a chain has room for one gradient at a time.
#[test]
fn sites_of_many_values_are_asked_for_one_by_one() {
    let mut couplings = Couplings::new(4, 4);
    let potts = Potts::new(4, 70, [(0, 1, 0.1), (1, 2, 0.1)], &[], couplings.borrow()).unwrap();
    judge("Potts", &[&Roomy::new(potts)], 1.0);
}

/// A step costs one gradient, and all of them are computed at once; before its first step each chain computes one alone.
#[test]
fn a_step_computes_one_gradient_a_chain() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.2, 0.4, 1);
    let mut couplings = model.couplings();
    let energy = Roomy::new(couplings.ising(&model).unwrap());
    let (mut ones, mut rngs) = (chains::<5>(&[&energy], false), generators::<5>());
    let sampler = Langevin::adjusted(0.5).unwrap();
    let at_start = energy.1.get();
    for _ in 0..10 {
        sampler.step_together(&mut ones, &mut rngs, &mut [Info::default(); 5]).unwrap();
    }
    assert_eq!((energy.1.get() - at_start, energy.2.get()), (5, 50));
}

/// Chains with room for their gradients, which other parameters then find there, are those that compute each anew.
#[test]
fn kept_gradients_are_those_of_the_state() {
    let model = models::pairwise(Convention::SpinsEdgesOnce, 40, 0.2, 0.4, 1);
    let mut couplings = model.couplings();
    let energy = couplings.ising(&model).unwrap();
    let (layout, zeros) = (energy.layout(), [0; 2]);
    let samplers = [0.5, 0.8].map(|step_size| Langevin::adjusted(step_size).unwrap());
    let (mut rngs, mut other_rngs) = (generators::<5>(), generators::<5>());
    let mut ones: [_; 5] = std::array::from_fn(|_| {
        let memory = heap::moving_memory(&energy, 2 * layout.gradient_blocks());
        Chain::new(&energy, memory, Packed::new(layout, &zeros).unwrap()).unwrap()
    });
    let mut others = chains::<5>(&[&energy], false);
    let mut moved = 0;
    for step in 0..60 {
        let sampler = &samplers[step % 2];
        let mut infos = [Info::default(); 5];
        sampler.step_together(&mut ones, &mut rngs, &mut infos).unwrap();
        for (number, (chain, rng)) in others.iter_mut().zip(&mut other_rngs).enumerate() {
            let info = chain.step(sampler, rng);
            let one = &ones[number];
            assert_eq!((infos[number], one.state()), (info, chain.state()), "step {step}, chain {number}");
            moved += info.moved();
        }
    }
    assert!(moved > 100, "{moved}");
}

#[test]
fn gradients_at_once_are_those_one_by_one() {
    let mut source = Source::new(2);
    for (visible, hidden) in [(1, 1), (16, 16), (17, 33), (50, 100)] {
        let machine = models::machine(visible, hidden, 1.0, 4);
        let weights = Weights::new(&machine).unwrap();
        let exact = weights.rbm().unwrap();
        let mut room = vec![[0; LANES]; CoarseRbm::room_len(visible, hidden)];
        let coarse = CoarseRbm::new(exact, &mut room).unwrap();
        for energy in [&exact as &dyn Energy, &coarse] {
            for count in 0..10 {
                let states: Vec<_> = (0..count).map(|_| source.state(visible)).collect();
                let words: Vec<_> = states.iter().map(|x| heap::pack(x)).collect();
                let caches: Vec<_> = states.iter().map(|x| cache_of(energy, x).1).collect();
                let mut out = vec![vec![[f32::NAN; LANES]; energy.layout().blocks()]; count];
                let points = words.iter().zip(&caches).zip(&mut out);
                let mut points: Vec<_> = points
                    .map(|((words, cache), out)| Slope {
                        x: Packed::new(energy.layout(), words).unwrap(),
                        cache,
                        out,
                    })
                    .collect();
                energy.gradients(&mut points);
                for ((x, cache), out) in states.iter().zip(&caches).zip(&out) {
                    // Lanes past the last site are nobody's.
                    let bits = |blocks: &[[f32; LANES]]| -> Vec<u32> {
                        blocks.as_flattened().iter().take(visible).map(|g| g.to_bits()).collect()
                    };
                    assert_eq!(bits(out), bits(&gradient_of(energy, x, cache)));
                }
            }
        }
    }
}

/// What the comparison must see: another step size, and a generator one word on.
#[test]
fn other_chains_are_told_apart() {
    let machine = models::machine(20, 40, 0.3, 3);
    let weights = Weights::new(&machine).unwrap();
    let rbm = weights.rbm().unwrap();
    let [a, b] = [0.5, 0.51].map(|step_size| Langevin::adjusted(step_size).unwrap());
    assert!(differences::<4>(&[&rbm], &a, &b, false, 60).0 > 200);
    let (mut ones, mut others) = (chains::<4>(&[&rbm], false), chains::<4>(&[&rbm], false));
    let (mut rngs, mut other_rngs) = (generators::<4>(), generators::<4>());
    other_rngs[2].block();
    let mut different = [0; 4];
    for _ in 0..60 {
        a.step_together(&mut ones, &mut rngs, &mut [Info::default(); 4]).unwrap();
        a.step_together(&mut others, &mut other_rngs, &mut [Info::default(); 4]).unwrap();
        for (different, (one, other)) in different.iter_mut().zip(ones.iter().zip(&others)) {
            *different += usize::from(one.state().words() != other.state().words());
        }
    }
    assert!(matches!(different, [0, 0, 40..=60, 0]), "{different:?}");
}
