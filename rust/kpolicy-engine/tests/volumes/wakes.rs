//! The events that wake a parked pod, rule by rule.

use kpolicy_engine::event::Occurrence;
use kpolicy_engine::model::Kind;
use kpolicy_engine::snapshot::Cluster;
use serde_json::{Value, json};

use super::clusters::{self, claim_json, claimed, node_json, pod, pod_json, put_json};

/// Rules that an occurrence wakes a pod for: of those that registered one of its events.
fn woken(cluster: &Cluster, waiting: &str, occurrences: &[Occurrence]) -> Vec<&'static str> {
    let pod = pod(cluster, waiting);
    let is_woken = |name: &&str| {
        let rule = clusters::rule(name);
        occurrences.iter().any(|occurrence| {
            let events = occurrence.events();
            let mut registered = events.iter().filter(|event| rule.events().contains(**event));
            registered.any(|event| rule.wakes(&pod, *event, occurrence, cluster))
        })
    };
    clusters::RULES.into_iter().filter(is_woken).collect()
}

fn parked() -> Cluster {
    let mut volumes = claimed(&["mine"]);
    let more = json!([{"name": "e", "ephemeral": {}}, {"name": "i", "csi": {"driver": "inline"}},
                      {"name": "g", "gcePersistentDisk": {"pdName": "d"}}]);
    let list = volumes.as_array_mut().expect("volumes are a list");
    list.extend(more.as_array().expect("volumes are a list").iter().cloned());
    clusters::cluster(&[
        node_json("n", &json!({"zone": "a"}), &json!({})),
        pod_json("waiting", None, &volumes),
        pod_json("plain", None, &json!([{"name": "i", "csi": {"driver": "other"}}])),
    ])
}

fn storage(kind: &str, name: &str, rest: &Value) -> Value {
    let mut object =
        json!({"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
    for (key, value) in rest.as_object().expect("it is an object") {
        match key.as_str() {
            "annotations" | "namespace" => object["metadata"][key] = value.clone(),
            _ => object[key] = value.clone(),
        }
    }
    object
}

const RESTRICTIONS: &str = "VolumeRestrictions";
const LIMITS: &str = "NodeVolumeLimits";
const BINDING: &str = "VolumeBinding";
const ZONE: &str = "VolumeZone";

#[test]
fn nodes() {
    let mut cluster = parked();
    let added = put_json(&mut cluster, &node_json("m", &json!({}), &json!({})));
    assert_eq!(woken(&cluster, "waiting", &added), [RESTRICTIONS, BINDING, ZONE]);
    let labelled = put_json(&mut cluster, &node_json("m", &json!({"zone": "b"}), &json!({})));
    assert_eq!(woken(&cluster, "waiting", &labelled), [BINDING, ZONE]);
    let mut tainted = node_json("m", &json!({"zone": "b"}), &json!({}));
    tainted["spec"] = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
    let tainted = put_json(&mut cluster, &tainted);
    assert_eq!(woken(&cluster, "waiting", &tainted), [RESTRICTIONS, BINDING, ZONE]);
}

#[test]
fn claims() {
    let mut cluster = parked();
    let added = put_json(&mut cluster, &claim_json("mine", &json!({})));
    assert_eq!(woken(&cluster, "waiting", &added), [RESTRICTIONS, LIMITS, BINDING, ZONE]);
    let bound = put_json(&mut cluster, &claim_json("mine", &json!({"volumeName": "v"})));
    assert_eq!(woken(&cluster, "waiting", &bound), [BINDING, ZONE]);
    let ephemeral = put_json(&mut cluster, &claim_json("waiting-e", &json!({})));
    assert_eq!(woken(&cluster, "waiting", &ephemeral), [LIMITS, BINDING]);
    let others = put_json(&mut cluster, &claim_json("other", &json!({})));
    assert_eq!(woken(&cluster, "waiting", &others), [""; 0]);
    let mut elsewhere = claim_json("mine", &json!({}));
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    let elsewhere = put_json(&mut cluster, &elsewhere);
    assert_eq!(woken(&cluster, "waiting", &elsewhere), [""; 0]);
}

#[test]
fn pods_that_leave() {
    let mut cluster = parked();
    let mut leave = |name: &str, volumes: &Value| {
        put_json(&mut cluster, &pod_json(name, Some("n"), volumes));
        let gone = cluster.remove_pod(name);
        woken(&cluster, "waiting", &gone)
    };
    assert_eq!(leave("a", &claimed(&["mine"])), [RESTRICTIONS, LIMITS]);
    assert_eq!(leave("b", &claimed(&["other"])), [LIMITS]);
    assert_eq!(leave("c", &json!([{"name": "e", "ephemeral": {}}])), [LIMITS]);
    let disk = json!([{"name": "g", "gcePersistentDisk": {"pdName": "d", "readOnly": true}}]);
    assert_eq!(leave("d", &disk), [RESTRICTIONS, LIMITS]);
    assert_eq!(leave("e", &json!([{"name": "i", "csi": {"driver": "inline"}}])), [""; 0]);
    assert_eq!(leave("f", &json!([])), [""; 0]);
}

#[test]
fn classes() {
    let mut cluster = parked();
    let class = |mode: &str, zones: &[&str]| {
        let expression = json!([{"matchLabelExpressions": [{"key": "zone", "values": zones}]}]);
        storage(
            "StorageClass",
            "s",
            &json!({"provisioner": "p", "volumeBindingMode": mode, "allowedTopologies": expression}),
        )
    };
    let immediate = put_json(&mut cluster, &class("Immediate", &["a"]));
    assert_eq!(woken(&cluster, "waiting", &immediate), [BINDING]);
    let changed = put_json(&mut cluster, &class("WaitForFirstConsumer", &["a"]));
    assert_eq!(woken(&cluster, "waiting", &changed), [""; 0]);
    let wider = put_json(&mut cluster, &class("WaitForFirstConsumer", &["a", "b"]));
    assert_eq!(woken(&cluster, "waiting", &wider), [BINDING]);
    clusters::remove(&mut cluster, Kind::StorageClass, "", "s");
    let waits = put_json(&mut cluster, &class("WaitForFirstConsumer", &["a"]));
    assert_eq!(woken(&cluster, "waiting", &waits), [BINDING, ZONE]);
}

#[test]
fn volumes() {
    let mut cluster = parked();
    let volume = |zone: &str, phase: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "status": {"phase": phase},
               "metadata": {"name": "v", "labels": {"topology.kubernetes.io/zone": zone}}})
    };
    let added = put_json(&mut cluster, &volume("a", "Pending"));
    assert_eq!(woken(&cluster, "waiting", &added), [BINDING, ZONE]);
    let changed = put_json(&mut cluster, &volume("a", "Available"));
    assert_eq!(woken(&cluster, "waiting", &changed), [BINDING]);
    let moved = put_json(&mut cluster, &volume("a__b", "Available"));
    assert_eq!(woken(&cluster, "waiting", &moved), [BINDING, ZONE]);
}

#[test]
fn drivers_and_capacities() {
    let mut cluster = parked();
    let node = |count: Value, migrated: &str| {
        let annotations = json!({"storage.alpha.kubernetes.io/migrated-plugins": migrated});
        let drivers = json!({"drivers": [{"name": "d", "allocatable": {"count": count}}]});
        storage("CSINode", "n", &json!({"annotations": annotations, "spec": drivers}))
    };
    let steps = [
        (node(json!(2), ""), &[LIMITS, BINDING][..]),
        (node(json!(3), ""), &[LIMITS]),
        (node(json!(1), ""), &[]),
        (node(Value::Null, ""), &[]),
        (node(json!(1), "kubernetes.io/gce-pd"), &[LIMITS, BINDING]),
    ];
    for (object, want) in steps {
        let changed = put_json(&mut cluster, &object);
        assert_eq!(woken(&cluster, "waiting", &changed), want, "{object}");
    }
    let driver = |name: &str, counts: bool| {
        storage("CSIDriver", name, &json!({"spec": {"storageCapacity": counts}}))
    };
    let steps = [
        (driver("inline", true), &[][..]),
        (driver("inline", false), &[BINDING]),
        (driver("inline", true), &[]),
        (driver("unused", true), &[]),
        (driver("unused", false), &[]),
    ];
    for (object, want) in steps {
        let changed = put_json(&mut cluster, &object);
        assert_eq!(woken(&cluster, "waiting", &changed), want, "{object}");
    }
    let capacity = |rest: &Value| {
        let mut object = storage("CSIStorageCapacity", "c", &json!({"namespace": "sys"}));
        object["storageClassName"] = json!("s");
        for (key, value) in rest.as_object().expect("it is an object") {
            object[key] = value.clone();
        }
        object
    };
    let steps = [
        (capacity(&json!({})), &[BINDING][..]),
        (capacity(&json!({"capacity": "1Gi"})), &[BINDING]),
        (capacity(&json!({"capacity": "1Gi", "nodeTopology": {}})), &[]),
        (capacity(&json!({"capacity": "5Gi", "maximumVolumeSize": "1Gi"})), &[]),
        (capacity(&json!({"capacity": "5Gi", "maximumVolumeSize": "2Gi"})), &[BINDING]),
    ];
    for (object, want) in steps {
        let changed = put_json(&mut cluster, &object);
        assert_eq!(woken(&cluster, "waiting", &changed), want, "{object}");
    }
}

#[test]
fn attachments_that_end() {
    let mut cluster = parked();
    put_json(
        &mut cluster,
        &pod_json("disk", None, &json!([{"name": "g", "gcePersistentDisk": {"pdName": "d"}}])),
    );
    let mut end = |waiting: &str, attacher: &str| {
        let source = json!({"persistentVolumeName": "v"});
        let spec = json!({"attacher": attacher, "nodeName": "n", "source": source});
        put_json(&mut cluster, &storage("VolumeAttachment", "a", &json!({"spec": spec})));
        let gone = clusters::remove(&mut cluster, Kind::VolumeAttachment, "", "a");
        woken(&cluster, waiting, &[gone])
    };
    assert_eq!(end("waiting", "any"), [LIMITS], "a claim may be of any driver");
    assert_eq!(end("disk", "pd.csi.storage.gke.io"), [LIMITS]);
    assert_eq!(end("disk", "any"), [""; 0]);
    assert_eq!(end("plain", "any"), [""; 0]);
}
