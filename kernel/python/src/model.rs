//! Models from flat arrays.

use crate::{raised, wrong};
use bitmc::energy::Edge;
use bitmc_desktop::Model as Inner;
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What is sampled. It owns its numbers, and has been checked.
#[pyclass(frozen, module = "bitmc._bitmc")]
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) inner: Inner,
}

type Floats<'py> = PyReadonlyArray1<'py, f32>;
type Sites<'py> = PyReadonlyArray1<'py, u32>;
/// Sites and weights of a table, or of a term.
type Table<'py> = (Sites<'py>, PyReadonlyArray1<'py, f64>);

fn edges(a: &Sites<'_>, b: &Sites<'_>, weights: &Floats<'_>) -> PyResult<Vec<Edge>> {
    let (a, b, weights) = (a.as_slice()?, b.as_slice()?, weights.as_slice()?);
    if a.len() != b.len() || a.len() != weights.len() {
        return Err(wrong("edges: one weight for each pair of sites is needed"));
    }
    Ok(a.iter().zip(b).zip(weights).map(|((&a, &b), &weight)| (a, b, weight)).collect())
}

fn made(py: Python<'_>, make: impl FnOnce() -> Result<Inner, bitmc_desktop::Error> + Send) -> PyResult<Model> {
    py.detach(make).map(|inner| Model { inner }).map_err(raised)
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn ising(
        py: Python<'_>,
        sites: usize,
        a: Sites<'_>,
        b: Sites<'_>,
        weights: Floats<'_>,
        fields: Floats<'_>,
        lost: f64,
    ) -> PyResult<Self> {
        let (edges, fields) = (edges(&a, &b, &weights)?, fields.as_slice()?);
        made(py, || Ok(Inner::ising(sites, &edges, fields)?.with_rounding(lost)))
    }

    #[staticmethod]
    fn qubo(
        py: Python<'_>,
        sites: usize,
        a: Sites<'_>,
        b: Sites<'_>,
        weights: Floats<'_>,
        linear: Floats<'_>,
        lost: f64,
    ) -> PyResult<Self> {
        let (edges, linear) = (edges(&a, &b, &weights)?, linear.as_slice()?);
        made(py, || Ok(Inner::qubo(sites, &edges, linear)?.with_rounding(lost)))
    }

    #[staticmethod]
    fn potts(
        py: Python<'_>,
        sites: usize,
        arity: usize,
        a: Sites<'_>,
        b: Sites<'_>,
        weights: Floats<'_>,
        fields: Floats<'_>,
        lost: f64,
    ) -> PyResult<Self> {
        let (edges, fields) = (edges(&a, &b, &weights)?, fields.as_slice()?);
        made(py, || Ok(Inner::potts(sites, arity, &edges, fields)?.with_rounding(lost)))
    }

    #[staticmethod]
    fn gaussian(
        py: Python<'_>,
        arity: usize,
        a: Sites<'_>,
        b: Sites<'_>,
        weights: Floats<'_>,
        diagonal: Floats<'_>,
        centre: Floats<'_>,
    ) -> PyResult<Self> {
        let (edges, diagonal, centre) = (edges(&a, &b, &weights)?, diagonal.as_slice()?, centre.as_slice()?);
        made(py, || Inner::gaussian(arity, &edges, diagonal, centre))
    }

    #[staticmethod]
    fn rbm(
        py: Python<'_>,
        weights: Floats<'_>,
        visible: Floats<'_>,
        hidden: Floats<'_>,
        lost: f64,
    ) -> PyResult<Self> {
        let (weights, visible, hidden) = (weights.as_slice()?, visible.as_slice()?, hidden.as_slice()?);
        made(py, || Ok(Inner::rbm(weights, visible, hidden)?.with_rounding(lost)))
    }

    #[staticmethod]
    fn logistic(
        py: Python<'_>,
        design: Floats<'_>,
        outcomes: PyReadonlyArray1<'_, bool>,
        prior: Floats<'_>,
    ) -> PyResult<Self> {
        let (design, outcomes, prior) = (design.as_slice()?, outcomes.as_slice()?, prior.as_slice()?);
        made(py, || Inner::logistic(design, outcomes, prior))
    }

    #[staticmethod]
    fn factors(py: Python<'_>, arities: PyReadonlyArray1<'_, u16>, tables: Vec<Table<'_>>) -> PyResult<Self> {
        let arities = arities.as_slice()?;
        let table = |(sites, weights): &Table<'_>| Ok((sites.to_vec()?, weights.to_vec()?));
        let tables = tables.iter().map(table).collect::<PyResult<Vec<(Vec<u32>, Vec<f64>)>>>()?;
        let tables: Vec<(&[u32], &[f64])> =
            tables.iter().map(|(sites, weights)| (&sites[..], &weights[..])).collect();
        made(py, || Inner::factors(arities, &tables))
    }

    #[staticmethod]
    fn polynomial(py: Python<'_>, spins: bool, sites: usize, terms: Vec<(Vec<u32>, f64)>) -> PyResult<Self> {
        let terms: Vec<(&[u32], f64)> = terms.iter().map(|(sites, weight)| (&sites[..], *weight)).collect();
        made(py, || {
            if spins { Inner::polynomial_spins(sites, &terms) } else { Inner::polynomial_bits(sites, &terms) }
        })
    }

    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        made(py, || Inner::read(&path))
    }

    /// The same model with sites that hold known values.
    fn given(&self, known: Vec<(usize, u32)>) -> PyResult<Self> {
        let inner = self.inner.clone().given(&known).map_err(raised)?;
        Ok(Self { inner })
    }

    /// How many sites there are.
    #[getter]
    fn sites(&self) -> usize {
        self.inner.sites()
    }

    /// What kind of model it is.
    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    /// How many values each site has.
    #[getter]
    fn arities(&self) -> Vec<usize> {
        (0..self.inner.sites()).map(|site| self.inner.arity_of(site)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<bitmc.Model: {}>", self.inner.info())
    }
}
