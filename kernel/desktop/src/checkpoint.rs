//! Long runs that survive being killed at any moment: a file that is always whole.

use crate::Error;
use crate::files;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use std::path::PathBuf;

/// The words of an example that can be stopped; it flattens them into its own options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct Checkpoint {
    /// File that keeps the run: it goes on from there, bit for bit, with --resume
    #[cfg_attr(feature = "command", arg(long, value_name = "FILE"))]
    checkpoint: Option<PathBuf>,

    /// Steps of each chain between two writings of that file
    #[cfg_attr(feature = "command", arg(long, value_name = "N", default_value_t = 200, requires = "checkpoint",
        value_parser = clap::value_parser!(u64).range(1..)))]
    every: u64,

    /// Go on from the file of a run with the same options
    #[cfg_attr(feature = "command", arg(long, value_name = "FILE"))]
    resume: Option<PathBuf>,
}

impl Checkpoint {
    /// A file that is written every so many steps, and from which `resume` goes on if there is one.
    #[must_use]
    pub fn at(path: PathBuf, every: u64, resume: bool) -> Self {
        let resume = (resume && path.exists()).then(|| path.clone());
        Self { checkpoint: Some(path), every, resume }
    }

    /// Steps between two writings.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Looks whether the file can be written.
    ///
    /// # Errors
    /// [`Error::File`] where the system refuses.
    pub fn check(&self) -> Result<(), Error> {
        self.checkpoint.as_deref().map_or(Ok(()), files::writable)
    }

    /// Writes the parts of a run that answers `question`, its options between semicolons. The file is written under
    /// another name, synced, then renamed. So there is a whole file whenever the run is killed.
    ///
    /// # Errors
    /// [`Error::File`] where the system refuses.
    pub fn keep(&self, question: &str, parts: &[&dyn Snapshot]) -> Result<(), Error> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let question = Question(question.into());
        let write = |out: &mut [u8]| {
            parts.iter().fold(Writer::new(out).put(&question), |writer, &part| writer.put(part)).finish()
        };
        let mut bytes = match write(&mut []) {
            Err(SnapshotError::Memory { need, .. }) => vec![0; need],
            _ => Vec::new(),
        };
        write(&mut bytes).map_err(|error| Error::file(path, error))?;
        files::write(path, &bytes)
    }

    /// Lets `load` take the parts of the file to resume from, where there is one; it finishes the reader if it takes
    /// them all.
    ///
    /// # Errors
    /// [`Error::File`] where it cannot be read, is damaged, or is of a run with other options.
    pub fn resume<T>(
        &self,
        question: &str,
        load: impl FnOnce(Reader<'_>) -> Result<T, SnapshotError>,
    ) -> Result<Option<T>, Error> {
        let Some(path) = &self.resume else { return Ok(None) };
        let bytes = files::read(path)?;
        let bad = |error| match error {
            SnapshotError::Torn { got: 0, .. } => Error::file(path, "empty, no checkpoint"),
            SnapshotError::Torn { need, got } => {
                Error::file(path, format!("cut short: {got} bytes are here of at least {need}"))
            }
            SnapshotError::NoSnapshot => Error::file(path, "not a checkpoint"),
            error => Error::file(path, error),
        };
        let mut reader = Reader::new(&bytes).map_err(bad)?;
        let mut kept = Question::default();
        reader.get(&mut kept).map_err(bad)?;
        if kept.0 != question {
            return Err(Error::file(path, kept.differs(question)));
        }
        load(reader).map(Some).map_err(bad)
    }
}

/// What a run answers: its options, separated by semicolons.
#[derive(Default)]
struct Question(String);

impl Question {
    /// The options in which another question differs.
    fn differs(&self, other: &str) -> String {
        format!("the run had other options: {}", differing(&self.0, other))
    }
}

/// Where two questions differ.
pub(crate) fn differing(there: &str, here: &str) -> String {
    let (there, here): (Vec<&str>, Vec<&str>) = (there.split("; ").collect(), here.split("; ").collect());
    if there.len() != here.len() {
        return format!("it names {}, and this version {}", there.len(), here.len());
    }
    let pairs = there.iter().zip(&here).filter(|(there, here)| there != here);
    let pairs: Vec<String> = pairs.map(|(there, here)| format!("{there}, not {here}")).collect();
    pairs.join("; ")
}

impl Snapshot for Question {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"ques");
        (self.0.len() as u32).save(to);
        to.bytes(self.0.as_bytes());
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let (mut at, mut length) = (*from, 0u32);
        at.name(*b"ques")?;
        at.get(&mut length)?;
        let bytes: Result<Vec<u8>, SnapshotError> =
            (0..length).map(|_| at.array().map(|[byte]| byte)).collect();
        self.0 = String::from_utf8(bytes?).map_err(|_| SnapshotError::Value)?;
        *from = at;
        Ok(())
    }
}

/// FNV-1a over the bytes of a text.
#[must_use]
pub fn hash(text: &str) -> u64 {
    let mut hash = Fnv::new();
    hash.add(text.as_bytes());
    hash.finish()
}

/// FNV-1a, bytes after bytes.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0 =
            bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3));
    }

    pub(crate) fn add_words(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.add(&word.to_le_bytes()));
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

impl std::fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}
