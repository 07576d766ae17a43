//! The calls of a journal, made again many at a time: a replay knows what comes next, reads it in other
//! threads, and needs no answer but the decisions.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use kpolicy_codec::{Keep, watch};
use kpolicy_engine::api::{Applied, BindOutcome, Event, Kind, Located, Still};
use kpolicy_engine::model::ApiPaths;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyTuple};
use serde::de::Deserialize;

use crate::engine::Engine;
use crate::fault::detached;
use crate::held::Held;
use crate::judged_pods::{DecidedPods, Judged, Kept, Name, disagreements, workloads};
use crate::{arguments, decided, tuples};

/// Calls that were read and are not made yet.
#[pyclass(frozen, module = "kpolicy._engine")]
pub(crate) struct RecordedCalls {
    /// The records, in which lines of watches and answers stand.
    records: PyBackedBytes,
    /// What was kept of the objects.
    paths: Arc<ApiPaths>,
    left: Mutex<Left>,
}

#[pymethods]
impl RecordedCalls {
    /// How many calls were made since they were read.
    fn made(&self) -> usize {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).made
    }
}

struct Left {
    calls: VecDeque<Call>,
    /// Events of the next call were taken.
    is_begun: bool,
    /// The caller knows of the pod that the next event shows on a node.
    is_reported: bool,
    made: usize,
}

enum Call {
    Watch(Watch),
    Schedule { arguments: Range<usize>, uids: Vec<Arc<str>>, now_ns: i64, answer: Range<usize> },
    Settle { arguments: Range<usize>, outcomes: Vec<(Arc<str>, BindOutcome)>, now_ns: i64 },
    PassTime { now_ns: i64 },
    Decided { answer: Range<usize>, pods: DecidedPods },
}

/// Lines of a watch, and the events in them that were not taken.
struct Watch {
    kind: Kind,
    lines: Range<usize>,
    events: VecDeque<Event>,
    now_ns: i64,
    /// When it was answered.
    at_ns: i64,
}

/// What is done about a pod that another scheduler placed, when a watch shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Binds {
    Apply,
    Judge,
    Report,
}

/// How calls are made: at most so many, lines of watches alone, what is done about binds of others, and what
/// is kept of opinions.
struct How {
    limit: usize,
    only_objects: bool,
    binds: Binds,
    kept: Kept,
}

/// What came of making calls.
#[derive(Default)]
struct Made {
    calls: usize,
    /// The decisions that were made again.
    decisions: usize,
    /// Those of the last call, if they are not what was recorded.
    different: Option<Vec<u8>>,
    /// The pod that the next event shows on a node.
    placed: Option<Located>,
    /// Pods that another scheduler placed.
    binds: usize,
    judged: Judged,
}

impl Call {
    fn of(call: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let name: String = call.get_item(0)?.extract()?;
        match name.as_str() {
            "watch" => {
                let (_, resource, start, end, now_ns, at_ns): (String, String, _, _, _, _) =
                    call.extract()?;
                let (kind, events) = (arguments::kind(&resource)?, VecDeque::new());
                Ok(Self::Watch(Watch { kind, lines: start..end, events, now_ns, at_ns }))
            }
            "schedule" => {
                let (_, start, end, answer_start, answer_end): (String, _, _, _, _) =
                    call.extract()?;
                let (arguments, answer) = (start..end, answer_start..answer_end);
                Ok(Self::Schedule { arguments, uids: Vec::new(), now_ns: 0, answer })
            }
            "settle" => {
                let (_, start, end): (String, _, _) = call.extract()?;
                Ok(Self::Settle { arguments: start..end, outcomes: Vec::new(), now_ns: 0 })
            }
            "pass_time" => {
                let (_, now_ns): (String, _) = call.extract()?;
                Ok(Self::PassTime { now_ns })
            }
            "decided" => {
                let (_, is_extended, at_ns, start, end): (String, _, _, _, _) = call.extract()?;
                Ok(Self::Decided {
                    answer: start..end,
                    pods: DecidedPods::none(is_extended, at_ns),
                })
            }
            other => Err(PyValueError::new_err(format!("`{other}` is not made again here"))),
        }
    }

    /// `None` if its arguments or decisions have another form.
    fn read(&mut self, records: &[u8], paths: &ApiPaths) -> Option<()> {
        match self {
            Self::Watch(watch) => watch.read(records, paths),
            Self::Schedule { arguments: line, uids, now_ns, .. } => {
                let (named, at_ns): (Vec<Name>, i64) = json(records, line)?;
                (*uids, *now_ns) = (named.into_iter().map(|Name(uid)| uid).collect(), at_ns);
            }
            Self::Settle { arguments: line, outcomes, now_ns } => {
                let (codes, at_ns) = json(records, line)?;
                (*outcomes, *now_ns) = (arguments::outcomes(codes).ok()?, at_ns);
            }
            Self::PassTime { .. } => {}
            Self::Decided { answer, pods } => pods.read(part(records, answer))?,
        }
        Some(())
    }
}

fn part<'r>(records: &'r [u8], range: &Range<usize>) -> &'r [u8] {
    records.get(range.clone()).unwrap_or_default()
}

fn json<'r, T: Deserialize<'r>>(records: &'r [u8], range: &Range<usize>) -> Option<T> {
    serde_json::from_slice(part(records, range)).ok()
}

impl Watch {
    fn read(&mut self, records: &[u8], paths: &ApiPaths) {
        let (lines, keep) = (part(records, &self.lines), Keep(Some(paths)));
        self.events.clear();
        watch::lines(lines, self.kind, keep, &mut |event| self.events.push_back(event));
    }
}

impl RecordedCalls {
    /// Makes the calls up to the first that needs the caller.
    fn make(&self, held: &mut Held, how: &How) -> PyResult<Made> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut made = Made::default();
        while made.calls < how.limit && made.different.is_none() {
            let Some(call) = left.calls.pop_front() else { break };
            match call {
                Call::Watch(mut watch) => {
                    let paths = held.core.paths();
                    if !std::mem::replace(&mut left.is_begun, true) && paths != self.paths {
                        watch.read(&self.records, &paths);
                    }
                    made.placed = left.take(&mut watch, held, how, &mut made);
                    if made.placed.is_some() {
                        left.calls.push_front(Call::Watch(watch));
                        return Ok(made);
                    }
                    left.is_begun = false;
                }
                _ if how.only_objects => {}
                Call::Schedule { uids, now_ns, answer, .. } => {
                    let batch = held.core.schedule(&uids, now_ns, &Still);
                    made.decisions += batch.decisions.len();
                    let (hash, version) = (&batch.program_hash, &batch.resource_version);
                    let again = decided::written(hash, version, &batch.decisions)?;
                    made.different = (again != part(&self.records, &answer)).then_some(again);
                }
                Call::Settle { outcomes, now_ns, .. } => {
                    held.core.settle(&outcomes, now_ns, &mut Applied::default());
                }
                Call::PassTime { now_ns } => {
                    held.core.pass_time(now_ns);
                }
                Call::Decided { pods, .. } => {
                    made.judged.judge(held, pods, left.made, &how.kept);
                }
            }
            made.calls += 1;
            left.made += 1;
        }
        Ok(made)
    }
}

impl Left {
    /// Gives the pod that the next event shows on a node, if the caller is to know of it.
    fn take(
        &mut self,
        watch: &mut Watch,
        held: &mut Held,
        how: &How,
        made: &mut Made,
    ) -> Option<Located> {
        let mut applied = Applied::default();
        while let Some(event) = watch.events.pop_front() {
            if how.binds != Binds::Apply
                && !std::mem::take(&mut self.is_reported)
                && let Some(pod) = held.core.placed_by_another(&event)
            {
                if how.binds == Binds::Report {
                    watch.events.push_front(event);
                    self.is_reported = true;
                    return Some(pod);
                }
                made.binds += 1;
                let decided = DecidedPods::of_other(pod, watch.at_ns);
                made.judged.judge(held, decided, self.made, &how.kept);
            }
            held.core.apply(event, watch.now_ns, &mut applied);
        }
        None
    }
}

/// Read calls of a journal for the program in force now: rows of them, and how many each has. Between two
/// rows is a call whose arguments or decisions have another form.
#[pyfunction]
pub(crate) fn read_calls(
    py: Python<'_>,
    engine: &Engine,
    records: PyBackedBytes,
    calls: Vec<Bound<'_, PyTuple>>,
) -> PyResult<Vec<(RecordedCalls, usize)>> {
    let calls: Vec<Call> = calls.iter().map(Call::of).collect::<PyResult<_>>()?;
    let (paths, rows) = detached(py, || {
        let paths = engine.paths();
        let mut rows = vec![VecDeque::new()];
        for mut call in calls {
            match (call.read(&records, &paths), rows.last_mut()) {
                (Some(()), Some(row)) => row.push_back(call),
                _ => rows.push(VecDeque::new()),
            }
        }
        Ok((paths, rows))
    })?;
    let row = |calls: VecDeque<Call>| {
        let (count, records, paths) = (calls.len(), records.clone_ref(py), Arc::clone(&paths));
        let left = Mutex::new(Left { calls, is_begun: false, is_reported: false, made: 0 });
        (RecordedCalls { records, paths, left }, count)
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Make the next calls, at most `limit`: those about objects alone if `only_objects`, without an answer for
/// the others. Ends after a call with other decisions than were recorded. `binds`: pods that another
/// scheduler placed are 0 applied, 1 judged, 2 reported, before the event that shows it. `kept`: how many
/// differences, and the labels that name workloads; without it, all disagreements.
#[pyfunction]
pub(crate) fn make_calls<'py>(
    py: Python<'py>,
    engine: &Engine,
    calls: &RecordedCalls,
    limit: usize,
    only_objects: bool,
    binds: u8,
    kept: Option<(usize, Vec<String>)>,
) -> PyResult<Bound<'py, PyTuple>> {
    let binds = match binds {
        0 => Binds::Apply,
        1 => Binds::Judge,
        _ => Binds::Report,
    };
    let kept = match kept {
        None => Kept::Disagreements,
        Some((count_max, named_by)) => Kept::Differences { count_max, named_by },
    };
    let how = How { limit, only_objects, binds, kept };
    let made = engine.ask(py, |held| calls.make(held, &how))??;
    let different = made.different.as_deref().map(|answer| PyBytes::new(py, answer));
    let placed = made.placed.map(|pod| tuples::location(py, &pod)).transpose()?;
    (
        made.calls,
        made.decisions + made.judged.decisions,
        different,
        placed,
        made.binds,
        made.judged.counts,
        disagreements(py, &made.judged.disagreements)?,
        workloads(py, &made.judged.workloads)?,
    )
        .into_pyobject(py)
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
