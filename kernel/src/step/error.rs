//! Why a sampler cannot be made.

/// Why a sampler's parameter is illegal.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ParameterError {
    /// A step size must be positive, and it and its inverse finite; where a noise or a weight holds the steps back it may be
    /// +∞, too.
    StepSize(f32),
    /// A balance must be in (0, 1].
    Balance(f32),
    /// A radius must be positive and finite.
    Radius(f32),
    /// A step must update at least one site.
    NoUpdates,
    /// A block must have 1 to 12 sites, and a step at most 4,096 states to visit.
    Block(usize),
    /// A curvature must be finite and not negative.
    Curvature {
        /// The site (0 where all sites share one).
        site: usize,
        /// Its curvature.
        value: f32,
    },
    /// The precision of the auxiliary variable must be from 10⁻⁶ to 10⁶.
    Precision(f32),
    /// A momentum must be at least 0 and below 1.
    Momentum(f32),
    /// Flips with probability min(1, e^z) need a noise that draws something, and of
    /// [`IsingBalanced`](super::IsingBalanced) a step size of at least 1/80.
    MetropolisFlips,
    /// Couplings must have one magnitude, in the units that a model rounds them to; those of 0 aside.
    UnequalCouplings,
    /// κ|W|, of a precision κ and couplings of magnitude |W|, must be at least 1/16, and finite.
    WeakCoupling(f32),
    /// A site must have at most 1,023 couplings.
    Degree(usize),
    /// A number of indices must be from 1 to 64.
    Indices(u32),
    /// A penalty of a flip must be at most 2³⁰ units.
    Penalty(u32),
}

impl core::fmt::Display for ParameterError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::StepSize(value) => {
                write!(f, "step size {value} is not positive, or it or its inverse is not finite")
            }
            Self::Balance(value) => write!(f, "balance {value} is not in (0, 1]"),
            Self::UnequalCouplings => write!(f, "couplings have more than one magnitude"),
            Self::WeakCoupling(value) => write!(
                f,
                "couplings |W| times the precision are {value}, they must be at least 1/16 and finite"
            ),
            Self::Degree(couplings) => write!(f, "a site has {couplings} couplings, more than 1023"),
            Self::Indices(value) => write!(f, "the number of indices must be 1 to 64, not {value}"),
            Self::Penalty(units) => write!(f, "a penalty of {units} units is more than 2^30"),
            Self::Radius(value) => write!(f, "radius {value} is not positive and finite"),
            Self::NoUpdates => write!(f, "a step updates no site"),
            Self::Block(sites) => {
                write!(
                    f,
                    "a block must have 1 to 12 sites and at most 4096 states, not {sites} sites or more states"
                )
            }
            Self::Curvature { site, value } => {
                write!(f, "curvature {value} of site {site} is not finite and at least 0")
            }
            Self::Momentum(value) => write!(f, "momentum {value} is not in [0, 1)"),
            Self::MetropolisFlips => {
                write!(
                    f,
                    "flips with probability min(1, e^z) need a noise that draws, and a step size of 1/80 or more"
                )
            }
            Self::Precision(value) => write!(f, "precision {value} is not from 1e-6 to 1e6"),
        }
    }
}

impl core::error::Error for ParameterError {}
