//! Why a text is not a UAI file.

use super::super::Unexpected;

/// Why a text is not a UAI file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UaiError {
    /// A word is not what the format expects.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// A site has no values, or too many.
    #[error("line {line}: 1 to 65535 values of site {site} expected, found {arity}")]
    Arity {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
        /// Its values.
        arity: usize,
    },
    /// A factor sees more than three sites.
    #[error("line {line}: a factor over at most 3 sites expected, found one over {sites}")]
    Scope {
        /// The line.
        line: usize,
        /// How many it sees.
        sites: usize,
    },
    /// A site that does not exist.
    #[error("line {line}: a site below {sites} expected, found {site}")]
    Site {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
        /// How many there are.
        sites: usize,
    },
    /// A site occurs twice in one factor, or in the evidence.
    #[error("line {line}: another site expected, found {site} again")]
    Repeated {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
    },
    /// A table has another length than its sites ask for.
    #[error("line {line}: a table of {need} entries expected for factor {factor}, found {got}")]
    Entries {
        /// The line.
        line: usize,
        /// The factor, counted from 0.
        factor: usize,
        /// Entries needed.
        need: usize,
        /// Entries announced.
        got: usize,
    },
    /// A weight is negative or not finite.
    #[error("line {line}: a finite weight of at least 0 expected, found {weight}")]
    Weight {
        /// The line.
        line: usize,
        /// The weight.
        weight: f64,
    },
    /// Every weight of a table is 0: there is no state.
    #[error("line {line}: a weight above 0 expected in factor {factor}, found none")]
    Impossible {
        /// The line where the table ends.
        line: usize,
        /// The factor, counted from 0.
        factor: usize,
    },
    /// A value that a site cannot take.
    #[error("line {line}: a value below {arity} of site {site} expected, found {value}")]
    Value {
        /// The line.
        line: usize,
        /// The site.
        site: usize,
        /// The value.
        value: u32,
        /// How many values it has.
        arity: u16,
    },
}
