//! Maximum cuts by annealing: the side of every vertex is a spin, and `f = cut / T` an Ising model a temperature.

mod anneal;
mod search;

pub use anneal::{Choice, Ladder, LadderMemory};
pub use search::{Budget, Found, search, steps_of};

use crate::formats::rudy::Graph;
use bitmc::Layout;

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

fn side(words: &[u32], vertex: u32) -> u32 {
    words[vertex as usize / 32] >> (vertex % 32) & 1
}

/// The weight of the edges between the two sides; exact for whole weights (of a file: up to 2²⁴ each).
#[must_use]
pub fn cut(graph: &Graph, words: &[u32]) -> f64 {
    let between = graph.edges.iter().filter(|(a, b, _)| side(words, *a) != side(words, *b));
    // An empty sum is -0.
    between.map(|(_, _, weight)| f64::from(*weight)).sum::<f64>() + 0.0
}

/// What no cut exceeds: the weight of all edges of positive weight.
#[must_use]
pub fn bound(graph: &Graph) -> f64 {
    graph.edges.iter().map(|(_, _, weight)| f64::from(weight.max(0.0))).sum()
}

/// Moves single vertices to the other side, the first that gains in the order of the vertices, until none does.
pub fn descend(graph: &Graph, words: &mut [u32]) {
    let mut rows = vec![Vec::new(); graph.vertices];
    for &(a, b, weight) in &graph.edges {
        rows[a as usize].push((b, f64::from(weight)));
        rows[b as usize].push((a, f64::from(weight)));
    }
    loop {
        let mut moved = false;
        for vertex in 0..graph.vertices as u32 {
            let here = side(words, vertex);
            let gains = rows[vertex as usize]
                .iter()
                .map(|&(other, weight)| if side(words, other) == here { weight } else { -weight });
            // Gains below a millionth of the weights are rounding, and could be traded for ever.
            let least = 1e-6 * rows[vertex as usize].iter().map(|(_, weight)| weight.abs()).sum::<f64>();
            if gains.sum::<f64>() > least {
                words[vertex as usize / 32] ^= 1 << (vertex % 32);
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}
