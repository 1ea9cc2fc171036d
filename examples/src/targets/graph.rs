//! Random graphs.

use super::numbers::Numbers;
use bitmc::energy::Edge;

/// The edges of a Barabási–Albert graph: the first `each` sites are the neighbours of the next one; from there
/// on every new site takes `each` distinct neighbours, each with a probability proportional to its degree
/// (AB appendix B.2: BA-400-4 has 400 sites and `each` = 4).
///
/// # Panics
/// Where there are not more sites than `each`.
#[must_use]
pub fn barabasi_albert(sites: u32, each: u32, coupling: f32, seed: u64) -> Vec<Edge> {
    assert!(sites > each, "more sites than neighbours");
    let mut numbers = Numbers::new(seed);
    let (mut edges, mut ends) = (Vec::new(), Vec::<u32>::new());
    let mut neighbours: Vec<u32> = (0..each).collect();
    for site in each..sites {
        for &neighbour in &neighbours {
            edges.push((neighbour, site, coupling));
            ends.extend([neighbour, site]);
        }
        neighbours.clear();
        while neighbours.len() < each as usize {
            let end = ends[(numbers.uniform() * ends.len() as f64) as usize];
            if !neighbours.contains(&end) {
                neighbours.push(end);
            }
        }
    }
    edges
}

/// `count` distinct edges between pairs drawn uniformly, with couplings uniform in ±`largest`.
///
/// # Panics
/// Where there are not so many pairs of sites.
#[must_use]
pub fn uniform(sites: u32, count: u32, largest: f32, seed: u64) -> Vec<Edge> {
    assert!(
        u64::from(count) <= u64::from(sites) * u64::from(sites.saturating_sub(1)) / 2,
        "more pairs than edges"
    );
    let mut numbers = Numbers::new(seed);
    let mut edges = std::collections::BTreeMap::new();
    while edges.len() < count as usize {
        let mut site = || (numbers.uniform() * f64::from(sites)) as u32;
        let (a, b) = (site(), site());
        if a != b {
            let coupling = largest * (2.0 * numbers.uniform() as f32 - 1.0);
            edges.insert((a.min(b), a.max(b)), coupling);
        }
    }
    edges.into_iter().map(|((a, b), coupling)| (a, b, coupling)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_new_site_has_its_neighbours_and_hubs_grow() {
        let edges = barabasi_albert(400, 4, 1.0, 1);
        assert_eq!(edges.len(), 4 * 396);
        let mut degrees = [0; 400];
        for (index, &(a, b, _)) in edges.iter().enumerate() {
            assert!(a < b && b as usize == 4 + index / 4, "{a} {b}");
            assert!(!edges[index / 4 * 4..index].iter().any(|edge| edge.0 == a), "twice");
            degrees[a as usize] += 1;
            degrees[b as usize] += 1;
        }
        // The largest degree grows as 4√(n/4): 40 in the mean; of as many independent edges it would be 20.
        assert!(degrees.iter().any(|&degree| degree > 25), "{:?}", degrees.iter().max());
    }
}
