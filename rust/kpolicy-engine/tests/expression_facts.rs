//! Every fact gives the same for all nodes at once as node by node, and what it should.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use kpolicy_engine::Engine;
use kpolicy_engine::rules::Code;
use serde_json::{Value, json};

/// A fact, its arguments, and what it gives nodes a, b and c.
type Case<T> = (&'static str, Vec<Value>, T);

fn world() -> Engine {
    let mut engine = support::loaded(1, &support::default_program());
    let nodes = [
        ("a", json!({"zone": "z1", "disk": "ssd"}), "True", "4"),
        ("b", json!({"zone": "z1"}), "False", "8"),
        ("c", json!({"disk": "hdd"}), "True", "2"),
    ];
    for (name, labels, ready, cpu) in nodes {
        let taints = if name == "b" {
            json!([{"key": "k", "value": "v", "effect": "NoSchedule"}])
        } else {
            json!([])
        };
        support::apply(
            &mut engine,
            &json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": labels, "annotations": {"rank": name}},
                "spec": {"unschedulable": name == "c", "taints": taints},
                "status": {
                    "conditions": [{"type": "Ready", "status": ready}],
                    "images": [{"names": ["img:1"], "sizeBytes": 5}],
                    "capacity": {"cpu": "16", "memory": "8Gi", "pods": "20"},
                    "allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "10"}}}),
        );
    }
    for (name, app, node) in
        [("p1", "web", "a"), ("p2", "web", "b"), ("p3", "db", "a"), ("w", "web", "")]
    {
        support::apply(
            &mut engine,
            &json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": app},
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                        "name": app, "uid": app, "controller": true}]},
                "spec": {"nodeName": node, "priority": 7, "hostNetwork": true,
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                    "containers": [{"name": "c", "image": "img:1",
                        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"},
                                      "limits": {"cpu": "1"}}}]}}),
        );
    }
    support::apply(
        &mut engine,
        &json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "d", "labels": {"team": "t"}}}),
    );
    engine
}

/// An expression that is one fact, or a text fact compared with a text.
fn ir(fact: &str, args: &[Value], kind: &str, equals: Option<&str>) -> Value {
    let mut constants: Vec<Value> = args.to_vec();
    let mut nodes: Vec<Value> = (0..args.len())
        .map(|index| {
            let is_selector = args[index].get("selector").is_some();
            let kind = if is_selector { "selector" } else { "string" };
            json!({"op": "constant", "type": kind, "constant": index})
        })
        .collect();
    let positions: Vec<usize> = (0..args.len()).collect();
    nodes.push(json!({"op": "fact", "type": kind, "fact": fact, "args": positions}));
    if let Some(text) = equals {
        constants.push(json!(text));
        let fact_at = nodes.len() - 1;
        nodes.push(json!({"op": "constant", "type": "string", "constant": constants.len() - 1}));
        let operands = [fact_at, nodes.len() - 1];
        nodes.push(
            json!({"op": "call", "type": "bool", "overload": "equals_any", "args": operands}),
        );
    }
    let result = if equals.is_some() { "bool" } else { kind };
    json!({"format": 1, "constants": constants, "nodes": nodes, "root": nodes.len() - 1,
        "spans": vec![[0, 1]; nodes.len()], "reads": [], "cost": 1, "time": "node", "type": result})
}

fn program(rule: &str, expression: &Value) -> Value {
    let mut entry = json!({"name": "x", "policy": 0, "expression": expression, "match": []});
    let mut profile = json!({"schedulerName": "*", "filters": [], "scores": []});
    if rule == "scores" {
        entry["weight"] = json!(1);
        entry["normalize"] = json!({"method": "max"});
    }
    profile[rule] = json!([entry]);
    json!({"format": 1, "hash": "h", "policies": ["p"], "profiles": [profile]})
}

/// What a score gives nodes a, b and c; an error is `None`.
fn scores(engine: &mut Engine, expression: &Value) -> [Option<f64>; 3] {
    engine.load(&program("scores", expression)).expect("the program is good");
    let cluster = engine.cluster();
    let pod = &cluster.pods().get("w").expect("it waits").pod;
    let rule = &engine.program().profiles[0].scores[0];
    let prepared = rule.prepare(pod, cluster).expect("it has a say");
    let mut all = vec![0.0; cluster.nodes().slots()];
    prepared.raw_all(cluster, &mut all);
    ["a", "b", "c"].map(|name| {
        let slot = cluster.nodes().find(name).expect("the node is there");
        let one = prepared.raw(cluster, cluster.nodes().view(slot).expect("it is there"));
        assert_eq!(one.to_bits(), all[slot.index()].to_bits(), "{expression}");
        one.is_finite().then_some(one)
    })
}

/// Which of a, b and c a filter lets pass.
fn passes(engine: &mut Engine, expression: &Value) -> [bool; 3] {
    engine.load(&program("filters", expression)).expect("the program is good");
    let cluster = engine.cluster();
    let pod = &cluster.pods().get("w").expect("it waits").pod;
    let rule = &engine.program().profiles[0].filters[0];
    let prepared = rule.prepare(pod, cluster).expect("it has a say");
    let mut all = vec![Code::PASS; cluster.nodes().slots()];
    prepared.check_all(cluster, &mut all);
    ["a", "b", "c"].map(|name| {
        let slot = cluster.nodes().find(name).expect("the node is there");
        let one = prepared.check(cluster, cluster.nodes().view(slot).expect("it is there"));
        assert_eq!(one, all[slot.index()], "{expression}");
        one.passes()
    })
}

#[test]
fn numbers() {
    let mut engine = world();
    let web = json!({"selector": "app=web"});
    let cases: Vec<Case<[Option<i32>; 3]>> = vec![
        ("pod.priority", vec![], [Some(7); 3]),
        ("pod.request", vec![json!("cpu")], [Some(500); 3]),
        ("pod.limit", vec![json!("cpu")], [Some(1000); 3]),
        ("node.allocatable", vec![json!("cpu")], [Some(4000), Some(8000), Some(2000)]),
        ("node.capacity", vec![json!("cpu")], [Some(16000); 3]),
        ("node.requested", vec![json!("cpu")], [Some(1000), Some(500), Some(0)]),
        ("node.free", vec![json!("cpu")], [Some(3000), Some(7500), Some(2000)]),
        ("node.free", vec![json!("pods")], [Some(8), Some(9), Some(10)]),
        ("node.podCount", vec![], [Some(2), Some(1), Some(0)]),
        ("node.podLimit", vec![], [Some(10); 3]),
        ("node.pods.size", vec![], [Some(2), Some(1), Some(0)]),
        ("node.pods.count", vec![web.clone()], [Some(1), Some(1), Some(0)]),
        ("node.pods.sum", vec![json!("cpu"), web.clone()], [Some(500), Some(500), Some(0)]),
        ("node.pods.sameController", vec![], [Some(1), Some(1), Some(0)]),
        ("node.domain.pods.sameController", vec![json!("zone")], [Some(2), Some(2), None]),
        ("cluster.pods.sameController", vec![], [Some(2); 3]),
        ("node.domain.nodeCount", vec![json!("zone")], [Some(2), Some(2), None]),
        ("node.domain.pods.count", vec![json!("zone"), web.clone()], [Some(2), Some(2), None]),
        ("node.domain.pods.size", vec![json!("zone")], [Some(3), Some(3), None]),
        ("node.domain.free", vec![json!("zone"), json!("cpu")], [Some(10500), Some(10500), None]),
        ("cluster.nodeCount", vec![], [Some(3); 3]),
        ("cluster.podCount", vec![], [Some(3); 3]),
        ("cluster.free", vec![json!("cpu")], [Some(12500); 3]),
        ("cluster.domains", vec![json!("zone")], [Some(1); 3]),
        ("cluster.pods.count", vec![web], [Some(2); 3]),
    ];
    assert_eq!(cases.len(), 25);
    for (fact, args, want) in cases {
        let have = scores(&mut engine, &ir(fact, &args, "int", None));
        assert_eq!(have, want.map(|number| number.map(f64::from)), "{fact}");
    }
    let used = scores(&mut engine, &ir("node.utilization", &[json!("cpu")], "double", None));
    assert_eq!(used, [Some(0.25), Some(0.0625), Some(0.0)]);
}

#[test]
fn texts_and_truths() {
    let mut engine = world();
    let texts: Vec<Case<(&str, [bool; 3])>> = vec![
        ("pod.name", vec![], ("w", [true; 3])),
        ("pod.namespace", vec![], ("d", [true; 3])),
        ("pod.labels[]", vec![json!("app")], ("web", [true; 3])),
        ("pod.qosClass", vec![], ("Burstable", [true; 3])),
        ("pod.preemptionPolicy", vec![], ("PreemptLowerPriority", [true; 3])),
        ("node.name", vec![], ("b", [false, true, false])),
        ("node.labels[]", vec![json!("disk")], ("ssd", [true, false, false])),
        ("node.annotations[]", vec![json!("rank")], ("c", [false, false, true])),
        ("node.conditions[]", vec![json!("Ready")], ("True", [true, false, true])),
        ("node.domain.name", vec![json!("zone")], ("z1", [true, true, false])),
        ("namespaceObject.labels[]", vec![json!("team")], ("t", [true; 3])),
        ("namespaceObject.name", vec![], ("d", [true; 3])),
    ];
    assert_eq!(texts.len(), 12);
    for (fact, args, (text, want)) in texts {
        let have = passes(&mut engine, &ir(fact, &args, "string", Some(text)));
        assert_eq!(have, want, "{fact}");
    }
    let truths: Vec<Case<[bool; 3]>> = vec![
        ("pod.hostNetwork", vec![], [true; 3]),
        ("node.ready", vec![], [true, false, true]),
        ("node.unschedulable", vec![], [false, false, true]),
        ("node.hasImage", vec![json!("img:1")], [true; 3]),
        ("node.hasImage", vec![json!("img")], [false; 3]),
        ("node.fits", vec![], [true; 3]),
    ];
    for (fact, args, want) in truths {
        assert_eq!(passes(&mut engine, &ir(fact, &args, "bool", None)), want, "{fact}");
    }
}

#[test]
fn a_fact_that_the_engine_does_not_know_is_refused() {
    let mut engine = world();
    let document = program("filters", &ir("node.mood", &[], "bool", None));
    let refusals = engine.load(&document).expect_err("there is no such fact");
    assert_eq!((refusals[0].code, refusals.len()), ("PR101", 1));
    assert!(refusals[0].message.contains("node.mood"), "{refusals:?}");
}

#[test]
fn an_audited_rule_counts_but_does_not_reject() {
    let mut engine = world();
    let mut document = program("filters", &ir("node.ready", &[], "bool", None));
    document["profiles"][0]["filters"][0]["enforcement"] = json!("audit");
    // Only b is left, which is not ready.
    document["profiles"][0]["filters"].as_array_mut().expect("a list").insert(
        0,
        json!({"name": "only-b", "policy": 0, "match": [],
               "expression": ir("node.name", &[], "string", Some("b"))}),
    );
    engine.load(&document).expect("the program is good");
    let decided = engine.schedule(&["w".into()], 0, &kpolicy_engine::api::Still);
    assert_eq!(decided.decisions[0].node.as_ref(), "b");
    let counted = engine.statistics().rules;
    assert_eq!((counted["*/x"].audited, counted["*/only-b"].errors), (1, 0));
}
