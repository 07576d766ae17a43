//! Advice on pods: what would place them, and why they are where they are.

use kpolicy_engine::engine::AdviceAsked;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments;
use crate::engine::Engine;

/// `{"pods": ["ns/name", …]}`, or `{"namespace", "group"}` for all pending ones there, and `limit`, to
/// JSON lines.
#[pyfunction]
pub(crate) fn advise<'py>(
    py: Python<'py>,
    engine: &Engine,
    request: &[u8],
    now_ns: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let asked: AdviceAsked = arguments::advice_asked(request)?;
    let lines = engine.ask_at(py, now_ns, |held| held.core.advise(&asked))?;
    Ok(PyBytes::new(py, &lines))
}
