//! Quadratic energies over whole numbers, in float64, and the kernel's models of them.

use crate::enumerate::Distribution;
use crate::heap::Couplings;
use crate::models::Source;
use crate::naive::Target;
use bitmc::energy::{GaussianError, LatticeGaussian, pack_rows};
use bitmc::lane::{Block, LANES};

/// `E = ½ (x − μ)ᵀA(x − μ)`.
#[derive(Clone, Debug)]
pub struct Quadratic {
    /// A, row by row.
    pub matrix: Vec<f32>,
    /// μ.
    pub centre: Vec<f32>,
    /// Values of a site.
    pub arity: usize,
}

impl Target for Quadratic {
    fn sites(&self) -> usize {
        self.centre.len()
    }

    fn energy(&self, x: &[f64]) -> f64 {
        let away = self.away(x);
        0.5 * self.gradient(x).iter().zip(&away).map(|(h, v)| h * v).sum::<f64>()
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let away = self.away(x);
        let rows = self.matrix.chunks_exact(x.len());
        rows.map(|row| row.iter().zip(&away).map(|(&a, v)| f64::from(a) * v).sum()).collect()
    }
}

impl Quadratic {
    /// A random model: every pair has an entry with probability `density`. With `coarse` all numbers are
    /// multiples of 1/64, so that the kernel's grid holds them; else entries differ by decades. The centre may lie
    /// outside the lattice.
    #[must_use]
    pub fn random(sites: usize, arity: usize, density: f64, sd: f64, coarse: bool, seed: u64) -> Self {
        let mut source = Source::new(seed);
        let mut matrix = vec![0.0; sites * sites];
        for a in 0..sites {
            for b in 0..=a {
                if a == b || source.uniform() < density {
                    let decade = if coarse { 0 } else { source.below(4) as i32 - 3 };
                    let entry = if coarse { source.coarse(sd) } else { source.normal(sd * 10f64.powi(decade)) };
                    matrix[a * sites + b] = entry;
                    matrix[b * sites + a] = entry;
                }
            }
        }
        let mut middle = || (source.uniform() * 1.5 - 0.25) * arity as f64;
        let rounded = |mu: f64| if coarse { (mu * 64.0).round() / 64.0 } else { mu };
        let centre = (0..sites).map(|_| rounded(middle()) as f32).collect();
        Self { matrix, centre, arity }
    }

    /// x − μ.
    #[must_use]
    pub fn away(&self, x: &[f64]) -> Vec<f64> {
        x.iter().zip(&self.centre).map(|(x, &mu)| x - f64::from(mu)).collect()
    }

    /// All states: site 0 fastest.
    #[must_use]
    pub fn states(&self) -> Vec<Vec<f64>> {
        states(self.centre.len(), self.arity)
    }

    /// The distribution by enumeration.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let energies = self.states().iter().map(|x| self.energy(x)).collect();
        Distribution::from_energies(self.centre.len(), energies)
    }

    /// The pairs with an entry off the diagonal.
    #[must_use]
    pub fn edges(&self) -> Vec<(u32, u32, f32)> {
        let sites = self.centre.len();
        let pairs = (0..sites).flat_map(|a| (0..a).map(move |b| (a, b)));
        let edges = pairs.map(|(a, b)| (a as u32, b as u32, self.matrix[a * sites + b]));
        edges.filter(|edge| edge.2 != 0.0).collect()
    }

    /// The diagonal.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f32> {
        self.matrix.iter().step_by(self.centre.len() + 1).copied().collect()
    }

    /// The rows in whole blocks.
    ///
    /// # Panics
    /// Never: the lengths fit.
    #[must_use]
    pub fn rows(&self) -> Vec<Block> {
        let sites = self.centre.len();
        let mut rows = vec![[0.0; LANES]; sites * sites.div_ceil(LANES)];
        pack_rows(&self.matrix, sites, &mut rows).unwrap();
        rows
    }

    /// The kernel's sparse model, in this memory.
    ///
    /// # Errors
    /// As [`LatticeGaussian::sparse`].
    pub fn sparse<'a>(&'a self, memory: &'a mut Couplings) -> Result<LatticeGaussian<'a>, GaussianError> {
        LatticeGaussian::sparse(
            self.centre.len(),
            self.arity,
            self.edges(),
            &self.diagonal(),
            &self.centre,
            memory.borrow(),
        )
    }

    /// The kernel's dense model, over these rows, whose entries may differ by decades.
    ///
    /// # Errors
    /// As [`LatticeGaussian::dense_rounded`].
    pub fn dense<'a>(&'a self, rows: &'a [Block]) -> Result<LatticeGaussian<'a>, GaussianError> {
        LatticeGaussian::dense_rounded(rows, &self.centre, self.arity)
    }
}

/// All states of `sites` sites with `arity` values: site 0 fastest.
#[must_use]
pub fn states(sites: usize, arity: usize) -> Vec<Vec<f64>> {
    let digit = |state: usize, site: usize| state / arity.pow(site as u32) % arity;
    let count = arity.pow(sites as u32);
    (0..count).map(|state| (0..sites).map(|site| digit(state, site) as f64).collect()).collect()
}
