//! Decides again about pods that are on nodes.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::engine::Engine;
use crate::tuples;

/// Decide about pods on nodes, each as if it were not there. Nothing comes of it.
#[pyfunction]
pub(crate) fn decide_again<'py>(
    py: Python<'py>,
    engine: &Engine,
    uids: Vec<String>,
    now_ns: i64,
) -> PyResult<Bound<'py, PyList>> {
    let uids: Vec<Arc<str>> = uids.into_iter().map(Into::into).collect();
    let decisions = engine.ask(py, |held| held.core.decide_again(&uids, now_ns))?;
    tuples::decisions(py, &decisions)
}
