//! Why a snapshot is refused.

use crate::chain::ChainError;
use crate::layout::Layout;

/// Why a snapshot cannot be written or is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SnapshotError {
    /// The buffer is too short.
    Memory {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        got: usize,
    },
    /// The bytes are no snapshot.
    NoSnapshot,
    /// The layout is of a version that this crate does not know.
    Version {
        /// The version.
        got: u32,
    },
    /// The end is missing.
    Torn {
        /// Bytes that the whole has.
        need: usize,
        /// Bytes that there are.
        got: usize,
    },
    /// The checksum is another one: something was altered.
    Checksum,
    /// The next part is another one, or there is none.
    Part {
        /// The part that was asked for.
        need: [u8; 4],
        /// The part that is there; zeros where there is none.
        got: [u8; 4],
    },
    /// The parts end within a part.
    Short,
    /// A list has another length.
    Length {
        /// Elements that it must have.
        need: usize,
        /// Elements that it has.
        got: usize,
    },
    /// The chain is of another layout: another number of sites, arity or kind.
    Layout {
        /// The layout that is needed.
        need: Layout,
        /// The layout in the snapshot.
        got: Layout,
    },
    /// A number is not the same: the snapshot is of another model.
    Other,
    /// A value is illegal.
    Value,
    /// The chain cannot start at the state.
    Chain(ChainError),
    /// There are parts left.
    Rest {
        /// Their bytes.
        bytes: usize,
    },
}

impl core::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text =
            |name: &[u8; 4]| name.map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '.' });
        match self {
            Self::Memory { need, got } => write!(f, "the snapshot needs {need} bytes, {got} were given"),
            Self::NoSnapshot => write!(f, "the bytes are no snapshot"),
            Self::Version { got } => write!(f, "version {got} of the layout, this one is {}", super::VERSION),
            Self::Torn { need, got } => write!(f, "the snapshot has {need} bytes, {got} are here"),
            Self::Checksum => write!(f, "the checksum is another one: the snapshot was altered"),
            Self::Part { need, got } => {
                write!(f, "the next part is ")?;
                text(got).iter().try_for_each(|letter| write!(f, "{letter}"))?;
                write!(f, " where ")?;
                text(need).iter().try_for_each(|letter| write!(f, "{letter}"))?;
                write!(f, " is needed")
            }
            Self::Short => write!(f, "the snapshot ends within a part"),
            Self::Length { need, got } => write!(f, "a list of {got} elements where {need} are needed"),
            Self::Layout { need, got } => write!(f, "the snapshot has {got}: {need} are needed"),
            Self::Other => write!(f, "the snapshot is of another model"),
            Self::Value => write!(f, "a value in the snapshot is illegal"),
            Self::Chain(error) => error.fmt(f),
            Self::Rest { bytes } => write!(f, "the snapshot has parts of {bytes} bytes more"),
        }
    }
}

impl core::error::Error for SnapshotError {}

impl From<ChainError> for SnapshotError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}
