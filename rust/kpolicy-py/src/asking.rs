//! How a method reaches the engine: other Python threads run, then the mutex is taken.

use std::sync::{Arc, PoisonError};

use kpolicy_engine::api::{Applied, Refusal};
use kpolicy_engine::model::ApiPaths;
use pyo3::prelude::*;

use crate::engine::Engine;
use crate::fault::{detached, poisoned};
use crate::feeding::Feeder;
use crate::held::Held;
use crate::program;

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

    /// Why it was refused, if it was.
    pub(crate) fn put_in_force(&self, program: &[u8]) -> PyResult<Vec<Refusal>> {
        let program = match program::read(program) {
            Ok(program) => program,
            Err(refusal) => return Ok(vec![refusal]),
        };
        let mut held = self.held.lock().map_err(|_| poisoned())?;
        let refusals = held.core.load(&program).err().unwrap_or_default();
        self.note_paths(&held);
        Ok(refusals)
    }

    /// What is kept of objects for the program in force. Does not wait for the engine.
    pub(crate) fn paths(&self) -> Arc<ApiPaths> {
        Arc::clone(&self.paths.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The program in force changed.
    pub(crate) fn note_paths(&self, held: &Held) {
        *self.paths.lock().unwrap_or_else(PoisonError::into_inner) = held.core.paths();
    }
}
