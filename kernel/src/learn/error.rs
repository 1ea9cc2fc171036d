//! Why a sample cannot be learned from.

use crate::chain::ChainError;
use crate::energy::EnergyError;
use crate::packed::StateError;

crate::error::errors! {
    /// Why a sample cannot be learned from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LearnError {
        /// The sample, the energy there, or the memory is wrong: it is that of a chain.
        Chain(error: ChainError) from ChainError => "{error}";
        /// The gradient has `got` blocks, [`Learnable::parameter_len`](super::Learnable::parameter_len) is `need`.
        Gradient {
            /// Blocks needed.
            need: usize,
            /// Blocks given.
            got: usize,
        } => "the gradient needs {need} blocks, {got} were given";
        /// The objective is defined for binary sites, the energy has others.
        NotBinary => "the objective is defined for binary sites only";
        /// The sites have [many values](crate::Layout::many_values), which objectives of neighbours do not take.
        ManyValues => "the objective does not take sites of many values";
        /// The number of draws is not 1 to 64.
        Draws(draws: usize) => "{draws} draws are not 1 to 64";
        /// A drawn site does not exist.
        Site(site: usize) => "there is no site {site}";
        /// An objective needs at least one sample on each side.
        NoSamples => "at least one sample is needed on each side";
        /// The state is past the last one of the replay buffer.
        State(state: usize) => "there is no state {state} in the replay buffer";
        /// The words of a replay buffer are not whole states, at least one.
        Replay {
            /// Words of a state.
            state: usize,
            /// Words given.
            got: usize,
        } => "{got} words are not whole states of {state} words, at least one";
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
