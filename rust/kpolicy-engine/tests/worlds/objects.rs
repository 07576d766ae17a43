//! Random nodes, pods, and the objects that select pods.

use serde_json::{Value, json};

use crate::changes::{features, need_features};
use crate::lots::Lots;
use crate::storage::{self, CLAIMS};

pub(crate) const NODES: usize = 10;
pub(crate) const NAMESPACES: [&str; 2] = ["red", "blue"];
pub(crate) const ZONES: [&str; 3] = ["za", "zb", "zc"];
pub(crate) const APPS: [&str; 4] = ["web", "db", "cache", "job"];
/// Only named in annotations.
pub(crate) const OWNERS: [&str; 2] = ["ann", "bob"];
/// Of nodes, which pods may need.
pub(crate) const FEATURES: [&str; 2] =
    ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"];
/// The action of a container's restart rule.
pub(crate) const RESTARTS_ALL: &str = "RestartAllContainers";
const KEYS: [&str; 2] = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"];

pub(crate) fn node_name(index: usize) -> String {
    format!("n{index:02}")
}

pub(crate) fn node(lots: &mut Lots, index: usize) -> Value {
    let mut labels = json!({"kubernetes.io/hostname": node_name(index),
        "disk": lots.pick(&["ssd", "hdd"]), "rank": lots.pick(&["1", "2", "x"]),
        "kubernetes.io/os": "linux"});
    if !lots.one_in(6) {
        labels["topology.kubernetes.io/zone"] = json!(lots.pick(&ZONES));
        labels["topology.kubernetes.io/region"] = json!("r");
    }
    if lots.one_in(8) {
        labels.as_object_mut().expect("labels are an object").remove("disk");
    }
    let mut taints = Vec::new();
    if lots.one_in(4) {
        let effect = lots.pick(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        taints.push(json!({"key": "dedicated", "value": lots.pick(&APPS), "effect": effect}));
    }
    let images = json!([{"names": [format!("img/{}:1", lots.pick(&APPS))],
                         "sizeBytes": 100_000_000 * (1 + lots.below(9))}]);
    let mut annotations = json!({});
    if lots.one_in(6) {
        annotations["closed"] = json!(lots.pick(&APPS));
    }
    if lots.one_in(3) {
        annotations["owner"] = json!(lots.pick(&OWNERS));
    }
    let finalizers: &[&str] = if lots.one_in(6) { &["example.com/hold"] } else { &[] };
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node_name(index), "labels": labels, "annotations": annotations,
                     "finalizers": finalizers},
        "spec": {"taints": taints, "unschedulable": lots.one_in(10),
                 "providerID": lots.pick(&["", "a", "b"])},
        "status": {"images": images, "declaredFeatures": features(lots),
            "capacity": {"cpu": format!("{}", 1 + lots.below(8))}, "nodeInfo": {"kernelVersion": lots.pick(&["5.4", "6.1"])},
            "conditions": [{"type": "Ready", "status": lots.pick(&["True", "True", "False"])}],
            "allocatable": {
                "cpu": format!("{}", 1 + lots.below(6)), "memory": format!("{}Gi", 2 + lots.below(12)),
                "pods": format!("{}", 3 + lots.below(8)), "example.com/gpu": format!("{}", lots.below(3)),
                "ephemeral-storage": "20Gi"}}})
}

fn selector(lots: &mut Lots) -> Value {
    match lots.below(5) {
        0 => json!({"matchExpressions": [{"key": "app", "operator": lots.pick(&["In", "NotIn"]),
                                          "values": [lots.pick(&APPS), lots.pick(&APPS)]}]}),
        1 => {
            json!({"matchExpressions": [{"key": "tier", "operator": lots.pick(&["Exists", "DoesNotExist"])}]})
        }
        _ => json!({"matchLabels": {"app": lots.pick(&APPS)}}),
    }
}

fn pod_affinity_term(lots: &mut Lots) -> Value {
    let mut term = json!({"topologyKey": lots.pick(&KEYS), "labelSelector": selector(lots)});
    match lots.below(6) {
        0 => term["namespaceSelector"] = json!({}),
        1 => term["namespaceSelector"] = json!({"matchLabels": {"team": lots.pick(&APPS)}}),
        2 => term["namespaces"] = json!([lots.pick(&NAMESPACES)]),
        3 => term["matchLabelKeys"] = json!(["tier"]),
        _ => {}
    }
    term
}

fn affinity(lots: &mut Lots) -> Value {
    let mut affinity = json!({});
    if lots.one_in(4) {
        affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = json!([{"weight": 1 + lots.below(100), "preference": {"matchExpressions": [
                {"key": "disk", "operator": "In", "values": ["ssd"]}]}}]);
    }
    let required = match lots.below(6) {
        0 => Some(json!({"matchFields": [{"key": "metadata.name", "operator": "In",
                                          "values": [node_name(lots.below(NODES))]}]})),
        1 => Some(json!({"matchExpressions": [{"key": "rank",
            "operator": lots.pick(&["Gt", "Lt", "Exists"]), "values": ["1"]}]})),
        _ => None,
    };
    if let Some(term) = required {
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": [term]});
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        if lots.one_in(4) {
            affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!([pod_affinity_term(lots)]);
        }
        if lots.one_in(4) {
            let term = pod_affinity_term(lots);
            affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"] =
                json!([{"weight": 1 + lots.below(100), "podAffinityTerm": term}]);
        }
    }
    affinity
}

fn spread(lots: &mut Lots, app: &str) -> Value {
    let mut constraint = json!({"maxSkew": 1 + lots.below(2), "topologyKey": lots.pick(&KEYS),
        "whenUnsatisfiable": lots.pick(&["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": app}}});
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" && lots.one_in(4) {
        constraint["minDomains"] = json!(2);
    }
    if lots.one_in(4) {
        constraint["nodeTaintsPolicy"] = json!("Honor");
    }
    if lots.one_in(4) {
        constraint["nodeAffinityPolicy"] = json!("Ignore");
    }
    if lots.one_in(4) {
        constraint["matchLabelKeys"] = json!(["tier"]);
    }
    constraint
}

fn volumes(lots: &mut Lots) -> Value {
    let index = lots.below(CLAIMS);
    match lots.below(8) {
        0 => {
            json!([{"name": "v", "gcePersistentDisk": {"pdName": format!("d{}", lots.below(2)), "readOnly": lots.one_in(2)}}])
        }
        1 => {
            json!([{"name": "v", "awsElasticBlockStore": {"volumeID": format!("d{}", lots.below(2))}}])
        }
        2 => {
            let other = (index + 1) % CLAIMS;
            json!([{"name": "v", "persistentVolumeClaim": {"claimName": format!("c{index}")}},
                   {"name": "w", "persistentVolumeClaim": {"claimName": format!("c{other}")}}])
        }
        3 => json!([{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]),
        4 => match lots.below(3) {
            0 => {
                json!([{"name": "v", "azureDisk": {"diskName": format!("d{}", lots.below(2)), "diskURI": "u"}}])
            }
            1 => json!([{"name": "v", "cinder": {"volumeID": format!("d{}", lots.below(2))}}]),
            _ => json!([{"name": "v", "csi": {"driver": storage::DRIVER}}]),
        },
        _ => json!([{"name": "v", "persistentVolumeClaim": {"claimName": format!("c{index}")}}]),
    }
}

/// On a node, or pending.
pub(crate) fn pod(lots: &mut Lots, index: usize, node: Option<String>) -> Value {
    let app = *lots.pick(&APPS);
    let mut container =
        json!({"name": "c", "image": format!("img/{app}:1"), "resources": {"requests": {}}});
    // Few shapes, so that shapes meet again, and some of their own.
    let requests = &mut container["resources"]["requests"];
    if !lots.one_in(4) {
        requests["cpu"] = json!(format!("{}m", 200 * (1 + lots.below(5))));
        requests["memory"] = json!(format!("{}Mi", 256 * (1 + lots.below(4))));
    }
    if lots.one_in(8) {
        requests["example.com/gpu"] = json!("1");
    }
    if lots.one_in(6) {
        container["ports"] = json!([{"containerPort": 80, "hostPort": 8080 + lots.below(2)}]);
    }
    // Most pods matter about the same; a few may evict nearly all others.
    let priority = if node.is_none() && lots.one_in(5) { 9 } else { lots.below(3) };
    let mut spec = json!({"containers": [container], "priority": priority});
    if lots.one_in(12) {
        spec["preemptionPolicy"] = json!("Never");
    }
    if lots.one_in(2) {
        spec["dnsPolicy"] = json!(lots.pick(&["ClusterFirst", "None"]));
    }
    if lots.one_in(4) {
        spec["hostname"] = json!(lots.pick(&["rooted", "other"]));
    }
    if lots.one_in(12) {
        spec["initContainers"] = json!([{"name": "i", "image": "img/web:1",
            "restartPolicy": "Always", "resources": {"requests": {"cpu": "300m"}}}]);
    }
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
        let first = spread(lots, app);
        spec["topologySpreadConstraints"] = json!([first]);
        if lots.one_in(3) {
            let second = spread(lots, app);
            if second["topologyKey"] != spec["topologySpreadConstraints"][0]["topologyKey"] {
                spec["topologySpreadConstraints"] = json!([first, second]);
            }
        }
    }
    if lots.one_in(3) {
        spec["volumes"] = volumes(lots);
    }
    if lots.one_in(5) {
        need_features(lots, &mut spec);
    }
    if lots.one_in(8) {
        spec["priorityClassName"] = json!(lots.pick(&["low", "high"]));
        spec["serviceAccountName"] = json!(lots.pick(&["nobody", "somebody"]));
    }
    if lots.one_in(30) {
        spec["schedulingGates"] = json!([{"name": "example.com/gate"}]);
    }
    if lots.one_in(40) {
        spec["resourceClaims"] = json!([{"name": "r", "resourceClaimName": "r"}]);
    }
    let mut status = json!({});
    match &node {
        Some(node) => {
            spec["nodeName"] = json!(node);
            status["startTime"] = json!(format!("2026-01-01T00:00:{:02}Z", lots.below(60)));
        }
        None if lots.one_in(8) => {
            status["nominatedNodeName"] = json!(node_name(lots.below(NODES)));
        }
        None => {}
    }
    let mut labels = json!({"app": app});
    if lots.one_in(3) {
        labels["tier"] = json!(lots.pick(&["front", "back"]));
    }
    // Of claims that exist, in the one namespace that has some.
    let namespace = if spec["volumes"].is_null() { *lots.pick(&NAMESPACES) } else { "red" };
    let mut meta = json!({"name": format!("p{index}"), "namespace": namespace,
        "uid": format!("u{index}"), "labels": labels,
        "creationTimestamp": format!("2026-01-01T00:{:02}:00Z", index % 60)});
    if lots.one_in(3) {
        meta["annotations"] = json!({"owner": lots.pick(&OWNERS)});
    }
    if lots.one_in(2) {
        meta["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "name": app, "uid": app, "controller": true}]);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status})
}

/// Another pod of the same kind.
pub(crate) fn another(like: &Value, index: usize, node: Option<String>) -> Value {
    let mut pod = like.clone();
    pod["metadata"]["name"] = json!(format!("p{index}"));
    pod["metadata"]["uid"] = json!(format!("u{index}"));
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] = match node {
        Some(_) => json!({"startTime": format!("2026-01-01T00:00:{:02}Z", index % 60)}),
        None => json!({}),
    };
    pod
}

/// A namespace, or something that selects pods.
pub(crate) fn selecting(lots: &mut Lots) -> Value {
    let namespace = *lots.pick(&NAMESPACES);
    let app = *lots.pick(&APPS);
    let meta = json!({"name": app, "namespace": namespace});
    match lots.below(6) {
        0 => {
            let labels = if lots.one_in(3) { json!({}) } else { json!({"team": lots.pick(&APPS)}) };
            let annotations = if lots.one_in(3) {
                json!({})
            } else {
                json!({"provider": lots.pick(&["a", "b"])})
            };
            let others: &[&str] = if lots.one_in(3) { &["example.com/hold"] } else { &[] };
            let finalizers = [&["kubernetes"], others].concat();
            json!({"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": namespace, "labels": labels, "annotations": annotations},
                   "spec": {"finalizers": finalizers},
                   "status": {"phase": lots.pick(&["Active", "Active", "Terminating"])}})
        }
        1 => json!({"apiVersion": "v1", "kind": "Service", "metadata": meta,
                    "spec": {"selector": {"app": lots.pick(&APPS)}}}),
        2 => json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": meta,
                    "spec": {"selector": {"app": lots.pick(&APPS)}}}),
        3 => json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta,
                    "spec": {"selector": {"matchLabels": {"app": lots.pick(&APPS)}}}}),
        4 => json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta,
                    "spec": {"selector": {"matchLabels": {"app": lots.pick(&APPS)}}}}),
        _ => json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta,
                    "spec": {"selector": {"matchLabels": {"app": app}}},
                    "status": {"disruptionsAllowed": lots.below(3)}}),
    }
}
