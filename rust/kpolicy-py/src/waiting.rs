//! The queue, where the program orders it or holds pods: who waits, and who is next.

use std::sync::Arc;

use kpolicy_engine::api::Entered;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::engine::Engine;

/// Uid, beginning of the wait, when it could first be tried, attempts, whether it is set aside, whether it
/// rests.
type EnteredRow = (String, i64, i64, i64, bool, bool);
/// Uids in order, held pods (uid, hold, reason, message), whether to ask again at once, what failed
/// (uid, rule, code, message).
type NextRow<'py> = (Vec<String>, Bound<'py, PyList>, bool, Bound<'py, PyList>);

/// Whether the program in force says who is tried next.
#[pyfunction]
pub(crate) fn orders_queue(py: Python<'_>, engine: &Engine) -> PyResult<bool> {
    engine.ask(py, |held| held.core.orders_queue())
}

/// Whether the program in force holds pods.
#[pyfunction]
pub(crate) fn holds_pods(py: Python<'_>, engine: &Engine) -> PyResult<bool> {
    engine.ask(py, |held| held.core.holds_pods())
}

/// The next pods to try, after who came or changed and who left.
#[pyfunction]
pub(crate) fn next_pods<'py>(
    py: Python<'py>,
    engine: &Engine,
    entered: Vec<EnteredRow>,
    left: Vec<String>,
    limit: usize,
    times: (i64, i64),
) -> PyResult<NextRow<'py>> {
    let next = engine.ask(py, |held| {
        let left: Vec<Arc<str>> = left.into_iter().map(Arc::from).collect();
        held.core.next_pods(entered.into_iter().map(entered_pod).collect(), &left, limit, times)
    })?;
    let rows =
        next.held.iter().map(|held| (&*held.uid, &*held.hold, &*held.reason, &*held.message));
    let picked = next.picked.iter().map(|uid| uid.as_ref().to_owned()).collect();
    let held = PyList::new(py, rows.collect::<Vec<_>>())?;
    let faults =
        next.faults.iter().map(|fault| (&*fault.uid, &*fault.rule, fault.code, &*fault.message));
    Ok((picked, held, next.is_more, PyList::new(py, faults.collect::<Vec<_>>())?))
}

fn entered_pod(row: EnteredRow) -> Entered {
    let (uid, since_ns, first_ns, attempts, is_set_aside, is_resting) = row;
    Entered { uid: uid.into(), since_ns, first_ns, attempts, is_set_aside, is_resting }
}
