//! Any W of moderate size, by its Cholesky factor.

use super::matrix::{DenseMatrix, Symmetric, key};
use super::{Noise, NoiseError, components, room};
use crate::lane::{Block, F32s, LANES, PARTS};
use crate::packed::Move;
use crate::random::normals;
use rand_core::Rng;

/// N(0, W+D) for a full W by the factor `W + D = LLᵀ` in caller-provided memory: `η = Lξ` (METHODS.md §3).
///
/// D is anything with W + D ⪰ 0: from [`constant`](super::constant) the sampler is AB-shift, from
/// [`MinTrace`](super::MinTrace) AB-trace, from a conic solver AB-max. The factorisation is the certificate. Where
/// rounding or an optimal (singular) D stops it, D is raised evenly, by steps that start at 2⁻²⁰ of the
/// largest |Wᵢᵢ| + Dᵢ. The D that the sampler uses is the raised one. Where sites differ by a factor of a million,
/// look at [`Dense::raised`].
///
/// Cost: sites³/6 operations once, sites² a draw and plane, sites a changed site; 6 bytes a pair of sites.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    matrix: DenseMatrix<'a>,
    /// L in rows of blocks: row block I has columns 0 … 16(I+1) − 1, each a block of sixteen rows.
    root: &'a [Block],
    d: &'a [Block],
    raised: f32,
    key: u64,
}

/// Attempts to factorise: the last raises D by 2⁻²⁰ · 4⁷ = 1/64 of the largest |Wᵢᵢ| + Dᵢ.
const ATTEMPTS: u32 = 9;

impl<'a> Dense<'a> {
    /// The most sites.
    pub const MAX_SITES: usize = DenseMatrix::MAX_SITES;

    /// Blocks of the factor.
    #[must_use]
    pub const fn root_blocks(sites: usize) -> usize {
        let rows = DenseMatrix::row_blocks(sites);
        rows.saturating_mul(rows + 1).saturating_mul(LANES / 2)
    }

    /// The noise of W and D; `d` has one entry a site, in blocks, and `root` is working memory of
    /// [`Dense::root_blocks`].
    ///
    /// # Errors
    /// [`NoiseError`] where memory is short, or an entry of D is not finite and at least 0. Also where W + D is not
    /// positive semidefinite, by more than 1/64 of the largest |Wᵢᵢ| + Dᵢ; then `d` is as it was.
    pub fn new(matrix: DenseMatrix<'a>, d: &'a mut [Block], root: &'a mut [Block]) -> Result<Self, NoiseError> {
        let sites = matrix.sites();
        let d = room(d, DenseMatrix::row_blocks(sites))?;
        let root = room(root, Self::root_blocks(sites))?;
        let mut largest = 0.0f32;
        for (site, &value) in d.as_flattened().iter().enumerate().take(sites) {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(NoiseError::D { site, value });
            }
            largest = largest.max(matrix.diagonal(site).abs() + value);
        }
        // Where W and D are nothing, the smallest number of all is something.
        let (mut raise, mut raised) = ((largest * (1.0 / 1_048_576.0)).max(f32::MIN_POSITIVE), 0.0);
        let mut failed = NoiseError::NotPositive { site: 0 };
        for _ in 0..ATTEMPTS {
            match factorise(&matrix, d, raised, root) {
                Ok(()) => {
                    d.as_flattened_mut().iter_mut().take(sites).for_each(|value| *value += raised);
                    return Ok(Self { matrix, root, d, raised, key: key(&matrix) });
                }
                Err(error) => failed = error,
            }
            raised = raise;
            raise *= 4.0;
        }
        Err(failed)
    }

    /// By how much every entry of D had to be raised.
    #[must_use]
    pub fn raised(&self) -> f32 {
        self.raised
    }
}

/// L of `W + D`, D raised, column by column.
fn factorise(matrix: &DenseMatrix<'_>, d: &[Block], raised: f32, root: &mut [Block]) -> Result<(), NoiseError> {
    let sites = matrix.sites();
    root.fill([0.0; LANES]);
    for column in 0..sites {
        let first = column / LANES;
        let mut scale = 0.0;
        for (row, below) in matrix.blocks_of(column).iter().enumerate().skip(first) {
            let mut rest = *below;
            if row == first
                && let Some(slot) = rest.get_mut(column % LANES)
            {
                *slot += d.as_flattened().get(column).copied().unwrap_or(0.0) + raised;
            }
            // rest ← (W+D)[rows, column] − Σ_{k < column} L[rows, k] L[column, k]
            let (own, pivot) = (tiles(root, row), tiles(root, first));
            for (left, pivot) in own.iter().zip(pivot).take(column) {
                let factor = F32s::splat(pivot.get(column % LANES).copied().unwrap_or(0.0));
                for part in 0..PARTS {
                    (F32s::load(&rest, part) - F32s::load(left, part) * factor).store(&mut rest, part);
                }
            }
            if row == first {
                let pivot = rest.get(column % LANES).copied().unwrap_or(0.0);
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return Err(NoiseError::NotPositive { site: column });
                }
                scale = 1.0 / F32s::splat(pivot).sqrt().first();
                rest.iter_mut().take(column % LANES).for_each(|above| *above = 0.0);
            }
            for part in 0..PARTS {
                (F32s::load(&rest, part) * F32s::splat(scale)).store(&mut rest, part);
            }
            if let Some(tile) = root.get_mut(tile(row) + column) {
                *tile = rest;
            }
        }
    }
    Ok(())
}

/// Where the tiles of a block of rows start.
#[inline]
fn tile(row: usize) -> usize {
    LANES / 2 * row * (row + 1)
}

/// The tiles of a block of rows, one a column.
#[inline]
fn tiles(root: &[Block], row: usize) -> &[Block] {
    root.get(tile(row)..tile(row + 1)).unwrap_or_default()
}

impl Noise for Dense<'_> {
    const SOME: bool = true;

    fn d(&self) -> Option<&[Block]> {
        Some(self.d)
    }

    fn sites(&self) -> Option<usize> {
        Some(self.matrix.sites())
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn draw<R: Rng + ?Sized>(&self, rng: &mut R, eta: &mut [Block], planes: usize) {
        eta.iter_mut().for_each(|block| *block = normals(rng));
        // From the last block of rows to the first, each needs only normals that are not yet overwritten.
        for row in (0..DenseMatrix::row_blocks(self.matrix.sites())).rev() {
            for plane in 0..planes {
                let mut sum = [0.0; LANES];
                for (column, tiles) in tiles(self.root, row).chunks_exact(LANES).enumerate() {
                    let normals = eta.get(column * planes + plane).copied().unwrap_or_default();
                    for part in 0..PARTS {
                        let mut total = F32s::load(&sum, part);
                        for (tile, &normal) in tiles.iter().zip(&normals) {
                            total = total + F32s::load(tile, part) * F32s::splat(normal);
                        }
                        total.store(&mut sum, part);
                    }
                }
                if let Some(slot) = eta.get_mut(row * planes + plane) {
                    *slot = sum;
                }
            }
        }
    }

    fn follow(&self, step: &Move<'_>, eta: &mut [Block], planes: usize) {
        for change in step.changes() {
            let d = self.d.as_flattened().get(change.site).copied().unwrap_or(0.0);
            let mut unit = [0.0; LANES];
            if let Some(slot) = unit.get_mut(change.site % LANES) {
                *slot = d;
            }
            let own = change.site / LANES;
            for (plane, v) in components(change, planes) {
                let blocks = eta.iter_mut().skip(plane).step_by(planes.max(1));
                for (block, (slot, column)) in blocks.zip(self.matrix.blocks_of(change.site)).enumerate() {
                    let d = if block == own { unit } else { [0.0; LANES] };
                    for part in 0..PARTS {
                        let product = (F32s::load(column, part) + F32s::load(&d, part)) * F32s::splat(v);
                        (F32s::load(slot, part) - product).store(slot, part);
                    }
                }
            }
        }
    }
}
