//! Units of several pods: all of them are placed, or the engine is as before.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still, Verdict};
use serde_json::{Value, json};

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}})
}

fn pod(name: &str, cpu: &str, claim: &str) -> Value {
    let volumes = match claim {
        "" => json!([]),
        claim => json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]),
    };
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"volumes": volumes, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
}

/// Two nodes of four cores, a volume with a claim that could take it, and pods of three cores.
fn engine() -> Engine {
    let mut engine = support::loaded(7, &support::default_program());
    for object in [
        node("n1"),
        node("n2"),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "v", "resourceVersion": "1"},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                     "storageClassName": "local"},
            "status": {"phase": "Available"}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "a", "namespace": "d", "uid": "a"},
            "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}}}),
        pod("first", "3", "a"),
        pod("second", "3", ""),
        pod("third", "3", ""),
        pod("huge", "9", ""),
    ] {
        support::apply(&mut engine, &object);
    }
    engine
}

fn unit(engine: &mut Engine, uids: &[&str]) -> Result<Vec<Decision>, Box<Decision>> {
    let uids: Vec<Arc<str>> = uids.iter().map(|uid| Arc::from(*uid)).collect();
    engine.schedule_unit(&uids, 0, &Still).decided
}

/// All of the state that others can see, but for how many decisions were made.
fn state(engine: &mut Engine) -> (Vec<u8>, Vec<usize>, Vec<Arc<str>>) {
    let statistics = engine.statistics();
    let sizes = vec![statistics.pods_assumed, statistics.pods_parked, statistics.objects_promised];
    let messages = ["first", "second", "third", "huge"].map(|uid| engine.message(uid)).to_vec();
    (engine.holdings(), sizes, messages)
}

#[test]
fn a_unit_that_fits_is_placed_with_all_that_is_promised_to_it() {
    let mut engine = engine();
    let decisions = unit(&mut engine, &["first", "second"]).expect("both fit");
    assert!(decisions.iter().all(|decision| decision.verdict == Verdict::Placed));
    assert_ne!(decisions[0].node, decisions[1].node);
    assert_eq!(decisions[0].writes.len(), 1);
    let statistics = engine.statistics();
    assert_eq!((statistics.pods_assumed, statistics.objects_promised), (2, 1));
}

#[test]
fn a_unit_that_does_not_fit_leaves_everything_as_it_was() {
    let mut engine = engine();
    // One waits already, and goes on waiting as it did.
    let parked = engine.schedule(&["huge".into()], 0, &Still).decisions;
    assert_eq!(parked[0].verdict, Verdict::Parked);
    let before = state(&mut engine);
    for uids in [["first", "second", "third"], ["second", "first", "huge"]] {
        let decision = unit(&mut engine, &uids).expect_err("the third does not fit");
        assert_eq!((&*decision.uid, decision.verdict), (uids[2], Verdict::Parked));
        assert!(decision.message.contains("Insufficient cpu"), "{}", decision.message);
        assert_eq!(state(&mut engine), before);
    }
    // What was taken back can be placed again, as if nothing had been.
    assert_eq!(unit(&mut engine, &["first", "second"]).expect("both fit").len(), 2);
}

#[test]
fn a_pod_that_was_parked_and_placed_with_its_unit_waits_no_more() {
    let mut engine = engine();
    engine.schedule(&["second".into(), "third".into(), "first".into()], 0, &Still);
    assert_eq!(engine.statistics().pods_parked, 1);
    assert_ne!(&*engine.message("first"), "");
    support::apply(&mut engine, &node("n3"));
    support::apply(&mut engine, &pod("huge", "1", ""));
    let decisions = unit(&mut engine, &["huge", "first"]).expect("there is a new node");
    assert_eq!(decisions.len(), 2);
    assert_eq!((engine.statistics().pods_parked, &*engine.message("first")), (0, ""));
}

#[test]
fn a_nomination_stands_when_the_unit_is_taken_back() {
    let mut engine = engine();
    let mut nominated = pod("first", "3", "a");
    nominated["status"] = json!({"nominatedNodeName": "n1"});
    support::apply(&mut engine, &nominated);
    let before = state(&mut engine);
    assert!(unit(&mut engine, &["first", "second", "third"]).is_err());
    assert_eq!(state(&mut engine), before);
}
