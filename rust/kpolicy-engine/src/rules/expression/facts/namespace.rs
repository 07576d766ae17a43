//! Facts of the pod's namespace as an object, which need not be there.

use std::sync::Arc;

use kpolicy_cel::{Answer, Value};

use crate::model::{Labels, Meta, Namespace};
use crate::part::{Part, Parts};
use crate::rules::expression::api_path;
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::pod_facts::{entry, map};

use super::{Row, Source};

const PARTS: Parts = Parts::of(&[Part::PodIdentity, Part::Namespace]);
const LABELS: &str = "map(string, string)";

const fn row(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    source: Source,
) -> Row {
    Row { name, arguments, result, parts: PARTS, source, lanes: Lanes::None }
}

const fn fact(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    answer: fn(Option<&Namespace>, &[Value]) -> Answer,
) -> Row {
    row(name, arguments, result, Source::Namespace(answer))
}

fn or_absent(namespace: Option<&Namespace>, of: impl FnOnce(&Meta) -> Answer) -> Answer {
    namespace.map_or(Answer::Absent, |namespace| of(&namespace.meta))
}

fn or_empty(namespace: Option<&Namespace>, of: impl FnOnce(&Meta) -> &Labels) -> Answer {
    let found = namespace.map(|namespace| map(of(&namespace.meta)));
    found.unwrap_or_else(|| map(&Labels::default())).into()
}

pub(super) static ROWS: [Row; 15] = [
    row("name", &[], "string", Source::Pod(|pod, _| Arc::clone(pod.namespace()).into())),
    fact("labels", &[], LABELS, |namespace, _| or_empty(namespace, |meta| &meta.labels)),
    fact("labels[]", &["string"], "string", |namespace, args| {
        or_absent(namespace, |meta| entry(&meta.labels, args))
    }),
    fact("annotations", &[], LABELS, |namespace, _| or_empty(namespace, |meta| &meta.annotations)),
    fact("annotations[]", &["string"], "string", |namespace, args| {
        or_absent(namespace, |meta| entry(&meta.annotations, args))
    }),
    // API paths. What is held anyway is not kept once more.
    fact("metadata.name", &[], "string", |namespace, _| {
        or_absent(namespace, |meta| api_path::text(&meta.name))
    }),
    fact("metadata.namespace", &[], "string", |namespace, _| {
        or_absent(namespace, |meta| api_path::text(&meta.namespace))
    }),
    fact("metadata.uid", &[], "string", |namespace, _| {
        or_absent(namespace, |meta| api_path::text(&meta.uid))
    }),
    fact("metadata.labels", &[], LABELS, |namespace, _| {
        or_absent(namespace, |meta| api_path::whole(&meta.labels))
    }),
    fact("metadata.labels[]", &["string"], "string", |namespace, args| {
        or_absent(namespace, |meta| entry(&meta.labels, args))
    }),
    fact("metadata.annotations", &[], LABELS, |namespace, _| {
        or_absent(namespace, |meta| api_path::whole(&meta.annotations))
    }),
    fact("metadata.annotations[]", &["string"], "string", |namespace, args| {
        or_absent(namespace, |meta| entry(&meta.annotations, args))
    }),
    row("metadata", &[], "v1.ObjectMeta", Source::NamespacePath),
    row("spec", &[], "v1.NamespaceSpec", Source::NamespacePath),
    row("status", &[], "v1.NamespaceStatus", Source::NamespacePath),
];
