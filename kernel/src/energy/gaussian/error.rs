//! Why numbers are not a lattice Gaussian.

use super::super::SparseError;

/// Why numbers are not a lattice Gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GaussianError {
    /// No sites, more than a dense matrix may have, or sites times the largest |x − μ| past 2²⁹.
    Sites,
    /// A site must have 2 to 65,536 values.
    Arity,
    /// The centre of a site is NaN or farther from 0 than 65,536.
    Centre {
        /// The site.
        site: usize,
    },
    /// A slice has `got` elements instead of `need`: one a site, or whole blocks for every row.
    Length {
        /// Elements needed.
        need: usize,
        /// Elements given.
        got: usize,
    },
    /// An entry of the matrix is NaN or infinite.
    NotFinite {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// A row is not zero past the last site.
    Padding {
        /// The row.
        row: usize,
    },
    /// An entry is not the one on the other side of the diagonal.
    Asymmetric {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// The field of a site could pass 10³⁰, or 2³⁰ units of compiled rows.
    TooLarge {
        /// The site.
        site: usize,
    },
    /// An entry of a dense matrix would be lost or much changed by rounding, beside a far larger one.
    Rounded {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// An edge or the memory is wrong.
    Sparse(SparseError),
}

/// The diagonal is compiled as fields.
impl From<SparseError> for GaussianError {
    fn from(error: SparseError) -> Self {
        match error {
            SparseError::FieldNotFinite { site } => Self::NotFinite { row: site, column: site },
            SparseError::TooLarge { site } => Self::TooLarge { site },
            other => Self::Sparse(other),
        }
    }
}

impl core::fmt::Display for GaussianError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites => write!(f, "no sites, or too many for the matrix or the distance to the centre"),
            Self::Arity => write!(f, "a site must have 2 to 65536 values"),
            Self::Centre { site } => write!(f, "the centre of site {site} is not within -65536 to 65536"),
            Self::Length { need, got } => write!(f, "{need} elements are needed, {got} were given"),
            Self::NotFinite { row, column } => {
                write!(f, "the entry in row {row}, column {column} is not finite")
            }
            Self::Padding { row } => write!(f, "row {row} is not zero past the last site"),
            Self::Asymmetric { row, column } => {
                write!(f, "the entry in row {row}, column {column} is not that of row {column}, column {row}")
            }
            Self::Rounded { row, column } => {
                write!(
                    f,
                    "the entry in row {row}, column {column} is lost in rounding: another entry is too large"
                )
            }
            Self::TooLarge { site } => write!(f, "the field of site {site} could become too large"),
            Self::Sparse(error) => write!(f, "precision matrix: {error}"),
        }
    }
}

impl core::error::Error for GaussianError {}
