//! Why a snapshot is refused.

use crate::chain::ChainError;
use crate::layout::Layout;

crate::error::errors! {
    /// Why a snapshot cannot be written or is refused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SnapshotError {
        /// The buffer is too short.
        Memory {
            /// Bytes needed.
            need: usize,
            /// Bytes given.
            got: usize,
        } => "the snapshot needs {need} bytes, {got} were given";
        /// The bytes are no snapshot.
        NoSnapshot => "the bytes are no snapshot";
        /// The layout is of a version that this crate does not know.
        Version {
            /// The version.
            got: u32,
        } => "version {got} of the layout, this one is {}", super::VERSION;
        /// The end is missing.
        Torn {
            /// Bytes that the whole has.
            need: usize,
            /// Bytes that there are.
            got: usize,
        } => "the snapshot has {need} bytes, {got} are here";
        /// The checksum is another one: something was altered.
        Checksum => "the checksum is another one: the snapshot was altered";
        /// The next part is another one, or there is none.
        Part {
            /// The part that is needed.
            need: [u8; 4],
            /// The part that is there; zeros where there is none.
            got: [u8; 4],
        } => "the next part is {} where {} is needed", Name(*got), Name(*need);
        /// The parts end within a part.
        Short => "the snapshot ends within a part";
        /// A list has another length.
        Length {
            /// Elements that it must have.
            need: usize,
            /// Elements that it has.
            got: usize,
        } => "a list of {got} elements where {need} are needed";
        /// The chain is of another layout: another number of sites, arity or kind.
        Layout {
            /// The layout that is needed.
            need: Layout,
            /// The layout in the snapshot.
            got: Layout,
        } => "the snapshot has {got}: {need} are needed";
        /// A number is not the same: the snapshot is of another model.
        Other => "the snapshot is of another model";
        /// A value is illegal.
        Value => "a value in the snapshot is illegal";
        /// The chain cannot start at the state.
        Chain(error: ChainError) from ChainError => "{error}";
        /// There are parts left.
        Rest {
            /// Their bytes.
            bytes: usize,
        } => "the snapshot has parts of {bytes} bytes more";
    }
}

/// The name of a part.
struct Name([u8; 4]);

impl core::fmt::Display for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let letter = |byte: u8| if byte.is_ascii_graphic() { char::from(byte) } else { '.' };
        self.0.into_iter().try_for_each(|byte| write!(f, "{}", letter(byte)))
    }
}
