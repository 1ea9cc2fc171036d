//! The parts of a long comparison, each kept in a file of its own as it ends.

use crate::cli::Failure;
use crate::report;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An answer in a file, with its question.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    question: String,
    answer: T,
}

/// A folder of cells: a run that was stopped takes those that are there and makes the others.
#[derive(Clone, Debug)]
pub struct Cells {
    folder: PathBuf,
    resume: bool,
}

impl Cells {
    /// The folder `cells` in `out`. Without `resume` nothing that stands there counts.
    ///
    /// # Errors
    /// [`Failure::File`] where there can be no such folder.
    pub fn new(out: &Path, resume: bool) -> Result<Self, Failure> {
        let folder = out.join("cells");
        report::make_folder(&folder)?;
        Ok(Self { folder, resume })
    }

    /// The answer to a question: the one that is kept under this name if it answers the same, or one that is made
    /// now and kept. The question is whatever the answer depends on.
    ///
    /// # Errors
    /// That of `make`, and [`Failure::File`] where the answer cannot be written.
    pub fn answer<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        question: &str,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.checked(name, question, |_| Ok(()), make)
    }

    /// The same, where `check` says what a kept answer contradicts.
    ///
    /// # Errors
    /// As [`Cells::answer`], and [`Failure::File`] where the answer that is kept has been altered.
    pub fn checked<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        question: &str,
        check: impl FnOnce(&T) -> Result<(), String>,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let path = self.folder.join(format!("{plain}.json"));
        let question = format!("bitmc {}: {name}, {question}", env!("CARGO_PKG_VERSION"));
        let kept = || -> Option<T> {
            let saved: Saved<T> = serde_json::from_slice(&report::read(&path).ok()?).ok()?;
            (saved.question == question).then_some(saved.answer)
        };
        if let Some(answer) = self.resume.then(kept).flatten() {
            let altered = |reason| Failure::file(&path, format!("altered: {reason}"));
            return check(&answer).map_err(altered).map(|()| answer);
        }
        let answer = make()?;
        report::json(&path, &Saved { question, answer: &answer })?;
        Ok(answer)
    }
}
