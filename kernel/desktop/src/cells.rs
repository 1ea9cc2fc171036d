//! The parts of a long comparison, each kept in a file of its own as it ends.

use crate::Error;
use crate::checkpoint::hash;
use crate::files;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An answer in a file, with its question, and a hash by which an answer that was altered is known.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    question: String,
    hash: String,
    answer: T,
}

/// Writes an answer.
pub fn write<T: Serialize>(path: &Path, question: &str, answer: &T) -> Result<(), Error> {
    files::json(path, &Saved { question: question.into(), hash: hash_of(path, answer)?, answer })
}

/// Reads an answer, if there is a whole one to this question.
pub fn read<T: Serialize + DeserializeOwned>(
    path: &Path,
    question: &str,
    check: impl FnOnce(&T) -> Result<(), String>,
) -> Result<Option<T>, Error> {
    let saved = files::read(path).ok().and_then(|bytes| serde_json::from_slice::<Saved<T>>(&bytes).ok());
    let Some(Saved { hash, answer, .. }) = saved.filter(|saved| saved.question == question) else {
        return Ok(None);
    };
    let altered = |reason| Error::file(path, format!("altered: {reason}"));
    check(&answer).map_err(altered)?;
    if hash_of(path, &answer)? != hash {
        return Err(altered("its answer has another hash; without the file it is made again".into()));
    }
    Ok(Some(answer))
}

/// The name of the file of an answer: with the hash of its question, so that another question has another file.
pub fn file_name(stem: &str, question: &str) -> String {
    format!("{stem}.{:016x}", hash(question))
}

fn hash_of<T: Serialize>(path: &Path, answer: &T) -> Result<String, Error> {
    let text = serde_json::to_string(answer).map_err(|error| Error::file(path, error))?;
    Ok(format!("{:016x}", hash(&text)))
}

/// A folder of cells: a run that was stopped takes those that are there and makes the others. Cells of other
/// questions stay beside them.
#[derive(Clone, Debug)]
pub struct Cells {
    folder: PathBuf,
    resume: bool,
}

impl Cells {
    /// The folder `cells` in `out`. Without `resume` nothing that is there counts.
    ///
    /// # Errors
    /// [`Error::File`] where there can be no such folder.
    pub fn new(out: &Path, resume: bool) -> Result<Self, Error> {
        files::make_folder(out)?;
        let folder = out.join("cells");
        files::make_folder(&folder)?;
        Ok(Self { folder, resume })
    }

    /// The answer to a question: the one kept under this name if it answers the same question, or one made now and kept. The
    /// question is whatever the answer depends on.
    ///
    /// # Errors
    /// That of `make`, and [`Error::File`] where the answer cannot be written, or one that is kept was altered.
    pub fn answer<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        question: &str,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.checked(name, question, |_| Ok(()), make)
    }

    /// The same, where `check` says what a kept answer contradicts.
    ///
    /// # Errors
    /// As [`Cells::answer`].
    pub fn checked<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        question: &str,
        check: impl FnOnce(&T) -> Result<(), String>,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let question = format!("bitmc {}: {name}, {question}", env!("CARGO_PKG_VERSION"));
        let path = self.folder.join(file_name(&plain, &question) + ".json");
        if self.resume
            && let Some(answer) = read(&path, &question, check)?
        {
            return Ok(answer);
        }
        let answer = make()?;
        write(&path, &question, &answer)?;
        Ok(answer)
    }
}
