//! Converts arguments from Python (flat tuples, see `_engine.pyi`) into the engine's types.

use std::num::NonZeroUsize;
use std::sync::Arc;

use kpolicy_engine::api::{
    Acted, AwaitedVolume, BindOutcome, KeptNode, Kind, RefusedNode, RemainingCandidate,
    RemainingCandidates,
};
use kpolicy_engine::threads::{THREADS_MAX, Threads};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
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

/// The pods asked for, `None` for all, and whether parts of expressions are.
pub(crate) fn requested(request: &[u8]) -> PyResult<(Option<Vec<String>>, bool)> {
    let refuse = |why: String| PyValueError::new_err(format!("the request cannot be read: {why}"));
    let request: Value =
        serde_json::from_slice(request).map_err(|error| refuse(error.to_string()))?;
    let parts = match request.get("parts") {
        None => false,
        Some(wanted) => wanted.as_bool().ok_or_else(|| refuse("parts is a bool".to_owned()))?,
    };
    let pods = match request.get("pods") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(pods)) => pods
            .iter()
            .map(|pod| pod.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .map(Some)
            .ok_or_else(|| refuse("pods are strings".to_owned())),
        Some(_) => Err(refuse("pods is a list or null".to_owned())),
    };
    pods.map(|pods| (pods, parts))
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
