//! Ising models by their own Langevin kernel: one chain, where many sites flip and where few do, and sixteen chains
//! side by side. Potts models: sixteen chains side by side.

use crate::hash::Hash;
use crate::models;
use crate::run::{BROKEN, from_noise, with_ising_itself};
use crate::steps;
use crate::used::{borrowed, memory};
use bitmc::batch::{Batch, BatchSite, PottsBatch, PottsSite};
use bitmc::step::IsingLangevin;
use bitmc::{Gibbs, Ising, LaneRng, Langevin, Layout, Potts, SparseMemory, torus};

const RING: Layout = Layout::binary(96);

/// Every step weighs all sites.
pub(crate) fn many_flips() -> u32 {
    with_ising_itself(|model| {
        let memory = memory!(models::ISING, Ising::cache_len(25));
        from_noise(model, memory, &IsingLangevin::adjusted(0.6), steps(1000))
    })
}

/// A ring of 96 spins; most steps weigh only what a few flips touch.
pub(crate) fn few_flips() -> u32 {
    let mut couplings = SparseMemory::<96, 192>::new();
    let edges = (0..96).map(|site| (site, (site + 1) % 96, 0.5 - 0.25 * (site % 4) as f32));
    let Ok(model) = Ising::spins_edges_once(96, edges, &[0.05; 96], borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let memory = memory!(RING, Ising::cache_len(96));
    from_noise(&model, memory, &IsingLangevin::adjusted(0.12), steps(400))
}

/// Sixteen inverse temperatures.
fn betas() -> [f32; 16] {
    core::array::from_fn(|chain| 0.25 + chain as f32 / 8.0)
}

/// Sixteen chains of nine spins at sixteen temperatures: groups of eight, four or two sites, and one that is left over.
/// Both Langevin kernels in turn.
pub(crate) fn batch() -> u32 {
    let mut couplings = SparseMemory::<9, 36>::new();
    let Ok(model) = Ising::spins_edges_once(9, torus(3, 3, 0.3), &[0.1; 9], borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let mut rng = LaneRng::stream(5, 3);
    // Borrowed: moved about, it would lie on the stack of a small core more than once.
    let mut sites = [BatchSite::new(); 9];
    let Ok(mut batch) = Batch::random(&model, sites.as_mut_slice(), &mut rng) else { return BROKEN };
    let (Ok(own), Ok(any)) = (IsingLangevin::adjusted(0.4), Langevin::adjusted(0.4)) else { return BROKEN };
    let Ok(()) = batch.set_betas(betas()) else { return BROKEN };
    let mut hash = Hash::new();
    for step in 0..steps(150) {
        let info = if step % 3 == 2 { batch.step(&any, &mut rng) } else { batch.step(&own, &mut rng) };
        (0..16).filter_map(|chain| info.of(chain)).for_each(|info| hash.info(&info));
        (0..9).for_each(|site| hash.word(batch.values(site)));
        (0..16).for_each(|chain| hash.float(batch.energy(chain)));
    }
    hash.value()
}

/// Sixteen chains of a ring of four sites of three values at sixteen temperatures: steps of the Langevin sampler, and
/// sweeps of Gibbs sampling between them.
pub(crate) fn potts_batch() -> u32 {
    let mut couplings = SparseMemory::<4, 8>::new();
    let edges = (0..4).map(|site| (site, (site + 1) % 4, 0.9 - 0.4 * site as f32));
    let Ok(model) = Potts::new(
        4,
        3,
        edges,
        &[0.25, 0.0, -0.5, 0.0, 0.5, 0.0, 0.125, 0.0, 0.0, 0.0, 0.0, 0.75],
        borrowed(&mut couplings),
    ) else {
        return BROKEN;
    };
    let mut rng = LaneRng::stream(5, 4);
    let mut sites = [PottsSite::<3>::new(); 4];
    let Ok(mut batch) = PottsBatch::random(&model, sites.as_mut_slice(), &mut rng) else { return BROKEN };
    let (Ok(kernel), Ok(())) = (Langevin::adjusted(0.8), batch.set_betas(betas())) else { return BROKEN };
    let mut hash = Hash::new();
    for step in 0..steps(150) {
        let info = if step % 3 == 2 {
            batch.step(&Gibbs::systematic(), &mut rng)
        } else {
            batch.step(&kernel, &mut rng)
        };
        (0..16).filter_map(|chain| info.of(chain)).for_each(|info| hash.info(&info));
        (0..4).for_each(|site| batch.values(site).into_iter().for_each(|value| hash.word(u32::from(value))));
        (0..16).for_each(|chain| hash.float(batch.energy(chain)));
    }
    hash.value()
}
