//! The outcomes of the parts of rules, as test coverage reads them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use kpolicy_engine::Engine;
use serde_json::{Value, json};

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const ERROR: u8 = 4;
const OTHER: u8 = 8;

fn ir(nodes: &Value, constants: &Value, kind: &str) -> Value {
    let count = nodes.as_array().map_or(0, Vec::len);
    json!({"format": 1, "constants": constants, "nodes": nodes, "root": count - 1,
        "spans": vec![[0, 1]; count], "reads": [], "cost": 1, "time": "node", "type": kind})
}

/// `node.labels['disk'] == 'ssd'`
fn filter() -> Value {
    let nodes = json!([
        {"op": "constant", "type": "string", "constant": 0},
        {"op": "fact", "type": "string", "fact": "node.labels[]", "args": [0]},
        {"op": "constant", "type": "string", "constant": 1},
        {"op": "call", "type": "bool", "overload": "equals_any", "args": [1, 2]}]);
    ir(&nodes, &json!(["disk", "ssd"]), "bool")
}

/// `pod.hostNetwork`
fn condition() -> Value {
    ir(
        &json!([{"op": "fact", "type": "bool", "fact": "pod.hostNetwork", "args": []}]),
        &json!([]),
        "bool",
    )
}

/// `node.podCount`
fn score() -> Value {
    ir(
        &json!([{"op": "fact", "type": "int", "fact": "node.podCount", "args": []}]),
        &json!([]),
        "int",
    )
}

fn engine() -> Engine {
    let program = json!({"format": 1, "hash": "h", "policies": ["p"], "profiles": [{
        "schedulerName": "*",
        "filters": [{"name": "disk", "policy": 0, "expression": filter(), "match": [condition()]}],
        "scores": [{"name": "few", "policy": 0, "expression": score(), "match": [], "weight": 1,
                    "normalize": {"method": "none"}}]}]});
    let mut engine = support::loaded(1, &program);
    for (name, labels) in
        [("a", json!({"disk": "ssd"})), ("b", json!({"disk": "hdd"})), ("c", json!({}))]
    {
        let object = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"}}});
        support::apply(&mut engine, &object);
    }
    for (name, host_network) in [("asked", true), ("passed-over", false)] {
        let object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "d", "uid": name},
            "spec": {"hostNetwork": host_network, "containers": [{"name": "c"}]}});
        support::apply(&mut engine, &object);
    }
    engine
}

fn seen(pod: &str) -> Value {
    let line = engine().explain_parts(Some(&[format!("d/{pod}")]));
    let line: Value = serde_json::from_slice(&line).expect("a line is JSON");
    line["seen"].clone()
}

#[test]
fn a_filter_tells_all_nodes_and_a_score_those_that_fit() {
    let missing = json!({"node": "c", "code": "KR102", "message": "no such key: disk", "at": 1});
    assert_eq!(
        seen("asked"),
        json!([
            {"rule": "disk", "side": "filter", "match": [[TRUE]],
             "nodes": [0, OTHER | ERROR, OTHER, TRUE | FALSE | ERROR], "errors": [missing]},
            {"rule": "few", "side": "score", "match": [], "nodes": [OTHER], "errors": []}])
    );
}

#[test]
fn a_rule_that_does_not_concern_the_pod_tells_its_condition_only() {
    assert_eq!(
        seen("passed-over")[0],
        json!({"rule": "disk", "side": "filter", "match": [[FALSE]], "errors": []})
    );
}

#[test]
fn nothing_is_told_unasked() {
    let line = engine().explain(Some(&["d/asked".to_owned()]));
    let line: Value = serde_json::from_slice(&line).expect("a line is JSON");
    assert_eq!(line.get("seen"), None);
}
