//! An engine compares the decisions of another engine with its own, and adopts them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Acted, Opinion, Verdict};
use serde_json::{Value, json};

fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}})
}

fn pod(name: &str, scheduler: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"schedulerName": scheduler, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})
}

/// A large node and two equal ones, one that is too small, and pods of 1 cpu.
fn cluster() -> Engine {
    let mut program = support::default_program();
    program["profiles"][0]["schedulerName"] = json!("default-scheduler");
    let mut engine = support::loaded(7, &program);
    let nodes = [("large", "8"), ("one", "2"), ("other", "2"), ("small", "500m")];
    let pods = ["p", "q", "r"].map(|name| pod(name, "default-scheduler"));
    for object in nodes.map(|(name, cpu)| node(name, cpu)).into_iter().chain(pods) {
        support::apply(&mut engine, &object);
    }
    engine
}

fn asked(engine: &mut Engine, acted: &[(&str, &str)]) -> Vec<(Verdict, String, bool)> {
    let acted: Vec<Acted> = acted
        .iter()
        .map(|(uid, node)| Acted { uid: (*uid).into(), node: (*node).into() })
        .collect();
    let observed = |one: Opinion| (one.verdict, one.node.to_string(), one.accepts);
    engine.second_opinions(&acted).into_iter().map(observed).collect()
}

fn assumed(engine: &Engine) -> usize {
    engine.statistics().pods_assumed
}

#[test]
fn a_node_that_is_not_among_the_best_is_told_and_taken_on() {
    let mut engine = cluster();
    let observed = asked(&mut engine, &[("p", "one"), ("q", "one"), ("r", "one")]);
    let best = || (Verdict::Placed, "large".to_owned(), true);
    // Two fit on it: for the third it is full, because the first two were taken on.
    assert_eq!(observed, [best(), best(), (Verdict::Placed, "large".to_owned(), false)]);
    assert_eq!(assumed(&engine), 3);
}

#[test]
fn of_equal_nodes_the_one_acted_on_is_the_best_whatever_the_lot() {
    for acted in ["one", "other"] {
        for seed in 0..20 {
            let mut engine = support::loaded(seed, &support::default_program());
            for object in [node("one", "2"), node("other", "2"), pod("p", "default-scheduler")] {
                support::apply(&mut engine, &object);
            }
            let observed = asked(&mut engine, &[("p", acted)]);
            assert_eq!(observed, [(Verdict::Placed, acted.to_owned(), true)]);
        }
    }
}

#[test]
fn a_node_that_is_rejected_is_told_and_taken_on() {
    let mut engine = cluster();
    let observed = asked(&mut engine, &[("p", "small")]);
    assert_eq!(observed, [(Verdict::Placed, "large".to_owned(), false)]);
    assert_eq!(assumed(&engine), 1);
}

#[test]
fn of_a_pod_that_was_parked_only_the_verdict_is_told() {
    let mut engine = cluster();
    let observed = asked(&mut engine, &[("p", ""), ("p", "")]);
    let would_place = || (Verdict::Placed, "large".to_owned(), false);
    assert_eq!(observed, [would_place(), would_place()]);
    let statistics = engine.statistics();
    assert_eq!((statistics.pods_assumed, statistics.pods_parked), (0, 0));
}

#[test]
fn nothing_is_parked_where_it_would_have_been() {
    let mut engine = cluster();
    for name in ["large", "one", "other"] {
        support::apply(&mut engine, &node(name, "100m"));
    }
    assert_eq!(asked(&mut engine, &[("p", "")]), [(Verdict::Parked, String::new(), false)]);
    assert_eq!(asked(&mut engine, &[("p", "one")]), [(Verdict::Parked, String::new(), false)]);
    let statistics = engine.statistics();
    assert_eq!((statistics.pods_assumed, statistics.pods_parked), (1, 0));
}

#[test]
fn what_is_not_served_is_taken_on_and_what_is_not_there_is_not() {
    let mut engine = cluster();
    support::apply(&mut engine, &pod("theirs", "another"));
    let observed = asked(&mut engine, &[("theirs", "one"), ("nobody", "one"), ("p", "nowhere")]);
    let gone = || (Verdict::Gone, String::new(), false);
    assert_eq!(observed, [gone(), gone(), (Verdict::Placed, "large".to_owned(), false)]);
    assert_eq!(assumed(&engine), 1);
    let decision = engine.decide_from_scratch(&Arc::from("p"));
    assert_eq!(decision.verdict, Verdict::Placed, "a node that is not there takes no pod");
}
