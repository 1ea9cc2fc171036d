//! W where no formula gives it: least squares over the moves of a burn-in.

use super::least_squares::{Fit, add_up, forget, long, numbers, ridge_value, solve};
use super::matrix::DenseMatrix;
use super::{NoiseError, room};
use crate::flow::vector::add;
use crate::lane::{Block, LANES};
use crate::packed::Move;

/// The symmetric W that explains differences of gradients best,
/// `min Σ‖W v_t − Δg_t‖²` over the moves v of a chain, g = −∂E/∂x (AB, Eq. 10; METHODS.md §3).
///
/// It streams: only `A = Σ v vᵀ` and `B = Σ v Δgᵀ` are kept. The method [`Regression::solve`] solves
/// `(A + ρ)W + W(A + ρ) = B + Bᵀ` by conjugate gradients. The ridge ρ is small. It is needed because A is singular
/// where a site never moved. For binary and ordinal sites; up to [`DenseMatrix::MAX_SITES`] of them.
///
/// At every 2²² moves both are halved, which W does not feel, so that they never stop growing in f32. Later moves
/// weigh more than moves before that.
///
/// Cost: sites operations for every changed site of a move; sites³ an iteration of the solution.
#[derive(Debug)]
pub struct Regression<'a> {
    sites: usize,
    pub(super) moments: &'a mut [Block],
    pub(super) products: &'a mut [Block],
    pub(super) moves: u32,
}

impl<'a> Regression<'a> {
    /// Blocks of memory: two matrices.
    #[must_use]
    pub const fn blocks(sites: usize) -> usize {
        DenseMatrix::blocks(sites).saturating_mul(2)
    }

    /// An estimate that has seen nothing, in [`Regression::blocks`] of memory.
    ///
    /// # Errors
    /// [`NoiseError`] where there are too many sites or too few blocks.
    pub fn new(sites: usize, memory: &'a mut [Block]) -> Result<Self, NoiseError> {
        let matrix = DenseMatrix::checked(sites)?;
        let memory = room(memory, Self::blocks(sites))?;
        memory.fill([0.0; LANES]);
        let (moments, products) = memory.split_at_mut_checked(matrix).unwrap_or_default();
        Ok(Self { sites, moments, products, moves: 0 })
    }

    /// Takes a move from x to y with the gradients ∂E/∂x at both, one block for sixteen sites. Moves of other numbers
    /// of sites are left out, and so are the 2³²nd and later.
    ///
    /// # Errors
    /// [`NoiseError::Categorical`] where the sites are, [`NoiseError::Memory`] where a gradient has too few blocks.
    pub fn push(&mut self, step: &Move<'_>, before: &[Block], after: &[Block]) -> Result<(), NoiseError> {
        let layout = step.to().layout();
        numbers(layout)?;
        if layout.sites() != self.sites || self.moves == u32::MAX {
            return Ok(());
        }
        long(self.sites, [before, after])?;
        self.moves += 1;
        let width = DenseMatrix::row_blocks(self.sites);
        for change in step.changes() {
            let v = (change.to as i32 - change.from as i32) as f32;
            let row = change.site * width..(change.site + 1) * width;
            let moments = self.moments.get_mut(row.clone()).unwrap_or_default().as_flattened_mut();
            for other in step.changes() {
                if let Some(slot) = moments.get_mut(other.site) {
                    *slot += v * (other.to as i32 - other.from as i32) as f32;
                }
            }
            // Δg = −(after − before)
            let products = self.products.get_mut(row).unwrap_or_default();
            add(products, -v, after);
            add(products, v, before);
            let past = products.as_flattened_mut().get_mut(self.sites..).unwrap_or_default();
            past.fill(0.0);
        }
        forget(self.moves, [self.moments, self.products]);
        Ok(())
    }

    /// Moves that were taken.
    #[must_use]
    pub fn moves(&self) -> u32 {
        self.moves
    }

    /// W, written to `rows` ([`DenseMatrix::blocks`]) for [`DenseMatrix::new`]. The `ridge` is ρ relative to the mean
    /// of A's diagonal, 10⁻³ for example. The `scratch` is working memory of three matrices. It stops where the
    /// residual is below 10⁻⁵, or after `iterations`. Without any move W is 0, and so is the residual.
    ///
    /// # Errors
    /// * [`NoiseError::Memory`] where a buffer is short.
    /// * [`NoiseError::Ridge`] where ρ is negative or not finite.
    /// * [`NoiseError::Gradient`] where gradients were not finite or too large for their products.
    pub fn solve(
        &self,
        ridge: f32,
        iterations: u32,
        rows: &mut [Block],
        scratch: &mut [Block],
    ) -> Result<Fit, NoiseError> {
        let ridge = ridge_value(ridge)?;
        let width = DenseMatrix::row_blocks(self.sites);
        let entry = |of: &[Block], a: usize, b: usize| {
            of.as_flattened().get(a * width * LANES + b).copied().unwrap_or(0.0)
        };
        let sum: f32 = (0..self.sites).map(|site| entry(self.moments, site, site)).sum();
        let ridge = ridge * sum / self.sites as f32;
        // (A + ρ)P
        let apply = |p: &[Block], out: &mut [Block]| {
            for (site, out) in out.chunks_mut(width.max(1)).enumerate() {
                out.fill([0.0; LANES]);
                for other in 0..self.sites {
                    let own = if other == site { ridge } else { 0.0 };
                    let factor = entry(self.moments, site, other) + own;
                    if factor != 0.0 {
                        let row = p.get(other * width..(other + 1) * width).unwrap_or_default();
                        add(out, factor, row);
                    }
                }
            }
        };
        let size = DenseMatrix::blocks(self.sites);
        solve(iterations, size, (rows, scratch), self.products, |out| self.symmetrise(out), apply)
    }

    /// M ← M + Mᵀ.
    fn symmetrise(&self, matrix: &mut [Block]) {
        let width = DenseMatrix::row_blocks(self.sites) * LANES;
        let flat = matrix.as_flattened_mut();
        for a in 0..self.sites {
            for b in 0..=a {
                add_up(flat, a * width + b, b * width + a);
            }
        }
    }
}
