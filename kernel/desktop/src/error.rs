//! Why something cannot be done, in one line.

use std::path::{Path, PathBuf};

/// Why a model, a run or a file is refused. Its text is one line: what is wrong, where, and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has an illegal value. The command exits with 2, as for an option that does not exist.
    #[error("{0}")]
    Option(String),
    /// A model that cannot be sampled: the kernel's own reason.
    #[error("{0}")]
    Model(String),
    /// A run over [ranks](crate::Ranks) ended on another rank, or the ranks could not talk to each other.
    #[error("{0}")]
    Ranks(String),
    /// A file cannot be read or written, or is not what it should be. The command exits with 1.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// An option that asks for what cannot be.
    pub fn option(reason: impl ToString) -> Self {
        Self::Option(reason.to_string())
    }

    /// A model that is refused.
    pub fn model(reason: impl ToString) -> Self {
        Self::Model(reason.to_string())
    }

    /// A model whose terms are over too many sites for clusters between replicas.
    pub(crate) fn no_clusters() -> Self {
        Self::model("isoenergetic moves: only models of terms over few sites have clusters")
    }

    /// A file and what is wrong with it.
    pub fn file(path: &Path, reason: impl ToString) -> Self {
        Self::File { path: path.to_path_buf(), reason: reason.to_string() }
    }
}

/// A model, a state or a number that the kernel refuses, with its own words.
macro_rules! of_the_kernel {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::model(error)
            }
        })*
    };
}

of_the_kernel!(
    bitmc::ChainError,
    bitmc::OpenError,
    bitmc::StateError,
    bitmc::energy::PathError,
    bitmc::energy::PerceptronError,
    bitmc::energy::RbmError,
    bitmc::energy::SparseError,
    bitmc::learn::LearnError,
    bitmc::learn::RateError,
    bitmc::noise::NoiseError,
    bitmc::step::ParameterError,
    bitmc::temper::AnnealError,
    bitmc::tune::TuneError,
);
