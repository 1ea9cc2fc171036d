//! Chains of second order.

use crate::models::{self, IsingMemory, Ladder};
use crate::run::{BROKEN, DENSE_STEPS, STEPS, Sampler, from_noise};
use crate::told;
use crate::used::{borrowed, memory, used};
use bitmc::noise::{Dense, DenseMatrix, Diagonal, Edgewise, Run, SparseMatrix, constant};
use bitmc::step::IsingBalanced;
use bitmc::{Energy, Ising, Langevin, Layout, Plain, Potts, SparseMemory, torus};

/// Second order over the torus's own couplings, one normal an edge.
pub(crate) fn ising(step_size: f32, balance: f32, precision: f32) -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, models::ISING_COUPLING);
    let model = Ising::spins_edges_twice(25, edges, &models::ISING_FIELDS, borrowed(&mut couplings));
    let Ok(model) = model else { return BROKEN };
    let mut d = used::<_, 2>();
    let Ok(noise) = Edgewise::new(SparseMatrix::of(model.form()), &mut d) else { return BROKEN };
    let kernel = Langevin::second_order(noise, step_size, balance).and_then(|k| k.precision(precision));
    from_noise(&model as &dyn Energy, memory!(models::ISING, Ising::cache_len(25)), &kernel, STEPS)
}

/// The model and its noise with the edges in runs.
fn by_runs(run: impl FnOnce(&Ising<'_>, Edgewise<'_>) -> u32) -> u32 {
    let mut couplings = IsingMemory::new();
    let edges = torus(5, 5, models::ISING_COUPLING);
    let model = Ising::spins_edges_twice(25, edges, &models::ISING_FIELDS, borrowed(&mut couplings));
    let Ok(model) = model else { return BROKEN };
    let (mut d, mut runs) = (used::<_, 2>(), [Run::default(); 16]);
    let noise =
        Edgewise::new(SparseMatrix::of(model.form()), &mut d).and_then(|noise| noise.by_runs(&mut runs));
    noise.map_or(BROKEN, |noise| run(&model, noise))
}

/// Second order with the edges in runs.
pub(crate) fn ising_by_runs(step_size: f32, balance: f32) -> u32 {
    by_runs(|model, noise| {
        let kernel = Langevin::second_order(noise, step_size, balance);
        from_noise(model as &dyn Energy, memory!(models::ISING, Ising::cache_len(25)), &kernel, STEPS)
    })
}

/// The kernel for Ising models, its edges in runs.
pub(crate) fn ising_itself(step_size: f32, balance: f32, precision: f32) -> u32 {
    by_runs(|model, noise| {
        let kernel = IsingBalanced::new(noise, step_size, balance).and_then(|k| k.precision(precision));
        from_noise(model, memory!(models::ISING, Ising::cache_len(25)), &kernel, STEPS)
    })
}

/// The kernel for Ising models over whole numbers, its edges in runs, and edge by edge where κ is not 1.
pub(crate) fn ising_discrete(step_size: f32, balance: f32, precision: f32) -> u32 {
    by_runs(|model, noise| {
        let mut d = used::<_, 2>();
        let Ok(edges) = Edgewise::new(SparseMatrix::of(model.form()), &mut d) else { return BROKEN };
        let noise = if precision == 1.0 { noise } else { edges };
        let kernel = IsingBalanced::discrete(noise, step_size, balance).and_then(|k| k.precision(precision));
        from_noise(model, memory!(models::ISING, Ising::cache_len(25)), &kernel, STEPS)
    })
}

/// Second order over a full matrix and its Cholesky factor, on the 4×4 torus; with D = 4, or −λ_min.
pub(crate) fn dense(step_size: f32, balance: f32, shift: bool) -> u32 {
    let mut couplings = SparseMemory::<16, 64>::new();
    let edges = torus(4, 4, models::ISING_COUPLING);
    let Ok(model) = Ising::spins_edges_twice(16, edges, &[0.2; 16], borrowed(&mut couplings)) else {
        return BROKEN;
    };
    let mut rows = used::<_, { DenseMatrix::blocks(16) }>();
    let Ok(matrix) = DenseMatrix::of(&SparseMatrix::of(model.form()), &mut rows) else { return BROKEN };
    let (mut d, mut root) = ([[4.0; 16]; 1], used::<_, { Dense::root_blocks(16) }>());
    if shift && constant(&matrix, 1e-3, &mut d, &mut used::<_, 3>()).is_err() {
        return BROKEN;
    }
    let Ok(noise) = Dense::new(matrix, &mut d, &mut root) else { return BROKEN };
    let kernel = Langevin::second_order(noise, step_size, balance);
    let memory = memory!(Layout::binary(16), Ising::cache_len(16));
    from_noise(&model as &dyn Energy, memory, &kernel, STEPS)
}

/// Second order over a Potts model: one plane of noise a value.
pub(crate) fn potts(step_size: f32, balance: f32) -> u32 {
    let mut couplings = IsingMemory::new();
    let model = Potts::new(25, 4, torus(5, 5, 0.8), &models::POTTS_FIELDS, borrowed(&mut couplings));
    let Ok(model) = model else { return BROKEN };
    let mut d = used::<_, 2>();
    let Ok(noise) = Edgewise::new(SparseMatrix::of(model.form()), &mut d) else { return BROKEN };
    let kernel = Langevin::second_order(noise, step_size, balance);
    let memory = memory!(Layout::categorical(25, 4), Potts::cache_len(25, 4));
    from_noise(&model as &dyn Energy, memory, &kernel, DENSE_STEPS)
}

/// The same with momentum, over sixteen sites: more do not fit the 16 KB of a Cortex-M0.
pub(crate) fn moving_potts(step_size: f32, balance: f32, keep: f32) -> u32 {
    let mut couplings = IsingMemory::new();
    let Ok(model) = Potts::new(16, 4, torus(4, 4, 0.8), &[], borrowed(&mut couplings)) else { return BROKEN };
    let mut d = used::<_, 1>();
    let Ok(noise) = Edgewise::new(SparseMatrix::of(model.form()), &mut d) else { return BROKEN };
    let kernel = Langevin::second_order(noise, step_size, balance).and_then(|k| k.momentum(keep));
    let memory = memory!(Layout::categorical(16, 4), Potts::cache_len(16, 4), momentum);
    from_noise(&model as &dyn Energy, memory, &kernel, DENSE_STEPS)
}

/// The diagonal variant over whole numbers on a chain.
pub(crate) fn diagonal(step_size: f32, balance: f32) -> u32 {
    let mut d = [[2.5; 16]; 2];
    d.as_flattened_mut().iter_mut().step_by(19).for_each(|end| *end = 1.5);
    let kernel = Diagonal::new(&d).map(|noise| Langevin::second_order(noise, step_size, balance));
    let memory = memory!(models::LADDER, 1);
    kernel.map_or(BROKEN, |kernel| from_noise(&Plain(Ladder) as &dyn Energy, memory, &kernel, DENSE_STEPS))
}

/// Second order over whole numbers on a chain, whose W has a diagonal.
pub(crate) fn ladder(step_size: f32, balance: f32) -> u32 {
    with_ladder(|noise| {
        let kernel = Langevin::second_order(noise, step_size, balance);
        from_noise(&Plain(Ladder) as &dyn Energy, memory!(models::LADDER, 1), &kernel, DENSE_STEPS)
    })
}

/// The same with momentum, in a chain or told.
pub(crate) fn moving_ladder(keep: f32, told: bool) -> u32 {
    with_ladder(|noise| {
        let kernel: Sampler<_> = Langevin::second_order(noise, 4.0, 0.8).and_then(|k| k.momentum(keep));
        if told {
            return told::ladder(&kernel);
        }
        itself(&kernel)
    })
}

#[inline(never)] // the told chain's frame must not hold this one's memory
fn itself(kernel: &Sampler<Langevin<'_, Edgewise<'_>>>) -> u32 {
    from_noise(&Plain(Ladder) as &dyn Energy, memory!(models::LADDER, 1, momentum), kernel, DENSE_STEPS)
}

/// The edges of the torus with momentum: one normal an edge.
pub(crate) fn moving_ising(step_size: f32, balance: f32, keep: f32) -> u32 {
    by_runs(|model, noise| {
        let kernel = Langevin::second_order(noise, step_size, balance);
        let kernel = kernel.and_then(|k| k.momentum(keep)).and_then(Langevin::metropolis_flips);
        let memory = memory!(models::ISING, Ising::cache_len(25), momentum);
        from_noise(model as &dyn Energy, memory, &kernel, STEPS)
    })
}

/// The kernel for Ising models with momentum.
pub(crate) fn moving_itself(step_size: f32, balance: f32, keep: f32) -> u32 {
    by_runs(|model, noise| {
        let kernel = IsingBalanced::new(noise, step_size, balance).and_then(|k| k.precision(0.75));
        let kernel = kernel.and_then(|k| k.momentum(keep)).and_then(IsingBalanced::metropolis_flips);
        from_noise(model, memory!(models::ISING, Ising::cache_len(25), momentum), &kernel, STEPS)
    })
}

/// The same over whole numbers, its edges in runs, and edge by edge where κ is not 1.
pub(crate) fn moving_discrete(step_size: f32, balance: f32, precision: f32) -> u32 {
    by_runs(|model, noise| {
        let mut d = used::<_, 2>();
        let Ok(edges) = Edgewise::new(SparseMatrix::of(model.form()), &mut d) else { return BROKEN };
        let noise = if precision == 1.0 { noise } else { edges };
        let kernel = IsingBalanced::discrete(noise, step_size, balance).and_then(|k| k.precision(precision));
        let kernel = kernel.and_then(|k| k.momentum(0.5)).and_then(IsingBalanced::metropolis_flips);
        from_noise(model, memory!(models::ISING, Ising::cache_len(25), momentum), &kernel, STEPS)
    })
}

fn with_ladder(run: impl FnOnce(Edgewise<'_>) -> u32) -> u32 {
    let mut couplings = SparseMemory::<20, 38>::new();
    let edges = (0..19).map(|site| (site, site + 1, 1.0));
    let Ok(rows) = Ising::bits_edges_once(20, edges, &[], borrowed(&mut couplings)) else { return BROKEN };
    let mut diagonal = [-2.5; 20];
    [diagonal[0], diagonal[19]] = [-1.5; 2];
    let Ok(matrix) = SparseMatrix::with_diagonal(rows.form(), &diagonal) else { return BROKEN };
    let mut d = used::<_, 2>();
    Edgewise::new(matrix, &mut d).map_or(BROKEN, run)
}
