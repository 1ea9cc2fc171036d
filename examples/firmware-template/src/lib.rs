//! A model and its chain, in memory whose size is known when it is compiled.
#![no_std]

use bitmc::{Chain, Ising, LaneRng, Langevin, Layout, SeedableRng, SparseMemory, memory, stats::Means, torus};

const L: Layout = Layout::binary(25);
/// Steps of a run.
pub const STEPS: u64 = 10_000;

/// How often a site of a 5×5 Ising torus is up.
pub fn share_up(seed: u64) -> Option<f32> {
    let mut couplings = SparseMemory::<25, 100>::new(); // 25 sites, 50 edges seen from both ends
    let model = Ising::spins_edges_once(25, torus(5, 5, 0.2), &[0.2; 25], couplings.borrow()).ok()?;
    let (mut rng, mut means) = (LaneRng::seed_from_u64(seed), Means::new([0; 25]));
    let mut chain = Chain::random(&model, memory!(L, Ising::cache_len(25)), &mut rng).ok()?;
    chain.run(&Langevin::adjusted(0.6).ok()?, &mut rng, STEPS, &mut means);
    means.mean(0)
}
