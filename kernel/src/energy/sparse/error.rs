//! Why an edge list or a table is not a sparse symmetric coupling matrix.

/// Why an edge list is not a sparse symmetric coupling matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SparseError {
    /// No sites, or more than 2³¹ − 1.
    Sites,
    /// The values a site are not 2 to 65,536.
    Shape,
    /// The fields are not one a site (over categorical sites: one a site and value), and not empty.
    Fields {
        /// Sites of the model.
        sites: usize,
        /// Fields a site: 1, or the arity.
        each: usize,
        /// Fields given.
        got: usize,
    },
    /// Edge number `edge` names a site that does not exist.
    OutOfRange {
        /// Position in the edge list.
        edge: usize,
    },
    /// Edge number `edge` joins a site to itself.
    Diagonal {
        /// Position in the edge list.
        edge: usize,
    },
    /// The coupling of edge number `edge` is NaN or infinite.
    CouplingNotFinite {
        /// Position in the edge list.
        edge: usize,
    },
    /// The field of a site is NaN or infinite.
    FieldNotFinite {
        /// The site.
        site: usize,
    },
    /// The coupling of edge number `edge` would be lost or much changed by rounding, beside a far larger field: see
    /// [`Sparse`](super::Sparse).
    CouplingRounded {
        /// Position in the edge list.
        edge: usize,
    },
    /// The field of a site would be lost or much changed by rounding, beside a far larger one: see
    /// [`Sparse`](super::Sparse).
    FieldRounded {
        /// The site.
        site: usize,
    },
    /// A new field is too large, or too small, for the fixed point of the model that it is for.
    FieldScale {
        /// The site.
        site: usize,
    },
    /// Two edges join the same sites.
    Duplicate {
        /// One site.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The field and couplings of one site add up past 10³⁰, over spins past half of that.
    TooLarge {
        /// The site.
        site: usize,
    },
    /// In compiled rows: the field and couplings of one site that have one sign add up past 2³⁰ units, or one of its
    /// couplings is 2³¹ − 1 units or more in size.
    TooManyUnits {
        /// The site.
        site: usize,
    },
    /// The coupling of two sites is NaN or infinite.
    PairNotFinite {
        /// One site.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The coupling of two sites would be lost or much changed by rounding, beside a far larger field or coupling.
    PairRounded {
        /// One site.
        a: u32,
        /// The other.
        b: u32,
    },
    /// There are `got` of the `need` blocks of parameters.
    Parameters {
        /// Blocks needed.
        need: usize,
        /// Blocks given.
        got: usize,
    },
    /// The end of row `site` lies before its start or past the entries.
    Ends {
        /// The site.
        site: usize,
    },
    /// The neighbours of a site do not ascend.
    Unsorted {
        /// The site.
        site: usize,
    },
    /// `a` names `b` as a neighbour, and `b` does not name `a` with the same coupling.
    Asymmetric {
        /// One site.
        a: u32,
        /// The other.
        b: u32,
    },
    /// The exponent of the grid is outside −100 ..= 100.
    Exponent,
    /// There is memory for `got` of the `need` sites.
    Memory {
        /// Sites.
        need: usize,
        /// Sites that there is room for.
        got: usize,
    },
    /// There is memory for `got` of the `need` entries, two an edge; in a table of rows, these are the entries.
    Entries {
        /// Entries needed.
        need: usize,
        /// Entries given.
        got: usize,
    },
    /// An edge list has its `capacity` of edges already.
    Full {
        /// Edges that there is room for.
        capacity: usize,
    },
    /// A dense model has `got` of the `need` blocks of memory.
    Blocks {
        /// Blocks needed.
        need: usize,
        /// Blocks given.
        got: usize,
    },
}

impl core::fmt::Display for SparseError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites => write!(f, "a model has 1 to 2^31 - 1 sites"),
            Self::Shape => write!(f, "a site must have 2 to 65536 values"),
            Self::Fields { sites, each: 1, got } => {
                write!(f, "fields has {got} values: the model has {sites} sites")
            }
            Self::Fields { sites, each, got } => {
                write!(f, "fields has {got} values: the model has {sites} sites of {each} values")
            }
            Self::OutOfRange { edge } => write!(f, "edge {edge} names a site that does not exist"),
            Self::Diagonal { edge } => write!(f, "edge {edge} joins a site to itself"),
            Self::CouplingNotFinite { edge } => write!(f, "the coupling of edge {edge} is not finite"),
            Self::FieldNotFinite { site } => write!(f, "the field of site {site} is not finite"),
            Self::CouplingRounded { edge } => {
                write!(
                    f,
                    "the coupling of edge {edge} is lost in rounding: another field or coupling is too large"
                )
            }
            Self::FieldRounded { site } => {
                write!(
                    f,
                    "the field of site {site} is lost in rounding: another field or coupling is too large"
                )
            }
            Self::FieldScale { site } => {
                write!(
                    f,
                    "the field of site {site} does not fit the scale of the model: build it with its largest fields"
                )
            }
            Self::Duplicate { a, b } => write!(f, "sites {a} and {b} are joined twice"),
            Self::TooLarge { site } => {
                write!(f, "the field and couplings of site {site} add up past 1e30, or 5e29 over spins")
            }
            Self::TooManyUnits { site } => {
                write!(
                    f,
                    "the couplings of site {site} reach 2^31 - 1, or with its field add up past 2^30 units"
                )
            }
            Self::PairNotFinite { a, b } => write!(f, "the coupling of sites {a} and {b} is not finite"),
            Self::PairRounded { a, b } => {
                write!(
                    f,
                    "the coupling of sites {a} and {b} is lost in rounding: another field or coupling is too large"
                )
            }
            Self::Parameters { need, got } => {
                write!(f, "{need} blocks of parameters are needed, {got} were given")
            }
            Self::Ends { site } => write!(f, "row {site} ends before it starts or past the entries"),
            Self::Unsorted { site } => write!(f, "the neighbours of site {site} do not ascend"),
            Self::Asymmetric { a, b } => {
                write!(f, "site {a} names {b}, which does not name it with the same coupling")
            }
            Self::Exponent => write!(f, "the exponent of the grid is outside -100 to 100"),
            Self::Memory { need, got } => {
                write!(f, "memory for {need} sites is needed, for {got} it was given")
            }
            Self::Entries { need, got } => {
                write!(f, "{need} entries, two an edge, are needed, {got} were given")
            }
            Self::Full { capacity } => write!(f, "the edge list is full: it has room for {capacity} edges"),
            Self::Blocks { need, got } => write!(f, "{need} blocks of memory are needed, {got} were given"),
        }
    }
}

impl core::error::Error for SparseError {}
