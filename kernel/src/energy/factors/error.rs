//! Why factors are not a model.

/// Why factors and tables are not a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum FactorError {
    /// No sites, or more than 2³¹ − 1 sites or factors.
    Sites,
    /// A site has no values.
    Arity {
        /// The site.
        site: usize,
    },
    /// Factor number `factor` names a site that does not exist.
    OutOfRange {
        /// Position in the list.
        factor: usize,
    },
    /// Factor number `factor` names a site twice.
    Repeated {
        /// Position in the list.
        factor: usize,
    },
    /// The tables end before that of factor number `factor` does.
    Table {
        /// Position in the list.
        factor: usize,
        /// Entries needed from its start on.
        need: usize,
        /// Entries there.
        got: usize,
    },
    /// An entry of a table is NaN or +∞.
    Entry {
        /// The factor's position in the list.
        factor: usize,
        /// The entry's position in its table.
        entry: usize,
    },
    /// An entry of a table would be lost or much changed by rounding, beside a far larger one.
    Rounded {
        /// The factor's position in the list.
        factor: usize,
        /// The entry's position in its table.
        entry: usize,
    },
    /// Every entry of a table is −∞: there is no state.
    Impossible {
        /// The factor's position in the list.
        factor: usize,
    },
    /// The log values at one site could add up past 10³⁰.
    TooLarge {
        /// The site.
        site: usize,
    },
    /// There is memory for `got` of the `need` sites.
    Memory {
        /// Sites.
        need: usize,
        /// Sites that there is room for.
        got: usize,
    },
    /// There is memory for `got` of the `need` members, a site of a factor each.
    Members {
        /// Members needed.
        need: usize,
        /// Members given.
        got: usize,
    },
}

impl core::fmt::Display for FactorError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites => write!(f, "there must be 1 to 2^31 - 1 sites, and no more factors than that"),
            Self::Arity { site } => write!(f, "site {site} has no values"),
            Self::OutOfRange { factor } => write!(f, "factor {factor} names a site that does not exist"),
            Self::Repeated { factor } => write!(f, "factor {factor} names a site twice"),
            Self::Table { factor, need, got } => {
                write!(f, "the table of factor {factor} has {need} entries, {got} are there")
            }
            Self::Entry { factor, entry } => {
                write!(f, "entry {entry} of factor {factor} is neither finite nor minus infinity")
            }
            Self::Rounded { factor, entry } => {
                write!(f, "entry {entry} of factor {factor} is lost in rounding: another entry is too large")
            }
            Self::Impossible { factor } => write!(f, "factor {factor} forbids everything"),
            Self::TooLarge { site } => write!(f, "the log values at site {site} add up past 1e30"),
            Self::Memory { need, got } => {
                write!(f, "memory for {need} sites is needed, for {got} it was given")
            }
            Self::Members { need, got } => {
                write!(f, "{need} members, one a site of each factor, are needed, {got} were given")
            }
        }
    }
}

impl core::error::Error for FactorError {}
