//! W, and the noise of W + D for each way to a D, in vectors.

use crate::Error;
use bitmc::energy::{Edge, Entry, Sparse, SparseBuffers};
use bitmc::lane::{Block, LANES};
use bitmc::noise::{
    Dense, DenseMatrix, Edgewise, MinTrace, Noise, SparseMatrix, SparseRegression, Symmetric, constant,
};
use bitmc::{Ising, Move, Rng};

/// A symmetric W that is, or is near, the Hessian of −E: its diagonal, and its other entries once.
#[derive(Clone, Debug)]
pub struct Curvature {
    edges: Vec<Edge>,
    diagonal: Vec<f32>,
}

/// What is known of the W of an energy.
#[derive(Clone, Copy, Debug)]
pub enum Known<'w> {
    /// All of it: a quadratic energy says it.
    Whole(&'w Curvature),
    /// Which of its entries are not zero, the edges here and the diagonal; the couplings do not count. It is estimated at
    /// these, in memory that grows with the edges.
    Pattern(Sparse<'w>),
    /// Nothing: it is estimated in full, for [`DenseMatrix::MAX_SITES`] sites at most.
    Nothing,
}

impl Curvature {
    /// What a quadratic energy says of itself.
    #[must_use]
    pub fn of(matrix: &impl Symmetric) -> Self {
        let sites = 0..matrix.sites();
        let mut edges = Vec::new();
        for b in sites.clone() {
            matrix.row(b, |a, value| {
                if a < b && value != 0.0 {
                    edges.push((a as u32, b as u32, value));
                }
            });
        }
        Self { edges, diagonal: sites.map(|site| matrix.diagonal(site)).collect() }
    }

    /// What a regression on a pattern has found.
    pub(super) fn found(regression: &SparseRegression<'_>, w: &[Block], sites: usize) -> Self {
        let mut diagonal = vec![0.0; sites];
        regression.diagonal(w, &mut diagonal);
        Self { edges: regression.edges(w).collect(), diagonal }
    }

    /// The entries off the diagonal, each once.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The diagonal.
    #[must_use]
    pub fn diagonal(&self) -> &[f32] {
        &self.diagonal
    }

    /// Sites.
    pub(super) fn sites(&self) -> usize {
        self.diagonal.len()
    }

    /// D = −W of the sites themselves, for the diagonal variant; `None` where it is zero everywhere.
    pub(super) fn negated_diagonal(&self) -> Option<Vec<Block>> {
        let mut d = vec![[0.0; LANES]; self.diagonal.len().div_ceil(LANES)];
        d.as_flattened_mut().iter_mut().zip(&self.diagonal).for_each(|(slot, &w)| *slot = -w);
        self.diagonal.iter().any(|&w| w != 0.0).then_some(d)
    }

    /// In full, for a [`DenseMatrix`].
    fn rows(&self) -> Result<Vec<Block>, Error> {
        let (sites, most) = (self.sites(), DenseMatrix::MAX_SITES);
        if sites > most {
            return Err(Error::model(format!(
                "a noise with a D of its own is in full, for at most {most} sites, not {sites}: take that of the edges"
            )));
        }
        let mut rows = vec![[0.0; LANES]; DenseMatrix::blocks(sites)];
        let (flat, width) = (rows.as_flattened_mut(), DenseMatrix::row_blocks(sites) * LANES);
        self.diagonal.iter().enumerate().for_each(|(site, &w)| flat[site * width + site] = w);
        for &(a, b, value) in &self.edges {
            let (a, b) = (a as usize, b as usize);
            (flat[a * width + b], flat[b * width + a]) = (value, value);
        }
        Ok(rows)
    }
}

/// A D for W, one number a site, and a line that says what was found.
pub type FindD = fn(&Curvature) -> Result<(Vec<f32>, String), Error>;

/// Which D goes with W.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// The same at every site: −λ_min(W).
    Shift,
    /// The smallest trace.
    Trace,
    /// That of a function: W + D must have no negative eigenvalue.
    By(FindD),
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

    fn key(&self) -> u64 {
        match self {
            Self::Edges(noise) => noise.key(),
            Self::Full(noise) => noise.key(),
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

/// The memory that holds a noise.
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
    /// [`Error::Model`] where no D of this kind is found for W.
    pub fn noise(&mut self, w: &Curvature, which: Which) -> Result<(Drawn<'_>, String), Error> {
        let (sites, count) = (w.diagonal.len(), w.edges.len());
        self.diagonal.clone_from(&w.diagonal);
        (self.ends, self.linear) = (vec![0; sites], vec![0; sites]);
        self.entries = vec![Entry::default(); 2 * count];
        let memory = SparseBuffers::new(&mut self.ends, &mut self.linear, &mut self.entries);
        let edges = w.edges.iter().copied();
        let form = Ising::bits_edges_once(sites, edges, &[], memory)?.form();
        let sparse = SparseMatrix::with_diagonal(form, &self.diagonal)?;
        self.d = vec![[0.0; LANES]; sites.div_ceil(LANES)];
        let mut scratch = vec![[0.0; LANES]; 3 * self.d.len()];
        if !matches!(which, Which::Edges) {
            self.rows = w.rows()?;
        }
        let how = match which {
            Which::Edges => {
                let noise = Edgewise::new(sparse, &mut self.d)?;
                let trace: f32 = noise.d().unwrap_or_default().as_flattened().iter().sum();
                return Ok((Drawn::Edges(noise), format!("D of {count} edges, trace {trace:.1}")));
            }
            Which::Shift => {
                let shift = constant(&sparse, 1e-3, &mut self.d, &mut scratch)?;
                format!("D = {shift:.3} everywhere, trace {:.1}", shift * sites as f32)
            }
            Which::Trace => {
                let mut vectors = vec![[0.0; LANES]; MinTrace::blocks(sites)];
                let solver = MinTrace::new(2e-3, 400);
                let found = solver.solve(&sparse, &mut self.d, &mut vectors, &mut scratch);
                let found = found?;
                format!("D of trace {:.1}, at least {:.1} by the dual", found.trace, found.bound)
            }
            Which::By(found) => {
                let (d, how) = found(w)?;
                alike("D", d.len(), sites)?;
                self.d.as_flattened_mut()[..sites].copy_from_slice(&d);
                how
            }
        };
        self.root = vec![[0.0; LANES]; Dense::root_blocks(sites)];
        let rows = DenseMatrix::new(sites, &self.rows)?;
        let noise = Dense::new(rows, &mut self.d, &mut self.root)?;
        Ok((Drawn::Full(noise), how))
    }
}

/// Refuses what is of other sites.
pub(super) fn alike(what: &str, got: usize, sites: usize) -> Result<(), Error> {
    let refused = || Error::model(format!("{what} is of {got} sites, the energy of {sites}"));
    if got == sites { Ok(()) } else { Err(refused()) }
}
