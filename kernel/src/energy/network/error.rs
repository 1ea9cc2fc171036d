//! Why data and parameters are not a network's.

crate::error::errors! {
    /// Why data and parameters are not those of a regression network.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum NetworkError {
        /// No hidden units, or more than 2³¹ − 1 weights.
        Units => "a network needs hidden units, and at most 2^31 - 1 weights";
        /// The `got` inputs are not one or more whole columns of `rows` rows, at least one.
        Length {
            /// Targets, one a row.
            rows: usize,
            /// Inputs.
            got: usize,
        } => "{got} inputs are not whole columns of {rows} rows, at least one";
        /// An input is NaN or infinite.
        InputNotFinite {
            /// Its column.
            column: usize,
            /// Its row.
            row: usize,
        } => "the input in column {column} of row {row} is not finite";
        /// An input would be lost or much changed by rounding, next to a far larger one.
        InputRounded {
            /// Its column.
            column: usize,
            /// Its row.
            row: usize,
        } => "the input in column {column} of row {row} is lost in rounding";
        /// A target is NaN or infinite.
        TargetNotFinite {
            /// Its row.
            row: usize,
        } => "the target of row {row} is not finite";
        /// The inputs of a row add up past 10³⁰, or its target is past 10¹⁵ in size.
        TooLarge {
            /// The row.
            row: usize,
        } => "the inputs of row {row} add up past 1e30, or its target is past 1e15";
        /// The scale of the output must be finite and not 0.
        Scale(value: f32) => "the scale of the output, {value}, is not finite or is 0";
        /// The precision must be positive and finite.
        Precision(value: f32) => "precision {value} is not positive and finite";
    }
}
