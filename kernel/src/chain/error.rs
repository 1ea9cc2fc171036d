//! Why a chain cannot start.

use crate::energy::EnergyError;
use crate::packed::StateError;

crate::error::errors! {
    /// Why a chain cannot start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChainError {
        /// The start is not a state of the energy's layout.
        State(error: StateError) from StateError => "{error}";
        /// The energy cannot start there.
        Energy(error: EnergyError) from EnergyError => "{error}";
        /// The energy has no sites.
        NoSites => "the energy has no sites";
        /// The energy's arities are not one a site, each from 1 to the layout's.
        Arities => "the arities are not one a site, each from 1 to the layout's";
        /// The energy's [offsets](crate::Energy::offsets) are not one a site.
        Offsets {
            /// Sites of the energy.
            sites: usize,
            /// Offsets given.
            got: usize,
        } => "offsets has {got} values: the energy has {sites} sites";
        /// A buffer of the memory is too short.
        Memory {
            /// Which one.
            buffer: Buffer,
            /// Elements needed.
            need: usize,
            /// Elements given.
            got: usize,
        } => "the chain needs {need} elements of {}, {got} were given", buffer.name();
    }
}

/// A buffer of [`Memory`](super::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Buffer {
    /// [`Memory::words`](super::Memory::words).
    Words,
    /// [`Memory::cache`](super::Memory::cache).
    Cache,
    /// [`Memory::weights`](super::Memory::weights).
    Weights,
}

impl Buffer {
    fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Cache => "cache",
            Self::Weights => "weights",
        }
    }
}

/// Lists that should be as long as that of the chains are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CountError {
    /// Chains.
    pub chains: usize,
    /// Elements of the list.
    pub got: usize,
}

impl CountError {
    pub(crate) fn check<const N: usize>(chains: usize, lists: [usize; N]) -> Result<(), Self> {
        let other = lists.into_iter().find(|&got| got != chains);
        other.map_or(Ok(()), |got| Err(Self { chains, got }))
    }
}

impl core::fmt::Display for CountError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a list has {} elements: there are {} chains", self.got, self.chains)
    }
}

impl core::error::Error for CountError {}
