//! Why weights are not those of an RBM.

/// Why weights are not those of an RBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RbmError {
    /// No visible or no hidden units.
    Units,
    /// A buffer has `got` elements instead of `need`.
    Length {
        /// Elements needed.
        need: usize,
        /// Elements given.
        got: usize,
    },
    /// The weight of a visible and a hidden unit is NaN or infinite.
    WeightNotFinite {
        /// The visible unit.
        visible: usize,
        /// The hidden unit.
        hidden: usize,
    },
    /// A lane past the last hidden unit is not zero.
    Padding {
        /// The visible unit.
        visible: usize,
    },
    /// A lane of the hidden biases past the last unit is not zero.
    HiddenPadding,
    /// The bias of a visible unit is NaN or infinite.
    VisibleNotFinite {
        /// The unit.
        unit: usize,
    },
    /// The bias of a hidden unit is NaN or infinite.
    HiddenNotFinite {
        /// The unit.
        unit: usize,
    },
    /// The pre-activation of a visible unit, `a + Wh`, could pass 10³⁰.
    VisibleTooLarge {
        /// The unit.
        unit: usize,
    },
    /// The pre-activation of a hidden unit could pass 10³⁰.
    TooLarge {
        /// The unit.
        unit: usize,
    },
    /// The weight of a visible and a hidden unit would be lost or much changed by rounding, beside a far larger number.
    WeightRounded {
        /// The visible unit.
        visible: usize,
        /// The hidden unit.
        hidden: usize,
    },
    /// The same of the bias of a visible unit.
    VisibleRounded {
        /// The unit.
        unit: usize,
    },
    /// The same of the bias of a hidden unit.
    HiddenRounded {
        /// The unit.
        unit: usize,
    },
}

impl core::fmt::Display for RbmError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Units => write!(f, "an RBM needs at least one visible and one hidden unit"),
            Self::Length { need, got } => write!(f, "{need} elements are needed, {got} were given"),
            Self::WeightNotFinite { visible, hidden } => {
                write!(f, "the weight of visible unit {visible} and hidden unit {hidden} is not finite")
            }
            Self::Padding { visible } => write!(f, "row {visible} is not zero past the last hidden unit"),
            Self::HiddenPadding => write!(f, "the hidden biases are not zero past the last unit"),
            Self::VisibleTooLarge { unit } => {
                write!(f, "the pre-activation of visible unit {unit} could pass 1e30")
            }
            Self::VisibleNotFinite { unit } => write!(f, "the bias of visible unit {unit} is not finite"),
            Self::HiddenNotFinite { unit } => write!(f, "the bias of hidden unit {unit} is not finite"),
            Self::WeightRounded { visible, hidden } => {
                write!(f, "the weight of visible unit {visible} and hidden unit {hidden} is lost in rounding")
            }
            Self::VisibleRounded { unit } => write!(f, "the bias of visible unit {unit} is lost in rounding"),
            Self::HiddenRounded { unit } => write!(f, "the bias of hidden unit {unit} is lost in rounding"),
            Self::TooLarge { unit } => write!(f, "the pre-activation of hidden unit {unit} could pass 1e30"),
        }
    }
}

impl core::error::Error for RbmError {}
