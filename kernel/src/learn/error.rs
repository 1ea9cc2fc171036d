//! Why a sample cannot be learned from.

use crate::chain::ChainError;
use crate::energy::EnergyError;
use crate::packed::StateError;

/// Why a sample cannot be learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LearnError {
    /// The sample, the energy there, or the memory is wrong: it is that of a chain.
    Chain(ChainError),
    /// The gradient has `got` blocks, [`Learnable::parameter_len`](super::Learnable::parameter_len) is `need`.
    Gradient {
        /// Blocks needed.
        need: usize,
        /// Blocks given.
        got: usize,
    },
    /// The objective is defined for binary sites, the energy has others.
    NotBinary,
    /// The sites have [many values](crate::Layout::many_values), which objectives of neighbours do not take.
    ManyValues,
    /// The number of draws is not 1 to 64.
    Draws(usize),
    /// A drawn site does not exist.
    Site(usize),
    /// An objective needs at least one sample on each side.
    NoSamples,
    /// There is no such state in the replay buffer.
    State(usize),
    /// The words of a replay buffer are not whole states, at least one.
    Replay {
        /// Words of a state.
        state: usize,
        /// Words given.
        got: usize,
    },
}

impl core::fmt::Display for LearnError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Chain(error) => error.fmt(f),
            Self::Gradient { need, got } => write!(f, "the gradient needs {need} blocks, {got} were given"),
            Self::NotBinary => write!(f, "the objective is defined for binary sites only"),
            Self::ManyValues => write!(f, "the objective does not take sites of many values"),
            Self::Draws(draws) => write!(f, "{draws} draws are not 1 to 64"),
            Self::Site(site) => write!(f, "there is no site {site}"),
            Self::NoSamples => write!(f, "at least one sample is needed on each side"),
            Self::State(state) => write!(f, "there is no state {state} in the replay buffer"),
            Self::Replay { state, got } => {
                write!(f, "{got} words are not whole states of {state} words, at least one")
            }
        }
    }
}

impl core::error::Error for LearnError {}

impl From<ChainError> for LearnError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl From<StateError> for LearnError {
    fn from(error: StateError) -> Self {
        Self::Chain(error.into())
    }
}

impl From<EnergyError> for LearnError {
    fn from(error: EnergyError) -> Self {
        Self::Chain(error.into())
    }
}
