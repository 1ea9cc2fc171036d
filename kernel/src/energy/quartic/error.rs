//! Why numbers are not a quartic mixture.

/// Why numbers are not a quartic mixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum QuarticError {
    /// No sites, coordinates or components, or a slice that is not whole rows.
    Shape,
    /// A site must have 2 to 65,536 values.
    Arity,
    /// An entry of the linear map is NaN or infinite, or not zero past the last coordinate.
    Map {
        /// Its site.
        site: usize,
        /// Its coordinate.
        coordinate: usize,
    },
    /// A centre is NaN or infinite, or not zero past the last coordinate.
    Centre {
        /// Its component.
        component: usize,
        /// Its coordinate.
        coordinate: usize,
    },
    /// An entry of the linear map would be lost or much changed by rounding, beside a far larger one.
    Rounded {
        /// Its site.
        site: usize,
        /// Its coordinate.
        coordinate: usize,
    },
    /// A coordinate could be farther than 10⁶ from a centre.
    TooLarge {
        /// The coordinate.
        coordinate: usize,
    },
}

impl core::fmt::Display for QuarticError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Shape => write!(f, "there must be whole rows of at least one site, coordinate and component"),
            Self::Arity => write!(f, "a site must have 2 to 65536 values"),
            Self::Map { site, coordinate } => {
                write!(
                    f,
                    "the map's entry for site {site}, coordinate {coordinate} is not finite or not padding"
                )
            }
            Self::Centre { component, coordinate } => {
                write!(f, "coordinate {coordinate} of centre {component} is not finite or not padding")
            }
            Self::Rounded { site, coordinate } => {
                write!(f, "the map's entry for site {site}, coordinate {coordinate} is lost in rounding")
            }
            Self::TooLarge { coordinate } => write!(f, "coordinate {coordinate} could pass 1e6"),
        }
    }
}

impl core::error::Error for QuarticError {}
