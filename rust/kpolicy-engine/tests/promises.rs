//! Volumes that are promised to a placed pod: the next pod sees them, the end of the reservation
//! gives them back, and an answer of the API server ends the promise.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Decision, Event, Kind, Still, Verdict};
use kpolicy_engine::model::Meta;
use serde_json::{Value, json};

const NO_VOLUME: &str = "1 node(s) didn't find available persistent volumes to bind";

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}}})
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"})
}

fn volume(version: &str, claim: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "v", "resourceVersion": version},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": "local", "claimRef": claim},
        "status": {"phase": "Available"}})
}

fn claim(name: &str, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}}})
}

fn pod(name: &str, claim: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}],
                 "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}})
}

/// A volume, two claims that could take it, and a pod for each.
fn engine() -> Engine {
    let mut engine = support::loaded(7, &support::default_program());
    for object in [
        node("n1"),
        class("local", "kubernetes.io/no-provisioner"),
        volume("1", &Value::Null),
        claim("a", "local"),
        claim("b", "local"),
        pod("first", "a", ""),
        pod("second", "b", ""),
    ] {
        support::apply(&mut engine, &object);
    }
    engine
}

fn schedule(engine: &mut Engine, uids: &[&str]) -> Vec<Decision> {
    let uids: Vec<Arc<str>> = uids.iter().map(|uid| Arc::from(*uid)).collect();
    engine.schedule(&uids, 0, &Still).decisions
}

fn verdict(engine: &mut Engine, uid: &str) -> Verdict {
    schedule(engine, &[uid])[0].verdict
}

fn settle(engine: &mut Engine, uid: &str, outcome: BindOutcome) -> Applied {
    let mut applied = Applied::default();
    engine.settle(&[(uid.into(), outcome)], 0, &mut applied);
    applied
}

fn woken(applied: &Applied) -> Vec<(&str, &str)> {
    applied.wakes.iter().map(|wake| (wake.uid.as_ref(), wake.event)).collect()
}

#[test]
fn one_batch_does_not_promise_a_volume_twice() {
    let mut engine = engine();
    let decisions = schedule(&mut engine, &["first", "second"]);
    assert_eq!(decisions[0].verdict, Verdict::Placed);
    assert_eq!(decisions[1].verdict, Verdict::Parked);
    assert!(decisions[1].message.contains(NO_VOLUME), "{}", decisions[1].message);
    assert_eq!(engine.statistics().objects_promised, 1);
}

#[test]
fn a_failed_bind_gives_the_volume_back_and_wakes_who_wants_it() {
    let mut engine = engine();
    schedule(&mut engine, &["first", "second"]);
    let applied = settle(&mut engine, "first", BindOutcome::Failed);
    assert_eq!(woken(&applied), [("second", "PersistentVolumeUpdate")]);
    assert_eq!(engine.statistics().objects_promised, 0);
    assert_eq!(verdict(&mut engine, "second"), Verdict::Placed);
    assert_eq!(verdict(&mut engine, "first"), Verdict::Parked);
}

#[test]
fn a_pod_that_goes_gives_the_volume_back_once_its_reservation_is_settled() {
    let mut engine = engine();
    schedule(&mut engine, &["first", "second"]);
    let meta = Meta { uid: "first".into(), ..Meta::default() };
    let mut applied = Applied::default();
    engine.apply(Event::Gone(Kind::Pod, Box::new(meta)), 0, &mut applied);
    // It may still be written.
    assert!(woken(&applied).is_empty());
    assert_eq!(verdict(&mut engine, "second"), Verdict::Parked);
    let applied = settle(&mut engine, "first", BindOutcome::Gone);
    assert_eq!(woken(&applied), [("second", "PersistentVolumeUpdate")]);
    assert_eq!(verdict(&mut engine, "second"), Verdict::Placed);
}

#[test]
fn a_promise_outlives_the_confirmed_bind_until_the_volume_is_shown() {
    let mut engine = engine();
    schedule(&mut engine, &["first", "second"]);
    support::apply(&mut engine, &pod("first", "a", "n1"));
    assert_eq!(engine.statistics().objects_promised, 1);
    assert_eq!(verdict(&mut engine, "second"), Verdict::Parked);
    // Said again, it is no news.
    assert!(support::apply(&mut engine, &volume("1", &Value::Null)).wakes.is_empty());
    assert_eq!(engine.statistics().objects_promised, 1);
    let bound = json!({"namespace": "d", "name": "a", "uid": "a"});
    support::apply(&mut engine, &volume("2", &bound));
    assert_eq!(engine.statistics().objects_promised, 0);
    assert_eq!(verdict(&mut engine, "second"), Verdict::Parked);
}

#[test]
fn what_the_api_server_says_of_a_volume_supersedes_a_promise() {
    let mut engine = engine();
    schedule(&mut engine, &["first", "second"]);
    let applied = support::apply(&mut engine, &volume("2", &Value::Null));
    assert_eq!(woken(&applied), [("second", "PersistentVolumeUpdate")]);
    assert_eq!(engine.statistics().objects_promised, 0);
    assert_eq!(verdict(&mut engine, "second"), Verdict::Placed);
    // Nothing is given back a second time.
    settle(&mut engine, "first", BindOutcome::Failed);
    assert_eq!(engine.statistics().objects_promised, 1);
}

#[test]
fn a_pod_that_turns_up_elsewhere_holds_no_promise() {
    let mut engine = engine();
    schedule(&mut engine, &["first"]);
    support::apply(&mut engine, &node("n2"));
    support::apply(&mut engine, &pod("first", "a", "n2"));
    assert_eq!(engine.statistics().objects_promised, 1, "it may still be written");
    settle(&mut engine, "first", BindOutcome::Failed);
    assert_eq!(engine.statistics().objects_promised, 0);
}

#[test]
fn pods_of_one_claim_hold_one_promise() {
    let mut engine = engine();
    support::apply(&mut engine, &pod("third", "a", ""));
    let decisions = schedule(&mut engine, &["first", "third"]);
    assert!(decisions.iter().all(|decision| decision.verdict == Verdict::Placed));
    settle(&mut engine, "first", BindOutcome::Failed);
    assert_eq!(engine.statistics().objects_promised, 1, "the third one counts on it");
    settle(&mut engine, "third", BindOutcome::Failed);
    assert_eq!(engine.statistics().objects_promised, 0);
}

#[test]
fn a_claim_that_is_to_be_provisioned_is_promised_to_its_node() {
    let mut engine = support::loaded(7, &support::default_program());
    for object in [
        node("n1"),
        node("n2"),
        class("made", "disks.example.com"),
        claim("m", "made"),
        pod("first", "m", ""),
        pod("second", "m", ""),
    ] {
        support::apply(&mut engine, &object);
    }
    let decisions = schedule(&mut engine, &["first", "second"]);
    assert_eq!(decisions[0].node, decisions[1].node, "the volume is made where the first one is");
    assert_eq!(decisions[1].nodes_feasible, 1);
    assert_eq!(engine.statistics().objects_promised, 1);
}

#[test]
fn nothing_is_promised_where_the_rule_is_not_asked() {
    let mut program = support::default_program();
    let filters = program["profiles"][0]["filters"].as_array_mut().expect("a list");
    filters.retain(|filter| filter["name"] != "VolumeBinding");
    let mut engine = engine();
    engine.load(&program).expect("the program is good");
    let decisions = schedule(&mut engine, &["first", "second"]);
    assert!(decisions.iter().all(|decision| decision.verdict == Verdict::Placed));
    assert_eq!(engine.statistics().objects_promised, 0);
}
