//! Clusters from JSON for the tests.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use kpolicy_codec::{Keep, file};
use kpolicy_engine::event::Occurrence;
use kpolicy_engine::fields::{Fields, Refusals};
use kpolicy_engine::model::{Event, Kind, Object};
use kpolicy_engine::release::Followed;
use kpolicy_engine::rules::{Filter, Rejection, Stage, Status, catalog};
use kpolicy_engine::snapshot::{Cluster, Pod};
use serde_json::{Map, Value, json};

pub(crate) const RULES: [&str; 4] =
    ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"];
pub(crate) const DISK_RULES: [&str; 4] =
    ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"];

/// A rule of the catalog without arguments.
pub(crate) fn rule(name: &str) -> Box<dyn Filter> {
    let (empty, mut refusals) = (json!({}), Refusals::default());
    let mut args = Fields::of(&empty, "$", &mut refusals).expect("it is an object");
    let make = catalog::filter(name).unwrap_or_else(|| panic!("no rule {name}"));
    make(&mut args, Followed::default(), &mut refusals)
        .unwrap_or_else(|| panic!("{name} wants arguments"))
}

pub(crate) fn objects(list: &Value) -> Vec<Object> {
    let mut objects = Vec::new();
    let unreadable = file::objects(list.to_string().as_bytes(), Keep(None), &mut |event| {
        if let Event::Present(object) = event {
            objects.push(object);
        }
    });
    assert!(unreadable.is_empty(), "{unreadable:?}");
    objects
}

pub(crate) fn put(cluster: &mut Cluster, object: Object) -> Vec<Occurrence> {
    match object {
        Object::Pod(pod) => cluster.set_pod(Arc::unwrap_or_clone(pod)),
        Object::Node(node) => cluster.set_node(Arc::unwrap_or_clone(node)).into_iter().collect(),
        other => cluster.set_object(other).into_iter().collect(),
    }
}

/// A cluster of objects written as JSON; what a kind may leave out is filled in.
pub(crate) fn cluster(list: &[Value]) -> Cluster {
    let mut cluster = Cluster::default();
    for object in list {
        put_json(&mut cluster, object);
    }
    cluster
}

pub(crate) fn put_json(cluster: &mut Cluster, object: &Value) -> Vec<Occurrence> {
    objects(object).into_iter().flat_map(|object| put(cluster, object)).collect()
}

pub(crate) fn remove(cluster: &mut Cluster, kind: Kind, namespace: &str, name: &str) -> Occurrence {
    let gone = cluster.remove_object(kind, namespace, name);
    gone.unwrap_or_else(|| panic!("no {kind:?} {namespace}/{name}"))
}

pub(crate) fn pod(cluster: &Cluster, uid: &str) -> Arc<Pod> {
    let entry = cluster.pods().get(uid).unwrap_or_else(|| panic!("no pod {uid}"));
    Arc::clone(&entry.pod)
}

/// A pod `ns/name` whose uid is its name.
pub(crate) fn pod_json(name: &str, node: Option<&str>, volumes: &Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": volumes});
    if let Some(node) = node {
        spec["nodeName"] = json!(node);
    }
    let meta = json!({"name": name, "namespace": "ns", "uid": name});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
}

pub(crate) fn node_json(name: &str, labels: &Value, allocatable: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
           "status": {"allocatable": allocatable}})
}

pub(crate) fn claim_json(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec,
           "metadata": {"name": name, "namespace": "ns", "uid": name}})
}

/// Volumes that name claims.
pub(crate) fn claimed(names: &[&str]) -> Value {
    let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
    names.iter().map(volume).collect()
}

pub(crate) fn observed(status: &Status) -> Value {
    let code = match status.rejection {
        Rejection::Error => "Error",
        rejection => rejection.name(),
    };
    json!({"code": code, "reasons": status.reasons})
}

/// What a rule says of a pod, from scratch: `preFilter`, or `nodes` with every rejection.
pub(crate) fn verdicts(rule: &dyn Filter, pod: &Pod, cluster: &Cluster) -> Map<String, Value> {
    let mut said = Map::new();
    let prepared = rule.prepare(pod, cluster);
    let mut nodes = Map::new();
    if let Some(prepared) = &prepared {
        match prepared.stage() {
            Stage::Reject(status) => {
                said.insert("preFilter".into(), observed(status));
                return said;
            }
            Stage::Skip => {}
            Stage::Check => {
                for view in cluster.nodes().iter() {
                    let code = prepared.check(cluster, view);
                    if !code.passes() {
                        let status = prepared.describe(cluster, view, code);
                        assert_eq!(code.is_failure(), status.rejection == Rejection::Error);
                        assert!(prepared.can_fail() || !code.is_failure());
                        nodes.insert(view.node.name.to_string(), observed(&status));
                    }
                }
            }
        }
    }
    said.insert("nodes".into(), nodes.into());
    said
}

/// Names of nodes that a rule rejects.
pub(crate) fn rejected(rule: &dyn Filter, pod: &Pod, cluster: &Cluster) -> Vec<String> {
    let said = verdicts(rule, pod, cluster);
    let nodes = said.get("nodes").and_then(Value::as_object);
    nodes.expect("the pod is not rejected as a whole").keys().cloned().collect()
}

/// The recorded cases: cluster and answers.
pub(crate) fn recorded_cases() -> Vec<(Value, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/conformance/volume-plugins-1.36/cases.jsonl.gz");
    let lines = BufReader::new(GzDecoder::new(File::open(path).expect("the cases are there")));
    let case = |line: std::io::Result<String>| {
        let line = line.expect("a case is text");
        let mut case: Value = serde_json::from_str(&line).expect("a case is JSON");
        (case["cluster"].take(), case["expected"].take())
    };
    lines.lines().map(case).collect()
}
