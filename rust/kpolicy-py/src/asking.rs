//! How a method reaches the engine: other Python threads run, then the mutex is taken.

use kpolicy_engine::api::Applied;
use pyo3::prelude::*;

use crate::engine::Engine;
use crate::fault::{detached, poisoned};
use crate::feeding::Feeder;
use crate::held::Held;

impl Engine {
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Held) -> T + Send,
    ) -> PyResult<T> {
        detached(py, || Ok(work(&mut *self.held.lock().map_err(|_| poisoned())?)))
    }

    /// As `ask`, as of a time.
    pub(crate) fn ask_at<T: Send>(
        &self,
        py: Python<'_>,
        now_ns: i64,
        work: impl FnOnce(&mut Held) -> T + Send,
    ) -> PyResult<T> {
        self.ask(py, |held| {
            held.core.set_time(now_ns);
            work(held)
        })
    }

    /// `bytes`: how many there are to be read.
    pub(crate) fn feed<T: Send>(
        &self,
        py: Python<'_>,
        now_ns: i64,
        bytes: usize,
        work: impl FnOnce(&mut Feeder<'_>) -> T + Send,
    ) -> PyResult<(T, Applied)> {
        detached(py, || Feeder::new(&self.held, now_ns).fed(&self.threads, bytes, work))
    }
}
