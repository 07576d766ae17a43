//! The volume work of a placed pod, and its progress while the pod waits for its volumes.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{
    Applied, AwaitedVolume, Decision, Event, Kind, PreBindWrite, Still, Verdict, VolumeProgress,
    VolumeWork,
};
use kpolicy_engine::model::Meta;
use serde_json::{Value, json};

fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": zone}},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}}})
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"})
}

fn volume(version: &str, claim: &Value, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "v", "uid": "v-uid", "resourceVersion": version},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": "local", "claimRef": claim,
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
                    [{"key": "zone", "operator": "In", "values": [zone]}]}]}}},
        "status": {"phase": "Available"}})
}

fn claim(name: &str, version: &str, class: &str, annotations: &Value, volume: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name, "resourceVersion": version,
                     "annotations": annotations},
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                 "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}}})
}

fn pod(name: &str, claim: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"containers": [{"name": "c", "image": "i"}],
                 "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}})
}

fn engine() -> Engine {
    let mut program = support::default_program();
    for filter in program["profiles"][0]["filters"].as_array_mut().expect("a list") {
        if filter["name"] == "VolumeBinding" {
            filter["name"] = json!("named-by-its-author");
            filter["args"] = json!({"bindTimeoutSeconds": 7});
        }
    }
    let mut engine = support::loaded(7, &program);
    for object in [
        node("n1", "a"),
        class("local", "kubernetes.io/no-provisioner"),
        class("made", "disks.example.com"),
        volume("3", &Value::Null, "a"),
        claim("taken", "4", "local", &Value::Null, ""),
        claim("made", "5", "made", &Value::Null, ""),
        pod("binds", "taken"),
        pod("makes", "made"),
    ] {
        support::apply(&mut engine, &object);
    }
    engine
}

fn volumes(decision: Decision) -> Vec<VolumeWork> {
    let volume = |write| match write {
        PreBindWrite::Volume(work) => Some(work),
        PreBindWrite::Claim(_) | PreBindWrite::Annotation(_) | PreBindWrite::Release(_) => None,
    };
    decision.writes.into_iter().filter_map(volume).collect()
}

fn schedule(engine: &mut Engine, uid: &str) -> Decision {
    let mut batch = engine.schedule(&[Arc::from(uid)], 0, &Still);
    batch.decisions.pop().expect("one for each")
}

fn progress(
    engine: &Engine,
    uid: &str,
    claim: &str,
    volume: &str,
    version: &str,
) -> VolumeProgress {
    let (claim, volume, version) = (claim.into(), volume.into(), version.into());
    let awaited = AwaitedVolume { uid: uid.into(), node: "n1".into(), claim, volume, version };
    engine.volumes(&[awaited]).pop().expect("one for each")
}

fn failed(text: &str) -> VolumeProgress {
    VolumeProgress::Failed(text.to_owned())
}

fn work() -> VolumeWork {
    VolumeWork {
        claim: "taken".into(),
        claim_uid: "taken".into(),
        claim_version: "4".into(),
        volume: "v".into(),
        volume_uid: "v-uid".into(),
        volume_version: "3".into(),
        is_to_write: true,
        is_to_mark: true,
        seconds_max: 7,
    }
}

#[test]
fn a_decision_tells_what_is_to_be_written() {
    let mut engine = engine();
    let decision = schedule(&mut engine, "binds");
    assert_eq!((decision.verdict, volumes(decision)), (Verdict::Placed, vec![work()]));
    // A pod that shares the claim may not count on the other's writing it.
    support::apply(&mut engine, &pod("shares", "taken"));
    assert_eq!(volumes(schedule(&mut engine, "shares")), vec![work()]);
    let made = volumes(schedule(&mut engine, "makes"));
    let (none, claim): (Box<str>, Box<str>) = ("".into(), "made".into());
    let own = VolumeWork {
        claim: claim.clone(),
        claim_uid: claim,
        claim_version: "5".into(),
        volume: none.clone(),
        volume_uid: none.clone(),
        volume_version: none,
        is_to_mark: false,
        ..work()
    };
    assert_eq!(made, vec![own]);
}

#[test]
fn what_the_api_server_says_already_is_not_written_again() {
    let mut engine = engine();
    let own = json!({"namespace": "d", "name": "taken", "uid": "taken"});
    support::apply(&mut engine, &volume("6", &own, "a"));
    let selected = json!({"volume.kubernetes.io/selected-node": "n1"});
    support::apply(&mut engine, &claim("made", "7", "made", &selected, ""));
    let written =
        VolumeWork { volume_version: "6".into(), is_to_write: false, is_to_mark: false, ..work() };
    assert_eq!(volumes(schedule(&mut engine, "binds")), vec![written]);
    let made = volumes(schedule(&mut engine, "makes"));
    assert_eq!(made.iter().map(|work| work.is_to_write).collect::<Vec<_>>(), [false]);
    // Its user's volume names the claim without the uid: written, but it stays the user's.
    let by_user = json!({"namespace": "d", "name": "taken"});
    support::apply(&mut engine, &volume("8", &by_user, "a"));
    support::apply(&mut engine, &pod("again", "taken"));
    let completed = VolumeWork { volume_version: "8".into(), is_to_mark: false, ..work() };
    assert_eq!(volumes(schedule(&mut engine, "again")), vec![completed]);
}

#[test]
fn a_claim_is_bound_when_both_sides_say_so() {
    let mut engine = engine();
    schedule(&mut engine, "binds");
    // What is promised in the snapshot is not what the API server said.
    let reset = failed("ClaimRef got reset for pv \"v\"");
    assert_eq!(progress(&engine, "binds", "taken", "v", "3"), reset);
    assert_eq!(progress(&engine, "binds", "taken", "v", "9"), VolumeProgress::Waiting);
    let own = json!({"namespace": "d", "name": "taken", "uid": "taken"});
    support::apply(&mut engine, &volume("9", &own, "a"));
    assert_eq!(progress(&engine, "binds", "taken", "v", "9"), VolumeProgress::Waiting);
    support::apply(&mut engine, &claim("taken", "10", "local", &json!({}), "v"));
    assert_eq!(progress(&engine, "binds", "taken", "v", "9"), VolumeProgress::Waiting);
    let completed = json!({"pv.kubernetes.io/bind-completed": "yes"});
    support::apply(&mut engine, &claim("taken", "11", "local", &completed, "v"));
    assert_eq!(progress(&engine, "binds", "taken", "v", "9"), VolumeProgress::Bound);
    support::apply(&mut engine, &volume("12", &own, "b"));
    assert_eq!(
        progress(&engine, "binds", "taken", "v", "9"),
        failed("pv \"v\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms")
    );
}

#[test]
fn a_provisioner_that_gives_up_takes_its_node_away() {
    let mut engine = engine();
    schedule(&mut engine, "makes");
    let now = |engine: &Engine| progress(engine, "makes", "made", "", "6");
    assert_eq!(now(&engine), VolumeProgress::Waiting);
    let selected = json!({"volume.kubernetes.io/selected-node": "n1"});
    support::apply(&mut engine, &claim("made", "6", "made", &selected, ""));
    assert_eq!(now(&engine), VolumeProgress::Waiting);
    let other = json!({"another": "annotation"});
    support::apply(&mut engine, &claim("made", "7", "made", &other, ""));
    assert_eq!(now(&engine), failed("provisioning failed for PVC \"made\""));
    support::apply(&mut engine, &claim("made", "8", "made", &Value::Null, ""));
    assert_eq!(now(&engine), failed("selectedNode annotation reset for PVC \"made\""));
    let whole = json!({"volume.kubernetes.io/selected-node": "n1",
                       "pv.kubernetes.io/bind-completed": "yes"});
    support::apply(&mut engine, &claim("made", "9", "made", &whole, "v-new"));
    assert_eq!(now(&engine), VolumeProgress::Waiting, "its volume is not shown yet");
    let mut made = volume("10", &Value::Null, "a");
    made["metadata"]["name"] = json!("v-new");
    support::apply(&mut engine, &made);
    assert_eq!(now(&engine), VolumeProgress::Bound);
}

#[test]
fn what_goes_meanwhile_is_told() {
    let mut engine = engine();
    schedule(&mut engine, "binds");
    let gone = |engine: &mut Engine, kind: Kind, namespace: &str, name: &str| {
        let meta = Meta {
            namespace: namespace.into(),
            name: name.into(),
            uid: name.into(),
            ..Meta::default()
        };
        engine.apply(Event::Gone(kind, Box::new(meta)), 0, &mut Applied::default());
    };
    let now = |engine: &Engine| progress(engine, "binds", "taken", "v", "9");
    gone(&mut engine, Kind::PersistentVolumeClaim, "d", "taken");
    assert_eq!(
        now(&engine),
        failed("failed to check binding: persistentvolumeclaims \"d/taken\" not found")
    );
    gone(&mut engine, Kind::PersistentVolume, "", "v");
    assert_eq!(now(&engine), failed("failed to check binding: persistentvolumes \"v\" not found"));
    gone(&mut engine, Kind::Node, "", "n1");
    assert_eq!(now(&engine), failed("failed to get node \"n1\": node \"n1\" not found"));
    gone(&mut engine, Kind::Pod, "d", "binds");
    assert_eq!(now(&engine), VolumeProgress::Gone);
}
