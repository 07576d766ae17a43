//! Random nodes, pods, and the objects that select pods.

use serde_json::{Value, json};

use crate::changes::{features, need_features};
use crate::devices;
use crate::draws::Draws;
use crate::storage::{self, CLAIMS};

pub(crate) const NODES: usize = 10;
pub(crate) const NAMESPACES: [&str; 2] = ["red", "blue"];
pub(crate) const ZONES: [&str; 3] = ["za", "zb", "zc"];
pub(crate) const APPS: [&str; 4] = ["web", "db", "cache", "job"];
/// Only named in annotations.
pub(crate) const OWNERS: [&str; 2] = ["ann", "bob"];
/// Of GPUs.
pub(crate) const MODELS: [&str; 2] = ["A", "B"];
/// Of nodes, which pods may need.
pub(crate) const FEATURES: [&str; 2] =
    ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"];
/// The action of a container's restart rule.
pub(crate) const RESTARTS_ALL: &str = "RestartAllContainers";
const KEYS: [&str; 2] = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"];

pub(crate) fn node_name(index: usize) -> String {
    format!("n{index:02}")
}

pub(crate) fn node(draws: &mut Draws, index: usize) -> Value {
    let mut labels = json!({"kubernetes.io/hostname": node_name(index),
        "disk": draws.pick(&["ssd", "hdd"]), "rank": draws.pick(&["1", "2", "x"]),
        "kubernetes.io/os": "linux"});
    if !draws.one_in(6) {
        labels["topology.kubernetes.io/zone"] = json!(draws.pick(&ZONES));
        labels["topology.kubernetes.io/region"] = json!("r");
    }
    if draws.one_in(8) {
        labels.as_object_mut().expect("labels are an object").remove("disk");
    }
    let mut taints = Vec::new();
    if draws.one_in(4) {
        let effect = draws.pick(&["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        taints.push(json!({"key": "dedicated", "value": draws.pick(&APPS), "effect": effect}));
    }
    let images = json!([{"names": [format!("img/{}:1", draws.pick(&APPS))],
                         "sizeBytes": 100_000_000 * (1 + draws.below(9))}]);
    let mut annotations = json!({});
    if draws.one_in(6) {
        annotations["closed"] = json!(draws.pick(&APPS));
    }
    if draws.one_in(3) {
        annotations["owner"] = json!(draws.pick(&OWNERS));
    }
    // Of GPUs that pods share; few, so that shares meet.
    let gpus = if draws.one_in(3) { 0 } else { 1 + draws.below(3) };
    if gpus > 0 && !draws.one_in(4) {
        labels["alibabacloud.com/gpu-card-model"] = json!(draws.pick(&MODELS));
    }
    let finalizers: &[&str] = if draws.one_in(6) { &["example.com/hold"] } else { &[] };
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node_name(index), "labels": labels, "annotations": annotations,
                     "finalizers": finalizers},
        "spec": {"taints": taints, "unschedulable": draws.one_in(10),
                 "providerID": draws.pick(&["", "a", "b"])},
        "status": {"images": images, "declaredFeatures": features(draws),
            "capacity": {"cpu": format!("{}", 1 + draws.below(8))}, "nodeInfo": {"kernelVersion": draws.pick(&["5.4", "6.1"])},
            "conditions": [{"type": "Ready", "status": draws.pick(&["True", "True", "False"])}],
            "allocatable": {
                "cpu": format!("{}", 1 + draws.below(6)), "memory": format!("{}Gi", 2 + draws.below(12)),
                "pods": format!("{}", 3 + draws.below(8)), "example.com/gpu": format!("{}", draws.below(3)),
                "ephemeral-storage": "20Gi", "alibabacloud.com/gpu-count": format!("{gpus}")}}})
}

fn selector(draws: &mut Draws) -> Value {
    match draws.below(5) {
        0 => json!({"matchExpressions": [{"key": "app", "operator": draws.pick(&["In", "NotIn"]),
                                          "values": [draws.pick(&APPS), draws.pick(&APPS)]}]}),
        1 => {
            let (key, operator) = *draws.pick(&[
                ("tier", "Exists"),
                ("tier", "DoesNotExist"),
                ("own", "Exists"),
                ("own", "DoesNotExist"),
            ]);
            json!({"matchExpressions": [{"key": key, "operator": operator}]})
        }
        _ => json!({"matchLabels": {"app": draws.pick(&APPS)}}),
    }
}

fn pod_affinity_term(draws: &mut Draws) -> Value {
    let mut term = json!({"topologyKey": draws.pick(&KEYS), "labelSelector": selector(draws)});
    match draws.below(6) {
        0 => term["namespaceSelector"] = json!({}),
        1 => term["namespaceSelector"] = json!({"matchLabels": {"team": draws.pick(&APPS)}}),
        2 => term["namespaces"] = json!([draws.pick(&NAMESPACES)]),
        3 => term["matchLabelKeys"] = json!(["tier"]),
        _ => {}
    }
    term
}

fn affinity(draws: &mut Draws) -> Value {
    let mut affinity = json!({});
    if draws.one_in(4) {
        affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = json!([{"weight": 1 + draws.below(100), "preference": {"matchExpressions": [
                {"key": "disk", "operator": "In", "values": ["ssd"]}]}}]);
    }
    let required = match draws.below(6) {
        0 => Some(json!({"matchFields": [{"key": "metadata.name", "operator": "In",
                                          "values": [node_name(draws.below(NODES))]}]})),
        1 => Some(json!({"matchExpressions": [{"key": "rank",
            "operator": draws.pick(&["Gt", "Lt", "Exists"]), "values": ["1"]}]})),
        _ => None,
    };
    if let Some(term) = required {
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": [term]});
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        if draws.one_in(4) {
            affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!([pod_affinity_term(draws)]);
        }
        if draws.one_in(4) {
            let term = pod_affinity_term(draws);
            affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"] =
                json!([{"weight": 1 + draws.below(100), "podAffinityTerm": term}]);
        }
    }
    affinity
}

fn spread(draws: &mut Draws, app: &str) -> Value {
    let mut constraint = json!({"maxSkew": 1 + draws.below(2), "topologyKey": draws.pick(&KEYS),
        "whenUnsatisfiable": draws.pick(&["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": app}}});
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" && draws.one_in(4) {
        constraint["minDomains"] = json!(2);
    }
    if draws.one_in(4) {
        constraint["nodeTaintsPolicy"] = json!("Honor");
    }
    if draws.one_in(4) {
        constraint["nodeAffinityPolicy"] = json!("Ignore");
    }
    if draws.one_in(4) {
        constraint["matchLabelKeys"] = json!(["tier"]);
    }
    constraint
}

fn volumes(draws: &mut Draws) -> Value {
    let index = draws.below(CLAIMS);
    match draws.below(8) {
        0 => {
            json!([{"name": "v", "gcePersistentDisk": {"pdName": format!("d{}", draws.below(2)), "readOnly": draws.one_in(2)}}])
        }
        1 => {
            json!([{"name": "v", "awsElasticBlockStore": {"volumeID": format!("d{}", draws.below(2))}}])
        }
        2 => {
            let other = (index + 1) % CLAIMS;
            json!([{"name": "v", "persistentVolumeClaim": {"claimName": format!("c{index}")}},
                   {"name": "w", "persistentVolumeClaim": {"claimName": format!("c{other}")}}])
        }
        3 => json!([{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]),
        4 => match draws.below(3) {
            0 => {
                json!([{"name": "v", "azureDisk": {"diskName": format!("d{}", draws.below(2)), "diskURI": "u"}}])
            }
            1 => json!([{"name": "v", "cinder": {"volumeID": format!("d{}", draws.below(2))}}]),
            _ => json!([{"name": "v", "csi": {"driver": storage::DRIVER}}]),
        },
        _ => json!([{"name": "v", "persistentVolumeClaim": {"claimName": format!("c{index}")}}]),
    }
}

/// On a node, or pending.
pub(crate) fn pod(draws: &mut Draws, index: usize, node: Option<String>) -> Value {
    let app = *draws.pick(&APPS);
    let mut container =
        json!({"name": "c", "image": format!("img/{app}:1"), "resources": {"requests": {}}});
    // Few shapes, so that shapes meet again, and some of their own.
    let requests = &mut container["resources"]["requests"];
    if !draws.one_in(4) {
        requests["cpu"] = json!(format!("{}m", 200 * (1 + draws.below(5))));
        requests["memory"] = json!(format!("{}Mi", 256 * (1 + draws.below(4))));
    }
    if draws.one_in(8) {
        requests["example.com/gpu"] = json!("1");
    }
    if draws.one_in(6) {
        container["ports"] = json!([{"containerPort": 80, "hostPort": 8080 + draws.below(2)}]);
    }
    // Most pods matter about the same; a few may evict nearly all others.
    let priority = if node.is_none() && !draws.one_in(3) { 9 } else { draws.below(3) };
    let mut spec = json!({"containers": [container], "priority": priority});
    if draws.one_in(12) {
        spec["preemptionPolicy"] = json!("Never");
    }
    if draws.one_in(2) {
        spec["dnsPolicy"] = json!(draws.pick(&["ClusterFirst", "None"]));
    }
    if draws.one_in(4) {
        spec["hostname"] = json!(draws.pick(&["rooted", "other"]));
    }
    if draws.one_in(12) {
        spec["initContainers"] = json!([{"name": "i", "image": "img/web:1",
            "restartPolicy": "Always", "resources": {"requests": {"cpu": "300m"}}}]);
    }
    if draws.one_in(3) {
        spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    }
    if draws.one_in(6) {
        spec["nodeSelector"] = json!({"disk": "ssd"});
    }
    if draws.one_in(3) {
        spec["affinity"] = affinity(draws);
    }
    if draws.one_in(3) {
        let first = spread(draws, app);
        spec["topologySpreadConstraints"] = json!([first]);
        if draws.one_in(3) {
            let second = spread(draws, app);
            if second["topologyKey"] != spec["topologySpreadConstraints"][0]["topologyKey"] {
                spec["topologySpreadConstraints"] = json!([first, second]);
            }
        }
    }
    if draws.one_in(3) {
        spec["volumes"] = volumes(draws);
    }
    if draws.one_in(5) {
        need_features(draws, &mut spec);
    }
    if draws.one_in(8) {
        spec["priorityClassName"] = json!(draws.pick(&["low", "high"]));
        spec["serviceAccountName"] = json!(draws.pick(&["nobody", "somebody"]));
    }
    if draws.one_in(30) {
        spec["schedulingGates"] = json!([{"name": "example.com/gate"}]);
    }
    if draws.one_in(8) {
        let claim = devices::claim_name(draws);
        spec["resourceClaims"] = json!([{"name": "r", "resourceClaimName": claim}]);
    }
    let mut status = json!({});
    match &node {
        Some(node) => {
            spec["nodeName"] = json!(node);
            status["startTime"] = json!(format!("2026-01-01T00:00:{:02}Z", draws.below(60)));
        }
        None if draws.one_in(8) => {
            status["nominatedNodeName"] = json!(node_name(draws.below(NODES)));
        }
        None => {}
    }
    let mut labels = json!({"app": app});
    if draws.one_in(3) {
        labels["tier"] = json!(draws.pick(&["front", "back"]));
    }
    // Of claims that exist, in the one namespace that has some.
    let namespace = if spec["volumes"].is_null() { *draws.pick(&NAMESPACES) } else { "red" };
    let mut meta = json!({"name": format!("p{index}"), "namespace": namespace,
        "uid": format!("u{index}"), "labels": labels,
        "creationTimestamp": format!("2026-01-01T00:{:02}:00Z", index % 60)});
    if draws.one_in(3) {
        meta["annotations"] = json!({"owner": draws.pick(&OWNERS)});
    }
    if draws.one_in(4) {
        ask_for_gpus(draws, &mut meta, node.is_some());
    }
    if draws.one_in(2) {
        meta["ownerReferences"] = owners(app, true);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status})
}

/// Shares or whole devices; of a pod on a node mostly also which.
pub(crate) fn ask_for_gpus(draws: &mut Draws, meta: &mut Value, is_placed: bool) {
    let annotations = &mut meta["annotations"];
    match draws.below(3) {
        0 => annotations["alibabacloud.com/gpu-count"] = json!(draws.pick(&["1", "2"])),
        _ => annotations["alibabacloud.com/gpu-milli"] = json!(draws.pick(&["300", "500", "700"])),
    }
    if draws.one_in(4) {
        annotations["alibabacloud.com/gpu-card-model"] = json!(draws.pick(&["A", "B", "A|B"]));
    }
    if is_placed && !draws.one_in(3) {
        annotations["alibabacloud.com/gpu-index"] = json!(draws.pick(&["0", "1", "0-1", "2"]));
    }
}

/// A replica set, or nobody.
pub(crate) fn owners(app: &str, is_owned: bool) -> Value {
    let reference = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "name": app, "uid": app, "controller": true});
    if is_owned { json!([reference]) } else { json!([]) }
}

/// Another pod of the same kind, but for a label that few selectors read.
pub(crate) fn another(like: &Value, index: usize, node: Option<String>) -> Value {
    let mut pod = like.clone();
    pod["metadata"]["name"] = json!(format!("p{index}"));
    pod["metadata"]["uid"] = json!(format!("u{index}"));
    pod["metadata"]["labels"]["own"] = json!(format!("own-{index}"));
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] = match node {
        Some(_) => json!({"startTime": format!("2026-01-01T00:00:{:02}Z", index % 60)}),
        None => json!({}),
    };
    pod
}

/// A namespace, or something that selects pods.
pub(crate) fn selecting(draws: &mut Draws) -> Value {
    let namespace = *draws.pick(&NAMESPACES);
    let app = *draws.pick(&APPS);
    let meta = json!({"name": app, "namespace": namespace});
    match draws.below(6) {
        0 => {
            let labels =
                if draws.one_in(3) { json!({}) } else { json!({"team": draws.pick(&APPS)}) };
            let annotations = if draws.one_in(3) {
                json!({})
            } else {
                json!({"provider": draws.pick(&["a", "b"])})
            };
            let others: &[&str] = if draws.one_in(3) { &["example.com/hold"] } else { &[] };
            let finalizers = [&["kubernetes"], others].concat();
            json!({"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": namespace, "labels": labels, "annotations": annotations},
                   "spec": {"finalizers": finalizers},
                   "status": {"phase": draws.pick(&["Active", "Active", "Terminating"])}})
        }
        1 => json!({"apiVersion": "v1", "kind": "Service", "metadata": meta,
                    "spec": {"selector": {"app": draws.pick(&APPS)}}}),
        2 => json!({"apiVersion": "v1", "kind": "ReplicationController", "metadata": meta,
                    "spec": {"replicas": draws.below(4), "selector": {"app": draws.pick(&APPS)}}}),
        3 => json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta,
                    "spec": {"replicas": draws.below(4), "selector": {"matchLabels": {"app": draws.pick(&APPS)}}}}),
        4 => json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta,
                    "spec": {"selector": {"matchLabels": {"app": draws.pick(&APPS)}}}}),
        _ => json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta,
                    "spec": {"selector": {"matchLabels": {"app": app}}},
                    "status": {"disruptionsAllowed": draws.below(3)}}),
    }
}
