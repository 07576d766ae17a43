//! Lines of a watch that are decoded before the engine takes them: a replay of a journal knows what
//! comes next, and decodes it in other threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use kpolicy_codec::{Keep, watch};
use kpolicy_engine::api::{Applied, Event, Kind, Located};
use kpolicy_engine::model::ApiPaths;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyTuple};

use crate::engine::Engine;
use crate::fault::{detached, poisoned};
use crate::held::Held;
use crate::{arguments, tuples};

/// The events of some lines that the engine has not taken yet.
#[pyclass(frozen, module = "kpolicy._engine")]
pub(crate) struct ReadLines {
    kind: Kind,
    /// What was kept of the objects.
    paths: Arc<ApiPaths>,
    left: Mutex<Left>,
}

struct Left {
    events: VecDeque<Event>,
    is_begun: bool,
    /// The caller knows of the pod that the next event shows on a node.
    is_told: bool,
}

impl ReadLines {
    fn read(kind: Kind, paths: &Arc<ApiPaths>, lines: &[u8]) -> Self {
        let left = Left { events: events(kind, paths, lines), is_begun: false, is_told: false };
        Self { kind, paths: Arc::clone(paths), left: Mutex::new(left) }
    }

    fn take(
        &self,
        held: &mut Held,
        lines: &[u8],
        now_ns: i64,
        is_to_stop: bool,
    ) -> Option<Located> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut left.is_begun, true) {
            let paths = held.core.paths();
            if paths != self.paths {
                left.events = events(self.kind, &paths, lines);
            }
        }
        let mut applied = Applied::default();
        while let Some(event) = left.events.pop_front() {
            if is_to_stop
                && !std::mem::take(&mut left.is_told)
                && let Some(pod) = held.core.placed_by_another(&event)
            {
                left.events.push_front(event);
                left.is_told = true;
                return Some(pod);
            }
            held.core.apply(event, now_ns, &mut applied);
        }
        None
    }
}

fn events(kind: Kind, paths: &ApiPaths, lines: &[u8]) -> VecDeque<Event> {
    let mut events = VecDeque::new();
    watch::lines(lines, kind, Keep(Some(paths)), &mut |event| events.push_back(event));
    events
}

/// Decode lines of watches (resource, lines), for the program in force now.
#[pyfunction]
pub(crate) fn read_lines(
    py: Python<'_>,
    engine: &Engine,
    watches: Vec<(String, PyBackedBytes)>,
) -> PyResult<Vec<ReadLines>> {
    let kinds: Vec<Kind> =
        watches.iter().map(|(resource, _)| arguments::kind(resource)).collect::<PyResult<_>>()?;
    detached(py, || {
        let paths = engine.held.lock().map_err(|_| poisoned())?.core.paths();
        let read = |(kind, (_, lines)): (Kind, &(String, PyBackedBytes))| {
            ReadLines::read(kind, &paths, lines)
        };
        Ok(kinds.into_iter().zip(&watches).map(read).collect())
    })
}

/// Apply what was read of these lines, as `watch` does; `lines` are read again if the program in force
/// keeps other paths. If `is_to_stop`, only up to an event that shows a pending pod on a node: gives
/// (uid, namespace, name, node), and the next call goes on with this event.
#[pyfunction]
pub(crate) fn take_lines<'py>(
    py: Python<'py>,
    engine: &Engine,
    read: &ReadLines,
    lines: &[u8],
    now_ns: i64,
    is_to_stop: bool,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let pod = engine.ask(py, |held| read.take(held, lines, now_ns, is_to_stop))?;
    pod.map(|pod| tuples::location(py, &pod)).transpose()
}

/// (uid, namespace, name, name of the controller or empty, labels) of those of these pods that are
/// there.
#[pyfunction]
pub(crate) fn labelled<'py>(
    py: Python<'py>,
    engine: &Engine,
    uids: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let uids: Vec<Arc<str>> = uids.into_iter().map(Arc::from).collect();
    let pods = engine.ask(py, |held| held.core.labelled(&uids))?;
    tuples::labelled(py, &pods)
}
