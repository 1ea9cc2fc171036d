//! What can be wrong with a batch.

use crate::packed::StateError;

/// Why a batch, or a change to it, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum BatchError {
    /// The memory has `got` sites, the model `need`.
    Sites {
        /// Sites of the model.
        need: usize,
        /// Sites in the memory.
        got: usize,
    },
    /// The sites of the model have [many values](crate::Layout::many_values).
    ManyValues {
        /// Values of a site.
        arity: usize,
    },
    /// The memory is for sites of `got` values, the model's have `need`.
    Arity {
        /// Values of a site of the model.
        need: usize,
        /// Values of a site of the memory.
        got: usize,
    },
    /// There is no such chain.
    Chain {
        /// The chain.
        chain: usize,
    },
    /// The state is none of the model's.
    State(StateError),
}

impl From<StateError> for BatchError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl core::fmt::Display for BatchError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sites { need, got } => write!(f, "memory for {need} sites is needed, {got} were given"),
            Self::ManyValues { arity } => write!(f, "sites have {arity} values, a batch takes at most 64"),
            Self::Arity { need, got } => {
                write!(f, "memory for sites of {need} values is needed, that given is for {got}")
            }
            Self::Chain { chain } => write!(f, "there is no chain {chain}: a batch has sixteen"),
            Self::State(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BatchError {}
