//! The time of a step over the number of sites.

use crate::chains::memory;
use crate::cli::Failure;
use crate::plot;
use crate::progress::Progress;
use aligned_vec::avec;
use bitmc::energy::{Entry, SparseBuffers};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::step::{IsingBalanced, IsingLangevin};
use bitmc::tune::RateTuner;
use bitmc::{Chain, Energy, Ising, Kernel, LaneRng, Langevin, Memory, Packed, SeedableRng, torus};
use cpu_time::ThreadTime;
use serde::Serialize;

/// Sides of the tori: about 10³ to 10⁶ sites.
pub const SIDES: [u32; 4] = [32, 100, 316, 1000];

/// Steps of the tuner of DMALA's rate.
const TUNED: usize = 3000;

/// What the steps of a kernel take and do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timed {
    /// Processor time of a step.
    pub ns_per_step: f64,
    /// Sites that a step moves.
    pub moved_sites_per_step: f64,
    /// The share of accepted proposals.
    pub acceptance: f64,
}

/// The steps of one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    /// Sites of the torus.
    pub sites: usize,
    /// Its edges.
    pub edges: usize,
    /// The step size of both DMALAs, tuned to an acceptance of .574.
    pub step_size: f32,
    /// DMALA for any energy, [`Langevin::adjusted`].
    pub dmala: Timed,
    /// DMALA for Ising models, [`IsingLangevin`].
    pub ising_dmala: Timed,
    /// AB-edge for any energy, [`Langevin::second_order`], its edges in runs.
    pub edge: Timed,
    /// AB-edge for Ising models, [`IsingBalanced::new`], its edges in runs.
    pub ising_edge: Timed,
    /// AB-edge over whole numbers, [`IsingBalanced::discrete`], its edges in runs.
    pub discrete_edge: Timed,
    /// [`IsingBalanced::new`] edge by edge, as on graphs without runs.
    pub edge_by_edge: Timed,
    /// [`IsingBalanced::discrete`] edge by edge.
    pub discrete_edge_by_edge: Timed,
    /// Bytes of the couplings.
    pub coupling_bytes: usize,
    /// Bytes of a chain: two states, their caches, their weights.
    pub chain_bytes: usize,
    /// Bytes of AB-edge's D and runs: all that it needs beside the chain.
    pub noise_bytes: usize,
}

/// AB-edge (α = 1, σ = ∞) beside DMALA tuned to accept .574, on critical tori of these sides, from a state that AB-edge was
/// burnt in to.
///
/// # Errors
/// [`Failure::Option`] where a side has no torus.
pub fn scale(sides: &[u32], progress: &Progress) -> Result<Vec<Size>, Failure> {
    let mut sizes = Vec::new();
    for &side in sides {
        progress.note(format!("{side} × {side} sites"));
        let sites = (side * side) as usize;
        let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
        let mut entries = vec![Entry::default(); 4 * sites];
        let lent = SparseBuffers::new(&mut ends, &mut linear, &mut entries);
        let model = Ising::spins_edges_once(sites, torus(side, side, 0.4407), &[], lent);
        let model = model.map_err(Failure::option)?;
        let mut d = avec![[0.0; LANES]; Edgewise::blocks(sites)];
        let mut again = d.clone();
        let matrix = SparseMatrix::of(model.form());
        let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
        let edges = Edgewise::new(matrix, &mut again).map_err(Failure::option)?;
        let noise = Edgewise::new(matrix, &mut d).and_then(|noise| noise.by_runs(&mut runs));
        let noise = noise.map_err(Failure::option)?;
        let normal = |noise| IsingBalanced::new(noise, f32::INFINITY, 1.0).map_err(Failure::option);
        let discrete = |noise| IsingBalanced::discrete(noise, f32::INFINITY, 1.0).map_err(Failure::option);
        let general = Langevin::second_order(noise, f32::INFINITY, 1.0).map_err(Failure::option)?;

        let (start, step_size) = settled(&model, &discrete(noise)?)?;
        let dmala = Langevin::adjusted(step_size).map_err(Failure::option)?;
        let ising_dmala = IsingLangevin::adjusted(step_size).map_err(Failure::option)?;
        sizes.push(Size {
            sites,
            edges: 2 * sites,
            step_size,
            dmala: time(&model, &dmala, &start)?,
            ising_dmala: time(&model, &ising_dmala, &start)?,
            edge: time(&model, &general, &start)?,
            ising_edge: time(&model, &normal(noise)?, &start)?,
            discrete_edge: time(&model, &discrete(noise)?, &start)?,
            edge_by_edge: time(&model, &normal(edges)?, &start)?,
            discrete_edge_by_edge: time(&model, &discrete(edges)?, &start)?,
            coupling_bytes: 8 * sites + 4 * sites * size_of::<Entry>(),
            chain_bytes: 4 * Memory::words(model.layout())
                + 64 * (Memory::cache(model.cache_len()) + Memory::weights(model.layout())),
            noise_bytes: 64 * Edgewise::blocks(sites) + size_of_val(&*runs),
        });
        progress.advance(u64::from(side));
    }
    Ok(sizes)
}

/// A state that AB-edge was burnt in to, and the step size at which DMALA accepts .574 there.
fn settled(model: &Ising<'_>, kernel: &IsingBalanced<'_>) -> Result<(Vec<u32>, f32), Failure> {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(model, memory(model), &mut rng).map_err(Failure::option)?;
    let steps = (20_000_000 / model.form().sites()).clamp(300, 2000);
    chain.run(kernel, &mut rng, steps as u64, &mut ());
    let start = chain.state().words().to_vec();
    let mut tuner = RateTuner::new(0.1, (1e-3, 10.0), RateTuner::LOCALLY_BALANCED).map_err(Failure::option)?;
    for _ in 0..TUNED {
        let now = IsingLangevin::adjusted(tuner.parameter()).map_err(Failure::option)?;
        tuner.observe(&chain.step(&now, &mut rng));
    }
    tuner.freeze();
    Ok((start, tuner.parameter()))
}

/// The best of five runs after a warm-up.
fn time<K: for<'e> Kernel<Ising<'e>>>(model: &Ising<'_>, kernel: &K, start: &[u32]) -> Result<Timed, Failure> {
    let steps = (5_000_000 / model.form().sites()).max(20) as u32;
    let mut rng = LaneRng::seed_from_u64(2);
    let start = Packed::new(model.layout(), start).map_err(Failure::option)?;
    let mut chain = Chain::new(model, memory(model), start).map_err(Failure::option)?;
    let (mut best, mut moved, mut accepted) = (f64::INFINITY, 0.0, 0.0);
    for run in 0..6 {
        let clock = ThreadTime::now();
        for _ in 0..steps {
            let info = chain.step(kernel, &mut rng);
            moved += f64::from(info.moved());
            accepted += f64::from(u8::from(info.accepted));
        }
        let each = clock.elapsed().as_nanos() as f64 / f64::from(steps);
        best = if run > 0 { best.min(each) } else { best };
    }
    let all = 6.0 * f64::from(steps);
    Ok(Timed { ns_per_step: best, moved_sites_per_step: moved / all, acceptance: accepted / all })
}

/// A Markdown table, times in nanoseconds a site.
#[must_use]
pub fn table(sizes: &[Size]) -> String {
    let mut text = String::from(
        "| sites | `Langevin::adjusted` | `IsingLangevin` | `Langevin::second_order` | `IsingBalanced`: `new`, `discrete` | edge by edge: the same two | `discrete` is times the first, the second | sites moved: DMALA (acceptance), AB-edge | bytes a site: couplings, chain, D and runs |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for size in sizes {
        let per = |bytes: usize| bytes as f64 / size.sites as f64;
        let ns = |timed: Timed| timed.ns_per_step / size.sites as f64;
        let pair = |normal: Timed, discrete: Timed| format!("{:.2}, {:.2}", ns(normal), ns(discrete));
        let (runs, edges) =
            (pair(size.ising_edge, size.discrete_edge), pair(size.edge_by_edge, size.discrete_edge_by_edge));
        let [dmala, ising, edge] =
            [size.dmala, size.ising_dmala, size.edge].map(|timed| format!("{:.2}", ns(timed)));
        let ratio = |to: Timed| size.discrete_edge.ns_per_step / to.ns_per_step;
        text.push_str(&format!(
            "| {} | {dmala} | {ising} | {edge} | {runs} | {edges} | {:.1}, {:.1} | {:.0} ({:.2}), {:.0} | {:.0}, {:.0}, {:.0} |\n",
            size.sites,
            ratio(size.dmala),
            ratio(size.ising_dmala),
            size.ising_dmala.moved_sites_per_step,
            size.ising_dmala.acceptance,
            size.discrete_edge.moved_sites_per_step,
            per(size.coupling_bytes),
            per(size.chain_bytes),
            per(size.noise_bytes),
        ));
    }
    text
}

/// Milliseconds a step against edges, and a line of the slope 1.
#[must_use]
pub fn picture(sizes: &[Size]) -> plot::Panel {
    let curve = |label: &str, time: &dyn Fn(&Size) -> f64| plot::Curve {
        label: label.into(),
        points: sizes.iter().map(|size| (size.edges as f64, time(size) * 1e-6)).collect(),
    };
    let first = sizes.first().map_or(0.0, |size| size.discrete_edge.ns_per_step / size.edges as f64);
    let curves = vec![
        curve("AB-edge, any energy", &|size| size.edge.ns_per_step),
        curve("AB-edge, Ising", &|size| size.ising_edge.ns_per_step),
        curve("the same over whole numbers", &|size| size.discrete_edge.ns_per_step),
        curve("DMALA, any energy", &|size| size.dmala.ns_per_step),
        curve("DMALA, Ising", &|size| size.ising_dmala.ns_per_step),
        curve("linear in the edges", &|size| first * size.edges as f64),
    ];
    let least = curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(f64::MAX, f64::min);
    plot::Panel {
        title: "A step on critical tori".into(),
        x: "edges".into(),
        y: "milliseconds".into(),
        log_from: Some(0.5 * least),
        level: None,
        curves,
    }
}
