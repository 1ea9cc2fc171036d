//! Runs one after another in a file: the traces of those that have ended, and the one under way with its chains.

use crate::chains::Moving;
use crate::checkpoint::Checkpoint;
use crate::cli::Failure;
use crate::trace::{Recording, Task, Trace};
use bitmc::Layout;
use bitmc::snapshot::{Reader, Snapshot, SnapshotError};

/// Records runs and keeps them, or takes them from where they were kept.
#[derive(Debug)]
pub struct Keeper<'c> {
    checkpoint: &'c Checkpoint,
    question: String,
    layout: Layout,
    ended: Vec<Trace>,
    /// Runs that had ended in the file to resume from.
    before: Vec<Trace>,
    /// Whether the run after those is in that file too.
    resumes: bool,
}

impl<'c> Keeper<'c> {
    /// For runs that answer `question`.
    ///
    /// # Errors
    /// As [`Checkpoint::resume`].
    pub fn new(checkpoint: &'c Checkpoint, question: String, layout: Layout) -> Result<Self, Failure> {
        let before = checkpoint.resume(&question, |mut reader| ended(&mut reader, layout))?;
        let resumes = before.is_some();
        let before = before.unwrap_or_default();
        Ok(Self { checkpoint, question, layout, ended: Vec::new(), before, resumes })
    }

    /// The next run, from where it stands.
    ///
    /// # Errors
    /// [`Failure::File`] where a file cannot be read or written, or is damaged.
    pub(super) fn record(&mut self, task: &Task<'_>, walkers: &mut [impl Moving]) -> Result<Trace, Failure> {
        let trace = match self.before.get(self.ended.len()) {
            Some(trace) => {
                task.progress.advance(task.steps * walkers.len() as u64);
                trace.clone()
            }
            None => self.go_on(task, walkers)?,
        };
        self.ended.push(trace.clone());
        Ok(trace)
    }

    fn go_on(&mut self, task: &Task<'_>, walkers: &mut [impl Moving]) -> Result<Trace, Failure> {
        let mut recording = Recording::default();
        // Once: the first run that is not in the file as a trace.
        if std::mem::take(&mut self.resumes) {
            self.checkpoint.resume(&self.question, |mut reader| {
                ended(&mut reader, self.layout)?;
                reader.get(&mut recording)?;
                for walker in walkers.iter_mut() {
                    reader.get(walker)?;
                }
                reader.finish()
            })?;
        }
        task.run(walkers, recording, self.checkpoint.every(), |recording, walkers| {
            let count = self.ended.len() as u32;
            let mut parts: Vec<&dyn Snapshot> = vec![&count];
            parts.extend(self.ended.iter().map(|trace| trace as &dyn Snapshot));
            parts.push(recording);
            parts.extend(walkers.iter().map(|walker| walker as &dyn Snapshot));
            self.checkpoint.keep(&self.question, &parts)
        })
    }
}

/// The runs that had ended, which a file begins with.
fn ended(reader: &mut Reader<'_>, layout: Layout) -> Result<Vec<Trace>, SnapshotError> {
    let mut count = 0u32;
    reader.get(&mut count)?;
    let mut traces = Vec::new();
    for _ in 0..count {
        let mut trace = Trace::empty(layout);
        reader.get(&mut trace)?;
        traces.push(trace);
    }
    Ok(traces)
}
