//! Why factors are not a model.

crate::error::errors! {
    /// Why factors and tables are not a model.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FactorError {
        /// No sites, or more than 2³¹ − 1 sites or factors.
        Sites => "there must be 1 to 2^31 - 1 sites, and no more factors than that";
        /// A site has no values.
        Arity {
            /// The site.
            site: usize,
        } => "site {site} has no values";
        /// Factor number `factor` names a site that does not exist.
        OutOfRange {
            /// Position in the list.
            factor: usize,
        } => "factor {factor} names a site that does not exist";
        /// Factor number `factor` names a site twice.
        Repeated {
            /// Position in the list.
            factor: usize,
        } => "factor {factor} names a site twice";
        /// The tables end before that of factor number `factor` does.
        Table {
            /// Position in the list.
            factor: usize,
            /// Entries needed from its start on.
            need: usize,
            /// Entries there.
            got: usize,
        } => "the table of factor {factor} has {need} entries, {got} are there";
        /// An entry of a table is NaN or +∞.
        Entry {
            /// The factor's position in the list.
            factor: usize,
            /// The entry's position in its table.
            entry: usize,
        } => "entry {entry} of factor {factor} is neither finite nor minus infinity";
        /// An entry of a table would be lost or much changed by rounding, next to a far larger one.
        Rounded {
            /// The factor's position in the list.
            factor: usize,
            /// The entry's position in its table.
            entry: usize,
        } => "entry {entry} of factor {factor} is lost in rounding: another entry is too large";
        /// Every entry of a table is −∞: there is no state.
        Impossible {
            /// The factor's position in the list.
            factor: usize,
        } => "factor {factor} forbids everything";
        /// The log values at one site could add up past 10³⁰.
        TooLarge {
            /// The site.
            site: usize,
        } => "the log values at site {site} add up past 1e30";
        /// There is memory for `got` of the `need` sites.
        Memory {
            /// Sites.
            need: usize,
            /// Sites that there is room for.
            got: usize,
        } => "memory for {need} sites is needed, for {got} it was given";
        /// There is memory for `got` of the `need` members, a site of a factor each.
        Members {
            /// Members needed.
            need: usize,
            /// Members given.
            got: usize,
        } => "{need} members, one a site of each factor, are needed, {got} were given";
    }
}
