//! Nodes with devices, claims and pods, and what is done with them.

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Decision, Kind, Still};
use kpolicy_engine::model::{Event, Meta};
use serde_json::{Value, json};

use crate::support;

const VERSION: &str = "resource.k8s.io/v1";

pub(crate) fn program(frees_devices: bool, release: &str) -> Value {
    let mut program = support::default_program();
    program["release"] = json!(release);
    if frees_devices {
        program["profiles"][0]["preemption"]["freesDevices"] = json!(true);
    }
    program
}

pub(crate) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}})
}

pub(crate) fn class() -> Value {
    json!({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"}})
}

/// The devices of a pool that a node has, or all nodes.
pub(crate) fn slice(pool: &str, node: Option<&str>, devices: &Value) -> Value {
    let mut spec = json!({"driver": "x", "devices": devices,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}});
    match node {
        Some(node) => spec["nodeName"] = json!(node),
        None => spec["allNodes"] = json!(true),
    }
    json!({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": pool}, "spec": spec})
}

pub(crate) fn plain(count: usize) -> Value {
    (0..count).map(|device| json!({"name": format!("d{device}")})).collect()
}

pub(crate) fn claim(name: &str, count: usize, status: &Value) -> Value {
    let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu",
        "allocationMode": "ExactCount", "count": count}});
    json!({"apiVersion": VERSION, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"devices": {"requests": [request]}}, "status": status})
}

pub(crate) fn users(pods: &[&str]) -> Value {
    pods.iter().map(|pod| json!({"resource": "pods", "name": pod, "uid": pod})).collect()
}

/// The status of a claim that has devices of a pool, reserved for these pods.
pub(crate) fn held(pool: &str, devices: &[&str], pods: &[&str]) -> Value {
    let results: Vec<Value> = devices
        .iter()
        .map(|device| json!({"request": "r", "driver": "x", "pool": pool, "device": device}))
        .collect();
    json!({"allocation": {"devices": {"results": results}}, "reservedFor": users(pods)})
}

pub(crate) fn pod(name: &str, priority: i32, node: Option<&str>, claims: &[&str]) -> Value {
    let claims: Vec<Value> =
        claims.iter().map(|claim| json!({"name": claim, "resourceClaimName": claim})).collect();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"priority": priority, "resourceClaims": claims,
                 "containers": [{"name": "c", "image": "i"}]}});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
    }
    pod
}

pub(crate) fn engine(frees_devices: bool, objects: &[Value]) -> Engine {
    let mut engine = support::loaded(1, &program(frees_devices, "1.37"));
    objects.iter().for_each(|object| drop(support::apply(&mut engine, object)));
    engine
}

pub(crate) fn decide(engine: &mut Engine, pod: &str) -> Decision {
    engine.schedule(&[pod.into()], 0, &Still).decisions.remove(0)
}

pub(crate) fn victims(decision: &Decision) -> Vec<&str> {
    decision.victims.iter().map(|victim| &*victim.uid).collect()
}

pub(crate) fn remove(engine: &mut Engine, pod: &str) -> Applied {
    let mut applied = Applied::default();
    let meta = Meta { namespace: "d".into(), name: pod.into(), uid: pod.into(), ..Meta::default() };
    engine.apply(Event::Gone(Kind::Pod, meta.into()), 0, &mut applied);
    applied
}
