//! What a run gives back.

use crate::{json, raised, wrong};
use bitmc_desktop::Samples as Inner;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

/// States, energies and what was done to draw them.
#[pyclass(frozen, module = "bitmc._bitmc")]
#[derive(Debug)]
pub(crate) struct Samples {
    pub(crate) inner: Inner,
}

/// Values as an array of bytes, or of sixteen bits where there are more than 256 of a site.
pub(crate) fn states(py: Python<'_>, arity: usize, values: Vec<u16>) -> PyResult<Bound<'_, PyAny>> {
    if arity > 256 {
        return Ok(values.into_pyarray(py).into_any());
    }
    Ok(values.into_iter().map(|value| value as u8).collect::<Vec<_>>().into_pyarray(py).into_any())
}

#[pymethods]
impl Samples {
    /// Chains, draws and sites.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        (self.inner.chains(), self.inner.draws(), self.inner.sites())
    }

    /// The values of all sites, `(chain, draw, site)`.
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.shape();
        let bytes = py.detach(|| self.inner.values());
        match bytes {
            Some(bytes) => Ok(bytes.into_pyarray(py).reshape([shape.0, shape.1, shape.2])?.into_any()),
            None => {
                let wide = py.detach(|| self.inner.wide_values());
                Ok(wide.into_pyarray(py).reshape([shape.0, shape.1, shape.2])?.into_any())
            }
        }
    }

    /// E of every draw at temperature 1, `(chain, draw)`.
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (chains, draws, _) = self.shape();
        let energies: Vec<f64> = (0..chains).flat_map(|chain| self.inner.energies(chain)).collect();
        energies.into_pyarray(py).reshape([chains, draws])
    }

    /// The mean value of every site.
    fn means<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        py.detach(|| self.inner.means()).into_pyarray(py).into_any()
    }

    /// What was tried, what was chosen, and how long it took.
    fn report(&self) -> PyResult<String> {
        #[derive(Serialize)]
        struct Told<'a> {
            #[serde(flatten)]
            report: &'a bitmc_desktop::Report,
            seconds: serde_json::Value,
        }
        let seconds = self.inner.seconds();
        let seconds = json!({ "choice": seconds.choice, "warmup": seconds.warmup, "draws": seconds.draws });
        json(&Told { report: self.inner.report(), seconds })
    }

    /// The diagnostics: JSON, the first rows of a table, and a warning.
    fn summary(&self, py: Python<'_>, rows: usize) -> PyResult<(String, String, Option<String>)> {
        if self.inner.is_empty() {
            return Err(wrong("summary: no draw was made"));
        }
        let summary = py.detach(|| self.inner.summary());
        Ok((json(&summary)?, summary.table(rows), summary.warning()))
    }

    /// A warning at the end of a run.
    fn warning(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| if self.inner.is_empty() { None } else { self.inner.warning() })
    }

    /// The different states of lowest energy.
    fn best(&self, py: Python<'_>, most: usize) -> PyResult<String> {
        json(&py.detach(|| self.inner.best(most)))
    }

    /// Writes the archive that `bitmc sample --save` writes.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(path)).map_err(raised)
    }
}
