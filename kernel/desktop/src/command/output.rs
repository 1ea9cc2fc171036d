//! The words that every subcommand takes, and how it tells its answer.

use bitmc_desktop::files::{self, tell};
use bitmc_desktop::{Cancel, Error, Model};
use clap::Args;
use serde::{Serialize, Serializer};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file and the words for all.
#[derive(Args, Debug, Serialize)]
pub(crate) struct Input {
    /// The model (bitmc --help lists the formats)
    #[serde(serialize_with = "lossy")]
    pub(crate) file: PathBuf,

    /// Values that are known, of a .uai file, in the UAI format for evidence: pairs of a site, counted from 0, and its value
    /// [default: FILE.uai.evid or FILE.evid beside it, where there is one]
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "lossy_if")]
    pub(crate) given: Option<PathBuf>,
}

/// How the answer is told.
#[derive(Args, Debug, Serialize)]
pub(crate) struct Output {
    /// The answer as JSON on standard output
    #[arg(long)]
    #[serde(skip)]
    pub(crate) json: bool,

    /// No progress bar
    #[arg(long)]
    #[serde(skip)]
    pub(crate) quiet: bool,

    /// Overwrite files that are there
    #[arg(long)]
    #[serde(skip)]
    pub(crate) force: bool,
}

impl Input {
    /// Names the evidence that is taken where none was named, so that the answer tells of it.
    pub(crate) fn with_evidence(&mut self) {
        self.given = self.given.take().or_else(|| Model::evidence_beside(&self.file));
    }

    pub(crate) fn model(&self) -> Result<Model, Error> {
        match &self.given {
            Some(given) => Model::read_given(&self.file, given),
            None => Model::read(&self.file),
        }
    }
}

/// What is in front of every answer.
#[derive(Serialize)]
struct Answer<'a, O, T> {
    bitmc: &'static str,
    commit: &'static str,
    options: &'a O,
    #[serde(flatten)]
    answer: &'a T,
}

impl Output {
    /// Looks whether a file may be written, before the work that goes into it.
    pub(crate) fn may_write(&self, path: Option<&Path>) -> Result<(), Error> {
        let Some(path) = path else { return Ok(()) };
        if path.exists() && !self.force {
            return Err(Error::file(path, "the file is there; --force overwrites it"));
        }
        files::writable(path)
    }

    /// Tells the answer: as JSON, or as text below a line that names what it answers.
    pub(crate) fn tell<O: Serialize, T: Serialize>(
        &self,
        options: &O,
        answer: &T,
        text: &str,
    ) -> Result<(), Error> {
        let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BITMC_COMMIT"));
        if self.json {
            let answer = Answer { bitmc: version, commit, options, answer };
            tell(&serde_json::to_string_pretty(&answer).map_err(Error::option)?)
        } else {
            let options = serde_json::to_value(options).map_err(Error::option)?;
            tell(&format!("bitmc {version}, commit {commit}: {}\n\n{text}", words(&options)))
        }
    }
}

/// The same for all names of a file, whether it is there or not.
pub(crate) fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(named).unwrap_or_else(|| path.to_path_buf())
}

/// The last line of an answer that was saved.
pub(crate) fn said(path: &Option<PathBuf>, saved: &Result<(), Error>) -> String {
    let path = path.as_ref().filter(|_| saved.is_ok());
    path.map_or(String::new(), |path| format!("\n\nSaved: {}", path.display()))
}

/// Tells a warning. A reader that has gone away is no failure.
pub(crate) fn warn(warning: &Option<String>) {
    if let Some(warning) = warning {
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
}

/// Options as a person reads them.
fn words(options: &serde_json::Value) -> String {
    let plain = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_string);
    let fields = options.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let fields: Vec<String> =
        fields.map(|(name, value)| format!("{} {}", name.replace('_', "-"), plain(value))).collect();
    fields.join(", ")
}

/// Cancelled by Ctrl-C: the first one ends the run with what there is, the second one the program.
pub(crate) fn on_interrupt() -> Cancel {
    let cancel = Cancel::new();
    let hand = cancel.clone();
    // Where there can be no handler, the system's stays.
    let _ = ctrlc::set_handler(move || {
        if hand.is_cancelled() {
            std::process::exit(130);
        }
        hand.cancel();
    });
    cancel
}

/// A number of 32 bits as it was written: .3, not .30000001192092896.
pub(crate) fn written<S: Serializer>(
    number: &(impl Copy + Into<Option<f32>>),
    to: S,
) -> Result<S::Ok, S::Error> {
    let number: Option<f32> = (*number).into();
    number.map(|number| number.to_string().parse().unwrap_or(f64::from(number))).serialize(to)
}

/// A name as text. In JSON there are no other bytes.
pub(crate) fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(to)
}

pub(crate) fn lossy_if<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(to)
}

/// A number that a person reads.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |value| format!("{value:.digits$}"))
}
