//! Symmetric matrices in float64: whether they are positive, and a bound on the trace that makes them so.

use crate::models::Source;
use bitmc::lane::{Block, LANES};

/// A full symmetric matrix with entries that f32 holds.
#[derive(Clone, Debug)]
pub struct Full {
    rows: Vec<Vec<f64>>,
}

impl Full {
    /// Zeros.
    #[must_use]
    pub fn zero(sites: usize) -> Self {
        Self { rows: vec![vec![0.0; sites]; sites] }
    }

    /// Sets an entry and its mirror image, rounded to f32.
    pub fn set(&mut self, a: usize, b: usize, value: f64) {
        let value = f64::from(value as f32);
        self.rows[a][b] = value;
        self.rows[b][a] = value;
    }

    /// Independent normal entries.
    #[must_use]
    pub fn random(sites: usize, seed: u64) -> Self {
        let (mut source, mut full) = (Source::new(seed), Self::zero(sites));
        (0..sites).for_each(|a| (0..=a).for_each(|b| full.set(a, b, f64::from(source.normal(1.0)))));
        full
    }

    /// AB's sparse Gaussian (App. B.3): `W = −ΛMΛ`, M the cycle with 1 on its diagonal and N(0, .04) beside it,
    /// `Λᵢ² = 1 + i(L−1)/(d−1)`.
    #[must_use]
    pub fn cycle(sites: usize, largest: f64, seed: u64) -> Self {
        let (mut source, mut full) = (Source::new(seed), Self::zero(sites));
        let scale = |site: usize| (1.0 + site as f64 * (largest - 1.0) / (sites - 1) as f64).sqrt();
        for site in 0..sites {
            let next = (site + 1) % sites;
            full.set(site, site, -scale(site) * scale(site));
            full.set(site, next, -scale(site) * scale(next) * f64::from(source.normal(0.2)));
        }
        full
    }

    /// Of edges with couplings J on spins: W = 4J on the {0,1} scale.
    #[must_use]
    pub fn on_spins(sites: usize, edges: impl IntoIterator<Item = (u32, u32, f32)>) -> Self {
        let mut full = Self::zero(sites);
        let set =
            |(a, b, coupling): (u32, u32, f32)| full.set(a as usize, b as usize, 4.0 * f64::from(coupling));
        edges.into_iter().for_each(set);
        full
    }

    /// An entry.
    ///
    /// # Panics
    /// Where there is no such row or column.
    #[must_use]
    pub fn get(&self, a: usize, b: usize) -> f64 {
        self.rows[a][b]
    }

    /// Rows.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.rows.len()
    }

    /// For the kernel.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        let row = |row: &Vec<f64>| {
            let blocks: Vec<Block> = row
                .chunks(LANES)
                .map(|part| std::array::from_fn(|lane| part.get(lane).map_or(0.0, |&x| x as f32)))
                .collect();
            blocks
        };
        self.rows.iter().flat_map(row).collect()
    }

    /// With more on the diagonal.
    #[must_use]
    pub fn plus(&self, d: impl Fn(usize) -> f64) -> Self {
        let mut sum = self.clone();
        sum.rows.iter_mut().enumerate().for_each(|(site, row)| row[site] += d(site));
        sum
    }

    /// Whether it is positive definite: by its Cholesky factorisation.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        let n = self.sites();
        let mut l = vec![vec![0.0; n]; n];
        for j in 0..n {
            for i in j..n {
                let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
                let rest = self.rows[i][j] - dot;
                if i == j && (rest <= 0.0 || rest.is_nan()) {
                    return false;
                }
                l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
            }
        }
        true
    }

    /// `−⟨W, VVᵀ⟩` for vectors of length at most 1, after sweeps of the mixing method: by weak duality no D with
    /// D ⪰ 0 and W + D ⪰ 0 has a smaller trace, whatever V is.
    #[must_use]
    pub fn dual(&self, sweeps: usize) -> f64 {
        let n = self.sites();
        let rank = (2.0 * n as f64).sqrt().ceil() as usize + 1;
        let mut source = Source::new(99);
        let normal = |source: &mut Source| {
            let v: Vec<f64> = (0..rank).map(|_| f64::from(source.normal(1.0))).collect();
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.into_iter().map(|x| x / length).collect::<Vec<f64>>()
        };
        let mut vectors: Vec<Vec<f64>> = (0..n).map(|_| normal(&mut source)).collect();
        let others: Vec<Vec<(usize, f64)>> = (0..n)
            .map(|i| {
                (0..n).filter(|&j| j != i && self.rows[i][j] != 0.0).map(|j| (j, self.rows[i][j])).collect()
            })
            .collect();
        let pull = |vectors: &[Vec<f64>], i: usize| {
            let mut p = vec![0.0; rank];
            for &(j, w) in &others[i] {
                p.iter_mut().zip(&vectors[j]).for_each(|(p, v)| *p += w * v);
            }
            p
        };
        for _ in 0..sweeps {
            for i in 0..n {
                let p = pull(&vectors, i);
                let most = p.iter().map(|x| x * x).sum::<f64>().sqrt().max(self.rows[i][i]);
                if most > 0.0 {
                    vectors[i] = p.into_iter().map(|x| -x / most).collect();
                }
            }
        }
        // Lengths at most 1 in spite of rounding.
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let value =
            |i: usize| dot(&vectors[i], &pull(&vectors, i)) + self.rows[i][i] * dot(&vectors[i], &vectors[i]);
        let longest = vectors.iter().map(|v| dot(v, v)).fold(1.0, f64::max);
        -(0..n).map(value).sum::<f64>() / longest
    }
}

/// A matrix W whose D of the smallest trace a conic solver has found.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub name: &'static str,
    /// W.
    pub w: Full,
    /// The smallest trace: clarabel 0.11, 22 November 2026, as `tests/exact/conic.rs` finds it again, or known.
    pub trace: f64,
}

/// Matrices with known optima; those of graphs are of spins on the {0,1} scale.
#[must_use]
pub fn instances() -> Vec<Instance> {
    let mut far = Full::zero(10);
    (0..10).for_each(|site| far.set(site, site, if site == 0 { -100.0 } else { -1.0 }));
    let graph = Full::on_spins(100, barabasi_albert(100, 4, 0.4407, 1));
    let torus = Full::on_spins(400, bitmc::torus(20, 20, 0.4407));
    let large = Full::on_spins(400, barabasi_albert(400, 4, 0.4407, 1));
    vec![
        Instance { name: "diag(−100, −1, …)", w: far, trace: 109.0 },
        Instance { name: "cycle Gaussian, L = 10", w: Full::cycle(100, 10.0, 2), trace: 720.555_666 },
        Instance { name: "BA-100-4", w: graph, trace: 726.165_482 },
        Instance { name: "dense, d = 100", w: Full::random(100, 3), trace: 1_756.957_200 },
        // With even sides the optimum is that of the edges: Σ|W|, 4J at both ends of 800 edges.
        Instance { name: "torus 20×20", w: torus, trace: 8.0 * 800.0 * f64::from(0.4407f32) },
        Instance { name: "BA-400-4", w: large, trace: 3_254.806_682 },
    ]
}

/// The edges of a Barabási–Albert graph: every new site takes `each` distinct neighbours, each with a
/// probability proportional to its degree; the first has the `each` sites before it.
///
/// # Panics
/// Where there are not more sites than `each`.
#[must_use]
pub fn barabasi_albert(sites: u32, each: u32, coupling: f32, seed: u64) -> Vec<(u32, u32, f32)> {
    assert!(sites > each);
    let mut source = Source::new(seed);
    let (mut edges, mut ends) = (Vec::new(), Vec::new());
    let mut neighbours: Vec<u32> = (0..each).collect();
    for site in each..sites {
        for &neighbour in &neighbours {
            edges.push((neighbour, site, coupling));
            ends.extend([neighbour, site]);
        }
        neighbours.clear();
        while neighbours.len() < each as usize {
            let end = ends[source.below(ends.len())];
            if !neighbours.contains(&end) {
                neighbours.push(end);
            }
        }
    }
    edges
}
