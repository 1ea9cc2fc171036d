//! W, and the noise of W + D for each way to a D, in vectors.

use super::largest::smallest_largest;
use crate::cli::Failure;
use bitmc::energy::{Edge, Entry, SparseLent};
use bitmc::lane::{Block, LANES};
use bitmc::noise::{
    Dense, DenseMatrix, Edgewise, MinTrace, Noise, NoiseError, SparseMatrix, Symmetric, constant,
};
use bitmc::{Ising, Move, Rng};
use nalgebra::DMatrix;

/// A symmetric W that is, or is near, the Hessian of −E.
#[derive(Clone, Debug)]
pub struct Curvature {
    pub(super) rows: Vec<Block>,
    pub(super) sites: usize,
}

impl Curvature {
    /// What a quadratic energy says of itself.
    ///
    /// # Errors
    /// [`NoiseError`] where there are more than [`DenseMatrix::MAX_SITES`] sites.
    pub fn of(matrix: &impl Symmetric) -> Result<Self, NoiseError> {
        let sites = matrix.sites();
        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites.min(DenseMatrix::MAX_SITES))];
        DenseMatrix::of(matrix, &mut rows)?;
        Ok(Self { rows, sites })
    }

    fn matrix(&self) -> Result<DenseMatrix<'_>, NoiseError> {
        DenseMatrix::new(self.sites, &self.rows)
    }

    /// D = −W of the sites themselves, for the diagonal variant; `None` where it is zero everywhere.
    pub(super) fn diagonal(&self) -> Option<Vec<Block>> {
        let mut d = vec![[0.0; LANES]; self.sites.div_ceil(LANES)];
        let rows = self.rows.chunks(DenseMatrix::row_blocks(self.sites).max(1));
        for (site, (slot, row)) in d.as_flattened_mut().iter_mut().zip(rows).enumerate() {
            *slot = -row.as_flattened()[site];
        }
        d.as_flattened().iter().any(|&d| d != 0.0).then_some(d)
    }
}

/// Which D goes with W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The same at every site: −λ_min(W).
    Shift,
    /// The smallest trace.
    Trace,
    /// The smallest largest eigenvalue of W + D.
    Largest,
    /// That of the edge-wise noise.
    Edges,
}

/// A noise whose kind is known at run time.
#[derive(Clone, Copy, Debug)]
pub enum Drawn<'r> {
    /// One normal an edge.
    Edges(Edgewise<'r>),
    /// By a Cholesky factor.
    Full(Dense<'r>),
}

impl Noise for Drawn<'_> {
    const SOME: bool = true;

    fn d(&self) -> Option<&[Block]> {
        match self {
            Self::Edges(noise) => noise.d(),
            Self::Full(noise) => noise.d(),
        }
    }

    fn sites(&self) -> Option<usize> {
        match self {
            Self::Edges(noise) => noise.sites(),
            Self::Full(noise) => noise.sites(),
        }
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [Block], planes: usize) {
        match self {
            Self::Edges(noise) => noise.draw(rng, eta, planes),
            Self::Full(noise) => noise.draw(rng, eta, planes),
        }
    }

    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize) {
        match self {
            Self::Edges(noise) => noise.follow(step, eta, planes),
            Self::Full(noise) => noise.follow(step, eta, planes),
        }
    }
}

/// The memory that a noise stands in.
#[derive(Clone, Debug, Default)]
pub struct Room {
    rows: Vec<Block>,
    d: Vec<Block>,
    root: Vec<Block>,
    ends: Vec<u32>,
    linear: Vec<i32>,
    entries: Vec<Entry>,
    diagonal: Vec<f32>,
}

impl Room {
    /// The noise of W with the D of this kind, and a line that says what was found.
    ///
    /// # Errors
    /// [`Failure::Option`] where no D of this kind is found for W.
    pub fn noise(&mut self, w: &Curvature, which: Which) -> Result<(Drawn<'_>, String), Failure> {
        let sites = w.sites;
        let full = w.matrix().map_err(Failure::option)?;
        let edges: Vec<Edge> = (0..sites)
            .flat_map(|a| (0..a).map(move |b| (b as u32, a as u32, full.get(a, b))))
            .filter(|edge| edge.2 != 0.0)
            .collect();
        self.diagonal = (0..sites).map(|site| full.diagonal(site)).collect();
        (self.ends, self.linear) = (vec![0; sites], vec![0; sites]);
        self.entries = vec![Entry::default(); 2 * edges.len()];
        let memory = SparseLent { ends: &mut self.ends, linear: &mut self.linear, entries: &mut self.entries };
        let count = edges.len();
        let form = Ising::bits_edges_once(edges, &vec![0.0; sites], memory).map_err(Failure::option)?.form();
        let sparse = SparseMatrix::with_diagonal(form, &self.diagonal).map_err(Failure::option)?;
        self.d = vec![[0.0; LANES]; sites.div_ceil(LANES)];
        let mut scratch = vec![[0.0; LANES]; 3 * self.d.len()];
        let how = match which {
            Which::Edges => {
                let noise = Edgewise::new(sparse, &mut self.d).map_err(Failure::option)?;
                let trace: f32 = noise.d().unwrap_or_default().as_flattened().iter().sum();
                return Ok((Drawn::Edges(noise), format!("D of {count} edges, trace {trace:.1}")));
            }
            Which::Shift => {
                let shift = constant(&sparse, 1e-3, &mut self.d, &mut scratch).map_err(Failure::option)?;
                format!("D = {shift:.3} everywhere, trace {:.1}", shift * sites as f32)
            }
            Which::Trace => {
                let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
                let solver = MinTrace::new(2e-3, 400);
                let found = solver.solve(&sparse, &mut self.d, &mut vectors, &mut scratch);
                let found = found.map_err(Failure::option)?;
                format!("D of trace {:.1}, at least {:.1} by the dual", found.trace, found.bound)
            }
            Which::Largest => {
                let w = DMatrix::from_fn(sites, sites, |a, b| f64::from(full.get(a, b)));
                let found = smallest_largest(&w, 1e-3)
                    .ok_or_else(|| Failure::Option("W has no D of the smallest largest eigenvalue".into()))?;
                self.d.as_flattened_mut().iter_mut().zip(&found.d).for_each(|(slot, &d)| *slot = d as f32);
                let (trace, least) = (found.d.iter().sum::<f64>(), found.lambda - found.gap);
                format!("D of trace {trace:.1}, W + D ⪯ {:.3}, at least {least:.3} by the dual", found.lambda)
            }
        };
        self.rows.clone_from(&w.rows);
        self.root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
        let rows = DenseMatrix::new(sites, &self.rows).map_err(Failure::option)?;
        let noise = Dense::new(rows, &mut self.d, &mut self.root).map_err(Failure::option)?;
        Ok((Drawn::Full(noise), how))
    }
}
