//! Why data and parameters are not a network's.

/// Why data and parameters are not those of a regression network.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NetworkError {
    /// No hidden units, or more than 2³¹ − 1 weights.
    Units,
    /// The `got` inputs are not one or more whole columns of `rows` rows, at least one.
    Length {
        /// Targets, one a row.
        rows: usize,
        /// Inputs.
        got: usize,
    },
    /// An input is NaN or infinite.
    InputNotFinite {
        /// Its column.
        column: usize,
        /// Its row.
        row: usize,
    },
    /// An input would be lost or much changed by rounding, beside a far larger one.
    InputRounded {
        /// Its column.
        column: usize,
        /// Its row.
        row: usize,
    },
    /// A target is NaN or infinite.
    TargetNotFinite {
        /// Its row.
        row: usize,
    },
    /// The inputs of a row add up past 10³⁰.
    TooLarge {
        /// The row.
        row: usize,
    },
    /// The scale of the output must be finite and not 0.
    Scale(f32),
    /// The precision must be positive and finite.
    Precision(f32),
}

impl core::fmt::Display for NetworkError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Units => write!(f, "a network needs hidden units, and at most 2^31 - 1 weights"),
            Self::Length { rows, got } => {
                write!(f, "{got} inputs are not whole columns of {rows} rows, at least one")
            }
            Self::InputNotFinite { column, row } => {
                write!(f, "the input in column {column} of row {row} is not finite")
            }
            Self::InputRounded { column, row } => {
                write!(f, "the input in column {column} of row {row} is lost in rounding")
            }
            Self::TargetNotFinite { row } => write!(f, "the target of row {row} is not finite"),
            Self::TooLarge { row } => write!(f, "the inputs of row {row} add up past 1e30"),
            Self::Scale(value) => write!(f, "the scale of the output, {value}, is not finite or is 0"),
            Self::Precision(value) => write!(f, "precision {value} is not positive and finite"),
        }
    }
}

impl core::error::Error for NetworkError {}
