//! The extension of the Python package `bitmc`: models, runs and samples of bitmc-desktop, and chains that are told their
//! energies. Arrays are checked and shaped in Python; here they are flat.

mod chains;
mod kernels;
mod model;
mod runs;
mod samples;
mod second_order;

use bitmc_desktop::Error;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

#[pymodule]
mod _bitmc {
    #[pymodule_export]
    use super::level;
    #[pymodule_export]
    use crate::chains::Chains;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::runs::{anneal, log_z, sample};
    #[pymodule_export]
    use crate::samples::Samples;
}

/// The level of x86-64 whose build is to be loaded.
#[pyfunction]
pub(crate) fn level() -> u8 {
    bitmc_desktop::builds::level()
}

/// An error of a file is an `OSError`, any other one a `ValueError`, in the words of bitmc-desktop.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::File { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// What a caller did wrong.
pub(crate) fn wrong(reason: impl ToString) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// An answer as JSON, which Python makes a dict of.
pub(crate) fn json(answer: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(answer).map_err(wrong)
}
