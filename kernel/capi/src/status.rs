//! What a call came to.

use bitmc::energy::{PathError, RbmError, SparseError};
use bitmc::noise::NoiseError;
use bitmc::schedule::ScheduleError;
use bitmc::snapshot::SnapshotError;
use bitmc::step::ParameterError;
use bitmc::temper::LadderError;
use bitmc::{ChainError, StateError};
use core::ffi::{CStr, c_char};

/// What a call came to. Anything but `BITMC_STATUS_OK` has changed nothing that was in use.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum bitmc_status {
    /// Done.
    Ok = 0,
    /// An address is null.
    Null,
    /// A struct was not initialised, or is one of another kind.
    NotReady,
    /// A struct is used from within its own callback.
    Busy,
    /// A struct is not aligned as its type.
    Alignment,
    /// Memory or a buffer is too short.
    Memory,
    /// A number is out of its range.
    Argument,
    /// Words are no state of the model.
    State,
    /// The energy is not finite at the start, or its gradient is NaN there.
    Energy,
    /// The bytes are no snapshot, or one that is torn, altered or of another version.
    Snapshot,
    /// The snapshot is of another model, or of other parts.
    Other,
}

pub(crate) type Outcome<T = ()> = Result<T, bitmc_status>;

impl bitmc_status {
    pub(crate) fn of(outcome: Outcome) -> Self {
        outcome.err().unwrap_or(Self::Ok)
    }
}

/// A status in words: a constant string.
#[unsafe(no_mangle)]
pub extern "C" fn bitmc_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 11] = [
        c"done",
        c"an address is null",
        c"a struct was not initialised, or is one of another kind",
        c"a struct is used from within its own callback",
        c"a struct is not aligned as its type",
        c"memory or a buffer is too short",
        c"a number is out of its range",
        c"the words are no state of the model",
        c"the energy is not finite at the start, or its gradient is NaN there",
        c"the bytes are no snapshot, or one that is torn, altered or of another version",
        c"the snapshot is of another model, or of other parts",
    ];
    TEXTS.get(status as usize).map_or(c"no such status", |text| text).as_ptr()
}

impl From<ChainError> for bitmc_status {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::State(_) => Self::State,
            ChainError::Energy(_) => Self::Energy,
            ChainError::Memory { .. } => Self::Memory,
            ChainError::NoSites | ChainError::Arities => Self::Argument,
        }
    }
}

impl From<StateError> for bitmc_status {
    fn from(_: StateError) -> Self {
        Self::State
    }
}

impl From<SnapshotError> for bitmc_status {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Memory { .. } => Self::Memory,
            SnapshotError::NoSnapshot
            | SnapshotError::Version { .. }
            | SnapshotError::Torn { .. }
            | SnapshotError::Checksum
            | SnapshotError::Value => Self::Snapshot,
            SnapshotError::Chain(error) => error.into(),
            _ => Self::Other,
        }
    }
}

macro_rules! arguments {
    ($($error:ident),+) => {$(
        impl From<$error> for bitmc_status {
            fn from(_: $error) -> Self {
                Self::Argument
            }
        }
    )+};
}

arguments!(SparseError, RbmError, ParameterError, ScheduleError, LadderError, PathError, NoiseError);
