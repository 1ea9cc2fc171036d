//! Why numbers are not a logistic regression.

use super::super::RbmError;

crate::error::errors! {
    /// Why numbers are not a logistic regression.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LogisticError {
        /// No coefficients or no observations, or more than 2³¹ − 1 coefficients or 2²⁰ observations.
        Empty => "there must be 1 to 2^31 - 1 coefficients and 1 to 2^20 observations";
        /// A slice has `got` elements instead of `need`.
        Length {
            /// Elements needed.
            need: usize,
            /// Elements given.
            got: usize,
        } => "{need} elements are needed, {got} were given";
        /// An entry of the design is NaN or infinite.
        NotFinite {
            /// The coefficient.
            coefficient: usize,
            /// The observation.
            observation: usize,
        } => "coefficient {coefficient} of observation {observation} is not finite";
        /// An entry of the design would be lost or much changed by rounding, next to a far larger number.
        Rounded {
            /// The coefficient.
            coefficient: usize,
            /// The observation.
            observation: usize,
        } => "coefficient {coefficient} of observation {observation} is lost in rounding";
        /// A row is not zero past the last observation.
        Padding {
            /// The coefficient.
            coefficient: usize,
        } => "the row of coefficient {coefficient} is not zero past the last observation";
        /// The offsets are not zero past the last observation.
        OffsetPadding => "the offsets are not zero past the last observation";
        /// The offset of an observation is NaN or infinite, or lost in rounding.
        Offset {
            /// The observation.
            observation: usize,
        } => "the offset of observation {observation} is not finite, or lost in rounding";
        /// The log prior odds of a coefficient are not finite, pass 10³⁰, or are lost in rounding.
        Prior {
            /// The coefficient.
            coefficient: usize,
        } => "the prior of coefficient {coefficient} is not within -1e30 to 1e30, or lost in rounding";
        /// The margin of an observation could pass 10³⁰.
        TooLarge {
            /// The observation.
            observation: usize,
        } => "the margin of observation {observation} could pass 1e30";
    }
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
