//! Time of a step over the number of sites: second order edge by edge beside the discrete Langevin sampler, on
//! critical Ising tori of 10³ to 10⁶ sites.
//!
//! `cargo run --release -p bitmc-benches --bin scale` prints a Markdown table.

use bitmc::energy::{Entry, SparseLent};
use bitmc::lane::LANES;
use bitmc::noise::{Edgewise, SparseMatrix};
use bitmc::{Chain, Energy, Ising, Kernel, LaneRng, Langevin, Memory, SeedableRng, torus};
use std::time::Instant;

/// Nanoseconds a step, the best of five runs after a warm-up, and flips a step.
fn time<K: for<'e> Kernel<Ising<'e>>>(model: &Ising<'_>, kernel: &K, steps: u32) -> (f64, f64) {
    let layout = model.layout();
    let memory = Memory {
        words: vec![0; Memory::words(layout)],
        cache: vec![[0; LANES]; Memory::cache(model.cache_len())],
        weights: vec![[0.0; LANES]; Memory::weights(layout)],
    };
    let mut rng = LaneRng::seed_from_u64(1);
    let mut chain = Chain::random(model, memory, &mut rng).expect("an Ising model starts anywhere");
    let (mut best, mut moved) = (f64::INFINITY, 0.0);
    for run in 0..6 {
        let start = Instant::now();
        moved = (0..steps).map(|_| f64::from(chain.step(kernel, &mut rng).moved())).sum::<f64>();
        let each = start.elapsed().as_nanos() as f64 / f64::from(steps);
        best = if run > 0 { best.min(each) } else { best };
    }
    (best, moved / f64::from(steps))
}

fn main() {
    println!(
        "| sites | DMALA, ns a site | AB-edge, ns an edge | AB-edge, ns a site | times DMALA | flips: DMALA, AB-edge | bytes a site: couplings, chain, D |"
    );
    println!("|---|---|---|---|---|---|---|");
    for side in [32u32, 100, 316, 1000] {
        let sites = (side * side) as usize;
        let (mut ends, mut linear) = (vec![0; sites], vec![0; sites]);
        let mut entries = vec![Entry::default(); 4 * sites];
        let memory = SparseLent { ends: &mut ends, linear: &mut linear, entries: &mut entries };
        let model = Ising::spins_edges_once(torus(side, side, 0.4407), &vec![0.0; sites], memory)
            .expect("a torus compiles");
        let mut d = vec![[0.0; LANES]; Edgewise::blocks(sites)];
        let noise = Edgewise::new(SparseMatrix::of(model.form()), &mut d).expect("there is room for D");
        let second = Langevin::second_order(noise, f32::INFINITY, 1.0).expect("legal parameters");
        // A step size at which about half of the moves are accepted at 400 sites: it falls as the cube root.
        let step_size = 0.18 * (400.0 / sites as f32).cbrt().min(1.0);
        let first = Langevin::adjusted(step_size.max(0.05)).expect("a legal step size");
        let steps = (20_000_000 / sites).max(20) as u32;
        let ((slow, flips), (fast, moved)) = (time(&model, &second, steps), time(&model, &first, steps));
        let per = |time: f64, of: usize| time / of as f64;
        println!(
            "| {sites} | {:.2} | {:.2} | {:.2} | {:.2} | {moved:.0}, {flips:.0} | {}, {:.0}, 4 |",
            per(fast, sites),
            per(slow, 2 * sites),
            per(slow, sites),
            slow / fast,
            8 + 4 * size_of::<Entry>(),
            (4 * Memory::words(model.layout())
                + 64 * (Memory::cache(model.cache_len()) + Memory::weights(model.layout()))) as f64
                / sites as f64,
        );
    }
}
