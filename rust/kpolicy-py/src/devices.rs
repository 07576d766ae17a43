//! Claims on devices: whether an engine decides them, and the selectors that come with them.

use pyo3::prelude::*;
use serde_json::Value;

use crate::engine::Engine;

/// Decide claims on devices from now on, or leave pods that have any to another scheduler.
#[pyfunction]
pub(crate) fn allocate_devices(py: Python<'_>, engine: &Engine, does: bool) -> PyResult<()> {
    engine.ask(py, |held| held.core.allocate_devices(does))
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
