//! Squared MMD between sets of graphs, of their degrees and of their clustering (You et al. 2018).

use super::Graph;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How near two sets of graphs are: squared MMD over all pairs, those of a graph with itself too, with the kernel
/// `exp(−W²/2σ²)`, W the earth mover's distance between two graphs' histograms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nearness {
    /// Of degrees, σ = 1.
    pub degree: f64,
    /// Of clustering coefficients in a hundred bins of [0, 1], σ = .1.
    pub clustering: f64,
}

const BINS: usize = 100;

/// Between two sets.
#[must_use]
pub fn nearness(some: &[Graph], others: &[Graph]) -> Nearness {
    let degrees = |graph: &Graph| histogram(graph, super::VERTICES, |vertex| graph.degree(vertex));
    let clustering = |graph: &Graph| {
        histogram(graph, BINS, |vertex| ((graph.clustering(vertex) * BINS as f64) as usize).min(BINS - 1))
    };
    Nearness {
        degree: squared(some, others, degrees, 1.0),
        clustering: squared(some, others, clustering, 0.1 * BINS as f64),
    }
}

/// The running sums of the shares of vertices in each bin: the earth mover's distance is the sum of their differences.
fn histogram(graph: &Graph, bins: usize, bin: impl Fn(usize) -> usize) -> Vec<f64> {
    let mut shares = vec![0.0; bins];
    (0..graph.len()).for_each(|vertex| shares[bin(vertex)] += 1.0 / graph.len() as f64);
    let mut sum = 0.0;
    shares.iter_mut().for_each(|share| {
        sum += *share;
        *share = sum;
    });
    shares
}

fn squared(some: &[Graph], others: &[Graph], of: impl Fn(&Graph) -> Vec<f64>, sigma: f64) -> f64 {
    let (a, b): (Vec<_>, Vec<_>) = (some.iter().map(&of).collect(), others.iter().map(&of).collect());
    let mean = |a: &[Vec<f64>], b: &[Vec<f64>]| {
        let rows = a.par_iter().map(|x| b.iter().map(|y| kernel(x, y, sigma)).sum());
        let rows: Vec<f64> = rows.collect();
        rows.iter().sum::<f64>() / (a.len() * b.len()) as f64
    };
    mean(&a, &a) + mean(&b, &b) - 2.0 * mean(&a, &b)
}

fn kernel(a: &[f64], b: &[f64], sigma: f64) -> f64 {
    let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
    (-0.5 * (distance / sigma).powi(2)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_at_zero_and_others_are_not() {
        let star = Graph::new(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]).unwrap();
        let triangle = Graph::new(3, &[(0, 1), (0, 2), (1, 2)]).unwrap();
        let same = nearness(&[star.clone(), triangle.clone()], &[triangle.clone(), star.clone()]);
        assert!(same.degree.abs() < 1e-12 && same.clustering.abs() < 1e-12);
        // Degrees 1, 1, 1, 1, 4 against 2, 2, 2: W = .8 · 1 + .2 · 2. Clustering 0 against 1: 99 bins.
        let far = nearness(&[star], &[triangle]);
        assert!((far.degree - (2.0 - 2.0 * (-0.5f64 * 1.2 * 1.2).exp())).abs() < 1e-12, "{far:?}");
        assert!((far.clustering - 2.0).abs() < 1e-12);
    }
}
