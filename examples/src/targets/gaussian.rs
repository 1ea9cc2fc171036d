//! Lattice Gaussians: rotated and on a cycle.

use super::numbers::{Numbers, blocks};
use bitmc::LatticeGaussian;
use bitmc::energy::{Edge, Entry, GaussianError, SparseBuffers};
use bitmc::lane::Block;

/// The precision matrix and centre of a lattice Gaussian (AB §5.2 and appendix B.3).
#[derive(Clone, Debug)]
pub struct Gaussian {
    arity: usize,
    centre: Vec<f32>,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Dense(Vec<Block>),
    Sparse { edges: Vec<Edge>, diagonal: Vec<f32> },
}

/// Memory that a sparse Gaussian's rows stand in.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    ends: Vec<u32>,
    linear: Vec<i32>,
    entries: Vec<Entry>,
}

impl Gaussian {
    /// The rotated Gaussian: `A = PΛPᵀ` with a uniformly random orthogonal P and
    /// `Λᵢᵢ = 1 + i(L − 1)/99`, i = 1 … 100, for L = `condition`. The paper has 100 sites of 21 values, and
    /// L = 2, 10, 50. For other sizes 99 is one less than the number of sites.
    ///
    /// The text at hand lost the paper's formulas for Λ and the centre of this target. Λ is taken to be the square of the
    /// cycle's. The centre is taken to be the middle of the lattice, 10 of 0 … 20, so that all directions are inside it.
    ///
    /// # Panics
    /// Where there are fewer than two sites.
    #[must_use]
    pub fn rotated(sites: usize, arity: usize, condition: f64, seed: u64) -> Self {
        assert!(sites >= 2, "a rotation needs two sites");
        let p = Numbers::new(seed).rotation(sites);
        let spectrum = spectrum(sites, condition);
        // Each pair once, so that A is symmetric to the last bit.
        let entry = |a: usize, b: usize| -> f64 {
            let (a, b) = (a.min(b), a.max(b));
            p[a].iter().zip(&p[b]).zip(&spectrum).map(|((x, y), l)| x * y * l).sum()
        };
        let matrix = (0..sites * sites).map(|cell| entry(cell / sites, cell % sites));
        let centre = vec![(arity - 1) as f32 / 2.0; sites];
        Self { arity, centre, form: Form::Dense(blocks(matrix, sites)) }
    }

    /// The sparse Gaussian on a cycle: `A = ΛMΛ`, M with 1 on its diagonal and normal entries of variance .04
    /// between neighbours, `Λᵢᵢ = (1 + i(L − 1)/99)^½`, i = 1 … 100. The centre is 0, as in the paper, so the
    /// distribution leans against a corner of the lattice. For other sizes 99 is one less than the number of sites.
    ///
    /// The text at hand lost the bar of this fraction: it may also be read as [`Gaussian::cycle_inverse`] does.
    ///
    /// # Panics
    /// Where there are fewer than three sites.
    #[must_use]
    pub fn cycle(sites: usize, arity: usize, condition: f64, seed: u64) -> Self {
        Self::on_cycle(arity, &spectrum(sites, condition), seed)
    }

    /// As [`Gaussian::cycle`], by the other reading: `Λᵢᵢ = (99/(1 + i(L − 1)))^½`.
    ///
    /// # Panics
    /// Where there are fewer than three sites.
    #[must_use]
    pub fn cycle_inverse(sites: usize, arity: usize, condition: f64, seed: u64) -> Self {
        let of = |i: usize| (sites - 1) as f64 / (1.0 + i as f64 * (condition - 1.0));
        Self::on_cycle(arity, &(1..=sites).map(of).collect::<Vec<_>>(), seed)
    }

    /// With these squares of Λ.
    fn on_cycle(arity: usize, spectrum: &[f64], seed: u64) -> Self {
        let sites = spectrum.len();
        assert!(sites >= 3, "a cycle needs three sites");
        let mut numbers = Numbers::new(seed);
        let edge = |a: usize| {
            let b = (a + 1) % sites;
            (a as u32, b as u32, (0.2 * numbers.normal() * (spectrum[a] * spectrum[b]).sqrt()) as f32)
        };
        let edges = (0..sites).map(edge).collect();
        let diagonal = spectrum.iter().map(|&l| l as f32).collect();
        Self { arity, centre: vec![0.0; sites], form: Form::Sparse { edges, diagonal } }
    }

    /// Memory for the rows of this model; a dense one needs none.
    #[must_use]
    pub fn rows(&self) -> Rows {
        match &self.form {
            Form::Dense(_) => Rows::default(),
            Form::Sparse { edges, diagonal } => Rows {
                ends: vec![0; diagonal.len()],
                linear: vec![0; diagonal.len()],
                entries: vec![Entry::default(); 2 * edges.len()],
            },
        }
    }

    /// The kernel's energy, in the memory of [`Gaussian::rows`].
    ///
    /// # Errors
    /// [`GaussianError`] where the numbers are too large for it, or the memory is of another model.
    pub fn energy<'a>(&'a self, rows: &'a mut Rows) -> Result<LatticeGaussian<'a>, GaussianError> {
        match &self.form {
            Form::Dense(matrix) => LatticeGaussian::dense(matrix, &self.centre, self.arity),
            Form::Sparse { edges, diagonal } => {
                let memory = SparseBuffers::new(&mut rows.ends, &mut rows.linear, &mut rows.entries);
                let edges = edges.iter().copied();
                LatticeGaussian::sparse(self.centre.len(), self.arity, edges, diagonal, &self.centre, memory)
            }
        }
    }
}

/// 1 + i(L − 1)/(d − 1) for i = 1 … d.
fn spectrum(sites: usize, condition: f64) -> Vec<f64> {
    (1..=sites).map(|i| 1.0 + i as f64 * (condition - 1.0) / (sites - 1) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_sizes_are_legal_and_have_their_trace() {
        for condition in [2.0, 10.0, 50.0] {
            // Σ 1 + i(L−1)/99 over i = 1 … 100.
            let trace = 100.0 + 5050.0 * (condition - 1.0) / 99.0;
            for model in [Gaussian::rotated(100, 21, condition, 1), Gaussian::cycle(100, 21, condition, 1)] {
                let mut rows = model.rows();
                let precision = model.energy(&mut rows).unwrap().precision();
                let own = |site| f64::from(precision.units(site, site)) * f64::from(precision.unit());
                let found: f64 = (0..100).map(own).sum();
                // Entries are f32, rounded to 2⁻²² of the largest: 100 roundings of at most 102.
                assert!((found - trace).abs() < 100.0 * 102.0 / 4_194_304.0, "{found} for {trace}");
            }
        }
    }
}
