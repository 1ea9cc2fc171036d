//! A graph whose sites and edges change while the device runs, within a capacity.

use bitmc::energy::{EdgeList, SparseError};
use bitmc::stats::Draws;
use bitmc::{
    Chain, Ising, LaneRng, Layout, SeedableRng, SparseMemory, memory, memory_type, step::SequentialGibbs,
};
use bitmc_chains::hash::Hash;

/// The most sites and edges.
const SITES: usize = 16;
const EDGES: usize = 24;

/// All that the graph needs, for the most sites.
struct Device {
    edges: EdgeList<EDGES>,
    couplings: SparseMemory<SITES, { 2 * EDGES }>,
    chain: memory_type!(Layout::binary(SITES), Ising::cache_len(SITES)),
    draws: Draws<1, 8>,
}

/// Five sites, then twelve, then seven; and one edge too many is refused by name.
#[inline(never)]
pub fn graph(coupling: f32, hash: &mut Hash) -> bool {
    let mut device = Device {
        edges: EdgeList::new(),
        couplings: SparseMemory::new(),
        chain: memory!(Layout::binary(SITES), Ising::cache_len(SITES)),
        draws: Draws::new(),
    };
    let mut rng = LaneRng::seed_from_u64(1);
    let pass = [5, 12, 7].map(|sites| device.run(sites, coupling, &mut rng, hash));
    device.edges.clear();
    let mut full = Ok(());
    for site in 0..=EDGES as u32 {
        full = full.and(device.edges.push(site, site + 1, coupling));
    }
    pass == [true; 3] && full == Err(SparseError::Full { capacity: EDGES })
}

impl Device {
    /// A ring with chords of so many sites, found edge by edge.
    fn run(&mut self, sites: u32, coupling: f32, rng: &mut LaneRng, hash: &mut Hash) -> bool {
        self.edges.clear();
        self.draws.clear();
        for site in 0..sites {
            let next = if site + 1 == sites { 0 } else { site + 1 };
            let chord = site % 3 == 0 && site + 2 < sites;
            let pushed = self.edges.push(site, next, coupling);
            let pushed =
                pushed.and(if chord { self.edges.push(site, site + 2, -0.5 * coupling) } else { Ok(()) });
            if pushed.is_err() {
                return false;
            }
        }
        let fields = [0.25; SITES];
        let fields = fields.get(..sites as usize).unwrap_or_default();
        let buffers = self.couplings.borrow();
        let Ok(model) = Ising::spins_edges_once(sites as usize, self.edges.iter(), fields, buffers) else {
            return false;
        };
        let Ok(mut chain) = Chain::random(&model, self.chain.borrow(), rng) else { return false };
        chain.run(&SequentialGibbs, rng, 8, &mut self.draws);
        let Ok(draws) = self.draws.words() else { return false };
        draws.iter().for_each(|words| hash.words(words));
        draws.len() == 8
    }
}
