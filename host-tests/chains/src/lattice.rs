//! Chains over whole numbers, and their models.

use crate::run::{BROKEN, Sampler, from_noise};
use bitmc::lane::{Block, LANES};
use bitmc::{Energy, Kernel, LatticeGaussian, Layout, SparseMemory, memory};

/// Steps of a chain.
const STEPS: u32 = 1000;

/// Sites of the Gaussians.
const SITES: usize = 12;
const GAUSSIAN: Layout = Layout::ordinal(SITES, 21);

/// The precision matrix: ½ on the diagonal, −0.1 to 0.1 beside it.
static ROWS: [Block; SITES] = {
    let mut rows = [[0.0; LANES]; SITES];
    let mut cell = 0;
    while cell < SITES * SITES {
        let (a, b) = (cell / SITES, cell % SITES);
        rows[a][b] = if a == b { 0.5 } else { ((a * b) % 5) as f32 * 0.05 - 0.1 };
        cell += 1;
    }
    rows
};

/// The centre: inside the lattice, or a little outside.
const CENTRE: [f32; SITES] = [10.0, 3.5, 8.0, 0.0, 20.0, 12.25, 9.0, -2.0, 10.0, 22.0, 6.0, 11.0];

pub(crate) fn dense<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(GAUSSIAN, LatticeGaussian::cache_len(SITES));
    let model = LatticeGaussian::dense(&ROWS, &CENTRE, 21);
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// A cycle.
pub(crate) fn sparse<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut couplings = SparseMemory::<SITES, { 2 * SITES }>::new();
    let next = |site: u32| if site == 11 { 0 } else { site + 1 };
    let edges = (0..12).map(|site| (site, next(site), (site % 3) as f32 * 0.15 - 0.1));
    let memory = memory!(GAUSSIAN, LatticeGaussian::cache_len(SITES));
    let model = LatticeGaussian::sparse(edges, &[0.4; SITES], &CENTRE, 21, couplings.lend());
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}
