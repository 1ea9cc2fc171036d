//! Small graphs as bits: one for each pair of vertices; and how near two sets of graphs are.

mod drawing;
mod nearness;

pub use drawing::drawing;
pub use nearness::{Nearness, nearness};

use crate::cli::Failure;
use bitmc::{LaneRng, Layout, Rng};
use std::path::Path;

/// The most vertices (RMwGGIS §5.2).
pub const VERTICES: usize = 18;

/// A bit for every pair of vertices.
pub const PAIRS: Layout = Layout::binary(VERTICES * (VERTICES - 1) / 2);

/// A simple graph of up to [`VERTICES`] vertices, the neighbours of each as a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    neighbours: Vec<u32>,
}

impl Graph {
    /// Of edges between vertices below `vertices`; `None` where one is a loop or has no such vertex, or there are too
    /// many vertices.
    #[must_use]
    pub fn new(vertices: usize, edges: &[(usize, usize)]) -> Option<Self> {
        if vertices > VERTICES {
            return None;
        }
        let mut neighbours = vec![0; vertices];
        for &(a, b) in edges {
            if a == b || a >= vertices || b >= vertices {
                return None;
            }
            neighbours[a] |= 1 << b;
            neighbours[b] |= 1 << a;
        }
        Some(Self { neighbours })
    }

    /// Vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Whether there is no vertex.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// Whether two vertices are linked.
    #[must_use]
    pub fn linked(&self, a: usize, b: usize) -> bool {
        self.neighbours[a] >> b & 1 == 1
    }

    /// Links of a vertex.
    #[must_use]
    pub fn degree(&self, vertex: usize) -> usize {
        self.neighbours[vertex].count_ones() as usize
    }

    /// Edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        (0..self.len()).map(|vertex| self.degree(vertex)).sum::<usize>() / 2
    }

    /// The share of a vertex's pairs of neighbours that are linked; 0 where it has fewer than two.
    #[must_use]
    pub fn clustering(&self, vertex: usize) -> f64 {
        let mask = self.neighbours[vertex];
        let degree = mask.count_ones();
        let linked: u32 = (0..self.len())
            .filter(|&other| mask >> other & 1 == 1)
            .map(|other| (self.neighbours[other] & mask).count_ones())
            .sum();
        if degree < 2 { 0.0 } else { f64::from(linked) / f64::from(degree * (degree - 1)) }
    }

    /// Whether some vertex is linked with all others: what a one-hop ego graph is.
    #[must_use]
    pub fn is_ego(&self) -> bool {
        self.len() > 1 && (0..self.len()).any(|vertex| self.degree(vertex) + 1 == self.len())
    }

    /// The bits of the graph, a bit for each pair: its vertices by falling degree, those of equal degree in a random
    /// order.
    pub fn encode(&self, rng: &mut LaneRng, words: &mut [u32]) {
        let mut order: Vec<(usize, u32, usize)> =
            (0..self.len()).map(|vertex| (VERTICES - self.degree(vertex), rng.next_u32(), vertex)).collect();
        order.sort_unstable();
        words.fill(0);
        for (b, &(.., vertex)) in order.iter().enumerate() {
            for (a, &(.., before)) in order[..b].iter().enumerate() {
                let bit = pair(a, b);
                words[bit / 32] |= u32::from(self.linked(before, vertex)) << (bit % 32);
            }
        }
    }

    /// The graph of bits, without the vertices that have no link.
    #[must_use]
    pub fn decode(words: &[u32]) -> Self {
        let on = |a: usize, b: usize| words[pair(a, b) / 32] >> (pair(a, b) % 32) & 1 == 1;
        let linked = |a: usize, b: usize| a != b && on(a.min(b), a.max(b));
        let kept: Vec<usize> = (0..VERTICES).filter(|&a| (0..VERTICES).any(|b| linked(a, b))).collect();
        let mask =
            |&a: &usize| (0..).zip(&kept).fold(0, |mask, (place, &b)| mask | u32::from(linked(a, b)) << place);
        Self { neighbours: kept.iter().map(mask).collect() }
    }
}

/// The bit of a pair, the smaller vertex first.
fn pair(a: usize, b: usize) -> usize {
    b * (b - 1) / 2 + a
}

/// Reads graphs, one a line: a name, vertices, edges, then the edges as `a-b`. Lines that begin with `#` do not count,
/// nor do graphs of more than [`VERTICES`] vertices.
///
/// # Errors
/// [`Failure::File`] names the line that is wrong.
pub fn read(path: &Path) -> Result<Vec<Graph>, Failure> {
    crate::formats::read(path, parse)
}

fn parse(text: &str) -> Result<Vec<Graph>, String> {
    let mut graphs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if !line.starts_with('#') && !line.trim().is_empty() {
            graphs.extend(graph(line).map_err(|reason| format!("line {}: {reason}", index + 1))?);
        }
    }
    Ok(graphs)
}

/// The graph of a line; none where it has too many vertices.
fn graph(line: &str) -> Result<Option<Graph>, String> {
    let mut words = line.split_whitespace().skip(1);
    let mut count = |what| {
        let number = words.next().and_then(|word| word.parse::<usize>().ok());
        number.ok_or(format!("a name and the number of {what} expected"))
    };
    let (vertices, edges) = (count("vertices")?, count("edges")?);
    if vertices > VERTICES {
        return Ok(None);
    }
    let ends = |word: &str| {
        let ends = word.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        ends.ok_or(format!("an edge a-b expected, found {word:?}"))
    };
    let found = words.map(ends).collect::<Result<Vec<_>, _>>()?;
    if found.len() != edges {
        return Err(format!("{edges} edges expected, found {}", found.len()));
    }
    let graph = Graph::new(vertices, &found).filter(|graph| graph.edges() == edges);
    graph.map(Some).ok_or(format!("different edges between two vertices below {vertices} expected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmc::SeedableRng;

    #[test]
    fn graphs_go_to_bits_and_back() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/citeseer/ego_small_200.txt");
        let graphs = read(&folder).unwrap();
        assert_eq!(graphs.len(), 199); // one has 20 vertices
        let mut rng = LaneRng::seed_from_u64(1);
        let mut words = vec![0; PAIRS.words()];
        for graph in &graphs {
            assert!(graph.is_ego());
            graph.encode(&mut rng, &mut words);
            let back = Graph::decode(&words);
            let degrees = |graph: &Graph| {
                let mut degrees: Vec<usize> = (0..graph.len()).map(|vertex| graph.degree(vertex)).collect();
                degrees.sort_unstable();
                degrees
            };
            assert_eq!((degrees(&back), back.edges()), (degrees(graph), graph.edges()));
            assert!(back.degree(0) >= back.degree(back.len() - 1));
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, because) in [
            ("", ""),
            ("# none\n\n1 99 5\r\n", ""),
            ("1 2 1 0-1\nx", "line 2: a name and the number of vertices expected"),
            ("1 2", "line 1: a name and the number of edges expected"),
            ("1 -2 1", "line 1: a name and the number of vertices expected"),
            ("1 2 1 0", "line 1: an edge a-b expected, found \"0\""),
            ("1 2 2 0-1", "line 1: 2 edges expected, found 1"),
            ("1 2 1 0-2", "line 1: different edges between two vertices below 2 expected"),
            ("1 3 2 0-1 1-0", "line 1: different edges between two vertices below 3 expected"),
        ] {
            assert_eq!(parse(text).err().unwrap_or_default(), because, "{text}");
        }
    }

    #[test]
    fn statistics_of_a_triangle_with_a_tail() {
        let graph = Graph::new(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
        assert_eq!((graph.edges(), graph.degree(2), graph.is_ego()), (4, 3, true));
        assert_eq!([0, 2, 3].map(|vertex| graph.clustering(vertex)), [1.0, 1.0 / 3.0, 0.0]);
        assert_eq!((Graph::new(2, &[(0, 2)]), Graph::new(2, &[(1, 1)])), (None, None));
        assert_eq!(Graph::new(usize::MAX, &[(0, 40)]), None);
        assert!(!Graph::new(4, &[(0, 1), (1, 2), (2, 3)]).unwrap().is_ego());
    }
}
