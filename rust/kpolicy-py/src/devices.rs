//! Claims on devices: answers to their writes, and the selectors that come with them.

use kpolicy_codec::{Keep, watch};
use kpolicy_engine::api::Applied;
use kpolicy_engine::model::Event;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;

use crate::engine::Engine;
use crate::{arguments, tuples};

/// The answer to a write of ours, as a line of a watch: the object as the API server has it now. An
/// older state of it that the watch still brings changes nothing.
#[pyfunction]
pub(crate) fn wrote<'py>(
    py: Python<'py>,
    engine: &Engine,
    resource: &str,
    line: &[u8],
) -> PyResult<Bound<'py, PyTuple>> {
    let kind = arguments::kind(resource)?;
    let (feed, applied) = engine.ask(py, |held| {
        let mut applied = Applied::default();
        let feed = watch::lines(line, kind, Keep(None), &mut |event| {
            if let Event::Present(object) = event {
                held.core.wrote(object, &mut applied);
            }
        });
        (feed, applied)
    })?;
    tuples::applied(py, &feed, &applied)
}

/// Texts of selectors of devices that are to be compiled before the next decision.
#[pyfunction]
pub(crate) fn wanted_selectors(py: Python<'_>, engine: &Engine) -> PyResult<Vec<String>> {
    engine.ask(py, |held| held.core.wanted_selectors())
}

/// What these texts compile to: (text, IR or empty, why there is none).
#[pyfunction]
pub(crate) fn load_selectors(
    py: Python<'_>,
    engine: &Engine,
    compiled: Vec<(String, Vec<u8>, String)>,
) -> PyResult<()> {
    let read = |(text, ir, why): (String, Vec<u8>, String)| {
        let read = || serde_json::from_slice(&ir).map_err(|error| error.to_string());
        let read: Result<Value, String> = if ir.is_empty() { Err(why) } else { read() };
        (text, read)
    };
    let compiled: Vec<(String, Result<Value, String>)> = compiled.into_iter().map(read).collect();
    engine.ask(py, |held| held.core.load_selectors(&compiled))
}
