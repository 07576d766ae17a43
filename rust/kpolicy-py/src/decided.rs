//! Decisions as a journal keeps them, in JSON: `[program hash, resourceVersion, how many, fields]`.
//! For each field there is a list of its values, or of one value if all decisions have it.
//!
//! The times that decisions took are left out: two answers are the same decisions exactly if their
//! bytes are equal.

use std::sync::Arc;

use kpolicy_engine::api::{Decision, PreBindWrite, Victim};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;

use crate::engine::Engine;
use crate::stopwatch::Monotonic;
use crate::tuples;

/// How many fields of a decision are recorded.
pub(crate) const FIELDS: usize = 15;

/// The positions of the fields in the tuple of a decision, without those of `filter_ns`, `score_ns` and
/// `post_filter_ns`.
const RECORDED: [usize; FIELDS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17];

/// A decision, as the engine has it or as Python does. Fields are named by their positions in its tuple.
pub(crate) trait Fields {
    fn write(&self, position: usize, to: &mut Vec<u8>) -> PyResult<()>;

    /// Whether the other one surely writes the same bytes. If it does not say so, they are compared.
    fn is_same(&self, _other: &Self, _position: usize) -> bool {
        false
    }
}

/// The decisions of an answer that Python has.
#[pyfunction]
pub(crate) fn decisions_json<'py>(
    py: Python<'py>,
    program_hash: &str,
    resource_version: &str,
    decisions: Vec<Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &written(program_hash, resource_version, &decisions)?))
}

/// The arguments of a call, as a journal keeps them: texts, integers, truths and lists of these.
#[pyfunction]
pub(crate) fn arguments_json(arguments: Bound<'_, PyTuple>) -> PyResult<Bound<'_, PyBytes>> {
    let mut to = Vec::with_capacity(DECISION_BYTES);
    value(&arguments, &mut to)?;
    Ok(PyBytes::new(arguments.py(), &to))
}

/// As `Engine.schedule`, and the decisions as they are recorded, which the engine writes while other Python
/// threads run.
#[pyfunction]
pub(crate) fn schedule_recorded<'py>(
    py: Python<'py>,
    engine: &Engine,
    uids: Vec<String>,
    now_ns: i64,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyBytes>)> {
    let uids: Vec<Arc<str>> = uids.into_iter().map(Into::into).collect();
    let (batch, recorded) = engine.ask(py, |held| {
        let batch = held.core.schedule(&uids, now_ns, &Monotonic::started());
        let recorded = written(&batch.program_hash, &batch.resource_version, &batch.decisions);
        (batch, recorded)
    })?;
    Ok((tuples::batch(py, &batch)?, PyBytes::new(py, &recorded?)))
}

/// About the bytes of a decision.
const DECISION_BYTES: usize = 160;

/// The decisions of an answer.
pub(crate) fn written(
    program_hash: &str,
    resource_version: &str,
    decisions: &[impl Fields],
) -> PyResult<Vec<u8>> {
    let mut to = Vec::with_capacity((decisions.len() + 1).saturating_mul(DECISION_BYTES));
    to.push(b'[');
    json(&mut to, program_hash)?;
    to.push(b',');
    json(&mut to, resource_version)?;
    to.push(b',');
    json(&mut to, &decisions.len())?;
    to.extend(b",[");
    if !decisions.is_empty() {
        for (number, position) in RECORDED.into_iter().enumerate() {
            to.extend(if number == 0 { b"[".as_slice() } else { b",[" });
            column(&mut to, position, decisions)?;
            to.push(b']');
        }
    }
    to.extend(b"]]");
    Ok(to)
}

fn column(to: &mut Vec<u8>, position: usize, decisions: &[impl Fields]) -> PyResult<()> {
    let Some((first, others)) = decisions.split_first() else { return Ok(()) };
    let start = to.len();
    first.write(position, to)?;
    // Most fields are alike in all decisions. To write them takes much longer than to look.
    if others.iter().all(|other| other.is_same(first, position)) {
        return Ok(());
    }
    let end = to.len();
    let mut are_alike = true;
    for other in others {
        to.push(b',');
        let from = to.len();
        other.write(position, to)?;
        are_alike = are_alike && to.get(start..end) == to.get(from..);
    }
    if are_alike {
        to.truncate(end);
    }
    Ok(())
}

fn json(to: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> PyResult<()> {
    serde_json::to_writer(to, value).map_err(|error| PyTypeError::new_err(error.to_string()))
}

impl Fields for Decision {
    fn write(&self, position: usize, to: &mut Vec<u8>) -> PyResult<()> {
        match position {
            0 => json(to, &tuples::code(self.verdict)),
            1 => json(to, &*self.uid),
            2 => json(to, &*self.namespace),
            3 => json(to, &*self.name),
            4 => json(to, &*self.node),
            5 => json(to, &*self.message),
            6 => json(to, &self.score),
            7 => json(to, &self.nodes_total),
            8 => json(to, &self.nodes_feasible),
            12 => json(to, &*self.nominated_node),
            13 => json(to, &self.victims.iter().map(victim).collect::<Vec<_>>()),
            14 => json(to, &self.rejected_by.iter().map(|name| &**name).collect::<Vec<_>>()),
            15 => json(to, &self.displaced.iter().map(|uid| &**uid).collect::<Vec<_>>()),
            16 => writes(to, &self.writes),
            _ => json(to, &self.is_helped_by_node),
        }
    }

    fn is_same(&self, other: &Self, position: usize) -> bool {
        match position {
            0 => self.verdict == other.verdict,
            1 => self.uid == other.uid,
            2 => self.namespace == other.namespace,
            3 => self.name == other.name,
            4 => self.node == other.node,
            5 => self.message == other.message,
            6 => self.score == other.score,
            7 => self.nodes_total == other.nodes_total,
            8 => self.nodes_feasible == other.nodes_feasible,
            12 => self.nominated_node == other.nominated_node,
            13 => self.victims == other.victims,
            14 => self.rejected_by == other.rejected_by,
            15 => self.displaced == other.displaced,
            16 => self.writes.is_empty() && other.writes.is_empty(),
            _ => self.is_helped_by_node == other.is_helped_by_node,
        }
    }
}

fn victim(one: &Victim) -> (&str, &str, &str, bool, i64) {
    (&one.uid, &one.namespace, &one.name, one.is_terminating, one.generation)
}

fn writes(to: &mut Vec<u8>, writes: &[PreBindWrite]) -> PyResult<()> {
    to.push(b'[');
    for (number, write) in writes.iter().enumerate() {
        if number > 0 {
            to.push(b',');
        }
        match write {
            PreBindWrite::Volume(work) => {
                let fields = (
                    &work.claim,
                    &work.claim_uid,
                    &work.claim_version,
                    &work.volume,
                    &work.volume_uid,
                    &work.volume_version,
                    work.is_to_write,
                    work.is_to_mark,
                    work.seconds_max,
                );
                json(to, &fields)?;
            }
            PreBindWrite::Claim(work) => {
                let fields = (
                    &work.claim,
                    &work.claim_uid,
                    &work.allocation,
                    &work.requests,
                    &work.mappings,
                    work.is_to_write,
                    work.is_to_wait,
                    work.seconds_max,
                );
                json(to, &fields)?;
            }
            PreBindWrite::Annotation(own) => json(to, &(&own.key, &own.value))?,
            PreBindWrite::Release(claim) => {
                json(to, &(&claim.claim, &claim.claim_uid, claim.is_to_delete))?;
            }
        }
    }
    to.push(b']');
    Ok(())
}

impl Fields for Bound<'_, PyTuple> {
    fn write(&self, position: usize, to: &mut Vec<u8>) -> PyResult<()> {
        value(&*self.get_borrowed_item(position)?, to)
    }
}

fn value(one: &Bound<'_, PyAny>, to: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(text) = one.cast::<PyString>() {
        return json(to, text.to_str()?);
    }
    // `True` is an int too.
    if let Ok(truth) = one.cast::<PyBool>() {
        return json(to, &truth.is_true());
    }
    if one.is_instance_of::<PyInt>() {
        return json(to, &one.extract::<i64>()?);
    }
    let items: Vec<Bound<'_, PyAny>> = match one.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => one.cast::<PyTuple>()?.iter().collect(),
    };
    to.push(b'[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            to.push(b',');
        }
        value(item, to)?;
    }
    to.push(b']');
    Ok(())
}
