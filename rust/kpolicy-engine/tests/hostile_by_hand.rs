//! Pods that an API server accepts and rules that a verified program may hold, made to cost as much as
//! they can on 5,000 nodes: each decision stays within its units, and ordinary pods beside them are
//! placed. `make attack` prints the table.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Batch, Still, Verdict};
use kpolicy_engine::rules::decision_work::units_max;
use serde_json::{Map, Value, json};

const NODES: usize = 5_000;
/// What an API server takes of an object at most.
const OBJECT_BYTES_MAX: usize = 3 << 19;
/// What all expressions of a profile may spend on a node, asked in columns and once again by itself.
const UNITS_A_NODE: u64 = 2 * 250;

fn cluster(program: &Value) -> Engine {
    let mut engine = support::loaded(1, program);
    let node = |index: usize| {
        let name = format!("node-{index:05}");
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": format!("zone-{}", index % 10)}},
            "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}}})
    };
    let nodes: Vec<Value> = (0..NODES).map(node).collect();
    support::apply(&mut engine, &json!({"apiVersion": "v1", "kind": "List", "items": nodes}));
    engine
}

fn pod(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}}})
}

fn expression(key: usize) -> Value {
    json!({"key": format!("k{key:05}"), "operator": "NotIn", "values": ["x"]})
}

/// A kind of pod, its spec, and the field that its message names.
fn hostile_specs() -> Vec<(&'static str, Value, &'static str)> {
    let many = |count: usize, item: &dyn Fn(usize) -> Value| -> Value {
        (0..count).map(item).collect::<Vec<Value>>().into()
    };
    let pairs: Map<String, Value> =
        (0..32_000).map(|key| (format!("k{key:05}"), json!("x"))).collect();
    let amounts: Map<String, Value> =
        (0..10_000).map(|key| (format!("example.com/r{key:05}"), json!("1"))).collect();
    let preference =
        |key| json!({"weight": 1, "preference": {"matchExpressions": [expression(key)]}});
    let term = |key| json!({"matchExpressions": [expression(key)]});
    let anti = |key| {
        json!({"topologyKey": format!("k{key:05}"),
        "labelSelector": {"matchLabels": {"app": "web"}}})
    };
    vec![
        ("32,000 node selector keys", json!({"nodeSelector": pairs}), "spec.nodeSelector"),
        (
            "10,000 extended resources",
            json!({"containers": [{"name": "c", "resources":
                {"requests": amounts.clone(), "limits": amounts}}]}),
            "spec.containers[].resources",
        ),
        (
            "10,000 spread constraints",
            json!({"topologySpreadConstraints": many(10_000, &|key| json!({"maxSkew": 1,
                "topologyKey": format!("k{key:05}"), "whenUnsatisfiable": "ScheduleAnyway"}))}),
            "spec.topologySpreadConstraints",
        ),
        (
            "14,000 preferences",
            json!({"affinity": {"nodeAffinity":
                {"preferredDuringSchedulingIgnoredDuringExecution": many(14_000, &preference)}}}),
            "spec.affinity.nodeAffinity",
        ),
        (
            "16,000 required terms",
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": many(16_000, &term)}}}}),
            "spec.affinity.nodeAffinity",
        ),
        (
            "10,000 anti-affinity terms",
            json!({"affinity": {"podAntiAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": many(10_000, &anti)}}}),
            "spec.affinity.podAntiAffinity",
        ),
        (
            "16,000 tolerations",
            json!({"tolerations": many(16_000, &|key| json!({"key": format!("k{key:05}"),
                "operator": "Exists"}))}),
            "spec.tolerations",
        ),
    ]
}

fn resident_mib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| {
        text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok())
    });
    pages.unwrap_or_default() * 4 / 1024
}

fn scheduled(engine: &mut Engine, uids: &[&str]) -> Batch {
    let uids: Vec<Arc<str>> = uids.iter().map(|uid| (*uid).into()).collect();
    engine.schedule(&uids, 0, &Still)
}

#[test]
fn pods_that_ask_too_much_are_set_aside_and_hold_nothing() {
    let mut engine = cluster(&support::default_program());
    support::apply(&mut engine, &pod("first", json!({})));
    assert_eq!(scheduled(&mut engine, &["first"]).decisions[0].verdict, Verdict::Placed);
    println!("{:<30} {:>8} {:>10} {:>10}  message", "kind", "ms", "MiB before", "MiB after");
    for (kind, spec, field) in hostile_specs() {
        let before = resident_mib();
        let object = pod("hostile", spec);
        let bytes = object.to_string().len();
        assert!(bytes <= OBJECT_BYTES_MAX, "{kind}: an API server refuses {bytes} bytes");
        support::apply(&mut engine, &object);
        let began = support::processor_time();
        let batch = scheduled(&mut engine, &["hostile"]);
        let took = support::processor_time_since(began);
        let [decision] = batch.decisions.as_slice() else { panic!("{kind}: no decision") };
        println!(
            "{kind:<30} {:>8.3} {before:>10} {:>10}  {}",
            took.as_secs_f64() * 1_000.0,
            resident_mib(),
            decision.message
        );
        assert_eq!(decision.verdict, Verdict::SetAside, "{kind}: {}", decision.message);
        assert!(decision.message.contains(&format!("pod's {field} (")), "{}", decision.message);
        assert!(decision.message.len() < 300, "{kind}");
        let explained = engine.explain(Some(&["d/hostile".to_owned()]));
        assert!(String::from_utf8_lossy(&explained).contains(field), "{kind}: explain");
        let again = engine.decide_from_scratch(&"hostile".into());
        assert_eq!(again.message, decision.message, "{kind}");
    }
}

#[test]
fn a_hundred_of_them_cost_the_others_nothing() {
    let mut engine = cluster(&support::default_program());
    let (_, spec, _) = hostile_specs().swap_remove(0);
    let mut uids: Vec<String> = Vec::new();
    for index in 0..100 {
        let name = format!("hostile-{index}");
        support::apply(&mut engine, &pod(&name, spec.clone()));
        uids.push(name);
    }
    support::apply(
        &mut engine,
        &pod(
            "ordinary",
            json!({"nodeSelector":
        {"topology.kubernetes.io/zone": "zone-3"}}),
        ),
    );
    uids.push("ordinary".to_owned());
    let uids: Vec<&str> = uids.iter().map(String::as_str).collect();
    let began = support::processor_time();
    let batch = scheduled(&mut engine, &uids);
    println!(
        "a batch of 100 hostile pods and one more: {:?}",
        support::processor_time_since(began)
    );
    assert_eq!(batch.decisions.len(), uids.len(), "set aside costs as much as reading the spec");
    let aside = |verdict| batch.decisions.iter().filter(|each| each.verdict == verdict).count();
    assert_eq!((aside(Verdict::SetAside), aside(Verdict::Placed)), (100, 1));
}

#[test]
fn a_call_ends_after_so_much_work_and_the_rest_is_decided_in_the_next() {
    let mut engine = cluster(&support::default_program());
    // Each asks for somewhat less than one decision may.
    let preferences: Vec<Value> = (0..60)
        .map(|key| json!({"weight": 1, "preference": {"matchExpressions": [expression(key)]}}))
        .collect();
    let dear = json!({"affinity": {"nodeAffinity":
        {"preferredDuringSchedulingIgnoredDuringExecution": preferences}}});
    let names: Vec<String> = (0..60).map(|index| format!("dear-{index:03}")).collect();
    for name in &names {
        support::apply(&mut engine, &pod(name, dear.clone()));
    }
    let mut waiting: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut calls = 0;
    while !waiting.is_empty() {
        let began = support::processor_time();
        let batch = scheduled(&mut engine, &waiting);
        calls += 1;
        println!(
            "call {calls}: {} of {} pods, {:?}",
            batch.decisions.len(),
            waiting.len(),
            support::processor_time_since(began)
        );
        assert!(!batch.decisions.is_empty(), "of any pods one is decided");
        let decided: Vec<&str> = batch.decisions.iter().map(|decision| &*decision.uid).collect();
        assert_eq!(decided, waiting[..decided.len()], "in their order, and no others");
        assert!(batch.decisions.iter().all(|decision| decision.verdict == Verdict::Placed));
        waiting.drain(..decided.len());
    }
    assert!((2..20).contains(&calls), "{calls} calls");
}

#[test]
fn a_unit_that_takes_more_than_a_call_may_is_taken_back_as_a_whole() {
    let mut engine = cluster(&support::default_program());
    let preferences: Vec<Value> = (0..60)
        .map(|key| json!({"weight": 1, "preference": {"matchExpressions": [expression(key)]}}))
        .collect();
    let dear = json!({"affinity": {"nodeAffinity":
        {"preferredDuringSchedulingIgnoredDuringExecution": preferences}}});
    // Each asks for something else; those that are alike share what was worked out for the first.
    let names: Vec<Arc<str>> = (0..40).map(|index| format!("dear-{index:03}").into()).collect();
    for (index, name) in names.iter().enumerate() {
        let mut spec = dear.clone();
        spec["tolerations"] = json!([{"key": format!("t{index}"), "operator": "Exists"}]);
        support::apply(&mut engine, &pod(name, spec));
    }
    let before = engine.holdings();
    let began = support::processor_time();
    let decision = engine.schedule_unit(&names, 0, &Still).decided.expect_err("it takes too much");
    println!(
        "a unit of 40 dear pods: {:?}, {}",
        support::processor_time_since(began),
        decision.message
    );
    assert_eq!(decision.verdict, Verdict::SetAside);
    assert!(decision.message.contains("50000000 units"), "{}", decision.message);
    assert_ne!(decision.uid, names[0], "it is decided on some of them first");
    assert_eq!(engine.holdings(), before);
    assert_eq!(engine.statistics().pods_assumed, 0);

    let alike: Vec<Arc<str>> = (0..40).map(|index| format!("alike-{index:03}").into()).collect();
    for name in &alike {
        support::apply(&mut engine, &pod(name, dear.clone()));
    }
    let decisions = engine.schedule_unit(&alike, 0, &Still).decided.expect("they share their work");
    assert_eq!(decisions.len(), alike.len());
}

/// A rule, and whether it may be evaluated at all.
fn hostile_rules() -> Vec<(&'static str, Value)> {
    let range = |items: usize| {
        json!({"format": 1, "constants": [items, "nowhere"], "root": 5, "nodes": [
            {"op": "constant", "type": "int", "constant": 0},
            {"op": "call", "type": ["list", "int"], "overload": "lists_range_int64", "args": [0]},
            {"op": "fact", "type": "string", "fact": "node.name"},
            {"op": "constant", "type": "string", "constant": 1},
            {"op": "call", "type": "bool", "overload": "equals_any", "args": [2, 3]},
            {"op": "loop", "type": "bool", "kind": "exists", "slots": [0], "args": [1, 4]}],
            "spans": [[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]],
            "reads": [], "cost": 6, "time": "node", "type": "bool"})
    };
    // For each of some keys the pods of the node's domain, with a key that only evaluating tells.
    let domains = json!({"format": 1, "constants": [["a", "b", "c", "d", "e", "f", "g", "h"], 7],
        "root": 4, "nodes": [
            {"op": "constant", "type": ["list", "string"], "constant": 0},
            {"op": "slot", "type": "string", "slot": 0},
            {"op": "fact", "type": "int", "fact": "cluster.domains", "args": [1]},
            {"op": "constant", "type": "int", "constant": 1},
            {"op": "call", "type": "bool", "overload": "equals_any", "args": [2, 3]},
            {"op": "loop", "type": "bool", "kind": "exists", "slots": [0], "args": [0, 4]}],
        "spans": [[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]],
        "reads": [], "cost": 6, "time": "node", "type": "bool"});
    let mut domains = domains;
    domains["root"] = json!(5);
    vec![
        ("lists.range(400)", range(400)),
        ("lists.range(4000)", range(4_000)),
        ("domains in a loop", domains),
    ]
}

#[test]
fn rules_stop_at_what_they_may_spend_however_little_the_compiler_found() {
    for (kind, expression) in hostile_rules() {
        let rules: Vec<Value> = (0..8)
            .map(|index| {
                json!({"name": format!("r{index}"), "policy": 0, "expression": expression, "match": [],
                    "onError": "accept"})
            })
            .collect();
        let mut program = support::default_program();
        program["policies"] = json!(["p"]);
        program["profiles"][0]["filters"] = rules.into();
        let mut engine = cluster(&program);
        support::apply(&mut engine, &pod("p", json!({})));
        let scratch = engine.decide_from_scratch(&"p".into());
        let spent = |engine: &Engine| -> u64 {
            engine.program().profiles[0].counts.iter().map(|(_, counts)| counts.units()).sum()
        };
        let before = spent(&engine);
        let began = support::processor_time();
        let batch = scheduled(&mut engine, &["p"]);
        let units = spent(&engine) - before;
        println!("{kind:<20} {units:>10} units {:>10.3?}", support::processor_time_since(began));
        assert!(units <= NODES as u64 * UNITS_A_NODE, "{kind}: {units} units");
        assert!(units <= units_max(NODES));
        let decided = (batch.decisions[0].verdict, &batch.decisions[0].message);
        assert_eq!(decided, (scratch.verdict, &scratch.message), "{kind}");
    }
}
