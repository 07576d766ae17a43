//! Random objects of storage: classes, volumes, claims, drivers and what nodes can attach.

use serde_json::{Value, json};

use crate::lots::Lots;
use crate::objects::{NODES, node_name};

pub(crate) const CLAIMS: usize = 6;
const VOLUMES: usize = 6;
const CLASSES: [&str; 3] = ["now", "later", "made"];
pub(crate) const DRIVER: &str = "disks.example.com";

pub(crate) fn any(lots: &mut Lots) -> Value {
    match lots.below(8) {
        0 => class(lots),
        1 | 2 => volume(lots),
        3 | 4 => claim(lots),
        5 => driver(lots),
        6 => match lots.below(2) {
            0 => csi_node(lots),
            _ => attachment(lots),
        },
        _ => capacity(lots),
    }
}

pub(crate) fn class(lots: &mut Lots) -> Value {
    let name = *lots.pick(&CLASSES);
    let mode = if name == "now" { "Immediate" } else { "WaitForFirstConsumer" };
    let provisioner = if name == "made" { DRIVER } else { "kubernetes.io/no-provisioner" };
    let mut class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
    if lots.one_in(20) {
        // Which fails the attempt of a pod that asks for it.
        class.as_object_mut().expect("a class is an object").remove("volumeBindingMode");
    }
    if lots.one_in(4) {
        class["allowedTopologies"] = json!([{"matchLabelExpressions": [
            {"key": "topology.kubernetes.io/zone", "values": ["za", "zb"]}]}]);
    }
    class
}

pub(crate) fn volume(lots: &mut Lots) -> Value {
    let name = format!("pv{}", lots.below(VOLUMES));
    let size = format!("{}Gi", 1 + lots.below(3));
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": lots.pick(&["za", "zb"])}},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": lots.pick(&CLASSES)},
        "status": {"phase": lots.pick(&["Available", "Available", "Available", "Bound"])}});
    if lots.one_in(3) {
        volume["metadata"]["labels"] = json!({});
    }
    if lots.one_in(2) {
        volume["spec"]["csi"] = json!({"driver": DRIVER, "volumeHandle": name});
    }
    if lots.one_in(2) {
        let expression = match lots.below(2) {
            0 => json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["za"]}),
            _ => json!({"key": "kubernetes.io/hostname", "operator": "In",
                        "values": [node_name(lots.below(NODES)), node_name(lots.below(NODES))]}),
        };
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}});
    }
    if lots.one_in(4) {
        volume["spec"]["claimRef"] =
            json!({"namespace": "red", "name": format!("c{}", lots.below(CLAIMS))});
    }
    volume
}

pub(crate) fn claim(lots: &mut Lots) -> Value {
    let name = format!("c{}", lots.below(CLAIMS));
    let mode = lots.pick(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]);
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "red", "uid": name, "annotations": {}},
        "spec": {"storageClassName": lots.pick(&["now", "later", "later", "made"]), "accessModes": [mode],
                 "resources": {"requests": {"storage": format!("{}Gi", 1 + lots.below(3))}}},
        "status": {"phase": "Pending"}});
    if lots.one_in(3) {
        claim["spec"]["volumeName"] = json!(format!("pv{}", lots.below(VOLUMES)));
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
    }
    if lots.one_in(8) {
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] =
            json!(node_name(lots.below(NODES)));
    }
    claim
}

/// The claim of a pod's ephemeral volume, mostly its own.
pub(crate) fn ephemeral_claim(lots: &mut Lots, index: usize) -> Value {
    let mut claim = claim(lots);
    let owner = if lots.one_in(6) { "somebody".to_owned() } else { format!("u{index}") };
    claim["metadata"]["name"] = json!(format!("p{index}-v"));
    claim["metadata"]["uid"] = json!(format!("p{index}-v"));
    claim["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod",
        "name": format!("p{index}"), "uid": owner, "controller": true}]);
    claim
}

fn driver(lots: &mut Lots) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER},
           "spec": {"storageCapacity": lots.one_in(2)}})
}

pub(crate) fn csi_node(lots: &mut Lots) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": {"name": node_name(lots.below(4))},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": "n", "allocatable": {"count": lots.below(3)}}]}})
}

fn attachment(lots: &mut Lots) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("va{}", lots.below(4))},
        "spec": {"attacher": DRIVER, "nodeName": node_name(lots.below(NODES)),
                 "source": {"persistentVolumeName": format!("pv{}", lots.below(VOLUMES))}}})
}

fn capacity(lots: &mut Lots) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": format!("sc{}", lots.below(3)), "namespace": "red"},
        "storageClassName": "made", "capacity": format!("{}Gi", lots.below(4)),
        "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": lots.pick(&["za", "zb", "zc"])}}})
}
