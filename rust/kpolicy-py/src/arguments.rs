//! Converts arguments from Python (flat tuples, see `_engine.pyi`) into the engine's types.

use std::num::NonZeroUsize;
use std::sync::Arc;

use kpolicy_engine::api::{
    Acted, AwaitedVolume, BindOutcome, KeptNode, Kind, RefusedNode, RemainingCandidate,
    RemainingCandidates,
};
use kpolicy_engine::engine::AdviceAsked;
use kpolicy_engine::threads::{THREADS_MAX, Threads};
use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, PyResult};
use serde_json::Value;

pub(crate) fn kept(nodes: Vec<(String, i64)>) -> Vec<KeptNode> {
    nodes.into_iter().map(|(node, score)| KeptNode { node: node.into(), score }).collect()
}

pub(crate) fn refused(nodes: Vec<(String, String, bool)>) -> Vec<RefusedNode> {
    let refused = nodes.into_iter().map(|(node, reason, is_unresolvable)| RefusedNode {
        node: node.into(),
        reason,
        is_unresolvable,
    });
    refused.collect()
}

/// (token, failure, nodes as (node, uids of victims, violations), or none).
pub(crate) type CandidatesLeft = (u64, String, Option<Vec<(String, Vec<String>, u64)>>);

pub(crate) fn left((token, failure, nodes): CandidatesLeft) -> RemainingCandidates {
    let node = |(node, victims, violations): (String, Vec<String>, u64)| RemainingCandidate {
        node: node.into(),
        victims: victims.into_iter().map(Into::into).collect(),
        violations: usize::try_from(violations).unwrap_or(usize::MAX),
    };
    RemainingCandidates {
        token,
        failure,
        nodes: nodes.map(|nodes| nodes.into_iter().map(node).collect()),
    }
}

pub(crate) fn outcomes(codes: Vec<(String, u8)>) -> PyResult<Vec<(Arc<str>, BindOutcome)>> {
    codes.into_iter().map(|(uid, code)| Ok((uid.into(), outcome(code)?))).collect()
}

fn outcome(code: u8) -> PyResult<BindOutcome> {
    match code {
        0 => Ok(BindOutcome::Bound),
        1 => Ok(BindOutcome::Failed),
        2 => Ok(BindOutcome::Gone),
        other => Err(PyValueError::new_err(format!("{other} is no outcome of a bind"))),
    }
}

/// A claim of a placed pod, from (uid of the pod, its node, claim, volume, version).
type Awaited = (String, String, String, String, String);

pub(crate) fn awaited(claims: Vec<Awaited>) -> Vec<AwaitedVolume> {
    let awaited = claims.into_iter().map(|(uid, node, claim, volume, version)| {
        let (uid, node, claim) = (uid.into(), node.into(), claim.into());
        AwaitedVolume { uid, node, claim, volume: volume.into(), version: version.into() }
    });
    awaited.collect()
}

pub(crate) fn acted(acted: Vec<(String, String)>) -> Vec<Acted> {
    acted.into_iter().map(|(uid, node)| Acted { uid: uid.into(), node: node.into() }).collect()
}

/// What is to be explained: these pods, or all if there are none; of `nodes` alone, if some are
/// named, and then the pods are named by `uids`; with the parts of expressions.
pub(crate) struct Requested {
    pub(crate) pods: Option<Vec<String>>,
    pub(crate) uids: Option<Vec<String>>,
    pub(crate) nodes: Option<Vec<String>>,
    pub(crate) parts: bool,
}

pub(crate) fn requested(request: &[u8]) -> PyResult<Requested> {
    let request: Value = serde_json::from_slice(request).map_err(|error| refuse(&error))?;
    let parts = match request.get("parts") {
        None => false,
        Some(wanted) => wanted.as_bool().ok_or_else(|| refuse(&"parts is a bool"))?,
    };
    let (pods, uids) = (names(&request, "pods")?, names(&request, "uids")?);
    Ok(Requested { pods, uids, nodes: names(&request, "nodes")?, parts })
}

/// On which pods advice is wanted.
pub(crate) fn advice_asked(request: &[u8]) -> PyResult<AdviceAsked> {
    let request: Value = serde_json::from_slice(request).map_err(|error| refuse(&error))?;
    let text = |field: &str| match request.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(refuse(&format!("{field} is a string or null"))),
    };
    let limit = request.get("limit").and_then(Value::as_u64).unwrap_or(1);
    Ok(AdviceAsked {
        pods: names(&request, "pods")?,
        namespace: text("namespace")?,
        group: text("group")?,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    })
}

/// A list of names, if there is one.
fn names(request: &Value, field: &str) -> PyResult<Option<Vec<String>>> {
    let names = match request.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(names)) => names,
        Some(_) => return Err(refuse(&format!("{field} is a list or null"))),
    };
    let names = names.iter().map(|name| name.as_str().map(str::to_owned));
    let names: Option<Vec<String>> = names.collect();
    names.map(Some).ok_or_else(|| refuse(&format!("{field} are strings")))
}

fn refuse(why: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the request cannot be read: {why}"))
}

pub(crate) fn kind(resource: &str) -> PyResult<Kind> {
    Kind::of_resource(resource)
        .ok_or_else(|| PyValueError::new_err(format!("the engine reads no `{resource}`")))
}

/// The threads of an engine: without a number, as many as the process may use processors, by
/// its affinity and the quota of its cgroups.
pub(crate) fn threads(count: Option<i64>) -> PyResult<Arc<Threads>> {
    let Some(count) = count else {
        let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        return Ok(Arc::new(Threads::new(available)));
    };
    match usize::try_from(count) {
        Ok(count @ 1..=THREADS_MAX) => Ok(Arc::new(Threads::new(count))),
        _ => {
            let message = format!("an engine has from 1 to {THREADS_MAX} threads");
            Err(PyValueError::new_err(message))
        }
    }
}
