//! Chains of bit-sliced spins on a prism, all degrees three, couplings of both signs.

use crate::hash::Hash;
use crate::used::{borrowed, used};
use bitmc::energy::Edge;
use bitmc::sliced::{SlicedChains, SlicedGibbs, SlicedIsing, SlicedLangevin};
use bitmc::{Ising, LaneRng, SeedableRng, SparseMemory};

/// The hash of a chain that could not be built: no committed hash is 0.
const BROKEN: u32 = 0;

const SITES: usize = 6;
const J: f32 = 0.4;
const EDGES: [Edge; 9] =
    [(0, 1, J), (1, 2, -J), (0, 2, J), (3, 4, -J), (4, 5, -J), (3, 5, J), (0, 3, J), (1, 4, J), (2, 5, -J)];

/// Sweeps of Gibbs sampling in 512 chains; five sites have a field.
pub(crate) fn gibbs() -> u32 {
    let mut memory = SparseMemory::<SITES, 18>::new();
    let model = Ising::spins_edges_once(SITES, EDGES, &[0.3, -0.3, 0.0, 0.3, 0.3, -0.3], borrowed(&mut memory));
    let Some(Ok(model)) = model.ok().map(SlicedIsing::new) else { return BROKEN };
    const WORDS: usize = SlicedGibbs::kind_words(3, false) + SlicedGibbs::kind_words(3, true);
    let (mut blocks, mut table) = (used::<_, SITES>(), used::<_, WORDS>());
    let mut rng = LaneRng::seed_from_u64(1);
    let Ok(chains) = SlicedChains::random(model, &mut blocks, &mut rng) else { return BROKEN };
    let Ok(mut gibbs) = SlicedGibbs::new(chains, &mut table) else { return BROKEN };
    let mut hash = Hash::new();
    for _ in 0..20 {
        gibbs.sweep(&mut rng);
        hash.words(gibbs.chains().blocks().as_flattened());
        hash.float(gibbs.chains().energy(100));
    }
    hash.value()
}

/// Steps of the adjusted Langevin sampler in 512 chains, without fields.
pub(crate) fn langevin() -> u32 {
    let mut memory = SparseMemory::<SITES, 18>::new();
    let model = Ising::spins_edges_once(SITES, EDGES, &[], borrowed(&mut memory));
    let Some(Ok(model)) = model.ok().map(SlicedIsing::new) else { return BROKEN };
    const BLOCKS: usize = SITES + SlicedLangevin::kind_blocks(SITES, 3, false);
    let (mut blocks, mut room) = (used::<_, SITES>(), used::<_, BLOCKS>());
    let mut table = used::<_, { SlicedLangevin::kind_words(3, false) }>();
    let mut rng = LaneRng::seed_from_u64(2);
    let Ok(chains) = SlicedChains::random(model, &mut blocks, &mut rng) else { return BROKEN };
    let langevin = SlicedLangevin::adjusted(chains, 0.7, &mut table, &mut room);
    let Ok(mut langevin) = langevin else { return BROKEN };
    let mut hash = Hash::new();
    for _ in 0..12 {
        hash.words(&langevin.step(&mut rng));
        hash.words(langevin.chains().blocks().as_flattened());
    }
    hash.value()
}
