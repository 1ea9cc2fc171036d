//! Why an edge list or a table is not a sparse symmetric coupling matrix.

crate::error::errors! {
    /// Why an edge list is not a sparse symmetric coupling matrix.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SparseError {
        /// No sites, or more than 2³¹ − 1.
        Sites => "a model has 1 to 2^31 - 1 sites";
        /// The values a site are not 2 to 65,536.
        Shape => "a site must have 2 to 65536 values";
        /// The fields are not one a site (over categorical sites: one a site and value), and not empty.
        Fields {
            /// Sites of the model.
            sites: usize,
            /// Fields a site: 1, or the arity.
            each: usize,
            /// Fields given.
            got: usize,
        } => "fields has {got} values: the model has {sites} sites{}", Each(*each);
        /// Edge number `edge` names a site that does not exist.
        OutOfRange {
            /// Position in the edge list.
            edge: usize,
        } => "edge {edge} names a site that does not exist";
        /// Edge number `edge` joins a site to itself.
        Diagonal {
            /// Position in the edge list.
            edge: usize,
        } => "edge {edge} joins a site to itself";
        /// The coupling of edge number `edge` is NaN or infinite.
        CouplingNotFinite {
            /// Position in the edge list.
            edge: usize,
        } => "the coupling of edge {edge} is not finite";
        /// The field of a site is NaN or infinite.
        FieldNotFinite {
            /// The site.
            site: usize,
        } => "the field of site {site} is not finite";
        /// The coupling of edge number `edge` would be lost or much changed by rounding, next to a far larger field:
        /// see [`Sparse`](super::Sparse).
        CouplingRounded {
            /// Position in the edge list.
            edge: usize,
        } => "the coupling of edge {edge} is lost in rounding: another field or coupling is too large";
        /// The field of a site would be lost or much changed by rounding, next to a far larger one: see
        /// [`Sparse`](super::Sparse).
        FieldRounded {
            /// The site.
            site: usize,
        } => "the field of site {site} is lost in rounding: another field or coupling is too large";
        /// A new field is too large, or too small, for the fixed point of the model that it is for.
        FieldScale {
            /// The site.
            site: usize,
        } => "the field of site {site} does not fit the scale of the model: build it with its largest fields";
        /// Two edges join the same sites.
        Duplicate {
            /// One site.
            a: u32,
            /// The other.
            b: u32,
        } => "sites {a} and {b} are joined twice";
        /// The field and couplings of one site add up past 10³⁰, over spins past half of that.
        TooLarge {
            /// The site.
            site: usize,
        } => "the field and couplings of site {site} add up past 1e30, or 5e29 over spins";
        /// In compiled rows: the field and couplings of one site that have one sign add up past 2³⁰ units. Or one of
        /// its couplings is 2³¹ − 1 units or more in size.
        TooManyUnits {
            /// The site.
            site: usize,
        } => "the couplings of site {site} reach 2^31 - 1, or with its field add up past 2^30 units";
        /// The coupling of two sites is NaN or infinite.
        PairNotFinite {
            /// One site.
            a: u32,
            /// The other.
            b: u32,
        } => "the coupling of sites {a} and {b} is not finite";
        /// The coupling of two sites would be lost or much changed by rounding, next to a far larger field or
        /// coupling.
        PairRounded {
            /// One site.
            a: u32,
            /// The other.
            b: u32,
        } => "the coupling of sites {a} and {b} is lost in rounding: another field or coupling is too large";
        /// There are `got` of the `need` blocks of parameters.
        Parameters {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "{need} blocks of parameters are needed, {got} were given";
        /// The end of row `site` lies before its start or past the entries.
        Ends {
            /// The site.
            site: usize,
        } => "row {site} ends before it starts or past the entries";
        /// The neighbours of a site do not ascend.
        Unsorted {
            /// The site.
            site: usize,
        } => "the neighbours of site {site} do not ascend";
        /// `a` names `b` as a neighbour, and `b` does not name `a` with the same coupling.
        Asymmetric {
            /// One site.
            a: u32,
            /// The other.
            b: u32,
        } => "site {a} names {b}, which does not name it with the same coupling";
        /// The exponent of the grid is outside −100 ..= 100.
        Exponent => "the exponent of the grid is outside -100 to 100";
        /// There is memory for `got` of the `need` sites.
        Memory {
            /// Sites.
            need: usize,
            /// Sites that there is room for.
            got: usize,
        } => "memory for {need} sites is needed, for {got} it was given";
        /// There is memory for `got` of the `need` entries, two an edge; in a table of rows, these are the entries.
        Entries {
            /// Entries needed.
            need: usize,
            /// Entries given.
            got: usize,
        } => "{need} entries, two an edge, are needed, {got} were given";
        /// An edge list has its `capacity` of edges already.
        Full {
            /// Edges that there is room for.
            capacity: usize,
        } => "the edge list is full: it has room for {capacity} edges";
        /// A dense model has `got` of the `need` blocks of memory.
        Blocks {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "{need} blocks of memory are needed, {got} were given";
    }
}

/// The values of a site, where there are several.
struct Each(usize);

impl core::fmt::Display for Each {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0 == 1 { Ok(()) } else { write!(f, " of {} values", self.0) }
    }
}
