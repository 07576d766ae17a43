//! Facts by API path, such as `pod.spec.runtimeClassName` or `node.status.nodeInfo.kernelVersion`:
//! which facts these are, what objects must keep for them, and their answers.
//!
//! Identity, labels and annotations are always kept and are answered from there; an object without
//! any has none.

use kpolicy_cel::{Answer, ErrorKind as FaultKind, Expression, Fault, Value};

use crate::model::{ApiPaths, ApiValues, Kind, Labels};

use super::facts::{self, Root};
use super::pod_facts::map;

/// What an expression needs kept.
pub(crate) fn paths_of(expression: &Expression, paths: &mut ApiPaths) {
    let constant = expression.reads().iter().map(|read| &read.fact);
    for (root, path) in constant.chain(expression.dynamic_facts()).filter_map(facts::api_path) {
        let kind = match root {
            Root::Pod => Kind::Pod,
            Root::Node => Kind::Node,
            Root::Namespace => Kind::Namespace,
            Root::Cluster
            | Root::Victim
            | Root::Now
            | Root::Tenant
            | Root::Queue
            | Root::Allocation => continue,
        };
        paths.add(kind, path);
    }
}

/// What the object itself says at a path.
pub(super) fn answer(kept: &ApiValues, path: &str, args: &[Value]) -> Answer {
    let Some(found) = kept.get(path) else {
        let message = format!("{path} was not kept when the object was read");
        return Answer::Failed(Fault::new(FaultKind::UnknownFact, message));
    };
    match (&found.value, args) {
        (None, _) => Answer::Absent,
        (Some(value), []) => Answer::Known(value.clone()),
        (Some(Value::Map(entries)), [Value::String(key)]) => {
            entries.get_text(key).map_or(Answer::Absent, |value| Answer::Known(value.clone()))
        }
        _ => super::pod_facts::no_such_overload(),
    }
}

/// The API leaves out what is empty.
pub(super) fn text(text: &str) -> Answer {
    if text.is_empty() { Answer::Absent } else { text.into() }
}

pub(super) fn whole(labels: &Labels) -> Answer {
    if labels.is_empty() { Answer::Absent } else { map(labels).into() }
}
