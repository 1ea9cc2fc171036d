//! The precision matrix of a lattice Gaussian: sparse or dense, on one grid.

use super::super::grid::add_row;
use super::super::{Grid, Sparse, add};
use super::GaussianError;
use crate::lane::{Bits, Block, LANES};

/// A symmetric matrix A on a grid of fixed point: the precision matrix of a
/// [`LatticeGaussian`](super::LatticeGaussian). `W = −A` are the couplings of second-order samplers.
#[derive(Clone, Copy, Debug)]
pub enum Precision<'a> {
    /// Entries off the diagonal as [`Sparse::row`]s, the diagonal as [`Sparse::linear`].
    Sparse(Sparse<'a>),
    /// Whole rows.
    Dense(Dense<'a>),
}

impl Precision<'_> {
    /// Sites: rows and columns.
    #[must_use]
    pub fn sites(&self) -> usize {
        match self {
            Self::Sparse(form) => form.sites(),
            Self::Dense(dense) => dense.sites,
        }
    }

    /// The grid's unit, a power of two: an entry is [`Precision::units`] times this.
    #[must_use]
    pub fn unit(&self) -> f32 {
        match self {
            Self::Sparse(form) => form.unit(),
            Self::Dense(dense) => dense.grid.unit,
        }
    }

    /// An entry in units, as the energy uses it; 0 where there is none. O(log degree) or O(1).
    #[inline]
    #[must_use]
    pub fn units(&self, row: usize, column: usize) -> i32 {
        match self {
            Self::Sparse(form) if row == column => form.linear().get(row).copied().unwrap_or(0),
            Self::Sparse(form) => {
                let entries = form.row(row);
                let found = entries.binary_search_by_key(&column, |entry| entry.site as usize);
                found.ok().and_then(|at| entries.get(at)).map_or(0, |entry| entry.coupling)
            }
            Self::Dense(dense) => dense.grid.round_small(dense.entry(row, column)),
        }
    }

    /// Visits the entries of a row, in units: all that are not zero, each once.
    pub fn each(&self, row: usize, mut visit: impl FnMut(usize, i32)) {
        match self {
            Self::Sparse(form) => {
                visit(row, form.linear().get(row).copied().unwrap_or(0));
                form.row(row).iter().for_each(|entry| visit(entry.site as usize, entry.coupling));
            }
            Self::Dense(dense) => {
                let entries = dense.row(row).as_flattened().iter().take(dense.sites);
                entries.enumerate().for_each(|(column, &a)| visit(column, dense.grid.round_small(a)));
            }
        }
    }

    /// Adds `times` a row to fields.
    #[inline]
    pub(super) fn add(&self, row: usize, times: i32, fields: &mut [Bits]) {
        match self {
            Self::Sparse(_) => self.each(row, |site, units| {
                add(fields.as_flattened_mut(), site, units.wrapping_mul(times) as u32);
            }),
            Self::Dense(dense) => add_row(dense.grid, dense.row(row), times, fields),
        }
    }

    /// The value of a number of units.
    #[inline]
    pub(super) fn value(&self, units: i64) -> f32 {
        match self {
            Self::Sparse(form) => form.value(units),
            Self::Dense(dense) => dense.grid.value(units),
        }
    }
}

/// A dense symmetric matrix of borrowed floats. Each is used as rounded by at most 2⁻²² of the largest or 2⁻³⁰ of the
/// largest possible field, whichever is more.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    rows: &'a [Block],
    sites: usize,
    grid: Grid,
}

impl<'a> Dense<'a> {
    /// The most sites that a dense matrix may have.
    pub const MAX_SITES: usize = 1024;

    /// Checks rows of whole blocks; fields up to `reach` times a row's entries must fit.
    pub(super) fn new(rows: &'a [Block], sites: usize, reach: f32) -> Result<Self, GaussianError> {
        if sites > Self::MAX_SITES {
            return Err(GaussianError::Sites);
        }
        let need = sites * sites.div_ceil(LANES);
        if rows.len() != need {
            return Err(GaussianError::Length { need, got: rows.len() });
        }
        let mut matrix = Self { rows, sites, grid: Grid::new(0) };
        let (mut largest, mut most) = (0f32, 0f32);
        for row in 0..sites {
            let mut sum = 0f32;
            for (column, &a) in matrix.row(row).as_flattened().iter().enumerate() {
                if column >= sites {
                    if a != 0.0 {
                        return Err(GaussianError::Padding { row });
                    }
                    continue;
                }
                if !a.is_finite() {
                    return Err(GaussianError::NotFinite { row, column });
                }
                if matrix.entry(column, row) != a {
                    return Err(GaussianError::Asymmetric { row, column });
                }
                largest = if a.abs() > largest { a.abs() } else { largest };
                sum += a.abs();
            }
            let bound = reach * sum;
            if bound > 1e30 {
                return Err(GaussianError::TooLarge { site: row });
            }
            most = if bound > most { bound } else { most };
        }
        matrix.grid = Grid::of_tables(largest, most);
        Ok(matrix)
    }

    /// Whether rounding loses no entry, where x goes as far as `reach` from the centre.
    pub(super) fn check(&self, reach: f32) -> Result<(), GaussianError> {
        let rows = || (0..self.sites).map(|row| (row, self.row(row).as_flattened()));
        let sum = |(_, row): (usize, &[f32])| row.iter().map(|a| a.abs()).sum::<f32>();
        let least = rows().map(sum).fold(f32::INFINITY, |least, sum| if sum < least { sum } else { least });
        let most = Grid::fine(reach, least);
        match rows().find_map(|(row, entries)| Some((row, self.grid.loses(entries, most)?))) {
            Some((row, column)) => Err(GaussianError::Rounded { row, column }),
            None => Ok(()),
        }
    }

    /// A row as it was given, in whole blocks; none for a row past the last one.
    #[inline]
    #[must_use]
    pub fn row(&self, site: usize) -> &'a [Block] {
        let len = self.sites.div_ceil(LANES);
        self.rows.get(site * len..(site + 1) * len).unwrap_or_default()
    }

    fn entry(&self, row: usize, column: usize) -> f32 {
        self.row(row).as_flattened().get(column).copied().unwrap_or(0.0)
    }
}
