//! Chains that step together: each is the chain that runs alone, bit for bit, whatever runs beside it.

use bitmc::energy::{CoarseRbm, Slope};
use bitmc::lane::LANES;
use bitmc::{Energy, Info, LaneRng, Langevin, Layout, Packed, Plain, Potts, torus};
use bitmc_host_tests::comparison::{cache_of, gradient_of};
use bitmc_host_tests::count::Count;
use bitmc_host_tests::heap::{self, Couplings, HeapChain, Weights};
use bitmc_host_tests::models::{self, Source};
use bitmc_host_tests::naive::Convention;

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
