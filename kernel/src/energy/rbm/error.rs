//! Why weights are not those of an RBM.

crate::error::errors! {
    /// Why weights are not those of an RBM.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RbmError {
        /// No visible or no hidden units, or more than 2³¹ − 1 visible or 2²⁰ hidden ones.
        Units => "an RBM has 1 to 2^31 - 1 visible and 1 to 2^20 hidden units";
        /// A buffer has `got` elements instead of `need`.
        Length {
            /// Elements needed.
            need: usize,
            /// Elements given.
            got: usize,
        } => "{need} elements are needed, {got} were given";
        /// The weight of a visible and a hidden unit is NaN or infinite.
        WeightNotFinite {
            /// The visible unit.
            visible: usize,
            /// The hidden unit.
            hidden: usize,
        } => "the weight of visible unit {visible} and hidden unit {hidden} is not finite";
        /// A lane past the last hidden unit is not zero.
        Padding {
            /// The visible unit.
            visible: usize,
        } => "row {visible} is not zero past the last hidden unit";
        /// A lane of the hidden biases past the last unit is not zero.
        HiddenPadding => "the hidden biases are not zero past the last unit";
        /// The bias of a visible unit is NaN or infinite.
        VisibleNotFinite {
            /// The unit.
            unit: usize,
        } => "the bias of visible unit {unit} is not finite";
        /// The bias of a hidden unit is NaN or infinite.
        HiddenNotFinite {
            /// The unit.
            unit: usize,
        } => "the bias of hidden unit {unit} is not finite";
        /// The pre-activation of a visible unit, `a + Wh`, could pass 10³⁰.
        VisibleTooLarge {
            /// The unit.
            unit: usize,
        } => "the pre-activation of visible unit {unit} could pass 1e30";
        /// The pre-activation of a hidden unit could pass 10³⁰.
        TooLarge {
            /// The unit.
            unit: usize,
        } => "the pre-activation of hidden unit {unit} could pass 1e30";
        /// The weight of a visible and a hidden unit would be lost or much changed by rounding, next to a far larger
        /// number.
        WeightRounded {
            /// The visible unit.
            visible: usize,
            /// The hidden unit.
            hidden: usize,
        } => "the weight of visible unit {visible} and hidden unit {hidden} is lost in rounding";
        /// The same of the bias of a visible unit.
        VisibleRounded {
            /// The unit.
            unit: usize,
        } => "the bias of visible unit {unit} is lost in rounding";
        /// The same of the bias of a hidden unit.
        HiddenRounded {
            /// The unit.
            unit: usize,
        } => "the bias of hidden unit {unit} is lost in rounding";
    }
}
