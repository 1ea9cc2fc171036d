//! Why terms are not a polynomial.

crate::error::errors! {
    /// Why terms are not a polynomial. `term` is a position in the list of terms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PolynomialError {
        /// No sites, or more than 2³¹ − 1 sites, terms, or sites of all terms.
        Sites => "there must be 1 to 2^31 - 1 sites, and no more terms or sites of terms than that";
        /// A term names a site that does not exist.
        OutOfRange {
            /// The term.
            term: usize,
            /// The site that it names.
            site: u32,
            /// Sites of the model.
            sites: usize,
        } => "term {term} names site {site}: the model has {sites} sites";
        /// The weight of a term is NaN or infinite.
        NotFinite {
            /// The term.
            term: usize,
        } => "the weight of term {term} is not finite";
        /// The weight of a term would be lost or much changed by rounding: other weights are far larger.
        Rounded {
            /// The term.
            term: usize,
        } => "the weight of term {term} is lost in rounding: another weight is too large";
        /// The weights of the terms at one site could add up past 10³⁰.
        TooLarge {
            /// The site.
            site: usize,
        } => "the weights of the terms at site {site} add up past 1e30";
        /// The constants add up past 10³⁰.
        Constant => "the constants add up past 1e30";
        /// There is memory for `got` of the `need` sites.
        Memory {
            /// Sites.
            need: usize,
            /// Sites that there is room for.
            got: usize,
        } => "memory for {need} sites is needed, for {got} it was given";
        /// There is memory for `got` of the `need` terms, those that list two sites or more.
        Terms {
            /// Terms.
            need: usize,
            /// Terms that there is room for.
            got: usize,
        } => "memory for {need} terms of two sites or more is needed, for {got} it was given";
        /// There is memory for `got` of the `need` members, the sites that these terms list.
        Members {
            /// Members needed.
            need: usize,
            /// Members given.
            got: usize,
        } => "{need} members, one a site of each term of two sites or more, are needed, {got} were given";
    }
}
