//! Long runs that survive being killed at any moment: a file that is always whole.

use crate::cli::Failure;
use crate::report;
use bitmc::snapshot::{Reader, Same, Snapshot, SnapshotError, Writer};
use clap::Args;
use std::path::PathBuf;

/// The words of an example that can be stopped; it flattens them into its own options.
#[derive(Args, Clone, Debug)]
pub struct Checkpoint {
    /// File that keeps the run: it goes on from there, bit for bit, with --resume
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Steps of each chain between two writings of that file
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// Go on from the file of a run with the same options
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl Checkpoint {
    /// Steps between two writings.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Writes the parts of a run that answers `question`: under another name, synced, then renamed, so that
    /// there is a whole file whenever the run is killed.
    ///
    /// # Errors
    /// [`Failure::File`] where the system refuses.
    pub fn keep(&self, question: &str, parts: &[&dyn Snapshot]) -> Result<(), Failure> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let same = Same(hash(question));
        let write = |out: &mut [u8]| {
            parts.iter().fold(Writer::new(out).put(&same), |writer, &part| writer.put(part)).finish()
        };
        let mut bytes = match write(&mut []) {
            Err(SnapshotError::Memory { need, .. }) => vec![0; need],
            _ => Vec::new(),
        };
        write(&mut bytes).map_err(|error| Failure::file(path, error))?;
        report::write(path, &bytes)
    }

    /// Lets `load` take the parts of the file to resume from, where there is one; it finishes the reader if it takes
    /// them all.
    ///
    /// # Errors
    /// [`Failure::File`] where it cannot be read, is damaged, or is of a run with other options.
    pub fn resume<T>(
        &self,
        question: &str,
        load: impl FnOnce(Reader<'_>) -> Result<T, SnapshotError>,
    ) -> Result<Option<T>, Failure> {
        let Some(path) = &self.resume else { return Ok(None) };
        let bytes = report::read(path)?;
        let read = || {
            let mut reader = Reader::new(&bytes)?;
            reader.get(&mut Same(hash(question)))?;
            load(reader)
        };
        read().map(Some).map_err(|error| match error {
            SnapshotError::Other => Failure::file(path, "the run had other options"),
            error => Failure::file(path, error),
        })
    }
}

/// FNV-1a over the bytes of a text.
#[must_use]
pub fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
