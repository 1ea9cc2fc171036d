//! The D of the smallest trace, by the mixing method.

use super::scaled::Scaled;
use super::shift::{lanczos, scattered};
use super::{Eigenvalue, NoiseError, Symmetric, room};
use crate::flow::vector::{add, dot, scale, sqrt};
use crate::lane::{Block, LANES};

/// The smallest trace of D with D ⪰ 0 and W + D ⪰ 0 (AB-trace; METHODS.md §3).
///
/// Its dual is the MAX-CUT relaxation. The mixing method solves it by coordinate descent over vectors Vᵢ of length at
/// most 1 (Wang, Chang and Kolter 2017):
/// ```text
/// sweep over i:   pᵢ = Σ_{j≠i} Wᵢⱼ Vⱼ;   Vᵢ ← −pᵢ / max(|pᵢ|, Wᵢᵢ)
/// then:           Dᵢ = max(|pᵢ| − Wᵢᵢ, 0), raised evenly by −λ_min(W+D) where that is positive
/// ```
/// Any V gives a lower bound on the trace, `−⟨W, VVᵀ⟩`, and any feasible D an upper one: it sweeps until they are
/// near enough. It also stops where more sweeps cannot help. There W ⪰ 0, as far as can be told, and D is nothing but
/// what it was raised by.
///
/// Cost: a sweep takes one product of W with [`MinTrace::rank`] vectors, the check after every ten of them the
/// products of [`least_eigenvalue`](super::least_eigenvalue).
///
/// ```
/// use bitmc::noise::{Dense, DenseMatrix, MinTrace, SparseMatrix, Symmetric};
/// use bitmc::{Ising, SparseMemory};
/// // A triangle of equal couplings: the D of its edge-wise noise has the trace 6, this one 3.
/// let mut couplings = SparseMemory::<3, 6>::new();
/// let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)];
/// let model = Ising::bits_edges_once(3, edges, &[], couplings.borrow())?;
/// let matrix = SparseMatrix::of(model.form());
/// let mut d = [[0.0; 16]; 1];
/// let (mut vectors, mut scratch) = ([[0.0; 16]; MinTrace::blocks(3)], [[0.0; 16]; 3]);
/// let found = MinTrace::new(1e-3, 1000).solve(&matrix, &mut d, &mut vectors, &mut scratch)?;
/// assert!((found.trace - 3.0).abs() < 0.01 && found.bound <= found.trace);
/// let mut rows = [[0.0; 16]; DenseMatrix::blocks(3)];
/// let mut root = [[0.0; 16]; Dense::root_blocks(3)];
/// let noise = Dense::new(DenseMatrix::of(&matrix, &mut rows)?, &mut d, &mut root)?;
/// # let _ = noise;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinTrace {
    gap: f32,
    sweeps: u32,
}

/// An entry of D that is nothing, where the largest entry of W is about 1.
const NOTHING: f32 = 1e-6;

/// What the method ended with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// The trace of D.
    pub trace: f32,
    /// No feasible D has a smaller trace than this, but for rounding: the dual value.
    pub bound: f32,
    /// The smallest eigenvalue of W + D before D was raised by it.
    pub least: Eigenvalue,
    /// Sweeps that were made.
    pub sweeps: u32,
}

impl MinTrace {
    /// Stops where the trace is within a factor 1 + `gap` of the bound, or after `sweeps` sweeps, rounded up
    /// to ten.
    #[must_use]
    pub fn new(gap: f32, sweeps: u32) -> Self {
        Self { gap, sweeps }
    }

    /// Components of each vector: ⌈√(2 sites)⌉ + 1, with which the descent has no false minima.
    #[must_use]
    pub const fn rank(sites: usize) -> usize {
        let mut root = 0;
        while root < 65_536 && root * root < sites.saturating_mul(2) {
            root += 1;
        }
        root + 1
    }

    /// Blocks of the vectors of all sites.
    #[must_use]
    pub const fn blocks(sites: usize) -> usize {
        sites.saturating_add(1).saturating_mul(Self::rank(sites).div_ceil(LANES))
    }

    /// D, written to `d`, one entry a site, in blocks. Working memory is `vectors` of [`MinTrace::blocks`], and
    /// `scratch` of 3 blocks for every sixteen sites. Both may hold anything.
    ///
    /// W + D is positive semidefinite as far as `least` and its residual say; [`Dense`](super::Dense)
    /// certifies it by its factorisation.
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where a buffer is short, [`NoiseError::NotFinite`] where W is not finite,
    /// [`NoiseError::D`] where W is so large that D is not.
    pub fn solve(
        &self,
        matrix: &impl Symmetric,
        d: &mut [Block],
        vectors: &mut [Block],
        scratch: &mut [Block],
    ) -> Result<Solved, NoiseError> {
        let matrix = &Scaled::new(matrix, &[])?;
        let sites = matrix.sites();
        let width = Self::rank(sites).div_ceil(LANES);
        let d = room(d, sites.div_ceil(LANES))?;
        let vectors = room(vectors, Self::blocks(sites))?;
        let scratch = room(scratch, 3 * d.len())?;
        // Past the rank a vector has zeros.
        vectors.fill([0.0; LANES]);
        let (p, vectors) = vectors.split_at_mut_checked(width).unwrap_or_default();
        for (index, vector) in vectors.chunks_mut(width.max(1)).enumerate() {
            let components = vector.as_flattened_mut().iter_mut().enumerate().take(Self::rank(sites));
            components.for_each(|(k, slot)| *slot = scattered((index * 4096 + k) as u32));
            let length = sqrt(dot(vector, vector));
            scale(vector, 1.0 / length);
        }

        let mut sweeps = 0;
        loop {
            for _ in 0..10 {
                for site in 0..sites {
                    pull(matrix, site, vectors, p);
                    let (length, own) = (sqrt(dot(p, p)), matrix.diagonal(site));
                    let most = if length > own { length } else { own };
                    if most > 0.0 {
                        scale(p, -1.0 / most);
                        let vector = vectors.get_mut(site * width..(site + 1) * width).unwrap_or_default();
                        vector.iter_mut().zip(p.iter()).for_each(|(slot, &block)| *slot = block);
                    }
                }
            }
            sweeps += 10;
            d.fill([0.0; LANES]);
            let (mut trace, mut bound) = (0.0, 0.0);
            for (site, slot) in d.as_flattened_mut().iter_mut().enumerate().take(sites) {
                pull(matrix, site, vectors, p);
                let (length, own) = (sqrt(dot(p, p)), matrix.diagonal(site));
                let vector = vectors.get(site * width..(site + 1) * width).unwrap_or_default();
                bound -= dot(vector, p) + own * dot(vector, vector);
                let least = length - own;
                *slot = if least > 0.0 { least } else { 0.0 };
                trace += *slot;
            }
            let least = lanczos(&Scaled { matrix, d, factor: 1.0 }, scratch)?;
            let shift = least.residual - least.value;
            let shift = if shift < 0.0 { 0.0 } else { shift };
            let none = trace <= NOTHING * sites as f32 && least.value >= -least.residual - NOTHING;
            trace += shift * sites as f32;
            if none || trace <= bound * (1.0 + self.gap) || sweeps >= self.sweeps {
                let [trace, bound] = [trace, bound].map(|scaled| scaled / matrix.factor);
                if !trace.is_finite() {
                    return Err(NoiseError::D { site: 0, value: trace });
                }
                let slots = d.as_flattened_mut().iter_mut().take(sites);
                slots.for_each(|slot| *slot = (*slot + shift) / matrix.factor);
                return Ok(Solved { trace, bound, least: least.over(matrix.factor), sweeps });
            }
        }
    }
}

/// p ← Σ_{j≠i} Wᵢⱼ Vⱼ.
fn pull(matrix: &impl Symmetric, site: usize, vectors: &[Block], p: &mut [Block]) {
    p.fill([0.0; LANES]);
    matrix.row(site, |other, value| {
        let width = p.len();
        add(p, value, vectors.get(other * width..(other + 1) * width).unwrap_or_default());
    });
}
