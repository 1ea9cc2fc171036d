//! What can be wrong with a batch.

use crate::packed::StateError;

crate::error::errors! {
    /// Why a batch, or a change to it, is refused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BatchError {
        /// The memory has `got` sites, the model `need`.
        Sites {
            /// Sites of the model.
            need: usize,
            /// Sites in the memory.
            got: usize,
        } => "memory for {need} sites is needed, {got} were given";
        /// The sites of the model have [many values](crate::Layout::many_values).
        ManyValues {
            /// Values of a site.
            arity: usize,
        } => "sites have {arity} values, a batch takes at most 64";
        /// The memory is for sites of `got` values, the model's have `need`.
        Arity {
            /// Values of a site of the model.
            need: usize,
            /// Values of a site of the memory.
            got: usize,
        } => "memory for sites of {need} values is needed, that given is for {got}";
        /// The chain is past the last one.
        Chain {
            /// The chain.
            chain: usize,
        } => "there is no chain {chain}: a batch has sixteen";
        /// The state is none of the model's.
        State(error: StateError) from StateError => "{error}";
    }
}
