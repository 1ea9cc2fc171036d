//! Why a sampler cannot be made.

crate::error::errors! {
    /// Why a sampler's parameter is illegal.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum ParameterError {
        /// A step size must be positive, and it and its inverse finite. Where a noise or a weight limits the steps,
        /// it may also be +∞.
        StepSize(value: f32) => "step size {value} is not positive, or it or its inverse is not finite";
        /// A balance must be in (0, 1].
        Balance(value: f32) => "balance {value} is not in (0, 1]";
        /// A radius must be positive and finite.
        Radius(value: f32) => "radius {value} is not positive and finite";
        /// A step must update at least one site.
        NoUpdates => "a step updates no site";
        /// A block must have 1 to 12 sites, and a step at most 4,096 states to visit.
        Block(sites: usize) =>
            "a block must have 1 to 12 sites and at most 4096 states, not {sites} sites or more states";
        /// A curvature must be finite and not negative.
        Curvature {
            /// The site (0 where all sites share one).
            site: usize,
            /// Its curvature.
            value: f32,
        } => "curvature {value} of site {site} is not finite and at least 0";
        /// The precision of the auxiliary variable must be from 10⁻⁶ to 10⁶.
        Precision(value: f32) => "precision {value} is not from 1e-6 to 1e6";
        /// A momentum must be at least 0 and below 1.
        Momentum(value: f32) => "momentum {value} is not in [0, 1)";
        /// Flips with probability min(1, e^z) need a noise that draws something, and of
        /// [`IsingBalanced`](super::IsingBalanced) a step size of at least 1/80.
        MetropolisFlips =>
            "flips with probability min(1, e^z) need a noise that draws, and a step size of 1/80 or more";
        /// Couplings must have one magnitude, in the units that a model rounds them to; those of 0 aside.
        UnequalCouplings => "couplings have more than one magnitude";
        /// κ|W|, of a precision κ and couplings of magnitude |W|, must be at least 1/16, and finite.
        WeakCoupling(value: f32) =>
            "couplings |W| times the precision are {value}, they must be at least 1/16 and finite";
        /// A site must have at most 1,023 couplings.
        Degree(couplings: usize) => "a site has {couplings} couplings, more than 1023";
        /// A number of indices must be from 1 to 64.
        Indices(value: u32) => "the number of indices must be 1 to 64, not {value}";
        /// A penalty of a flip must be at most 2³⁰ units.
        Penalty(units: u32) => "a penalty of {units} units is more than 2^30";
    }
}
