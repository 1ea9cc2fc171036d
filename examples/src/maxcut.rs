//! Maximum cuts as ground states: the side of a vertex is a spin, and `E = Σ w s s′` is lowest where the cut is largest.

use crate::formats::rudy::Graph;
use bitmc::{Layout, Packed};
use bitmc_desktop::{Error, Method, Model};
use serde::{Deserialize, Serialize};

/// Best known cuts by the name of the file; of G48, which is bipartite, no larger one exists.
const KNOWN: [(&str, f64); 5] =
    [("G1", 11624.0), ("G6", 2178.0), ("G11", 564.0), ("G14", 3064.0), ("G48", 6000.0)];

/// The best known cut of a graph of the Gset collection.
#[must_use]
pub fn best_known(name: &str) -> Option<f64> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, cut)| *cut)
}

/// The shape of a partition: the side of vertex i is site i.
#[must_use]
pub fn layout(graph: &Graph) -> Layout {
    Layout::binary(graph.vertices)
}

/// The weight of the edges between the two sides; exact for whole weights whose sum is below 2⁵³.
#[must_use]
pub fn cut(graph: &Graph, words: &[u32]) -> f64 {
    let side = |vertex: u32| words[vertex as usize / 32] >> (vertex % 32) & 1;
    let between = graph.edges.iter().filter(|(a, b, _)| side(*a) != side(*b));
    // An empty sum is -0.
    between.map(|(_, _, weight)| weight).sum::<f64>() + 0.0
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// After so many seconds.
    Seconds(f64),
    /// After the runs that begin before so many sweeps are spent: the result is the same on every machine.
    Sweeps(u64),
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The largest cut.
    pub cut: f64,
    /// A partition that has it.
    pub words: Vec<u32>,
    /// Runs that ended.
    pub runs: u64,
    /// Every larger cut with the seconds at which it was found.
    pub curve: Vec<(f64, f64)>,
}

impl Found {
    /// Whether the partition is one of this graph and has the cut that is written with it.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        Packed::new(layout(graph), &self.words).map_err(|error| format!("the partition: {error}"))?;
        let got = cut(graph, &self.words);
        if got != self.cut {
            return Err(format!("its partition cuts {got}, it says {}", self.cut));
        }
        // The curve rises in both, and ends at that cut: of the model it comes from the energy, which is rounded.
        let rises = self.curve.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 < two[1].1);
        let near = |last: &(f64, f64)| (last.1 - got).abs() <= 1e-4 * got.abs().max(bound(graph));
        if !rises || !self.curve.last().is_some_and(near) {
            return Err(format!("its curve does not rise to the cut {got}"));
        }
        Ok(())
    }
}

/// What no cut exceeds: the weight of all edges of positive weight.
fn bound(graph: &Graph) -> f64 {
    graph.edges.iter().map(|(_, _, weight)| weight.max(0.0)).sum()
}

/// Searches for a large cut with the library's annealer. It ends early with a cut that no other can exceed.
///
/// # Errors
/// [`Error`] where the model is refused.
pub fn search(
    graph: &Graph,
    method: Method,
    (seed, threads): (u64, usize),
    budget: Budget,
    progress: bool,
) -> Result<Found, Error> {
    let weights = || graph.edges.iter().map(|edge| edge.2);
    let size = weights().map(f64::abs).sum::<f64>() / graph.edges.len().max(1) as f64;
    // A power of two, which rounds nothing: any weights have energies near 1.
    let scale = if size > 0.0 { (-size.log2().round()).exp2() } else { 1.0 };
    let edges: Vec<_> = graph.edges.iter().map(|&(a, b, w)| (a, b, (-scale * w) as f32)).collect();
    let model = Model::ising(graph.vertices, &edges, &[])?;
    let annealer = model.annealer().method(method).seed(seed).threads(threads).progress(progress);
    let annealer = match budget {
        Budget::Seconds(seconds) => annealer.seconds(seconds),
        Budget::Sweeps(sweeps) => annealer.sweeps(sweeps),
    };
    let weight = weights().sum::<f64>();
    let found = annealer.target(scale * (weight - 2.0 * bound(graph))).run()?;
    let mut words = vec![0; layout(graph).words()];
    let best = found.states.first().ok_or_else(|| Error::model("no run ended"))?;
    best.state.iter().enumerate().for_each(|(vertex, side)| words[vertex / 32] |= side << (vertex % 32));
    let curve = found.curve.iter().map(|&(at, energy)| (at, 0.5 * (weight - energy / scale)));
    Ok(Found { cut: cut(graph, &words), words, runs: found.runs, curve: curve.collect() })
}
