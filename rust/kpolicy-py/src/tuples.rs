//! Converts the engine's answers into flat tuples for Python (see `_engine.pyi`): the order of
//! fields and the numbers of codes.

use std::sync::Arc;

use kpolicy_codec::{Feed, Unreadable};
use kpolicy_engine::api::{
    Acted, Applied, Batch, Candidates, ClaimWork, Comparison, Decision, Filtered, Labelled,
    Located, Opinion, PodChange, PodState, PreBindWrite, Refusal, ScheduledUnit, Verdict, Victim,
    VolumeProgress, VolumeWork, Wake,
};
use kpolicy_engine::timing::Series;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use pyo3::{Bound, IntoPyObjectExt};

type Tuple<'py> = PyResult<Bound<'py, PyTuple>>;

pub(crate) fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    tuple: impl Fn(Python<'py>, &T) -> Tuple<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let tuples: Vec<Bound<'py, PyTuple>> =
        items.iter().map(|item| tuple(py, item)).collect::<PyResult<_>>()?;
    PyList::new(py, tuples)
}

fn texts<'py>(py: Python<'py>, texts: &[Arc<str>]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, texts.iter().map(|text| &**text))
}

pub(crate) fn refusals<'py>(py: Python<'py>, refusals: &[Refusal]) -> PyResult<Bound<'py, PyList>> {
    list(py, refusals, |py, refusal| {
        (refusal.code, &refusal.place, &refusal.message, &refusal.hint).into_pyobject(py)
    })
}

pub(crate) fn pod_changes<'py>(
    py: Python<'py>,
    pods: &[PodChange],
) -> PyResult<Bound<'py, PyList>> {
    list(py, pods, pod_change)
}

fn pod_change<'py>(py: Python<'py>, pod: &PodChange) -> Tuple<'py> {
    let state = match pod.state {
        PodState::Gone => 0,
        PodState::Pending => 1,
        PodState::OnNode => 2,
    };
    (
        state,
        &*pod.uid,
        &*pod.namespace,
        &*pod.name,
        pod.priority,
        &*pod.scheduler_name,
        pod.gated,
        &*pod.node,
        &*pod.nominated_node,
        pod.created_ns,
        pod.generation,
    )
        .into_pyobject(py)
}

pub(crate) fn wakes<'py>(py: Python<'py>, wakes: &[Wake]) -> PyResult<Bound<'py, PyList>> {
    list(py, wakes, |py, wake| (&*wake.uid, wake.event).into_pyobject(py))
}

pub(crate) fn unreadable<'py>(
    py: Python<'py>,
    unreadable: &[Unreadable],
    source: &str,
) -> PyResult<Bound<'py, PyList>> {
    list(py, unreadable, |py, each| {
        let object = match (source, each.object.as_str()) {
            ("", object) => object.to_owned(),
            (source, "") => source.to_owned(),
            (source, object) => format!("{source}: {object}"),
        };
        (each.code.name(), object, &each.message).into_pyobject(py)
    })
}

pub(crate) fn applied<'py>(py: Python<'py>, feed: &Feed, applied: &Applied) -> Tuple<'py> {
    let (code, reason, message) = match &feed.status {
        Some(status) => (status.code, status.reason.as_str(), status.message.as_str()),
        None => (0, "", ""),
    };
    (
        &feed.resource_version,
        &feed.continue_token,
        feed.remaining_item_count,
        code,
        reason,
        message,
        pod_changes(py, &applied.pods)?,
        wakes(py, &applied.wakes)?,
        unreadable(py, &feed.unreadable, "")?,
        PyList::new(py, applied.deleted_nodes.iter().map(|name| &**name))?,
    )
        .into_pyobject(py)
}

pub(crate) fn decisions<'py>(
    py: Python<'py>,
    decisions: &[Decision],
) -> PyResult<Bound<'py, PyList>> {
    list(py, decisions, decision)
}

pub(crate) fn batch<'py>(py: Python<'py>, batch: &Batch) -> Tuple<'py> {
    let decisions = decisions(py, &batch.decisions)?;
    (&*batch.program_hash, &*batch.resource_version, decisions).into_pyobject(py)
}

pub(crate) fn unit<'py>(py: Python<'py>, unit: &ScheduledUnit) -> Tuple<'py> {
    let (placements, rejection) = match &unit.decided {
        Ok(placements) => (list(py, placements, decision)?, None),
        Err(rejection) => (PyList::empty(py), Some(decision(py, rejection)?)),
    };
    (&*unit.program_hash, &*unit.resource_version, placements, rejection).into_pyobject(py)
}

pub(crate) fn filtered<'py>(py: Python<'py>, filtered: &Filtered) -> Tuple<'py> {
    (filtered.token, texts(py, &filtered.feasible)?).into_pyobject(py)
}

pub(crate) fn candidates<'py>(py: Python<'py>, candidates: &Candidates) -> Tuple<'py> {
    let nodes = list(py, &candidates.nodes, |py, node| {
        (&*node.node, list(py, &node.victims, victim)?, node.violations).into_pyobject(py)
    })?;
    (candidates.token, nodes).into_pyobject(py)
}

pub(crate) fn located<'py>(py: Python<'py>, pods: &[Located]) -> PyResult<Bound<'py, PyList>> {
    list(py, pods, location)
}

pub(crate) fn location<'py>(py: Python<'py>, pod: &Located) -> Tuple<'py> {
    (&*pod.uid, &*pod.namespace, &*pod.name, &*pod.node).into_pyobject(py)
}

pub(crate) fn labelled<'py>(py: Python<'py>, pods: &[Labelled]) -> PyResult<Bound<'py, PyList>> {
    list(py, pods, one_labelled)
}

pub(crate) fn one_labelled<'py>(py: Python<'py>, pod: &Labelled) -> Tuple<'py> {
    let labels: Vec<(&str, &str)> = pod.labels.iter().collect();
    (&*pod.uid, &*pod.namespace, &*pod.name, &*pod.controller, labels).into_pyobject(py)
}

pub(crate) fn timings<'py>(py: Python<'py>, stages: &[Series], rules: &[Series]) -> Tuple<'py> {
    (list(py, stages, series)?, list(py, rules, series)?).into_pyobject(py)
}

fn series<'py>(py: Python<'py>, one: &Series) -> Tuple<'py> {
    (&*one.name, one.point, one.status, &one.counts, seconds(one.sum_ns)).into_pyobject(py)
}

#[allow(clippy::cast_precision_loss, reason = "years are exact to the microsecond")]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn victim<'py>(py: Python<'py>, victim: &Victim) -> Tuple<'py> {
    let names = (&*victim.uid, &*victim.namespace, &*victim.name);
    (names.0, names.1, names.2, victim.is_terminating, victim.generation).into_pyobject(py)
}

pub(crate) fn opinions<'py>(
    py: Python<'py>,
    acted: &[Acted],
    opinions: &[Opinion],
) -> PyResult<Bound<'py, PyList>> {
    let pairs: Vec<(&Acted, &Opinion)> = acted.iter().zip(opinions).collect();
    list(py, &pairs, |py, (acted, one)| {
        let result = Comparison::of(acted, one).number();
        (code(one.verdict), &*one.uid, &*one.node, one.accepts, result).into_pyobject(py)
    })
}

pub(crate) fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Placed => 0,
        Verdict::Parked => 1,
        Verdict::Failed => 2,
        Verdict::Gone => 3,
        Verdict::Gated => 4,
        Verdict::Stale => 5,
        Verdict::SetAside => 6,
        Verdict::NotReady => 7,
    }
}

/// Tuples of more than twelve fields have no conversion of their own.
pub(crate) fn decision<'py>(py: Python<'py>, decision: &Decision) -> Tuple<'py> {
    let fields = [
        code(decision.verdict).into_bound_py_any(py)?,
        (&*decision.uid).into_bound_py_any(py)?,
        (&*decision.namespace).into_bound_py_any(py)?,
        (&*decision.name).into_bound_py_any(py)?,
        (&*decision.node).into_bound_py_any(py)?,
        (&*decision.message).into_bound_py_any(py)?,
        decision.score.into_bound_py_any(py)?,
        decision.nodes_total.into_bound_py_any(py)?,
        decision.nodes_feasible.into_bound_py_any(py)?,
        decision.filter_ns.into_bound_py_any(py)?,
        decision.score_ns.into_bound_py_any(py)?,
        decision.post_filter_ns.into_bound_py_any(py)?,
        (&*decision.nominated_node).into_bound_py_any(py)?,
        list(py, &decision.victims, victim)?.into_any(),
        texts(py, &decision.rejected_by)?.into_any(),
        texts(py, &decision.displaced)?.into_any(),
        list(py, &decision.writes, pre_bind_write)?.into_any(),
        decision.is_helped_by_node.into_bound_py_any(py)?,
    ];
    PyTuple::new(py, fields)
}

fn pre_bind_write<'py>(py: Python<'py>, write: &PreBindWrite) -> Tuple<'py> {
    match write {
        PreBindWrite::Volume(work) => ("volume", volume_work(py, work)?).into_pyobject(py),
        PreBindWrite::Claim(work) => ("claim", claim_work(py, work)?).into_pyobject(py),
        PreBindWrite::Annotation(annotation) => {
            let fields = (&*annotation.key, &*annotation.value).into_pyobject(py)?;
            ("annotation", fields).into_pyobject(py)
        }
        PreBindWrite::Release(claim) => {
            let fields =
                (&*claim.claim, &*claim.claim_uid, claim.is_to_delete).into_pyobject(py)?;
            ("release", fields).into_pyobject(py)
        }
    }
}

fn volume_work<'py>(py: Python<'py>, work: &VolumeWork) -> Tuple<'py> {
    (
        &*work.claim,
        &*work.claim_uid,
        &*work.claim_version,
        &*work.volume,
        &*work.volume_uid,
        &*work.volume_version,
        work.is_to_write,
        work.is_to_mark,
        work.seconds_max,
    )
        .into_pyobject(py)
}

fn claim_work<'py>(py: Python<'py>, work: &ClaimWork) -> Tuple<'py> {
    (
        &*work.claim,
        &*work.claim_uid,
        &*work.allocation,
        &*work.requests,
        &*work.mappings,
        work.is_to_write,
        work.is_to_wait,
        work.seconds_max,
    )
        .into_pyobject(py)
}

pub(crate) fn volumes<'py>(
    py: Python<'py>,
    volumes: &[VolumeProgress],
) -> PyResult<Bound<'py, PyList>> {
    list(py, volumes, |py, progress| {
        match progress {
            VolumeProgress::Waiting => (0, ""),
            VolumeProgress::Bound => (1, ""),
            VolumeProgress::Failed(why) => (2, why.as_str()),
            VolumeProgress::Gone => (3, ""),
        }
        .into_pyobject(py)
    })
}
