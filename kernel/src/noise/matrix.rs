//! W, a symmetric matrix: by sparse couplings or in full.

use super::{NoiseError, room};
use crate::energy::{Precision, Sparse};
use crate::lane::{Block, LANES};
use crate::step::fingerprint::mix;

/// A symmetric matrix W, row by row.
pub trait Symmetric {
    /// Rows.
    fn sites(&self) -> usize;

    /// `W[site, site]`.
    fn diagonal(&self, site: usize) -> f32;

    /// Calls `entry(j, W[site, j])` for the other sites j of a row, ascending; those left out are 0.
    fn row(&self, site: usize, entry: impl FnMut(usize, f32));
}

/// Tells a matrix from others.
pub(super) fn key(matrix: &impl Symmetric) -> u64 {
    let mut key = 0;
    for site in 0..matrix.sites() {
        key = mix(key, u64::from(matrix.diagonal(site).to_bits()));
        matrix.row(site, |other, value| key = mix(key, (other as u64) << 32 | u64::from(value.to_bits())));
    }
    key
}

/// The matrix of sparse couplings: the Hessian of a quadratic `f = −E`.
///
/// The couplings are those that the energy itself is computed from, in the same fixed point. So a quadratic energy
/// and its W agree to rounding.
#[derive(Clone, Copy, Debug)]
pub struct SparseMatrix<'a> {
    pub(super) form: Sparse<'a>,
    /// 1, or −1 where W is minus the rows.
    pub(super) sign: i32,
    own: Own<'a>,
}

/// The diagonal.
#[derive(Clone, Copy, Debug)]
enum Own<'a> {
    Zero,
    Given(&'a [f32]),
    /// As [`Sparse::linear`], times the sign.
    Linear,
}

impl<'a> SparseMatrix<'a> {
    /// The couplings of an [`Ising`](crate::Ising) or [`Potts`](crate::Potts) model, zero on the diagonal.
    #[must_use]
    pub fn of(form: Sparse<'a>) -> Self {
        Self { form, sign: 1, own: Own::Zero }
    }

    /// Couplings and the diagonal `W[i, i]`, one a site.
    ///
    /// # Errors
    /// [`NoiseError::Memory`] where the diagonal is not as long as there are sites, [`NoiseError::NotFinite`].
    pub fn with_diagonal(form: Sparse<'a>, diagonal: &'a [f32]) -> Result<Self, NoiseError> {
        if diagonal.len() != form.sites() {
            return Err(NoiseError::Memory { need: form.sites(), got: diagonal.len() });
        }
        match diagonal.iter().position(|w| !w.is_finite()) {
            Some(site) => Err(NoiseError::NotFinite { site }),
            None => Ok(Self { form, sign: 1, own: Own::Given(diagonal) }),
        }
    }

    /// `W = −A` of a sparse [`LatticeGaussian`](crate::LatticeGaussian), whose [`Precision`] A has its diagonal
    /// in [`Sparse::linear`].
    #[must_use]
    pub fn minus(precision: Sparse<'a>) -> Self {
        Self { form: precision, sign: -1, own: Own::Linear }
    }

    /// Whether it has just these rows, in the same memory, and nothing on its diagonal.
    pub(super) fn is_of(&self, form: Sparse<'_>) -> bool {
        let same = self.form.is(form) && self.form.exponent() == form.exponent();
        same && self.sign == 1 && matches!(self.own, Own::Zero)
    }

    /// `Σ_{j≠i} |W[i, j]|`, summed in fixed point.
    pub(super) fn spread(&self, site: usize) -> f32 {
        let sum: i64 = self.form.row(site).iter().map(|entry| i64::from(entry.coupling).abs()).sum();
        sum as f32 * self.form.unit()
    }
}

impl Symmetric for SparseMatrix<'_> {
    fn sites(&self) -> usize {
        self.form.sites()
    }

    #[inline]
    fn diagonal(&self, site: usize) -> f32 {
        match self.own {
            Own::Zero => 0.0,
            Own::Given(diagonal) => diagonal.get(site).copied().unwrap_or(0.0),
            Own::Linear => {
                let units = self.form.linear().get(site).copied().unwrap_or(0);
                (self.sign * units) as f32 * self.form.unit()
            }
        }
    }

    #[inline]
    fn row(&self, site: usize, mut entry: impl FnMut(usize, f32)) {
        for neighbour in self.form.row(site) {
            entry(neighbour.site as usize, (self.sign * neighbour.coupling) as f32 * self.form.unit());
        }
    }
}

/// `W = −A`: the Hessian of f for a [`LatticeGaussian`](crate::LatticeGaussian) with the precision A.
impl Symmetric for Precision<'_> {
    fn sites(&self) -> usize {
        Precision::sites(self)
    }

    fn diagonal(&self, site: usize) -> f32 {
        -(self.units(site, site) as f32) * self.unit()
    }

    fn row(&self, site: usize, mut entry: impl FnMut(usize, f32)) {
        self.each(site, |other, units| {
            if other != site {
                entry(other, -(units as f32) * self.unit());
            }
        });
    }
}

/// A full matrix in caller-provided memory: row i is `rows[i·b .. (i+1)·b]` with b = [`DenseMatrix::row_blocks`], zero
/// past the last site.
#[derive(Clone, Copy, Debug)]
pub struct DenseMatrix<'a> {
    rows: &'a [Block],
    sites: usize,
}

impl<'a> DenseMatrix<'a> {
    /// The most sites a full matrix may have: 4 MB.
    pub const MAX_SITES: usize = 1024;

    /// Blocks of a row.
    #[must_use]
    pub const fn row_blocks(sites: usize) -> usize {
        sites.div_ceil(LANES)
    }

    /// Blocks of the whole matrix.
    #[must_use]
    pub const fn blocks(sites: usize) -> usize {
        sites.saturating_mul(Self::row_blocks(sites))
    }

    /// A matrix from its rows.
    ///
    /// # Errors
    /// [`NoiseError`] where there are too many sites or too few blocks, or an entry is not finite. Also where an
    /// entry is not that of the transposed matrix, bit for bit.
    pub fn new(sites: usize, rows: &'a [Block]) -> Result<Self, NoiseError> {
        let need = Self::checked(sites)?;
        let Some(rows) = rows.get(..need) else { return Err(NoiseError::Memory { need, got: rows.len() }) };
        let matrix = Self { rows, sites };
        for a in 0..sites {
            let blocks = matrix.blocks_of(a).as_flattened();
            for (b, &entry) in blocks.iter().enumerate() {
                if !entry.is_finite() {
                    return Err(NoiseError::NotFinite { site: a });
                }
                let mirror = if b < sites { matrix.get(b, a) } else { 0.0 };
                if entry != mirror {
                    return Err(NoiseError::Asymmetric { a, b });
                }
            }
        }
        Ok(matrix)
    }

    /// Any symmetric matrix in full, written to `rows`. O(sites²).
    ///
    /// # Errors
    /// As [`DenseMatrix::new`].
    pub fn of(matrix: &impl Symmetric, rows: &'a mut [Block]) -> Result<Self, NoiseError> {
        let sites = matrix.sites();
        let rows = room(rows, Self::checked(sites)?)?;
        rows.fill([0.0; LANES]);
        for (site, row) in rows.chunks_mut(Self::row_blocks(sites).max(1)).enumerate() {
            let row = row.as_flattened_mut();
            if let Some(slot) = row.get_mut(site) {
                *slot = matrix.diagonal(site);
            }
            matrix.row(site, |other, value| {
                if let Some(slot) = row.get_mut(other) {
                    *slot = value;
                }
            });
        }
        Self::new(sites, rows)
    }

    /// Blocks of the whole matrix, of a legal number of sites.
    pub(super) fn checked(sites: usize) -> Result<usize, NoiseError> {
        if sites == 0 || sites > Self::MAX_SITES {
            return Err(NoiseError::Sites { got: sites, most: Self::MAX_SITES });
        }
        Ok(Self::blocks(sites))
    }

    /// An entry.
    #[must_use]
    pub fn get(&self, a: usize, b: usize) -> f32 {
        self.blocks_of(a).as_flattened().get(b).copied().unwrap_or(0.0)
    }

    /// A row, which is a column too.
    #[inline]
    pub(super) fn blocks_of(&self, site: usize) -> &'a [Block] {
        let length = Self::row_blocks(self.sites);
        self.rows.get(site * length..(site + 1) * length).unwrap_or_default()
    }
}

impl Symmetric for DenseMatrix<'_> {
    fn sites(&self) -> usize {
        self.sites
    }

    fn diagonal(&self, site: usize) -> f32 {
        self.get(site, site)
    }

    #[inline]
    fn row(&self, site: usize, mut entry: impl FnMut(usize, f32)) {
        let row = self.blocks_of(site).as_flattened().iter().take(self.sites).enumerate();
        row.filter(|&(other, _)| other != site).for_each(|(other, &value)| entry(other, value));
    }
}
