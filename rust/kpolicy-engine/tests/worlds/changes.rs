//! Small changes of nodes and pods, one part at a time, so that no other part hides the effect.
//! Each change has a name by which it is counted.

use serde_json::{Value, json};

use crate::draws::Draws;
use crate::objects::{APPS, FEATURES, OWNERS, RESTARTS_ALL, ZONES, ask_for_gpus, owners};

/// A part of an object: its name and where it stands.
type Part = (&'static str, &'static str);

pub(crate) const NODE_PARTS: [Part; 11] = [
    ("labels", "/metadata/labels"),
    ("annotations", "/metadata/annotations"),
    ("taints", "/spec/taints"),
    ("unschedulable", "/spec/unschedulable"),
    ("providerID", "/spec/providerID"),
    ("images", "/status/images"),
    ("kernelVersion", "/status/nodeInfo/kernelVersion"),
    ("conditions", "/status/conditions"),
    ("allocatable", "/status/allocatable"),
    ("capacity", "/status/capacity"),
    ("features", "/status/declaredFeatures"),
];

/// Those that the API server lets change.
pub(crate) const POD_PARTS: [Part; 8] = [
    ("labels", "/metadata/labels"),
    ("annotations", "/metadata/annotations"),
    ("owners", "/metadata/ownerReferences"),
    ("tolerations", "/spec/tolerations"),
    ("requests", "/spec/containers/0/resources"),
    ("image", "/spec/containers/0/image"),
    ("gates", "/spec/schedulingGates"),
    ("termination", "/metadata/deletionTimestamp"),
];

/// How a change is counted: `Node.images`, `waiting Pod.labels`, `Service added`. A change of more
/// than one part counts as `Node replaced`.
pub(crate) fn name_of(kind: &str, old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let (old, new) = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => return Some(format!("{kind} added")),
        (Some(_), None) => return Some(format!("{kind} removed")),
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) => (old, new),
    };
    let (what, parts): (String, &[Part]) = match kind {
        "Node" => (kind.to_owned(), &NODE_PARTS),
        "Pod" if new["spec"]["nodeName"].is_null() => ("waiting Pod".to_owned(), &POD_PARTS),
        "Pod" => ("placed Pod".to_owned(), &POD_PARTS),
        _ => return Some(format!("{kind} changed")),
    };
    let differs = |(_, path): &&Part| old.pointer(path) != new.pointer(path);
    let mut differing = parts.iter().filter(differs);
    match (differing.next(), differing.next()) {
        (Some((part, _)), None) => Some(format!("{what}.{part}")),
        _ => Some(format!("{what} replaced")),
    }
}

/// The node with one part changed.
pub(crate) fn of_node(draws: &mut Draws, node: &Value) -> Value {
    let mut node = node.clone();
    match draws.below(12) {
        0 => {
            let key = *draws.pick(&["disk", "rank", "topology.kubernetes.io/zone"]);
            node["metadata"]["labels"][key] = match key {
                "disk" => json!(draws.pick(&["ssd", "hdd"])),
                "rank" => json!(draws.pick(&["1", "2", "x"])),
                _ => json!(draws.pick(&ZONES)),
            };
        }
        1 => {
            let key = *draws.pick(&["disk", "rank", "topology.kubernetes.io/zone"]);
            if let Some(labels) = node["metadata"]["labels"].as_object_mut() {
                labels.remove(key);
            }
        }
        2 => {
            node["metadata"]["annotations"] = match draws.below(3) {
                0 => json!({}),
                1 => json!({"owner": draws.pick(&OWNERS)}),
                _ => json!({"closed": draws.pick(&APPS), "owner": draws.pick(&OWNERS)}),
            };
        }
        3 => {
            node["spec"]["taints"] = match draws.one_in(2) {
                true => json!([]),
                false => json!([{"key": "dedicated", "value": draws.pick(&APPS),
                                 "effect": draws.pick(&["NoSchedule", "NoExecute"])}]),
            };
        }
        4 => node["spec"]["unschedulable"] = json!(draws.one_in(3)),
        5 => node["spec"]["providerID"] = json!(draws.pick(&["a", "b", "c"])),
        6 => {
            let images = [draws.pick(&APPS), draws.pick(&APPS)]
                .map(|app| json!({"names": [format!("img/{app}:1")], "sizeBytes": 200_000_000}));
            node["status"]["images"] = json!(images);
        }
        7 => {
            node["status"]["nodeInfo"]["kernelVersion"] = json!(draws.pick(&["5.4", "6.1", "6.2"]));
        }
        8 => {
            let status = |draws: &mut Draws| *draws.pick(&["True", "False"]);
            node["status"]["conditions"] = json!([{"type": "Ready", "status": status(draws)},
                {"type": "DiskPressure", "status": status(draws)}]);
        }
        9 => {
            let name = *draws.pick(&[
                "cpu",
                "memory",
                "pods",
                "example.com/gpu",
                "alibabacloud.com/gpu-count",
            ]);
            let amount = 1 + draws.below(8);
            let unit = if name == "memory" { "Gi" } else { "" };
            node["status"]["allocatable"][name] = json!(format!("{amount}{unit}"));
        }
        10 => node["status"]["capacity"]["cpu"] = json!(format!("{}", 1 + draws.below(8))),
        _ => node["status"]["declaredFeatures"] = features(draws),
    }
    node
}

pub(crate) fn features(draws: &mut Draws) -> Value {
    let drawn = FEATURES.iter().filter(|_| draws.one_in(2));
    drawn.collect::<Vec<_>>().into_iter().copied().collect()
}

/// The pod with one part changed that the API server lets change.
pub(crate) fn of_pod(draws: &mut Draws, pod: &Value) -> Value {
    let mut pod = pod.clone();
    match draws.below(9) {
        0 => pod["metadata"]["labels"]["app"] = json!(draws.pick(&APPS)),
        1 => {
            pod["metadata"]["labels"]["tier"] = json!(draws.pick(&["front", "back"]));
        }
        2 => {
            let is_placed = !pod["spec"]["nodeName"].is_null();
            pod["metadata"]["annotations"] = match draws.one_in(3) {
                true => json!({}),
                false => json!({"owner": draws.pick(&OWNERS)}),
            };
            if draws.one_in(3) {
                ask_for_gpus(draws, &mut pod["metadata"], is_placed);
            }
        }
        3 => {
            let mut tolerations =
                pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
            if tolerations.len() < 4 {
                let key = *draws.pick(&["dedicated", "node.kubernetes.io/unschedulable", "other"]);
                tolerations.push(json!({"key": key, "operator": "Exists"}));
            }
            pod["spec"]["tolerations"] = tolerations.into();
        }
        4 => {
            let requests = &mut pod["spec"]["containers"][0]["resources"]["requests"];
            let name = *draws.pick(&["cpu", "memory"]);
            let (amount, unit) = if name == "cpu" {
                (100 * (1 + draws.below(9)), "m")
            } else {
                (128 * (1 + draws.below(9)), "Mi")
            };
            requests[name] = json!(format!("{amount}{unit}"));
        }
        5 => {
            pod["spec"]["containers"][0]["image"] = json!(format!("img/{}:1", draws.pick(&APPS)));
        }
        6 => {
            if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove("schedulingGates");
            }
        }
        7 => {
            let app: &&str = draws.pick(&APPS);
            pod["metadata"]["ownerReferences"] = owners(app, draws.one_in(2));
        }
        _ if pod["spec"]["nodeName"].is_null() => {
            pod["metadata"]["annotations"] = json!({"owner": draws.pick(&OWNERS)});
        }
        _ => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T02:00:00Z"),
    }
    pod
}

/// What makes a pod need features of its node.
pub(crate) fn need_features(draws: &mut Draws, spec: &mut Value) {
    if draws.one_in(2) {
        spec["hostNetwork"] = json!(true);
        spec["hostUsers"] = json!(draws.one_in(4));
    } else {
        spec["containers"][0]["restartPolicyRules"] =
            json!([{"action": RESTARTS_ALL, "exitCodes": {"operator": "In", "values": [7]}}]);
    }
}
