//! `EngineFault`: a panic of ours as a Python exception.
//!
//! A panic is caught before it reaches Python. If the engine was held at that moment, its state
//! cannot be trusted, and every later call raises the same fault.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(
    kpolicy._engine,
    EngineFault,
    PyRuntimeError,
    "A bug of ours: the engine broke off and cannot be used again."
);

pub(crate) fn poisoned() -> PyErr {
    EngineFault::new_err("an earlier call broke off; this engine cannot be used again")
}

/// Does `work` with other Python threads running, and turns a panic into [`EngineFault`].
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    // What a panic leaves half done sits behind a mutex, which it poisons.
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .unwrap_or_else(|panic| Err(EngineFault::new_err(panic_message(panic.as_ref()))))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
