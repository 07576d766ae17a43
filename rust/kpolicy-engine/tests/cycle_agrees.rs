//! Every decision equals one from scratch: random clusters, random pods, random changes in between;
//! before each decision `explain` (which keeps nothing) says what it must be.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Event, Kind, Outcome, Still, Verdict};
use kpolicy_engine::model::Meta;
use serde_json::{Value, json};

const CLUSTERS: u64 = 12;
const STEPS: usize = 220;

/// `SplitMix64`.
struct Lots(u64);

impl Lots {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

const ZONES: [&str; 3] = ["za", "zb", "zc"];
const APPS: [&str; 4] = ["web", "db", "cache", "job"];
const NAMESPACES: [&str; 2] = ["red", "blue"];

fn node(lots: &mut Lots, index: usize) -> Value {
    let mut labels = json!({"kubernetes.io/hostname": format!("n{index:02}"),
                            "disk": lots.pick(&["ssd", "hdd"])});
    if !lots.one_in(6) {
        labels["topology.kubernetes.io/zone"] = json!(lots.pick(&ZONES));
    }
    let mut taints = Vec::new();
    if lots.one_in(4) {
        let effect = lots.pick(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        taints.push(json!({"key": "dedicated", "value": lots.pick(&APPS), "effect": effect}));
    }
    let images =
        json!([{"names": [format!("img/{}:1", lots.pick(&APPS))], "sizeBytes": 300_000_000}]);
    // Whom the node asks to be spared.
    let spared = json!({"preferAvoidPods": [{"podSignature": {"podController":
        {"kind": "ReplicaSet", "uid": lots.pick(&APPS)}}}]});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("n{index:02}"), "labels": labels, "annotations":
            {"scheduler.alpha.kubernetes.io/preferAvoidPods": spared.to_string()}},
        "spec": {"taints": taints, "unschedulable": lots.one_in(10)},
        "status": {"images": images, "allocatable": {
            "cpu": format!("{}", 2 + lots.below(6)), "memory": format!("{}Gi", 4 + lots.below(12)),
            "pods": format!("{}", 4 + lots.below(10)), "example.com/gpu": format!("{}", lots.below(3))}}})
}

fn pod_affinity_term(lots: &mut Lots) -> Value {
    let key = lots.pick(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
    let mut term = json!({"topologyKey": key,
                          "labelSelector": {"matchLabels": {"app": lots.pick(&APPS)}}});
    if lots.one_in(4) {
        term["namespaceSelector"] = json!({});
    }
    term
}

fn affinity(lots: &mut Lots) -> Value {
    let mut affinity = json!({});
    if lots.one_in(4) {
        affinity["nodeAffinity"] = json!({
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1 + lots.below(100),
                "preference": {"matchExpressions": [
                    {"key": "disk", "operator": "In", "values": ["ssd"]}]}}]});
    }
    if lots.one_in(6) {
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!({"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In",
                 "values": [format!("n{:02}", lots.below(12))]}]}]});
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        if lots.one_in(5) {
            affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!([pod_affinity_term(lots)]);
        }
        if lots.one_in(4) {
            affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"] = json!([{"weight": 1 + lots.below(100), "podAffinityTerm": pod_affinity_term(lots)}]);
        }
    }
    affinity
}

fn pod(lots: &mut Lots, index: usize, node: Option<String>) -> Value {
    let app = *lots.pick(&APPS);
    let mut container =
        json!({"name": "c", "image": format!("img/{app}:1"), "resources": {"requests": {}}});
    // Few shapes, so that shapes meet again, and some of their own.
    let requests = &mut container["resources"]["requests"];
    if !lots.one_in(4) {
        requests["cpu"] = json!(format!("{}m", 100 * (1 + lots.below(5))));
        requests["memory"] = json!(format!("{}Mi", 256 * (1 + lots.below(3))));
    }
    if lots.one_in(8) {
        requests["example.com/gpu"] = json!("1");
    }
    if lots.one_in(6) {
        container["ports"] = json!([{"containerPort": 80, "hostPort": 8080 + lots.below(2)}]);
    }
    let mut spec = json!({"containers": [container], "priority": lots.below(3)});
    if lots.one_in(3) {
        spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    }
    if lots.one_in(6) {
        spec["nodeSelector"] = json!({"disk": "ssd"});
    }
    if lots.one_in(3) {
        spec["affinity"] = affinity(lots);
    }
    if lots.one_in(3) {
        let key = lots.pick(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
        let when = lots.pick(&["DoNotSchedule", "ScheduleAnyway"]);
        spec["topologySpreadConstraints"] = json!([{"maxSkew": 1 + lots.below(2),
            "topologyKey": key, "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": {"app": app}}}]);
    }
    let mut status = json!({});
    match node {
        Some(node) => spec["nodeName"] = json!(node),
        None if lots.one_in(12) => {
            status["nominatedNodeName"] = json!(format!("n{:02}", lots.below(12)));
        }
        None => {}
    }
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status,
        "metadata": {"name": format!("p{index}"), "namespace": lots.pick(&NAMESPACES),
                     "uid": format!("u{index}"), "labels": {"app": app},
                     "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                          "name": app, "uid": app, "controller": true}]}})
}

/// What `explain` says of one pod.
fn explained(engine: &mut Engine, uid: &str) -> Option<Value> {
    let entry = engine.cluster().pods().get(uid)?;
    let key = entry.pod.key();
    let line = engine.explain(Some(&[key]));
    Some(serde_json::from_slice(&line).expect("a line is JSON"))
}

/// Decides on a pod and compares with the answer from scratch.
fn compare(engine: &mut Engine, uid: &Arc<str>, place: &str) -> Verdict {
    let want = explained(engine, uid).unwrap_or_else(|| panic!("{place}: no pod {uid}"));
    let batch = engine.schedule(std::slice::from_ref(uid), 0, &Still);
    let have = &batch.decisions[0];
    match have.verdict {
        Verdict::Placed => {
            assert_eq!(want["selected"], json!(&*have.node), "{place}: {want:#}");
            let nodes = want["nodes"].as_array().expect("nodes are a list");
            let chosen = nodes.iter().find(|node| node["name"] == *have.node).expect("it is there");
            if want["best"].as_array().is_some_and(|best| best.contains(&json!(&*have.node))) {
                let feasible = nodes.iter().filter(|node| !node["total"].is_null()).count();
                assert!(have.nodes_feasible == feasible || have.nodes_feasible == 1, "{place}");
                if have.nodes_feasible == feasible {
                    assert_eq!(chosen["total"], have.score, "{place}: {want:#}");
                }
            }
        }
        Verdict::Parked => {
            assert!(want["selected"].is_null(), "{place}: {} {want:#}", have.message);
            let (message, room) = (&want["message"], &want["preemption"]);
            let message = message.as_str().unwrap_or_default();
            let rest = have.message.strip_prefix(message);
            let rest = rest.unwrap_or_else(|| panic!("{place}: {} {message}", have.message));
            if have.nominated_node.is_empty() {
                assert!(room["node"].is_null(), "{place}: {room}");
                assert!(rest.starts_with(' '), "{place}: {rest}");
            } else {
                let victims = room["candidates"][&*have.nominated_node].as_array();
                let victims = victims.unwrap_or_else(|| panic!("{place}: {room}"));
                assert_eq!((rest, have.victims.len()), ("", victims.len()), "{place}: {room}");
            }
        }
        other => panic!("{place}: {other:?} {}", have.message),
    }
    have.verdict
}

fn gone(kind: Kind, uid: &str, name: &str) -> Event {
    Event::Gone(kind, Box::new(Meta { uid: uid.into(), name: name.into(), ..Meta::default() }))
}

/// One change of the cluster.
fn disturb(engine: &mut Engine, lots: &mut Lots, next: &mut usize, uids: &mut Vec<Arc<str>>) {
    let mut applied = Applied::default();
    match lots.below(10) {
        0 | 1 => {
            let index = lots.below(12);
            let changed = node(lots, index);
            support::apply(engine, &changed);
        }
        2 => {
            let name = format!("n{:02}", lots.below(12));
            engine.apply(gone(Kind::Node, &name, &name), 0, &mut applied);
        }
        3 | 4 => {
            // Also on nodes that are not there.
            let on = format!("n{:02}", lots.below(13));
            let placed = pod(lots, *next, Some(on));
            uids.push(format!("u{next}").into());
            *next += 1;
            support::apply(engine, &placed);
        }
        5 | 6 if !uids.is_empty() => {
            let uid = Arc::clone(lots.pick(uids));
            uids.retain(|have| *have != uid);
            engine.apply(gone(Kind::Pod, &uid, ""), 0, &mut applied);
        }
        7 if !uids.is_empty() => {
            let uid = Arc::clone(lots.pick(uids));
            engine.settle(&[(uid, Outcome::Failed)], 0, &mut applied);
        }
        8 => {
            let labels = json!({"team": lots.pick(&APPS)});
            let name = lots.pick(&NAMESPACES);
            support::apply(
                engine,
                &json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": labels}}),
            );
        }
        _ => {}
    }
}

fn run(document: &Value, seed: u64) -> (usize, usize) {
    let mut lots = Lots(seed);
    let mut engine = support::loaded(seed, document);
    for index in 0..8 {
        let fresh = node(&mut lots, index);
        support::apply(&mut engine, &fresh);
    }
    for (namespace, app) in [("red", "web"), ("red", "db"), ("blue", "web")] {
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": app}},
            "metadata": {"name": app, "namespace": namespace, "uid": format!("{namespace}-{app}")}});
        support::apply(&mut engine, &service);
    }
    let (mut next, mut uids) = (0, Vec::new());
    let (mut placed, mut parked) = (0, 0);
    for step in 0..STEPS {
        if lots.one_in(3) {
            disturb(&mut engine, &mut lots, &mut next, &mut uids);
            continue;
        }
        let waiting = pod(&mut lots, next, None);
        support::apply(&mut engine, &waiting);
        let uid: Arc<str> = format!("u{next}").into();
        next += 1;
        uids.push(Arc::clone(&uid));
        match compare(&mut engine, &uid, &format!("cluster {seed} step {step} {uid}")) {
            Verdict::Placed => placed += 1,
            _ => parked += 1,
        }
        // Some earlier pod is tried again, with shapes that lagged behind.
        if lots.one_in(2) {
            let again = Arc::clone(lots.pick(&uids));
            let waits = |uid: &str| {
                engine.cluster().pods().get(uid).is_some_and(|entry| entry.node().is_none())
            };
            if waits(&again) && !engine.cluster().nodes().is_empty() {
                compare(&mut engine, &again, &format!("cluster {seed} step {step} again {again}"));
            }
        }
    }
    (placed, parked)
}

fn compare_many(document: &Value) {
    let (mut placed, mut parked) = (0, 0);
    for seed in 1..=CLUSTERS {
        let (some, others) = run(document, seed);
        placed += some;
        parked += others;
    }
    println!("placed {placed}, parked {parked}");
    assert!(placed > 600 && parked > 200, "placed {placed}, parked {parked}");
}

#[test]
fn with_the_default_profile() {
    compare_many(&support::default_program());
}

#[test]
fn with_rules_written_as_expressions() {
    let mut document = support::default_program();
    // 'team' in namespaceObject.labels || node.labels['disk'] == 'ssd' || node.podCount < 4
    let filter = json!({"format": 1, "constants": ["team", "disk", "ssd", 4], "root": 9, "nodes": [
        {"op": "constant", "type": "string", "constant": 0},
        {"op": "present", "type": "bool", "fact": "namespaceObject.labels[]", "args": [0]},
        {"op": "constant", "type": "string", "constant": 1},
        {"op": "fact", "type": "string", "fact": "node.labels[]", "args": [2]},
        {"op": "constant", "type": "string", "constant": 2},
        {"op": "call", "type": "bool", "overload": "equals_any", "args": [3, 4]},
        {"op": "fact", "type": "int", "fact": "node.podCount", "args": []},
        {"op": "constant", "type": "int", "constant": 3},
        {"op": "call", "type": "bool", "overload": "less_int64", "args": [6, 7]},
        {"op": "or", "type": "bool", "args": [1, 5, 8]}],
        "spans": vec![[0, 1]; 10], "reads": [], "cost": 1, "time": "node", "type": "bool"});
    // node.domain('topology.kubernetes.io/zone').pods.size(): an error on nodes without a zone
    let score = json!({"format": 1, "constants": ["topology.kubernetes.io/zone"], "root": 1, "nodes": [
        {"op": "constant", "type": "string", "constant": 0},
        {"op": "fact", "type": "int", "fact": "node.domain.pods.size", "args": [0]}],
        "spans": vec![[0, 1]; 2], "reads": [], "cost": 1, "time": "domain", "type": "int"});
    // pod.priority >= 1
    let condition = json!({"format": 1, "constants": [1], "root": 2, "nodes": [
        {"op": "fact", "type": "int", "fact": "pod.priority", "args": []},
        {"op": "constant", "type": "int", "constant": 0},
        {"op": "call", "type": "bool", "overload": "greater_equals_int64", "args": [0, 1]}],
        "spans": vec![[0, 1]; 3], "reads": [], "cost": 1, "time": "pod", "type": "bool"});
    document["policies"] = json!(["p"]);
    let profile = &mut document["profiles"][0];
    profile["filters"].as_array_mut().expect("a list").push(json!({
        "name": "team-or-ssd", "policy": 0, "expression": filter, "match": [condition],
        "failurePolicy": "Fail", "message": "no team, no ssd, and full",
        "messageExpression": null, "reason": "Closed", "preemptible": true,
        "enforcement": "deny", "onError": "reject", "place": "a.yaml:1:1"}));
    profile["scores"].as_array_mut().expect("a list").push(json!({
        "name": "quiet-zone", "policy": 0, "weight": 3, "expression": score, "match": [],
        "normalize": {"method": "reverse"}, "onError": "zero", "place": "a.yaml:2:1"}));
    compare_many(&document);
}

/// The built-ins that only the legacy policy knew, as they are or as an old release scored.
fn legacy(release: Option<i64>) -> Value {
    let mut document = support::default_program();
    let zone = "topology.kubernetes.io/zone";
    let label = json!({"absentLabels": ["gone"], "presentLabelsPreference": [zone],
                       "absentLabelsPreference": ["disk"]});
    let service = json!({"affinityLabels": [zone], "antiAffinityLabelsPreference": [zone, "disk"]});
    let resources = json!([{"name": "cpu", "weight": 2}, {"name": "memory", "weight": 1},
                           {"name": "example.com/gpu", "weight": 3}]);
    let shape = json!([{"utilization": 0, "score": 2}, {"utilization": 40, "score": 10},
                       {"utilization": 100, "score": 0}]);
    let filters = [("NodeLabel", label.clone()), ("ServiceAffinity", service.clone())];
    let scores = [
        ("NodeLabel", 3, label),
        ("ServiceAffinity", 2, service),
        ("SelectorSpread", 2, json!({})),
        ("NodePreferAvoidPods", 5, json!({})),
        ("NodeResourcesLeastAllocated", 1, json!({"resources": resources})),
        ("NodeResourcesMostAllocated", 2, json!({})),
        ("RequestedToCapacityRatio", 3, json!({"shape": shape, "resources": resources})),
        ("ResourceLimits", 1, json!({})),
        ("EqualPriority", 7, json!({})),
    ];
    let profile = &mut document["profiles"][0];
    let rules = profile["filters"].as_array_mut().expect("a list");
    rules.extend(filters.map(|(name, args)| json!({"name": name, "builtin": name, "args": args})));
    let rules = profile["scores"].as_array_mut().expect("a list");
    rules.extend(scores.map(|(name, weight, args)| {
        json!({"name": name, "builtin": name, "weight": weight, "args": args})
    }));
    if let Some(release) = release {
        rules.iter_mut().for_each(|rule| rule["release"] = json!(release));
    }
    document
}

#[test]
fn with_the_built_ins_of_the_legacy_policy() {
    compare_many(&legacy(None));
}

#[test]
fn with_scores_as_old_releases_gave_them() {
    compare_many(&legacy(Some(16)));
    compare_many(&legacy(Some(21)));
}
