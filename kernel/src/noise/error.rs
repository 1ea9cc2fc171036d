//! Why a noise cannot be built.

crate::error::errors! {
    /// Why a matrix or a noise cannot be built.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum NoiseError {
        /// There are no sites, or more than this noise can have.
        Sites {
            /// Sites that were given.
            got: usize,
            /// The most there may be.
            most: usize,
        } => "{got} sites, from 1 to {most} are possible";
        /// A buffer needs `need` entries, `got` were given.
        Memory {
            /// Entries needed.
            need: usize,
            /// Entries given.
            got: usize,
        } => "{need} entries are needed, {got} were given";
        /// An entry of W is NaN or infinite.
        NotFinite {
            /// Its row.
            site: usize,
        } => "row {site} of W has an entry that is not finite";
        /// A gradient, or what was added up of several, is NaN or infinite.
        Gradient => "a gradient, or a sum of several, is not finite";
        /// A ridge is negative or not finite.
        Ridge(ridge: f32) => "the ridge {ridge} is not finite and at least 0";
        /// A move is one of categorical sites, whose values have no differences.
        Categorical => "a move of categorical sites has no differences of values";
        /// `W[a, b]` is not `W[b, a]`.
        Asymmetric {
            /// One site.
            a: usize,
            /// The other.
            b: usize,
        } => "W[{a}, {b}] is not W[{b}, {a}]";
        /// An entry of D is negative, NaN or infinite.
        D {
            /// The site.
            site: usize,
            /// The entry.
            value: f32,
        } => "D is {value} at site {site}: not finite and at least 0";
        /// W + D is not positive semidefinite.
        NotPositive {
            /// The first site at which the factorisation failed.
            site: usize,
        } => "W + D is not positive semidefinite: the factorisation fails at site {site}";
        /// A variance is negative, NaN or infinite.
        Variance {
            /// The site.
            site: usize,
            /// The variance.
            value: f32,
        } => "the variance of site {site} is {value}: not finite and at least 0";
    }
}
