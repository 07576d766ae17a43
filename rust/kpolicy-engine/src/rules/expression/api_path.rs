//! Facts by API path: `pod.spec.runtimeClassName`, `node.status.nodeInfo.kernelVersion`.
//!
//! Owns which facts these are, what must be kept of objects for them, and their answers. Identity,
//! labels and annotations are held anyway and answered from there; an object without any has none.

use kpolicy_cel::{Answer, Expression, Fault, Kind as FaultKind, Value};

use crate::model::{ApiPaths, ApiValues, Kind, Labels, Meta};

use super::pod_facts::{entry, map};

/// Paths that need not be kept.
const OF_META: [&str; 5] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
];

/// Whether a path below a root is one of the API.
pub fn is_api_path(path: &str) -> bool {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    matches!(first, "metadata" | "spec" | "status")
}

fn without_entry(path: &str) -> &str {
    path.strip_suffix("[]").unwrap_or(path)
}

/// The path that must be kept to answer a path below a root.
pub fn kept_path(path: &str) -> Option<&str> {
    let path = without_entry(path);
    (is_api_path(path) && !OF_META.contains(&path)).then_some(path)
}

/// What an expression needs kept.
pub fn paths_of(expression: &Expression, paths: &mut ApiPaths) {
    let constant = expression.reads().iter().map(|read| &*read.fact);
    for fact in constant.chain(expression.dynamic_facts()) {
        let Some((root, path)) = fact.split_once('.') else { continue };
        let kind = match root {
            "pod" => Kind::Pod,
            "node" => Kind::Node,
            "namespaceObject" => Kind::Namespace,
            _ => continue,
        };
        if let Some(path) = kept_path(path) {
            paths.add(kind, path);
        }
    }
}

/// What the object itself says at a path.
pub fn answer(kept: &ApiValues, path: &str, args: &[Value]) -> Answer {
    let Some(found) = kept.get(without_entry(path)) else {
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

/// A path below `metadata` that is held anyway.
pub fn of_meta(meta: &Meta, path: &str, args: &[Value]) -> Option<Answer> {
    Some(match path {
        "metadata.name" => text(&meta.name),
        "metadata.namespace" => text(&meta.namespace),
        "metadata.uid" => text(&meta.uid),
        "metadata.labels" => whole(&meta.labels),
        "metadata.labels[]" => entry(&meta.labels, args),
        "metadata.annotations" => whole(&meta.annotations),
        "metadata.annotations[]" => entry(&meta.annotations, args),
        _ => return None,
    })
}

/// The API leaves out what is empty.
pub fn text(text: &str) -> Answer {
    if text.is_empty() { Answer::Absent } else { text.into() }
}

pub fn whole(labels: &Labels) -> Answer {
    if labels.is_empty() { Answer::Absent } else { map(labels).into() }
}
