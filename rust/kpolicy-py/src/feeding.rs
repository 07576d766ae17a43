//! Feeds decoded objects into the engine in batches.
//!
//! Objects are decoded without holding the engine, so that a cycle and a long list wait for each
//! other no longer than a batch takes.

use std::sync::{Arc, Mutex};

use kpolicy_engine::api::{Applied, Event};
use kpolicy_engine::model::ApiPaths;
use kpolicy_engine::threads::Threads;
use pyo3::PyErr;

use crate::fault;
use crate::held::Held;

/// Decoded objects held before the engine takes them.
const BATCH_EVENTS_MAX: usize = 128;

/// From so many bytes on objects are decoded on all threads.
const DIVIDED_BYTES_MIN: usize = 256 << 10;

pub(crate) struct Feeder<'e> {
    engine: &'e Mutex<Held>,
    now_ns: i64,
    waiting: Vec<Event>,
    applied: Applied,
    failure: Option<PyErr>,
}

impl<'e> Feeder<'e> {
    pub(crate) fn new(engine: &'e Mutex<Held>, now_ns: i64) -> Self {
        let waiting = Vec::with_capacity(64);
        Self { engine, now_ns, waiting, applied: Applied::default(), failure: None }
    }

    /// What is to be kept of the objects to come, for the program in force now.
    pub(crate) fn paths(&self) -> Arc<ApiPaths> {
        self.engine.lock().map(|held| held.core.paths()).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.waiting.push(event);
        if self.waiting.len() == BATCH_EVENTS_MAX {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        if let Ok(mut held) = self.engine.lock() {
            for event in self.waiting.drain(..) {
                held.core.apply(event, self.now_ns, &mut self.applied);
            }
        } else {
            self.waiting.clear();
            self.failure = Some(fault::poisoned());
        }
    }

    /// Does `work`, on all threads where there is much to be read, and gives what came of it.
    pub(crate) fn fed<T: Send>(
        mut self,
        threads: &Threads,
        bytes: usize,
        work: impl FnOnce(&mut Self) -> T + Send,
    ) -> Result<(T, Applied), PyErr> {
        let answer = match bytes >= DIVIDED_BYTES_MIN {
            true => threads.inside(|| work(&mut self)),
            false => work(&mut self),
        };
        Ok((answer, self.finish()?))
    }

    fn finish(mut self) -> Result<Applied, PyErr> {
        self.flush();
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.applied),
        }
    }
}
