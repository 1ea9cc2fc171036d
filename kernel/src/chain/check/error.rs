//! What a comparison of an energy with itself finds wrong.

use crate::chain::ChainError;

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Answer {
    /// [`Energy::init`](crate::Energy::init): it is NaN or −∞ where the site has the value, or another number the
    /// second time.
    Total,
    /// The words after [`Energy::differences`](crate::Energy::differences): the value of the site whose differences
    /// were computed.
    Words,
    /// [`Energy::differences`](crate::Energy::differences) of one value, with the totals.
    Differences,
    /// [`Energy::shift`](crate::Energy::shift) of a move of one site, with the totals.
    Shift,
    /// [`Energy::shift`](crate::Energy::shift) of the move from the state before, with the totals; the site is the
    /// first that changes.
    Move,
    /// [`Energy::differences`](crate::Energy::differences) with the cache after that move, compared with the cache of
    /// [`Energy::init`](crate::Energy::init).
    Cache,
    /// [`Energy::gradient`](crate::Energy::gradient) of one row, with that of all rows; and a NaN of any gradient.
    Gradient,
    /// [`Energy::gradients`](crate::Energy::gradients) of two points, with
    /// [`Energy::gradient`](crate::Energy::gradient).
    Gradients,
    /// [`Energy::gradient`](crate::Energy::gradient) with the cache after a move, compared with the cache of
    /// [`Energy::init`](crate::Energy::init).
    CacheGradient,
    /// [`Energy::shift`](crate::Energy::shift) back from a move, with the totals: it begins with the cache that the move left.
    Back,
}

impl Answer {
    /// Its name, and that of what is right.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Total => ("`init`", "`init` before"),
            Self::Words => ("the state after `differences`", "the state before"),
            Self::Differences => ("`differences`", "totals of `init`"),
            Self::Shift => ("`shift`", "totals of `init`"),
            Self::Move => ("`shift` from the state before", "totals of `init`"),
            Self::Cache => ("`differences` after `shift`", "`differences` after `init`"),
            Self::CacheGradient => ("`gradient` after `shift`", "`gradient` after `init`"),
            Self::Back => ("`shift` back from a move", "totals of `init`"),
            Self::Gradient => ("`gradient` of one row", "`gradient` of all rows"),
            Self::Gradients => ("`gradients` of two points", "`gradient`"),
        }
    }
}

crate::error::errors! {
    /// What is wrong with an energy.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum CheckError {
        /// A chain could not start there: a state, the memory, the arities or the total is wrong.
        Chain(error: ChainError) => "{error}";
        /// An answer is off.
        Off {
            /// Which one.
            answer: Answer,
            /// The number of the state.
            state: usize,
            /// The site.
            site: usize,
            /// Its value.
            value: u32,
            /// What would be right.
            need: f32,
            /// The answer.
            got: f32,
        } => "state {state}, site {site}, value {value}: {} gives {got}, {} gave {need}",
            answer.names().0, answer.names().1;
        /// The energy is 2¹⁷ or more in size, where an f32 is exact to a sixty-fourth, or less. Its differences are those of
        /// totals, and small ones are lost. Subtract a constant from it.
        Large {
            /// The number of the state.
            state: usize,
            /// Its energy.
            energy: f32,
        } => "the energy of state {state} is {energy}: small differences are lost in an f32, so subtract a constant";
        /// The gradient points the other way: over all moves of one site, its products with the moves rise where the
        /// totals fall.
        Sign {
            /// As [`Checked::slope`](super::Checked::slope).
            slope: f32,
        } => "the gradient has the wrong sign: the energy changes by {slope} of what it says";
    }
}

impl<T: Into<ChainError>> From<T> for CheckError {
    fn from(error: T) -> Self {
        Self::Chain(error.into())
    }
}
