//! The time of a step over the number of sites.

use crate::chains::memory;
use crate::cli::Failure;
use crate::plot;
use crate::progress::Progress;
use bitmc::energy::{Entry, SparseLent};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, Run, SparseMatrix};
use bitmc::{Chain, Energy, Ising, Kernel, LaneRng, Langevin, Memory, SeedableRng, torus};
use cpu_time::ThreadTime;
use serde::Serialize;

/// Sides of the tori: about 10³ to 10⁶ sites.
pub const SIDES: [u32; 4] = [32, 100, 316, 1000];

/// The steps of one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    /// Sites of the torus.
    pub sites: usize,
    /// Its edges.
    pub edges: usize,
    /// Processor time of a step of DMALA.
    pub dmala_ns_per_step: f64,
    /// Processor time of a step of AB-edge.
    pub edge_ns_per_step: f64,
    /// Sites that a step of DMALA moves.
    pub dmala_moved_sites_per_step: f64,
    /// Sites that a step of AB-edge moves.
    pub edge_moved_sites_per_step: f64,
    /// Bytes of the couplings.
    pub coupling_bytes: usize,
    /// Bytes of a chain: two states, their caches, their weights.
    pub chain_bytes: usize,
    /// Bytes of AB-edge's D: all that it needs beside the chain.
    pub d_bytes: usize,
}

/// AB-edge (α = 1, σ = ∞) beside DMALA, whose step size falls with the size so that about half of its moves are
/// accepted, on critical tori of these sides.
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
        let lent = SparseLent { ends: &mut ends, linear: &mut linear, entries: &mut entries };
        let model = Ising::spins_edges_once(torus(side, side, 0.4407), &vec![0.0; sites], lent);
        let model = model.map_err(Failure::option)?;
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let matrix = SparseMatrix::of(model.form());
        let mut runs = vec![Run::default(); Edgewise::runs(matrix)];
        let noise = Edgewise::new(matrix, &mut d).and_then(|noise| noise.by_runs(&mut runs));
        let noise = noise.map_err(Failure::option)?;
        let second = Langevin::second_order(noise, f32::INFINITY, 1.0).map_err(Failure::option)?;
        let step_size = 0.18 * (400.0 / sites as f32).cbrt().min(1.0);
        let first = Langevin::adjusted(step_size.max(0.05)).map_err(Failure::option)?;
        let steps = (5_000_000 / sites).max(5) as u32;
        let (slow, flips) = time(&model, &second, steps)?;
        let (fast, moved) = time(&model, &first, steps)?;
        progress.advance(u64::from(side));
        sizes.push(Size {
            sites,
            edges: 2 * sites,
            dmala_ns_per_step: fast,
            edge_ns_per_step: slow,
            dmala_moved_sites_per_step: moved,
            edge_moved_sites_per_step: flips,
            coupling_bytes: 8 * sites + 4 * sites * size_of::<Entry>(),
            chain_bytes: 4 * Memory::words(model.layout())
                + 64 * (Memory::cache(model.cache_len()) + Memory::weights(model.layout())),
            d_bytes: 64 * Edgewise::blocks(sites),
        });
    }
    Ok(sizes)
}

/// Nanoseconds a step, the best of five runs after a warm-up, and sites moved a step.
fn time<K: for<'e> Kernel<Ising<'e>>>(
    model: &Ising<'_>,
    kernel: &K,
    steps: u32,
) -> Result<(f64, f64), Failure> {
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(model, memory(model), &mut rng).map_err(Failure::option)?;
    let (mut best, mut moved) = (f64::INFINITY, 0.0);
    for run in 0..6 {
        let start = ThreadTime::now();
        moved = (0..steps).map(|_| f64::from(chain.step(kernel, &mut rng).moved())).sum::<f64>();
        let each = start.elapsed().as_nanos() as f64 / f64::from(steps);
        best = if run > 0 { best.min(each) } else { best };
    }
    Ok((best, moved / f64::from(steps)))
}

/// A Markdown table.
#[must_use]
pub fn table(sizes: &[Size]) -> String {
    let mut text = String::from(
        "| sites | DMALA, ns a site | AB-edge, ns a site | ns an edge | times DMALA | sites moved: DMALA, AB-edge | bytes a site: couplings, chain, D |\n\
         |---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for size in sizes {
        let Size { sites, edges, dmala_ns_per_step: fast, edge_ns_per_step: slow, .. } = *size;
        let per = |number: f64, of: usize| number / of as f64;
        text.push_str(&format!(
            "| {sites} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0}, {:.0} | {:.0}, {:.0}, {:.0} |\n",
            per(fast, sites),
            per(slow, sites),
            per(slow, edges),
            slow / fast,
            size.dmala_moved_sites_per_step,
            size.edge_moved_sites_per_step,
            per(size.coupling_bytes as f64, sites),
            per(size.chain_bytes as f64, sites),
            per(size.d_bytes as f64, sites),
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
    let first = sizes.first().map_or(0.0, |size| size.edge_ns_per_step / size.edges as f64);
    let curves = vec![
        curve("AB-edge", &|size| size.edge_ns_per_step),
        curve("DMALA", &|size| size.dmala_ns_per_step),
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
