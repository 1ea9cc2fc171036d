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

/// The level of x86-64 that the processor has, of those that there are builds for: 4, 3, or 1 for any other processor.
#[pyfunction]
pub(crate) fn level() -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let third = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe");
        let fourth = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (third, fourth) {
            (true, true) => 4,
            (true, false) => 3,
            _ => 1,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    1
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
