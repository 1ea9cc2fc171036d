//! Chains over the synthetic targets of the papers, and their models.

use crate::hash::Hash;
use crate::run::{BROKEN, Sampler, from_noise};
use crate::steps;
use crate::used::{borrowed, memory};
use bitmc::lane::{Block, LANES};
use bitmc::{Energy, Kernel, LatticeGaussian, Layout, Logistic, Modes, Quartic, SparseMemory};

/// Steps of a chain.
const STEPS: u32 = steps(1000);

/// Sites of the Gaussians.
const SITES: usize = 12;
const VALUES: usize = 11;
const GAUSSIAN: Layout = Layout::ordinal(SITES, VALUES);

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
const CENTRE: [f32; SITES] = [5.0, 3.5, 8.0, 0.0, 10.0, 6.25, 4.5, -2.0, 5.0, 12.0, 3.0, 5.5];

pub(crate) fn dense<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let memory = memory!(GAUSSIAN, LatticeGaussian::cache_len(SITES));
    let model = LatticeGaussian::dense(&ROWS, &CENTRE, VALUES);
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// A cycle.
pub(crate) fn sparse<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut couplings = SparseMemory::<SITES, { 2 * SITES }>::new();
    let next = |site: u32| if site == 11 { 0 } else { site + 1 };
    let edges = (0..12).map(|site| (site, next(site), (site % 3) as f32 * 0.15 - 0.1));
    let memory = memory!(GAUSSIAN, LatticeGaussian::cache_len(SITES));
    let model = LatticeGaussian::sparse(SITES, VALUES, edges, &[0.4; SITES], &CENTRE, borrowed(&mut couplings));
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// Ten coefficients, 20 observations: the design, and every third outcome is 1.
pub(crate) fn logistic<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let mut design = [0.0; 200];
    for (cell, slot) in design.iter_mut().enumerate() {
        *slot = ((7 * cell + cell / 9) % 13) as f32 * 0.25 - 1.5;
    }
    let mut outcomes = [false; 20];
    outcomes.iter_mut().step_by(3).for_each(|outcome| *outcome = true);
    let mut rows = [[0.0; LANES]; 20];
    let memory = memory!(Layout::binary(10), Logistic::cache_len(20));
    if Logistic::pack(&design, &outcomes, &mut rows).is_err() {
        return BROKEN;
    }
    let model = Logistic::new(&rows, &[0.25; 10], &[[0.0; LANES]; 2], 20);
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// Six sites, five coordinates, three components.
pub(crate) fn quartic<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let (mut rows, mut centres) = ([[0.0; LANES]; 6], [[0.0; LANES]; 3]);
    for (table, scale) in [(&mut rows[..], 0.01), (&mut centres[..], 0.25)] {
        for (row, block) in table.iter_mut().enumerate() {
            for (coordinate, slot) in block.iter_mut().take(5).enumerate() {
                *slot = ((3 * row + 5 * coordinate + row * coordinate) % 7) as f32 * scale - 2.0 * scale;
            }
        }
    }
    let memory = memory!(Layout::ordinal(6, VALUES), Quartic::cache_len(5, 3));
    let model = Quartic::new(&rows, &centres, 5, VALUES);
    model.map_or(BROKEN, |model| from_noise(&model as &dyn Energy, memory, kernel, STEPS))
}

/// Both kinds of modes in {0 … 15}².
pub(crate) fn modes<K: for<'e> Kernel<dyn Energy + 'e>>(kernel: &Sampler<K>) -> u32 {
    let means = [[2.5, 2.5], [12.5, 2.0], [7.75, 13.5]];
    let mut hash = Hash::new();
    for model in [Modes::normal(&means, 16, 3.0), Modes::exponential(&means, 16, 0.9, 1e-5)] {
        let Ok(model) = model else { return BROKEN };
        let memory = memory!(Layout::ordinal(2, 16), Modes::CACHE_LEN);
        hash.word(from_noise(&model as &dyn Energy, memory, kernel, STEPS / 2));
    }
    hash.value()
}
