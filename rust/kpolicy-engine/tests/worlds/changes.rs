//! Small changes of nodes and pods, one part at a time, so that no other part hides the effect.
//! Each change has a name by which it is counted.

use serde_json::{Value, json};

use crate::lots::Lots;
use crate::objects::{APPS, FEATURES, OWNERS, RESTARTS_ALL, ZONES};

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
pub(crate) const POD_PARTS: [Part; 7] = [
    ("labels", "/metadata/labels"),
    ("annotations", "/metadata/annotations"),
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
pub(crate) fn of_node(lots: &mut Lots, node: &Value) -> Value {
    let mut node = node.clone();
    match lots.below(12) {
        0 => {
            let key = *lots.pick(&["disk", "rank", "topology.kubernetes.io/zone"]);
            node["metadata"]["labels"][key] = match key {
                "disk" => json!(lots.pick(&["ssd", "hdd"])),
                "rank" => json!(lots.pick(&["1", "2", "x"])),
                _ => json!(lots.pick(&ZONES)),
            };
        }
        1 => {
            let key = *lots.pick(&["disk", "rank", "topology.kubernetes.io/zone"]);
            if let Some(labels) = node["metadata"]["labels"].as_object_mut() {
                labels.remove(key);
            }
        }
        2 => {
            node["metadata"]["annotations"] = match lots.below(3) {
                0 => json!({}),
                1 => json!({"owner": lots.pick(&OWNERS)}),
                _ => json!({"closed": lots.pick(&APPS), "owner": lots.pick(&OWNERS)}),
            };
        }
        3 => {
            node["spec"]["taints"] = match lots.one_in(2) {
                true => json!([]),
                false => json!([{"key": "dedicated", "value": lots.pick(&APPS),
                                 "effect": lots.pick(&["NoSchedule", "NoExecute"])}]),
            };
        }
        4 => node["spec"]["unschedulable"] = json!(lots.one_in(3)),
        5 => node["spec"]["providerID"] = json!(lots.pick(&["a", "b", "c"])),
        6 => {
            let images = [lots.pick(&APPS), lots.pick(&APPS)]
                .map(|app| json!({"names": [format!("img/{app}:1")], "sizeBytes": 200_000_000}));
            node["status"]["images"] = json!(images);
        }
        7 => {
            node["status"]["nodeInfo"]["kernelVersion"] = json!(lots.pick(&["5.4", "6.1", "6.2"]));
        }
        8 => {
            let status = |lots: &mut Lots| *lots.pick(&["True", "False"]);
            node["status"]["conditions"] = json!([{"type": "Ready", "status": status(lots)},
                {"type": "DiskPressure", "status": status(lots)}]);
        }
        9 => {
            let name = *lots.pick(&["cpu", "memory", "pods", "example.com/gpu"]);
            let amount = 1 + lots.below(8);
            let unit = if name == "memory" { "Gi" } else { "" };
            node["status"]["allocatable"][name] = json!(format!("{amount}{unit}"));
        }
        10 => node["status"]["capacity"]["cpu"] = json!(format!("{}", 1 + lots.below(8))),
        _ => node["status"]["declaredFeatures"] = features(lots),
    }
    node
}

pub(crate) fn features(lots: &mut Lots) -> Value {
    let drawn = FEATURES.iter().filter(|_| lots.one_in(2));
    drawn.collect::<Vec<_>>().into_iter().copied().collect()
}

/// The pod with one part changed that the API server lets change.
pub(crate) fn of_pod(lots: &mut Lots, pod: &Value) -> Value {
    let mut pod = pod.clone();
    match lots.below(8) {
        0 => pod["metadata"]["labels"]["app"] = json!(lots.pick(&APPS)),
        1 => {
            pod["metadata"]["labels"]["tier"] = json!(lots.pick(&["front", "back"]));
        }
        2 => {
            pod["metadata"]["annotations"] = match lots.one_in(3) {
                true => json!({}),
                false => json!({"owner": lots.pick(&OWNERS)}),
            };
        }
        3 => {
            let mut tolerations =
                pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
            if tolerations.len() < 4 {
                let key = *lots.pick(&["dedicated", "node.kubernetes.io/unschedulable", "other"]);
                tolerations.push(json!({"key": key, "operator": "Exists"}));
            }
            pod["spec"]["tolerations"] = tolerations.into();
        }
        4 => {
            let requests = &mut pod["spec"]["containers"][0]["resources"]["requests"];
            let name = *lots.pick(&["cpu", "memory"]);
            let (amount, unit) = if name == "cpu" {
                (100 * (1 + lots.below(9)), "m")
            } else {
                (128 * (1 + lots.below(9)), "Mi")
            };
            requests[name] = json!(format!("{amount}{unit}"));
        }
        5 => {
            pod["spec"]["containers"][0]["image"] = json!(format!("img/{}:1", lots.pick(&APPS)));
        }
        6 => {
            if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove("schedulingGates");
            }
        }
        _ if pod["spec"]["nodeName"].is_null() => {
            pod["metadata"]["annotations"] = json!({"owner": lots.pick(&OWNERS)});
        }
        _ => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T02:00:00Z"),
    }
    pod
}

/// What makes a pod need features of its node.
pub(crate) fn need_features(lots: &mut Lots, spec: &mut Value) {
    if lots.one_in(2) {
        spec["hostNetwork"] = json!(true);
        spec["hostUsers"] = json!(lots.one_in(4));
    } else {
        spec["containers"][0]["restartPolicyRules"] =
            json!([{"action": RESTARTS_ALL, "exitCodes": {"operator": "In", "values": [7]}}]);
    }
}
