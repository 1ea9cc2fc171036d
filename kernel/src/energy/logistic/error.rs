//! Why numbers are not a logistic regression.

use super::super::RbmError;

/// Why numbers are not a logistic regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LogisticError {
    /// No coefficients or no observations.
    Empty,
    /// A slice has `got` elements instead of `need`.
    Length {
        /// Elements needed.
        need: usize,
        /// Elements given.
        got: usize,
    },
    /// An entry of the design is NaN or infinite.
    NotFinite {
        /// The coefficient.
        coefficient: usize,
        /// The observation.
        observation: usize,
    },
    /// An entry of the design would be lost or much changed by rounding, beside a far larger number.
    Rounded {
        /// The coefficient.
        coefficient: usize,
        /// The observation.
        observation: usize,
    },
    /// A row is not zero past the last observation.
    Padding {
        /// The coefficient.
        coefficient: usize,
    },
    /// The offsets are not zero past the last observation.
    OffsetPadding,
    /// The offset of an observation is NaN or infinite, or lost in rounding.
    Offset {
        /// The observation.
        observation: usize,
    },
    /// The log prior odds of a coefficient are not finite, pass 10³⁰, or are lost in rounding.
    Prior {
        /// The coefficient.
        coefficient: usize,
    },
    /// The margin of an observation could pass 10³⁰.
    TooLarge {
        /// The observation.
        observation: usize,
    },
}

impl From<RbmError> for LogisticError {
    fn from(error: RbmError) -> Self {
        match error {
            RbmError::Units => Self::Empty,
            RbmError::Length { need, got } => Self::Length { need, got },
            RbmError::WeightNotFinite { visible, hidden } => {
                Self::NotFinite { coefficient: visible, observation: hidden }
            }
            RbmError::Padding { visible } => Self::Padding { coefficient: visible },
            RbmError::HiddenPadding => Self::OffsetPadding,
            RbmError::WeightRounded { visible, hidden } => {
                Self::Rounded { coefficient: visible, observation: hidden }
            }
            RbmError::HiddenNotFinite { unit } | RbmError::HiddenRounded { unit } => {
                Self::Offset { observation: unit }
            }
            RbmError::VisibleNotFinite { unit }
            | RbmError::VisibleTooLarge { unit }
            | RbmError::VisibleRounded { unit } => Self::Prior { coefficient: unit },
            RbmError::TooLarge { unit } => Self::TooLarge { observation: unit },
        }
    }
}

impl core::fmt::Display for LogisticError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Empty => write!(f, "there must be at least one coefficient and one observation"),
            Self::Length { need, got } => write!(f, "{need} elements are needed, {got} were given"),
            Self::NotFinite { coefficient, observation } => {
                write!(f, "coefficient {coefficient} of observation {observation} is not finite")
            }
            Self::Rounded { coefficient, observation } => {
                write!(f, "coefficient {coefficient} of observation {observation} is lost in rounding")
            }
            Self::Padding { coefficient } => {
                write!(f, "the row of coefficient {coefficient} is not zero past the last observation")
            }
            Self::OffsetPadding => write!(f, "the offsets are not zero past the last observation"),
            Self::Offset { observation } => {
                write!(f, "the offset of observation {observation} is not finite, or lost in rounding")
            }
            Self::Prior { coefficient } => {
                write!(
                    f,
                    "the prior of coefficient {coefficient} is not within -1e30 to 1e30, or lost in rounding"
                )
            }
            Self::TooLarge { observation } => {
                write!(f, "the margin of observation {observation} could pass 1e30")
            }
        }
    }
}

impl core::error::Error for LogisticError {}
