//! The Python class `PodResources`: samples of `/metrics/resources`, page by page, without the engine.

use kpolicy_engine::engine::{self, Amount};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::detached;

/// The pods of one moment.
#[pyclass(frozen, module = "kpolicy._engine")]
pub struct PodResources(engine::PodResources);

impl PodResources {
    pub(crate) fn new(pods: engine::PodResources) -> Self {
        Self(pods)
    }

    fn page<'py>(
        &self,
        py: Python<'py>,
        amount: Amount,
        page: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let lines = detached(py, || Ok(self.0.page(amount, page)))?;
        Ok(lines.map(|lines| PyBytes::new(py, lines.as_bytes())))
    }
}

#[pymethods]
impl PodResources {
    /// The samples of the requests of a page of pods; `None` after the last page.
    fn requests<'py>(&self, py: Python<'py>, page: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.page(py, Amount::Request, page)
    }

    /// As `requests`, of their limits.
    fn limits<'py>(&self, py: Python<'py>, page: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.page(py, Amount::Limit, page)
    }
}
