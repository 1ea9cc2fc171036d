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

/// What a call came to. Anything but `BITMC_STATUS_OK` has changed nothing that was in use, with two exceptions. First, the
/// _init of a model or a chain may have begun to write when it finds an edge, a number or an energy that is wrong. It leaves
/// its struct, and the chain that was in its memory, not ready: later calls say BITMC_STATUS_NOT_READY. So does
/// bitmc_model_with_linear. Second, bitmc_load may have filled some parts where it says BITMC_STATUS_OTHER: they are others
/// than those that were saved. So may bitmc_exchange_load where it says BITMC_STATUS_ENERGY. A generator does not move in an
/// _init that is refused.
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
    /// A parameter of a sampler, a schedule or a ladder is out of its range or not finite: a step size, a balance, a number of
    /// updates, an inverse temperature.
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
    /// A number that stands for a choice is none that the header names: `kind`, `convention`, `adjusted`.
    Choice,
    /// Two arrays, or an array or a struct and caller-provided memory, overlap.
    Overlap,
    /// A count is 0, too large, or does not fit another: of sites, values, fields, entries, units, steps, rungs, replicas or
    /// words.
    Count,
    /// There is no such site or rung.
    Index,
    /// A coupling, a weight, a bias or a field is NaN or infinite.
    NotFinite,
    /// A coupling, a weight, a bias or a field is too large, or so small beside another one that it is lost in rounding.
    Scale,
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
    const TEXTS: [&CStr; 23] = [
        c"done",
        c"an address is null",
        c"a struct was not initialised, or its model or memory is another's now",
        c"a struct or its memory is used from within its own callback",
        c"a struct or an array is not aligned as its type",
        c"memory or a buffer is too short",
        c"a parameter of a sampler, a schedule or a ladder is out of its range or not finite",
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
        c"a number that stands for a choice (kind, convention, adjusted) is none that the header names",
        c"two arrays, or an array or a struct and caller-provided memory, overlap",
        c"a count is 0, too large, or does not fit another",
        c"there is no such site or rung",
        c"a coupling, a weight, a bias or a field is NaN or infinite",
        c"a coupling, a weight, a bias or a field is too large, or lost in rounding beside another one",
    ];
    TEXTS.get(status as usize).map_or(c"no such status", |text| text).as_ptr()
}

impl From<ChainError> for bitmc_status {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::State(_) => Self::State,
            ChainError::Energy(_) => Self::Energy,
            ChainError::Memory { .. } => Self::Memory,
            ChainError::NoSites | ChainError::Arities | ChainError::Offsets { .. } => Self::Count,
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
            SparseError::Memory { .. } | SparseError::Blocks { .. } | SparseError::Parameters { .. } => {
                Self::Memory
            }
            // Rows that end before the entries do: where entries are written, there is memory for all.
            SparseError::Entries { .. } => Self::Count,
            SparseError::Sites | SparseError::Shape | SparseError::Fields { .. } => Self::Count,
            SparseError::CouplingNotFinite { .. }
            | SparseError::FieldNotFinite { .. }
            | SparseError::PairNotFinite { .. } => Self::NotFinite,
            SparseError::CouplingRounded { .. }
            | SparseError::FieldRounded { .. }
            | SparseError::PairRounded { .. }
            | SparseError::FieldScale { .. }
            | SparseError::TooLarge { .. }
            | SparseError::TooManyUnits { .. } => Self::Scale,
            _ => Self::Argument,
        }
    }
}

impl From<RbmError> for bitmc_status {
    fn from(error: RbmError) -> Self {
        match error {
            RbmError::Units | RbmError::Length { .. } => Self::Count,
            RbmError::WeightNotFinite { .. }
            | RbmError::VisibleNotFinite { .. }
            | RbmError::HiddenNotFinite { .. } => Self::NotFinite,
            _ => Self::Scale,
        }
    }
}

impl From<LadderError> for bitmc_status {
    fn from(error: LadderError) -> Self {
        if matches!(error, LadderError::Rungs { .. }) { Self::Count } else { Self::Argument }
    }
}

impl From<ScheduleError> for bitmc_status {
    fn from(error: ScheduleError) -> Self {
        if error == ScheduleError::NoSteps { Self::Count } else { Self::Argument }
    }
}

impl From<NoiseError> for bitmc_status {
    fn from(error: NoiseError) -> Self {
        match error {
            NoiseError::Sites { .. } => Self::Count,
            NoiseError::Memory { .. } => Self::Memory,
            NoiseError::NotFinite { .. } => Self::NotFinite,
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

arguments!(ParameterError, PathError);
