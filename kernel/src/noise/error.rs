//! Why a noise cannot be built.

/// Why a matrix or a noise cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NoiseError {
    /// There are no sites, or more than this noise can have.
    Sites {
        /// Sites that were asked for.
        got: usize,
        /// The most there may be.
        most: usize,
    },
    /// A buffer needs `need` entries, `got` were given.
    Memory {
        /// Entries needed.
        need: usize,
        /// Entries given.
        got: usize,
    },
    /// An entry of W is NaN or infinite.
    NotFinite {
        /// Its row.
        site: usize,
    },
    /// A gradient, or what was added up of several, is NaN or infinite.
    Gradient,
    /// A ridge is negative or not finite.
    Ridge(f32),
    /// A move is one of categorical sites, whose values have no differences.
    Categorical,
    /// `W[a, b]` is not `W[b, a]`.
    Asymmetric {
        /// One site.
        a: usize,
        /// The other.
        b: usize,
    },
    /// An entry of D is negative, NaN or infinite.
    D {
        /// The site.
        site: usize,
        /// The entry.
        value: f32,
    },
    /// W + D is not positive semidefinite.
    NotPositive {
        /// The first site at which the factorisation failed.
        site: usize,
    },
}

impl core::fmt::Display for NoiseError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites { got, most } => write!(f, "{got} sites, from 1 to {most} are possible"),
            Self::Memory { need, got } => write!(f, "{need} entries are needed, {got} were given"),
            Self::NotFinite { site } => write!(f, "row {site} of W has an entry that is not finite"),
            Self::Gradient => write!(f, "a gradient, or a sum of several, is not finite"),
            Self::Ridge(ridge) => write!(f, "the ridge {ridge} is not finite and at least 0"),
            Self::Categorical => write!(f, "a move of categorical sites has no differences of values"),
            Self::Asymmetric { a, b } => write!(f, "W[{a}, {b}] is not W[{b}, {a}]"),
            Self::D { site, value } => write!(f, "D is {value} at site {site}: not finite and at least 0"),
            Self::NotPositive { site } => {
                write!(f, "W + D is not positive semidefinite: the factorisation fails at site {site}")
            }
        }
    }
}

impl core::error::Error for NoiseError {}
