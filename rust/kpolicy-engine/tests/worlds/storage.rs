//! Random objects of storage: classes, volumes, claims, drivers and what nodes can attach.

use serde_json::{Value, json};

use crate::draws::Draws;
use crate::objects::{NODES, node_name};

pub(crate) const CLAIMS: usize = 6;
const VOLUMES: usize = 6;
const CLASSES: [&str; 3] = ["now", "later", "made"];
pub(crate) const DRIVER: &str = "disks.example.com";

pub(crate) fn any(draws: &mut Draws) -> Value {
    match draws.below(8) {
        0 => class(draws),
        1 | 2 => volume(draws),
        3 | 4 => claim(draws),
        5 => driver(draws),
        6 => match draws.below(2) {
            0 => csi_node(draws),
            _ => attachment(draws),
        },
        _ => capacity(draws),
    }
}

pub(crate) fn class(draws: &mut Draws) -> Value {
    let name = *draws.pick(&CLASSES);
    let mode = if name == "now" { "Immediate" } else { "WaitForFirstConsumer" };
    let provisioner = if name == "made" { DRIVER } else { "kubernetes.io/no-provisioner" };
    let mut class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
    if draws.one_in(20) {
        // Which fails the attempt of a pod that asks for it.
        class.as_object_mut().expect("a class is an object").remove("volumeBindingMode");
    }
    if draws.one_in(4) {
        class["allowedTopologies"] = json!([{"matchLabelExpressions": [
            {"key": "topology.kubernetes.io/zone", "values": ["za", "zb"]}]}]);
    }
    class
}

pub(crate) fn volume(draws: &mut Draws) -> Value {
    let name = format!("pv{}", draws.below(VOLUMES));
    let size = format!("{}Gi", 1 + draws.below(3));
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": draws.pick(&["za", "zb"])}},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                 "storageClassName": draws.pick(&CLASSES)},
        "status": {"phase": draws.pick(&["Available", "Available", "Available", "Bound"])}});
    if draws.one_in(3) {
        volume["metadata"]["labels"] = json!({});
    }
    if draws.one_in(2) {
        volume["spec"]["csi"] = json!({"driver": DRIVER, "volumeHandle": name});
    }
    if draws.one_in(2) {
        let expression = match draws.below(2) {
            0 => json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["za"]}),
            _ => json!({"key": "kubernetes.io/hostname", "operator": "In",
                        "values": [node_name(draws.below(NODES)), node_name(draws.below(NODES))]}),
        };
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}});
    }
    if draws.one_in(4) {
        volume["spec"]["claimRef"] =
            json!({"namespace": "red", "name": format!("c{}", draws.below(CLAIMS))});
    }
    volume
}

pub(crate) fn claim(draws: &mut Draws) -> Value {
    let name = format!("c{}", draws.below(CLAIMS));
    let mode = draws.pick(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]);
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "red", "uid": name, "annotations": {}},
        "spec": {"storageClassName": draws.pick(&["now", "later", "later", "made"]), "accessModes": [mode],
                 "resources": {"requests": {"storage": format!("{}Gi", 1 + draws.below(3))}}},
        "status": {"phase": "Pending"}});
    if draws.one_in(3) {
        claim["spec"]["volumeName"] = json!(format!("pv{}", draws.below(VOLUMES)));
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
    }
    if draws.one_in(8) {
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] =
            json!(node_name(draws.below(NODES)));
    }
    claim
}

/// The claim of a pod's ephemeral volume, mostly its own.
pub(crate) fn ephemeral_claim(draws: &mut Draws, index: usize) -> Value {
    let mut claim = claim(draws);
    let owner = if draws.one_in(6) { "somebody".to_owned() } else { format!("u{index}") };
    claim["metadata"]["name"] = json!(format!("p{index}-v"));
    claim["metadata"]["uid"] = json!(format!("p{index}-v"));
    claim["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod",
        "name": format!("p{index}"), "uid": owner, "controller": true}]);
    claim
}

fn driver(draws: &mut Draws) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER},
           "spec": {"storageCapacity": draws.one_in(2)}})
}

pub(crate) fn csi_node(draws: &mut Draws) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": {"name": node_name(draws.below(4))},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": "n", "allocatable": {"count": draws.below(3)}}]}})
}

fn attachment(draws: &mut Draws) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("va{}", draws.below(4))},
        "spec": {"attacher": DRIVER, "nodeName": node_name(draws.below(NODES)),
                 "source": {"persistentVolumeName": format!("pv{}", draws.below(VOLUMES))}}})
}

fn capacity(draws: &mut Draws) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": format!("sc{}", draws.below(3)), "namespace": "red"},
        "storageClassName": "made", "capacity": format!("{}Gi", draws.below(4)),
        "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": draws.pick(&["za", "zb", "zc"])}}})
}
