//! Why terms are not a polynomial.

/// Why terms are not a polynomial. `term` is a position in the list of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PolynomialError {
    /// No sites, or more than 2³¹ − 1 sites, terms, or sites of all terms.
    Sites,
    /// A term names a site that does not exist.
    OutOfRange {
        /// The term.
        term: usize,
        /// The site that it names.
        site: u32,
        /// Sites of the model.
        sites: usize,
    },
    /// The weight of a term is NaN or infinite.
    NotFinite {
        /// The term.
        term: usize,
    },
    /// The weight of a term would be lost or much changed by rounding: other weights are far larger.
    Rounded {
        /// The term.
        term: usize,
    },
    /// The weights of the terms at one site could add up past 10³⁰.
    TooLarge {
        /// The site.
        site: usize,
    },
    /// The constants add up past 10³⁰.
    Constant,
    /// There is memory for `got` of the `need` sites.
    Memory {
        /// Sites.
        need: usize,
        /// Sites that there is room for.
        got: usize,
    },
    /// There is memory for `got` of the `need` terms, those that list two sites or more.
    Terms {
        /// Terms.
        need: usize,
        /// Terms that there is room for.
        got: usize,
    },
    /// There is memory for `got` of the `need` members, the sites that these terms list.
    Members {
        /// Members needed.
        need: usize,
        /// Members given.
        got: usize,
    },
}

impl core::fmt::Display for PolynomialError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites => {
                write!(f, "there must be 1 to 2^31 - 1 sites, and no more terms or sites of terms than that")
            }
            Self::OutOfRange { term, site, sites } => {
                write!(f, "term {term} names site {site}: the model has {sites} sites")
            }
            Self::NotFinite { term } => write!(f, "the weight of term {term} is not finite"),
            Self::Rounded { term } => {
                write!(f, "the weight of term {term} is lost in rounding: another weight is too large")
            }
            Self::TooLarge { site } => {
                write!(f, "the weights of the terms at site {site} add up past 1e30")
            }
            Self::Constant => write!(f, "the constants add up past 1e30"),
            Self::Memory { need, got } => {
                write!(f, "memory for {need} sites is needed, for {got} it was given")
            }
            Self::Terms { need, got } => {
                write!(f, "memory for {need} terms of two sites or more is needed, for {got} it was given")
            }
            Self::Members { need, got } => {
                write!(
                    f,
                    "{need} members, one a site of each term of two sites or more, are needed, {got} were given"
                )
            }
        }
    }
}

impl core::error::Error for PolynomialError {}
