//! Queries are counted: one gradient a step where the chain may keep it, one batched evaluation a step for all chains.

use bitmc::energy::{Estimate, Tempered};
use bitmc::lane::LANES;
use bitmc::noise::{Adaptation, Dense, DenseMatrix, Parameters};
use bitmc::open::gradient_len;
use bitmc::step::{Cycle, GibbsWithGradients, PathAuxiliary, RandomWalk, langevin_cycle};
use bitmc::{
    Chain, Energy, Function, Info, Kernel, LaneRng, Langevin, Layout, Memory, Open, OpenError, Packed, Plain,
    Schedule, SeedableRng,
};
use bitmc_host_tests::heap::{self, HeapChain, HeapMemory};
use bitmc_host_tests::used;
use std::cell::Cell;

const SITES: usize = 20;
const L: Layout = Layout::binary(SITES);
const STEPS: u64 = 300;

/// E(x) = (ones − 7)² / 20, and what was asked of it.
#[derive(Default)]
struct Counted {
    totals: Cell<u64>,
    gradients: Cell<u64>,
}

impl Function for Counted {
    fn layout(&self) -> Layout {
        L
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        self.totals.update(|count| count + 1);
        0.05 * (x.ones() as f32 - 7.0).powi(2)
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        unreachable!("only whole gradients are asked for")
    }

    fn gradient_all(&self, x: Packed<'_>, out: &mut [f32]) {
        self.gradients.update(|count| count + 1);
        out.fill(0.1 * (x.ones() as f32 - 7.0));
    }
}

/// Memory of a chain, used before, with room for gradients or without.
fn room<E: Energy + ?Sized>(energy: &E, gradients: bool) -> HeapMemory {
    let weights = if gradients { Memory::weights_and_gradients } else { Memory::weights };
    Memory { weights: used::memory(weights(energy.layout())), ..heap::memory(energy) }
}

type CountedChain<'e> = HeapChain<'e, Plain<Counted>>;

/// Totals and gradients of `STEPS` steps, without room for gradients and with it, after the first step, which asks for the
/// gradient at the start.
fn queries(step: impl Fn(&mut CountedChain<'_>, &mut LaneRng) -> Info) -> [(u64, u64); 2] {
    [false, true].map(|gradients| {
        let (energy, mut rng) = (Plain(Counted::default()), LaneRng::seed_from_u64(1));
        let memory = room(&energy, gradients);
        let mut chain = Chain::new(&energy, memory, Packed::new(L, &[0]).unwrap()).unwrap();
        step(&mut chain, &mut rng);
        energy.0.totals.take();
        energy.0.gradients.take();
        let infos: Vec<Info> = (0..STEPS).map(|_| step(&mut chain, &mut rng)).collect();
        let rejected = infos.iter().filter(|info| !info.accepted).count();
        let moved: u32 = infos.iter().map(|info| info.moved()).sum();
        assert!(moved > 50, "the chain hardly moves: {moved}");
        assert!(rejected < STEPS as usize && infos.iter().all(|info| !info.fault));
        (energy.0.totals.take(), energy.0.gradients.take())
    })
}

/// `queries` of one kernel.
fn queries_of(kernel: impl Kernel<Plain<Counted>>) -> [(u64, u64); 2] {
    queries(|chain, rng| chain.step(&kernel, rng))
}

const ONE: (u64, u64) = (STEPS, STEPS);
const TWO: (u64, u64) = (STEPS, 2 * STEPS);

#[test]
fn kernels_of_one_setting_ask_for_one_gradient_a_step() {
    assert_eq!(queries_of(Langevin::adjusted(0.4).unwrap()), [ONE, ONE]); // DMALA
    assert_eq!(queries_of(Langevin::unadjusted(0.4).unwrap()), [ONE, ONE]); // DULA
    assert_eq!(queries_of(Langevin::balanced(0.8, 0.7).unwrap()), [ONE, ONE]);
    // No gradient, and no total for a walk that stays.
    for (totals, gradients) in queries_of(RandomWalk::new(1.0).unwrap()) {
        assert!(
            (STEPS / 2..=STEPS).contains(&totals) && gradients == 0,
            "{totals} totals, {gradients} gradients"
        );
    }
}

/// Without room for the gradients it is two: the same count sees the difference.
#[test]
fn a_kept_gradient_saves_the_second_one() {
    let step_size = Schedule::cyclical_step_size(2.0, 0.2, 4).unwrap();
    let balance = Schedule::cosine(0.95, 0.5, 4).unwrap();
    let kernels = langevin_cycle::<4>(&step_size, &balance).unwrap();
    assert_eq!(queries_of(Cycle::new(&kernels).unwrap()), [TWO, ONE]); // ACS

    let rows = [[0.0; LANES]; DenseMatrix::blocks(SITES)];
    let (mut d, mut root) = ([[0.5; LANES]; L.blocks()], [[0.0; LANES]; Dense::root_blocks(SITES)]);
    d.as_flattened_mut()[SITES..].fill(0.0);
    let noise = Dense::new(DenseMatrix::new(SITES, &rows).unwrap(), &mut d, &mut root).unwrap();
    assert_eq!(queries_of(Langevin::second_order(noise, 0.8, 0.7).unwrap()), [TWO, ONE]);

    // An adaptation changes its parameters after some steps only.
    let adapting = Cell::new(Adaptation::new(Parameters::START));
    let [without, with] = queries(|chain, rng| {
        let mut adaptation = adapting.get();
        let now = adaptation.parameters();
        let info = chain.step(&Langevin::balanced(now.step_size, now.balance).unwrap(), rng);
        adaptation.observe(&info);
        adapting.set(adaptation);
        info
    });
    assert_eq!((without.0, with), (STEPS, ONE));
    assert!(without.1 > STEPS, "the parameters have changed");
    assert_ne!(adapting.get().parameters(), Parameters::START);
}

#[test]
fn samplers_of_indices_ask_for_one_gradient_a_step() {
    let [without, with] = queries_of(GibbsWithGradients::new(2).unwrap());
    assert_eq!(with, ONE);
    assert!(without.1 >= STEPS);
    let [without, with] = queries_of(PathAuxiliary::new(2).unwrap());
    assert_eq!(with, ONE);
    assert!(without.1 >= STEPS);
}

/// An estimate is another one each time: none is kept, whatever room there is.
#[test]
fn estimates_are_asked_for_anew() {
    let asked = Cell::new(0);
    let energy = Estimate::new(L, |x, _, out| {
        asked.update(|count| count + 1);
        out.as_flattened_mut().fill(x.ones() as f32 - 7.0);
    });
    let kernels = [0.2, 0.4].map(|size| Langevin::unadjusted(size).unwrap());
    let path = Tempered::new(&energy, 0.5).unwrap();
    let calls = |energy: &dyn Energy, gradients| {
        let mut rng = LaneRng::seed_from_u64(2);
        let start = Packed::new(L, &[0]).unwrap();
        let mut chain = Chain::new(energy, room(energy, gradients), start).unwrap();
        let cycle = Cycle::new(&kernels).unwrap();
        chain.run(&cycle, &mut rng, 1, &mut ());
        asked.set(0);
        chain.run(&cycle, &mut rng, STEPS, &mut ());
        asked.take()
    };
    for energy in [&energy as &dyn Energy, &path] {
        assert_eq!((calls(energy, false), calls(energy, true)), (2 * STEPS, 2 * STEPS));
    }
}

// Many sites of many values: the caller keeps the gradients.

const MANY: Layout = Layout::categorical(8, 30_522);
const CHAINS: usize = 16;

/// The slope of a value of a site: numbers without a pattern, the same at every state. E is their sum.
fn slope(site: usize, value: usize) -> f32 {
    let mixed = (site * 30_522 + value).wrapping_mul(0x9E37_79B1) >> 7;
    (mixed % 4096) as f32 / 512.0
}

struct Values;

impl Function for Values {
    fn layout(&self) -> Layout {
        MANY
    }

    fn total(&self, x: Packed<'_>) -> f32 {
        x.values().enumerate().map(|(site, value)| slope(site, value as usize)).sum()
    }

    fn gradient(&self, _: Packed<'_>, _: usize) -> f32 {
        unreachable!("sites are categorical")
    }

    fn component(&self, _: Packed<'_>, site: usize, value: usize) -> f32 {
        slope(site, value)
    }
}

/// A network that takes a whole batch at once, and how often it was asked.
struct Batch {
    calls: u32,
    energies: Vec<f32>,
    gradients: Vec<f32>,
}

impl Batch {
    fn evaluate<'x>(&mut self, states: impl Iterator<Item = Packed<'x>>) {
        self.calls += 1;
        let gradients = self.gradients.chunks_exact_mut(gradient_len(MANY));
        for ((x, energy), gradient) in states.zip(&mut self.energies).zip(gradients) {
            *energy = Values.total(x);
            Values.gradient_all(x, gradient);
        }
    }
}

#[test]
fn many_chains_of_many_values_take_one_evaluation_a_step() {
    type OpenChain = Open<'static, Vec<u32>, Vec<[u32; LANES]>, Vec<[f32; LANES]>>;
    let len = gradient_len(MANY);
    let empty = || Batch { calls: 0, energies: vec![0.0; CHAINS], gradients: vec![0.0; CHAINS * len] };
    let generators = || (0..CHAINS as u32).map(|stream| LaneRng::stream(3, stream)).collect::<Vec<_>>();
    let words = vec![0; MANY.words()];
    let start = Packed::new(MANY, &words).unwrap();
    let memory = || Memory {
        words: used::memory(Memory::words(MANY)),
        cache: Vec::new(),
        weights: used::memory(Memory::weights_and_gradients(MANY)),
    };
    let steps = 3;
    for adjusted in [true, false] {
        let kernel = if adjusted { Langevin::adjusted(2.0) } else { Langevin::unadjusted(2.0) }.unwrap();
        let (mut kept, mut network, mut rngs) = (empty(), empty(), generators());
        kept.evaluate(std::iter::repeat_n(start, CHAINS));
        let chain = |(energy, gradient)| Open::new(MANY, None, memory(), start, energy, gradient).unwrap();
        let starts = kept.energies.iter().copied().zip(kept.gradients.chunks_exact(len));
        let mut chains: Vec<OpenChain> = starts.map(chain).collect();
        // No chain keeps a gradient of so many values.
        let refused = Open::ask_each(&mut chains, &kernel, &[], &mut rngs);
        assert_eq!(refused, Err(OpenError::NoGradient));
        let (mut infos, mut accepted) = ([Info::default(); CHAINS], 0);
        for _ in 0..steps {
            Open::ask_each(&mut chains, &kernel, &kept.gradients, &mut rngs).unwrap();
            network.evaluate(chains.iter().map(|chain| chain.asked().unwrap()));
            // An unadjusted step is told the energies only.
            let told = if adjusted { &network.gradients[..] } else { &[] };
            if adjusted {
                let refused = Open::tell_each(&mut chains, &network.energies, &[], &mut infos);
                assert_eq!(refused, Err(OpenError::Gradient { need: len, got: 0 }));
            }
            Open::tell_each(&mut chains, &network.energies, told, &mut infos).unwrap();
            let rows = kept.gradients.chunks_exact_mut(len).zip(network.gradients.chunks_exact(len));
            for ((row, new), info) in rows.zip(&infos).filter(|(_, info)| info.accepted) {
                row.copy_from_slice(new);
                accepted += u32::from(info.moved() > 0);
            }
        }
        assert_eq!((kept.calls, network.calls), (1, steps), "one evaluation a step, and one at the start");
        assert!(accepted > 10, "{accepted} moves");
        // The same draws as chains that ask value by value.
        let energy = Plain(Values);
        for (number, (open, mut rng)) in chains.iter().zip(generators()).enumerate().step_by(5) {
            let mut alone = Chain::new(&energy, heap::memory(&energy), start).unwrap();
            alone.run(&kernel, &mut rng, u64::from(steps), &mut ());
            assert_eq!(open.state().words(), alone.state().words(), "chain {number}");
            assert_eq!(open.energy().to_bits(), alone.energy().to_bits(), "chain {number}");
            assert_eq!(open.faults(), 0);
        }
    }
}
