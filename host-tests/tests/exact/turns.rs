//! Kernels that take turns on one chain: room for the gradient changes no draw, whatever moves between the steps that keep it.

use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::step::{IsingBalanced, IsingLangevin, SequentialGibbs, Swap, SwendsenWang, Wolff};
use bitmc::{
    Chain, Energy, Gibbs, GibbsWithGradients, Ising, Kernel, LaneRng, Langevin, LocallyBalanced, Memory,
    PathAuxiliary, RandomWalk, SeedableRng, torus,
};
use bitmc_host_tests::heap::{self, Couplings, HeapChain};
use bitmc_host_tests::used;

const STEPS: u32 = 600;

/// A chain with room for a momentum, and for gradients.
fn chain<'e>(model: &'e Ising<'e>, gradients: bool, rng: &mut LaneRng) -> HeapChain<'e, Ising<'e>> {
    let layout = model.layout();
    let blocks = if gradients {
        Memory::weights_gradients_and_momentum(layout)
    } else {
        Memory::weights_and_momentum(layout)
    };
    Chain::random(model, Memory { weights: used::memory(blocks), ..heap::memory(model) }, rng).unwrap()
}

/// Steps that differ between a chain without room for gradients and one with it, where `kernel` takes turns with Langevin of
/// two step sizes; and moves of `kernel`. `factor` is that of the other chain's step sizes.
fn differ<K: for<'a> Kernel<Ising<'a>>>(model: &Ising<'_>, kernel: &K, factor: f32) -> (usize, u32) {
    let mut rngs = [LaneRng::seed_from_u64(1), LaneRng::seed_from_u64(1)];
    let mut chains = [chain(model, false, &mut rngs[0]), chain(model, true, &mut rngs[1])];
    let (mut different, mut moved) = (0, 0);
    for step in 0..STEPS {
        let mut infos = Vec::new();
        for (number, (chain, rng)) in chains.iter_mut().zip(&mut rngs).enumerate() {
            let factor = if number == 0 { 1.0 } else { factor };
            let langevin = |step_size: f32| Langevin::adjusted(factor * step_size).unwrap();
            infos.push(match step % 3 {
                0 => chain.step(kernel, rng),
                1 => chain.step(&langevin(0.5), rng),
                _ => chain.step(&langevin(0.7), rng),
            });
        }
        moved += if step % 3 == 0 { infos[0].moved() } else { 0 };
        different += usize::from(infos[0] != infos[1] || chains[0].state() != chains[1].state());
    }
    (different, moved)
}

#[test]
fn room_for_gradients_changes_no_draw() {
    // The larger one is for the step of few flips of `IsingLangevin`.
    for (side, seeds) in [(6, 1), (24, 2)] {
        let (sites, edges) = ((side * side) as usize, torus(side, side, 0.3));
        let mut couplings = Couplings::new(sites, edges.clone().count());
        let fields = vec![0.1 * seeds as f32; sites];
        let model = Ising::spins_edges_once(sites, edges, &fields, couplings.borrow()).unwrap();
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).unwrap();
        let balanced = IsingBalanced::new(noise, 1.0, 0.8).unwrap();
        let found = [
            ("IsingBalanced", differ(&model, &balanced, 1.0)),
            ("momentum", differ(&model, &balanced.momentum(0.5).unwrap(), 1.0)),
            ("discrete", differ(&model, &IsingBalanced::discrete(noise, f32::INFINITY, 1.0).unwrap(), 1.0)),
            ("IsingLangevin", differ(&model, &IsingLangevin::adjusted(0.2).unwrap(), 1.0)),
            ("SequentialGibbs", differ(&model, &SequentialGibbs, 1.0)),
            ("Gibbs", differ(&model, &Gibbs::systematic(), 1.0)),
            ("SwendsenWang", differ(&model, &SwendsenWang, 1.0)),
            ("Wolff", differ(&model, &Wolff, 1.0)),
            ("Swap", differ(&model, &Swap, 1.0)),
            ("RandomWalk", differ(&model, &RandomWalk::new(1.0).unwrap(), 1.0)),
            ("GibbsWithGradients", differ(&model, &GibbsWithGradients::new(2).unwrap(), 1.0)),
            ("PathAuxiliary", differ(&model, &PathAuxiliary::new(2).unwrap(), 1.0)),
            ("LocallyBalanced", differ(&model, &LocallyBalanced, 1.0)),
        ];
        for (name, (different, moved)) in found {
            assert!(moved > 50, "{name} hardly moves: {moved}");
            assert_eq!(different, 0, "{name} of {sites} sites: steps that differ");
        }
        // Other step sizes are seen.
        assert!(differ(&model, &SequentialGibbs, 1.01).0 > 0);
    }
}
