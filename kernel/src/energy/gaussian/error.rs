//! Why numbers are not a lattice Gaussian.

use super::super::SparseError;

crate::error::errors! {
    /// Why numbers are not a lattice Gaussian.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GaussianError {
        /// No sites, more than a dense matrix may have, or sites times the largest |x − μ| past 2²⁹.
        Sites => "no sites, or too many for the matrix or the distance to the centre";
        /// A site must have 2 to 65,536 values.
        Arity => "a site must have 2 to 65536 values";
        /// The centre of a site is NaN or farther from 0 than 65,536.
        Centre {
            /// The site.
            site: usize,
        } => "the centre of site {site} is not within -65536 to 65536";
        /// A slice has `got` elements instead of `need`: one a site, or whole blocks for every row.
        Length {
            /// Elements needed.
            need: usize,
            /// Elements given.
            got: usize,
        } => "{need} elements are needed, {got} were given";
        /// An entry of the matrix is NaN or infinite.
        NotFinite {
            /// Its row.
            row: usize,
            /// Its column.
            column: usize,
        } => "the entry in row {row}, column {column} is not finite";
        /// A row is not zero past the last site.
        Padding {
            /// The row.
            row: usize,
        } => "row {row} is not zero past the last site";
        /// An entry is not the one on the other side of the diagonal.
        Asymmetric {
            /// Its row.
            row: usize,
            /// Its column.
            column: usize,
        } => "the entry in row {row}, column {column} is not that of row {column}, column {row}";
        /// The field of a site could pass 10³⁰, or 2³⁰ units of compiled rows.
        TooLarge {
            /// The site.
            site: usize,
        } => "the field of site {site} could become too large";
        /// An entry of a dense matrix would be lost or much changed by rounding, next to a far larger one.
        Rounded {
            /// Its row.
            row: usize,
            /// Its column.
            column: usize,
        } => "the entry in row {row}, column {column} is lost in rounding: another entry is too large";
        /// An edge or the memory is wrong.
        Sparse(error: SparseError) => "precision matrix: {error}";
    }
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
