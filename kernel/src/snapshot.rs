//! Everything that changes in a run, to bytes and back: stop, lose the power, go on with the same bits.
//!
//! ```
//! use bitmc::snapshot::{Reader, Writer};
//! use bitmc::tune::RateTuner;
//! use bitmc::{Bernoulli, Chain, LaneRng, Langevin, Layout, SeedableRng, memory};
//!
//! let model = Bernoulli::new(&[0.3; 40]).ok_or("no sites")?;
//! let start = |seed| {
//!     let mut rng = LaneRng::seed_from_u64(seed);
//!     let chain = Chain::random(&model, memory!(Layout::binary(40), 0), &mut rng)?;
//!     Ok::<_, Box<dyn std::error::Error>>((chain, rng, RateTuner::new(1.0, (0.01, 100.0), 0.574)?))
//! };
//! let (mut chain, mut rng, mut tuner) = start(1)?;
//! let mut bytes = [0; 1024]; // a page of flash
//! for step in 0..200 {
//!     if step == 100 {
//!         Writer::new(&mut bytes).put(&chain).put(&rng).put(&tuner).finish()?;
//!     }
//!     tuner.observe(&chain.step(&Langevin::adjusted(tuner.parameter())?, &mut rng));
//! }
//!
//! let (mut again, mut rng, mut other) = start(2)?; // after a reset
//! let mut reader = Reader::new(&bytes)?; // refuses what is torn, altered or of another version
//! reader.get(&mut again)?.get(&mut rng)?.get(&mut other)?.finish()?;
//! for _ in 100..200 {
//!     other.observe(&again.step(&Langevin::adjusted(other.parameter())?, &mut rng));
//! }
//! assert_eq!(again.state(), chain.state());
//! assert_eq!(other, tuner);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//! All numbers are little-endian; floats are their bits.
//! ```text
//! "bmcs"   u32 version   u32 n   n bytes: the parts, in the order they were put   u32 CRC-32 of all before
//! ```
//! A part begins with a name of four letters; a list with its length. Models, samplers' parameters and whatever can be computed
//! again (caches, weights, gradients) are not in it. Make them as before, load, and the run goes on bit for bit. A [`Same`] put
//! first refuses the snapshot of another model.
//!
//! CRC-32 sees every altered bit, every two, and every burst of up to 32; of other damage it misses one in
//! 2³². What passes it is checked once more where it is loaded, so that no bytes whatever make a step panic or
//! a state illegal.
//!
//! On flash, write snapshots to two places in turn: power that is lost while one is written leaves the other.

mod error;
mod values;

pub use error::SnapshotError;
pub use values::Same;
pub(crate) use values::{data_and_list, lists};

/// The version of the layout that this crate writes and reads.
pub const VERSION: u32 = 1;

/// Bytes of a snapshot beside its parts.
pub const FRAME: usize = 16;

const MAGIC: [u8; 4] = *b"bmcs";
const HEADER: usize = 12;

/// What can be put into a snapshot and taken out of one.
pub trait Snapshot {
    /// Writes all that changes.
    fn save(&self, to: &mut Writer<'_>);

    /// Goes on from what [`Snapshot::save`] wrote, bit for bit. What is refused leaves `self` as it was, except
    /// where a type says otherwise.
    ///
    /// # Errors
    /// [`SnapshotError`] where the next part is another one, has other lengths, or is illegal.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError>;
}

/// What takes at most so many bytes in every snapshot. A page of flash or a static buffer is sized by constants, [`FRAME`] and
/// the lengths of all parts. Parts whose length depends on a model have a function `snapshot_len`, constant too.
///
/// ```
/// use bitmc::snapshot::{FRAME, BoundedSnapshot, Writer};
/// use bitmc::stats::{Acceptance, Means};
/// use bitmc::{Bernoulli, Chain, LaneRng, Layout, SeedableRng, chain, memory};
/// const L: Layout = Layout::binary(40);
/// const BYTES: usize = FRAME + chain::snapshot_len(L) + <(LaneRng, Means<[u32; 40]>, Acceptance)>::LEN;
/// let model = Bernoulli::new(&[0.3; 40]).ok_or("no sites")?;
/// let mut rng = LaneRng::seed_from_u64(1);
/// let chain = Chain::random(&model, memory!(L, 0), &mut rng)?;
/// let observers = (rng, Means::new([0; 40]), Acceptance::new());
/// assert_eq!(Writer::new(&mut [0; BYTES]).put(&chain).put(&observers).finish()?, BYTES);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait BoundedSnapshot: Snapshot {
    /// Bytes in a snapshot. An `Option` takes as many only where it is `Some`; all other parts take as many always.
    const LEN: usize;
}

/// The bytes of a field.
pub(crate) const fn field_len<S, T: BoundedSnapshot>(_: fn(&S) -> &T) -> usize {
    T::LEN
}

/// The bytes of a list of so many elements of so many bytes.
pub(crate) const fn list_len(elements: usize, bytes: usize) -> usize {
    elements.saturating_mul(bytes).saturating_add(4)
}

/// Writes a snapshot, part by part.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// A snapshot at the beginning of `out`. A buffer that is short, even an empty one, finds out what is
    /// needed: [`Writer::need`].
    pub fn new(out: &'a mut [u8]) -> Self {
        let mut writer = Self { out, at: 0 };
        writer.bytes(&MAGIC);
        writer.bytes(&VERSION.to_le_bytes());
        writer.bytes(&[0; 4]);
        writer
    }

    /// Adds a part.
    pub fn put<S: Snapshot + ?Sized>(mut self, part: &S) -> Self {
        part.save(&mut self);
        self
    }

    /// Bytes of a snapshot of the parts so far.
    #[must_use]
    pub fn need(&self) -> usize {
        self.at + FRAME - HEADER
    }

    /// Seals the snapshot; its bytes are the first so many of the buffer.
    ///
    /// # Errors
    /// [`SnapshotError::Memory`] where the buffer is short.
    pub fn finish(mut self) -> Result<usize, SnapshotError> {
        let need = self.need();
        let memory = SnapshotError::Memory { need, got: self.out.len() };
        let parts = u32::try_from(self.at - HEADER).map_err(|_| memory)?;
        if self.out.len() < need {
            return Err(memory);
        }
        let end = core::mem::replace(&mut self.at, HEADER - 4);
        self.bytes(&parts.to_le_bytes());
        self.at = end;
        let sum = checksum(self.out.get(..end).unwrap_or_default());
        self.bytes(&sum.to_le_bytes());
        Ok(need)
    }

    /// Adds the name of a part.
    pub fn name(&mut self, name: [u8; 4]) {
        self.bytes(&name);
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(place) = self.out.get_mut(self.at..self.at.saturating_add(bytes.len())) {
            for (slot, &byte) in place.iter_mut().zip(bytes) {
                *slot = byte;
            }
        }
        self.at = self.at.saturating_add(bytes.len());
    }
}

/// Reads a snapshot, part by part. A copy reads on from the same place.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The snapshot at the beginning of `bytes`; bytes after its end are not looked at.
    ///
    /// # Errors
    /// [`SnapshotError`] where there is none, it is of another version, torn or altered: before any part is
    /// looked at.
    pub fn new(bytes: &'a [u8]) -> Result<Self, SnapshotError> {
        let torn = |need| SnapshotError::Torn { need, got: bytes.len() };
        let mut header = Self { left: bytes };
        if !bytes.starts_with(&MAGIC) {
            return Err(if bytes.len() < FRAME { torn(FRAME) } else { SnapshotError::NoSnapshot });
        }
        let word = |header: &mut Self| header.array().map(u32::from_le_bytes).map_err(|_| torn(FRAME));
        let (_, version, parts) = (word(&mut header)?, word(&mut header)?, word(&mut header)?);
        if version != VERSION {
            return Err(SnapshotError::Version { got: version });
        }
        let end = HEADER.saturating_add(parts as usize);
        let need = end.saturating_add(FRAME - HEADER);
        let (whole, mut rest) =
            bytes.split_at_checked(end).map_or((bytes, Self { left: &[] }), |(a, b)| (a, Self { left: b }));
        let sum = rest.array().map(u32::from_le_bytes).map_err(|_| torn(need))?;
        if sum != checksum(whole) {
            return Err(SnapshotError::Checksum);
        }
        Ok(Self { left: whole.get(HEADER..).unwrap_or_default() })
    }

    /// Takes the next part.
    ///
    /// # Errors
    /// As [`Snapshot::load`].
    pub fn get<S: Snapshot + ?Sized>(&mut self, part: &mut S) -> Result<&mut Self, SnapshotError> {
        part.load(self)?;
        Ok(self)
    }

    /// Ends it.
    ///
    /// # Errors
    /// [`SnapshotError::Rest`] where there are parts left.
    pub fn finish(self) -> Result<(), SnapshotError> {
        if self.left.is_empty() { Ok(()) } else { Err(SnapshotError::Rest { bytes: self.left.len() }) }
    }

    /// Takes the name of a part.
    ///
    /// # Errors
    /// [`SnapshotError::Part`] where it is another one.
    pub fn name(&mut self, name: [u8; 4]) -> Result<(), SnapshotError> {
        let got = self.array().map_err(|_| SnapshotError::Part { need: name, got: [0; 4] })?;
        if got == name { Ok(()) } else { Err(SnapshotError::Part { need: name, got }) }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`SnapshotError::Short`] where the parts have ended.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let (array, left) = self.left.split_first_chunk().ok_or(SnapshotError::Short)?;
        self.left = left;
        Ok(*array)
    }

    /// Takes a value.
    pub(crate) fn value<T: Snapshot + Default>(&mut self) -> Result<T, SnapshotError> {
        let mut value = T::default();
        value.load(self)?;
        Ok(value)
    }

    /// Takes a part of this name: all that is read of it, or nothing.
    pub(crate) fn part<T>(
        &mut self,
        name: [u8; 4],
        read: impl FnOnce(&mut Self) -> Result<T, SnapshotError>,
    ) -> Result<T, SnapshotError> {
        let mut at = *self;
        at.name(name)?;
        let part = read(&mut at)?;
        *self = at;
        Ok(part)
    }
}

/// CRC-32 as in IEEE 802.3.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(sum & 1)))
    })
}

/// [`Snapshot`] for plain data: its name, all its fields in order, and what makes it legal.
macro_rules! plain {
    ($type:ident $(<const $n:ident: usize>)?, $name:literal, { $($field:tt),+ $(,)? }, $legal:expr) => {
        impl $(<const $n: usize>)? $crate::snapshot::Snapshot for $type $(<$n>)? {
            fn save(&self, to: &mut $crate::snapshot::Writer<'_>) {
                to.name(*$name);
                $($crate::snapshot::Snapshot::save(&self.$field, to);)+
            }

            fn load(
                &mut self,
                from: &mut $crate::snapshot::Reader<'_>,
            ) -> Result<(), $crate::snapshot::SnapshotError> {
                let (mut next, mut at) = (self.clone(), *from);
                at.name(*$name)?;
                $($crate::snapshot::Snapshot::load(&mut next.$field, &mut at)?;)+
                let legal: fn(&Self) -> bool = $legal;
                if !legal(&next) {
                    return Err($crate::snapshot::SnapshotError::Value);
                }
                // All fields are here: one that is forgotten does not compile.
                let Self { $($field: _),+ } = next;
                (*self, *from) = (next, at);
                Ok(())
            }
        }

        impl $(<const $n: usize>)? $crate::snapshot::BoundedSnapshot for $type $(<$n>)? {
            const LEN: usize = 4 $(+ $crate::snapshot::field_len::<Self, _>(|kept| &kept.$field))+;
        }
    };
}
pub(crate) use plain;
