//! What a call came to.

use bitmc::OpenError;
use bitmc::energy::{PathError, RbmError, SparseError};
use bitmc::noise::NoiseError;
use bitmc::schedule::ScheduleError;
use bitmc::snapshot::SnapshotError;
use bitmc::step::ParameterError;
use bitmc::temper::LadderError;
use bitmc::{ChainError, StateError};
use core::ffi::{CStr, c_char};

/// What a call came to. Anything but `BITMC_STATUS_OK` has changed nothing that was in use, with two exceptions. First, an
/// _init may have begun to write when it finds an energy or a field of NaN. It leaves its struct, and the chain that was in its
/// memory, not ready: later calls say BITMC_STATUS_NOT_READY. So does bitmc_model_with_linear. Second, bitmc_load may have
/// filled some parts where it says BITMC_STATUS_OTHER: they are others than those that were saved. A generator does not move in
/// an _init that is refused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bitmc_status {
    /// Done.
    Ok = 0,
    /// An address is null.
    Null,
    /// A struct was not initialised, or is of another kind. Or the model or the memory that a chain or a sampler uses
    /// is another's now.
    NotReady,
    /// A struct or its memory is used from within its own callback.
    Busy,
    /// A struct or an array is not aligned as its type.
    Alignment,
    /// Memory or a buffer is too short.
    Memory,
    /// A number is out of its range, not finite, or does not fit another; or two arrays, or an array and caller-provided memory, overlap.
    Argument,
    /// Words are no state of the model.
    State,
    /// The energy is not finite at the start, or its gradient is NaN there.
    Energy,
    /// The bytes are no snapshot, or one that is torn, altered or of another version.
    Snapshot,
    /// The snapshot is of another model, or of other parts.
    Other,
    /// Edges or rows contradict each other: a site that does not exist, an edge to itself or twice, rows without order
    /// or symmetry.
    Edges,
    /// This sampler, or a change of fields, needs an Ising or Potts model.
    Sampler,
    /// Nothing was asked, so that nothing can be told.
    NotAsked,
    /// A gradient has another length than the sites need, or there is none where one is needed.
    Gradient,
    /// A step of this sampler has no two halves: Gibbs sampling cannot be asked.
    Halves,
    /// The energy contradicts itself; bitmc_check says where.
    Check,
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
    const TEXTS: [&CStr; 17] = [
        c"done",
        c"an address is null",
        c"a struct was not initialised, or its model or memory is another's now",
        c"a struct or its memory is used from within its own callback",
        c"a struct or an array is not aligned as its type",
        c"memory or a buffer is too short",
        c"a number is out of its range, not finite, or does not fit another; or memory overlaps",
        c"the words are no state of the model",
        c"the energy is not finite at the start, or its gradient is NaN there",
        c"the bytes are no snapshot, or one that is torn, altered or of another version",
        c"the snapshot is of another model, or of other parts",
        c"edges or rows contradict each other: no such site, an edge to itself or twice, no order or symmetry",
        c"this sampler, or a change of fields, needs an Ising or Potts model",
        c"nothing was asked",
        c"a gradient has another length than the sites need, or there is none where one is needed",
        c"a step of this sampler has no two halves: Gibbs sampling cannot be asked",
        c"the energy contradicts itself",
    ];
    TEXTS.get(status as usize).map_or(c"no such status", |text| text).as_ptr()
}

impl From<ChainError> for bitmc_status {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::State(_) => Self::State,
            ChainError::Energy(_) => Self::Energy,
            ChainError::Memory { .. } => Self::Memory,
            _ => Self::Argument,
        }
    }
}

impl From<StateError> for bitmc_status {
    fn from(_: StateError) -> Self {
        Self::State
    }
}

impl From<OpenError> for bitmc_status {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Chain(error) => error.into(),
            OpenError::Gradient { .. } | OpenError::NoGradient => Self::Gradient,
            OpenError::NotAsked => Self::NotAsked,
            _ => Self::Argument,
        }
    }
}

impl From<SparseError> for bitmc_status {
    fn from(error: SparseError) -> Self {
        match error {
            SparseError::OutOfRange { .. }
            | SparseError::Diagonal { .. }
            | SparseError::Duplicate { .. }
            | SparseError::Ends { .. }
            | SparseError::Unsorted { .. }
            | SparseError::Asymmetric { .. } => Self::Edges,
            SparseError::Memory { .. }
            | SparseError::Entries { .. }
            | SparseError::Blocks { .. }
            | SparseError::Parameters { .. } => Self::Memory,
            _ => Self::Argument,
        }
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

arguments!(RbmError, ParameterError, ScheduleError, LadderError, PathError, NoiseError);
