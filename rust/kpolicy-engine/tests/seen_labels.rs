//! Pods that differ in labels that no selector of the cluster reads are decided as one kind of pod; as
//! soon as any selector reads such a label they are not, and each is decided as if alone.

#![allow(clippy::expect_used, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still};
use serde_json::{Value, json};

const PODS: usize = 6;

fn engine() -> Engine {
    let mut engine = support::loaded(7, &support::default_program());
    for index in 0..8 {
        let zone = format!("z{}", index % 2);
        support::apply(
            &mut engine,
            &json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": format!("n{index}"),
                             "labels": {"topology.kubernetes.io/zone": zone}},
                "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "100"}}}),
        );
    }
    engine
}

/// With a label of its own, and one that it shares with every third pod.
fn pod(index: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": format!("p{index}"), "uid": format!("p{index}"),
                     "labels": {"app": "web", "own": format!("own-{index}"),
                                "third": format!("{}", index % 3)}},
        "spec": {"containers": [{"name": "c", "image": "i",
                                 "resources": {"requests": {"cpu": "1"}}}]}})
}

/// On a node; says no to pods that a selector means in its zone.
fn aloof(index: usize, selector: &Value) -> Value {
    let term = json!({"labelSelector": selector, "topologyKey": "topology.kubernetes.io/zone"});
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": format!("a{index}"), "uid": format!("a{index}")},
        "spec": {"nodeName": format!("n{index}"), "containers": [{"name": "c", "image": "i"}],
                 "affinity": {"podAntiAffinity":
                    {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}})
}

/// Each compared with a decision from scratch; gives how many shapes were made for them.
fn decided(engine: &mut Engine, from: usize) -> (Vec<Decision>, u64) {
    let misses = engine.statistics().shape_misses;
    let mut decisions = Vec::new();
    for index in from..from + PODS {
        support::apply(engine, &pod(index));
        let uids: [Arc<str>; 1] = [format!("p{index}").into()];
        let want = engine.decide_from_scratch(&uids[0]);
        let have = engine.schedule(&uids, 0, &Still).decisions.remove(0);
        assert_eq!(have, want);
        decisions.push(have);
    }
    (decisions, engine.statistics().shape_misses - misses)
}

#[test]
fn labels_that_no_selector_reads_make_no_shape() {
    let mut engine = engine();
    assert_eq!(decided(&mut engine, 0).1, 1);
    // A term about another label, and a service about one that all pods have alike.
    let others = json!({"matchLabels": {"tier": "front"}});
    support::apply(&mut engine, &aloof(0, &others));
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": "red", "name": "s"}, "spec": {"selector": {"app": "web"}}});
    support::apply(&mut engine, &service);
    assert_eq!(decided(&mut engine, 10).1, 1, "one, as there are new keys");
    assert_eq!(decided(&mut engine, 20).1, 0);
}

#[test]
fn a_label_that_any_selector_reads_keeps_pods_apart() {
    let in_zone_1 = |decision: &Decision| ["n1", "n3", "n5", "n7"].contains(&&*decision.node);
    let mut engine = engine();
    decided(&mut engine, 0);
    support::apply(&mut engine, &aloof(0, &json!({"matchLabels": {"third": "1"}})));
    let (decisions, shapes) = decided(&mut engine, 12);
    assert_eq!(shapes, 3);
    assert!(in_zone_1(&decisions[1]) && in_zone_1(&decisions[4]));
    let exists = json!({"matchExpressions": [{"key": "own", "operator": "Exists"}]});
    support::apply(&mut engine, &aloof(1, &exists));
    let (decisions, shapes) = decided(&mut engine, 24);
    assert_eq!(shapes, PODS as u64);
    assert!(decisions.iter().all(|one| !in_zone_1(one)));
    assert!(decisions[1].node.is_empty() && !decisions[2].node.is_empty());
}

#[test]
fn the_selectors_of_a_pod_that_waits_read_labels_too() {
    let mut engine = engine();
    decided(&mut engine, 0);
    let mut waiting = aloof(0, &json!({"matchLabels": {"own": "own-12"}}));
    waiting["spec"]["nodeName"] = Value::Null;
    support::apply(&mut engine, &waiting);
    assert_eq!(decided(&mut engine, 12).1, PODS as u64);
}

#[test]
fn with_too_many_keys_every_label_counts() {
    let mut engine = engine();
    for index in 0..600 {
        let selector: Value = json!({"matchLabels": {format!("key-{index}"): "x"}});
        let mut pod = aloof(index % 8, &selector);
        pod["metadata"]["uid"] = json!(format!("many-{index}"));
        support::apply(&mut engine, &pod);
    }
    assert_eq!(decided(&mut engine, 0).1, PODS as u64);
}
