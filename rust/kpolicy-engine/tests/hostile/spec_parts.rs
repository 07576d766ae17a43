//! Parts of a pod's metadata and spec, besides affinity, with many entries.

use serde_json::{Map, Value, json};

use crate::growth::{Growth, Part};

/// As many items as the codec reads of a list.
const LIST: usize = 16_000;
/// As many entries as the codec reads of a map.
const MAP: usize = 32_000;

pub(crate) static SPEC_PARTS: [Part; 24] = [
    Part { name: "labels", entries_max: 8_000, add: labels },
    Part { name: "annotations", entries_max: 4_000, add: annotations },
    Part { name: "finalizers", entries_max: LIST, add: finalizers },
    Part { name: "nodeSelector", entries_max: MAP, add: node_selector },
    Part { name: "tolerations", entries_max: LIST, add: tolerations },
    Part { name: "spread.hard", entries_max: LIST, add: hard_spread },
    Part { name: "spread.soft", entries_max: LIST, add: soft_spread },
    Part { name: "spread.label-keys", entries_max: LIST, add: spread_label_keys },
    Part { name: "resources", entries_max: MAP, add: resources },
    Part { name: "containers", entries_max: LIST, add: containers },
    Part { name: "initContainers", entries_max: LIST, add: init_containers },
    Part { name: "sidecars", entries_max: LIST, add: sidecars },
    Part { name: "container-resources", entries_max: LIST, add: container_resources },
    Part { name: "overhead", entries_max: MAP, add: overhead },
    Part { name: "ports", entries_max: LIST, add: ports },
    Part { name: "gates", entries_max: LIST, add: gates },
    Part { name: "claims", entries_max: LIST, add: claims },
    Part { name: "volumes.claim", entries_max: LIST, add: claim_volumes },
    Part { name: "volumes.ephemeral", entries_max: LIST, add: ephemeral_volumes },
    Part { name: "volumes.csi", entries_max: LIST, add: csi_volumes },
    Part { name: "volumes.gce", entries_max: LIST, add: gce_volumes },
    Part { name: "volumes.rbd", entries_max: LIST, add: rbd_volumes },
    Part { name: "volumes.other", entries_max: LIST, add: other_volumes },
    Part { name: "images", entries_max: LIST, add: images },
];

/// Adds items to a list of a pod, made where it is not there.
pub(crate) fn extend(list: &mut Value, items: impl Iterator<Item = Value>) {
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        list.extend(items);
    }
}

/// Adds entries to a map of a pod, made where it is not there.
fn insert(map: &mut Value, entries: impl Iterator<Item = (String, Value)>) {
    if map.is_null() {
        *map = Value::Object(Map::new());
    }
    if let Some(map) = map.as_object_mut() {
        map.extend(entries);
    }
}

/// A selector of pods with the requirements and values that the growth asks for.
pub(crate) fn pod_selector(growth: &Growth, index: usize) -> Value {
    let requirement = |place: usize| {
        let key = if place == 0 { "app".to_owned() } else { format!("l{place}") };
        let operator = if (index + place).is_multiple_of(2) { "NotIn" } else { "In" };
        let values: Vec<String> =
            (0..growth.values).map(|value| format!("app-{}", value + index)).collect();
        json!({"key": key, "operator": operator, "values": values})
    };
    let requirements: Vec<Value> = (0..growth.requirements).map(requirement).collect();
    json!({"matchExpressions": requirements})
}

fn labels(pod: &mut Value, growth: &Growth) {
    let pairs = (0..growth.entries).map(|index| (format!("l{index}"), json!(growth.text(index))));
    insert(&mut pod["metadata"]["labels"], pairs);
}

fn annotations(pod: &mut Value, growth: &Growth) {
    let pairs = (0..growth.entries).map(|index| (format!("a{index}"), json!(growth.text(index))));
    insert(&mut pod["metadata"]["annotations"], pairs);
}

fn finalizers(pod: &mut Value, growth: &Growth) {
    let names =
        (0..growth.entries).map(|index| json!(format!("example.com/{}", growth.text(index))));
    extend(&mut pod["metadata"]["finalizers"], names);
}

fn node_selector(pod: &mut Value, growth: &Growth) {
    let pairs = (0..growth.entries).map(|index| (growth.key(index), json!(growth.value(0))));
    insert(&mut pod["spec"]["nodeSelector"], pairs);
}

fn tolerations(pod: &mut Value, growth: &Growth) {
    let toleration = |index: usize| match index % 2 {
        0 => json!({"key": growth.key(index), "operator": "Exists"}),
        _ => json!({"key": "ours", "operator": "Equal", "value": growth.text(index),
            "effect": "PreferNoSchedule"}),
    };
    extend(&mut pod["spec"]["tolerations"], (0..growth.entries).map(toleration));
}

fn spread(pod: &mut Value, growth: &Growth, unsatisfied: &str) {
    let constraint = |index: usize| {
        json!({"maxSkew": 1_000, "topologyKey": growth.key(index), "whenUnsatisfiable": unsatisfied,
            "labelSelector": pod_selector(growth, index),
            "nodeTaintsPolicy": "Honor"})
    };
    extend(&mut pod["spec"]["topologySpreadConstraints"], (0..growth.entries).map(constraint));
}

fn hard_spread(pod: &mut Value, growth: &Growth) {
    spread(pod, growth, "DoNotSchedule");
}

fn soft_spread(pod: &mut Value, growth: &Growth) {
    spread(pod, growth, "ScheduleAnyway");
}

fn spread_label_keys(pod: &mut Value, growth: &Growth) {
    let keys: Vec<String> = (0..growth.entries).map(|index| format!("l{index}")).collect();
    let constraint = json!({"maxSkew": 1, "topologyKey": growth.key(0), "matchLabelKeys": keys,
        "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": pod_selector(growth, 0)});
    extend(&mut pod["spec"]["topologySpreadConstraints"], std::iter::once(constraint));
}

fn amounts(growth: &Growth) -> impl Iterator<Item = (String, Value)> {
    (0..growth.entries).map(|index| (format!("example.com/r{index:05}"), json!("1")))
}

fn resources(pod: &mut Value, growth: &Growth) {
    let container = &mut pod["spec"]["containers"][0]["resources"];
    insert(&mut container["requests"], amounts(growth));
    insert(&mut container["limits"], amounts(growth));
}

fn overhead(pod: &mut Value, growth: &Growth) {
    insert(&mut pod["spec"]["overhead"], amounts(growth));
}

fn containers(pod: &mut Value, growth: &Growth) {
    let container = |index: usize| json!({"name": format!("c{index}"), "image": "i"});
    extend(&mut pod["spec"]["containers"], (0..growth.entries).map(container));
}

fn images(pod: &mut Value, growth: &Growth) {
    let container = |index: usize| json!({"name": format!("g{index}"), "image": format!("image-{}:{}", index % 9, index / 9)});
    extend(&mut pod["spec"]["containers"], (0..growth.entries).map(container));
}

fn container_resources(pod: &mut Value, growth: &Growth) {
    let container = |index: usize| {
        json!({"name": format!("r{index}"), "image": "i", "resources": {"requests":
            {"cpu": "1m", "memory": "1Ki", format!("example.com/c{index}"): "1"}}})
    };
    extend(&mut pod["spec"]["containers"], (0..growth.entries).map(container));
}

fn init_containers(pod: &mut Value, growth: &Growth) {
    let container = |index: usize| {
        json!({"name": format!("i{index}"), "image": growth.text(index),
            "resources": {"requests": {"cpu": "1m"}}})
    };
    extend(&mut pod["spec"]["initContainers"], (0..growth.entries).map(container));
}

fn sidecars(pod: &mut Value, growth: &Growth) {
    let container = |index: usize| {
        json!({"name": format!("s{index}"), "image": "i", "restartPolicy": "Always",
            "resources": {"requests": {"memory": "1Ki", format!("example.com/s{index}"): "1"}}})
    };
    extend(&mut pod["spec"]["initContainers"], (0..growth.entries).map(container));
}

fn ports(pod: &mut Value, growth: &Growth) {
    let port = |index: usize| {
        json!({"containerPort": 1 + index % 65_535, "hostPort": 1 + index % 65_535,
            "hostIP": format!("10.0.{}.{}", index % 3, index % 7)})
    };
    extend(&mut pod["spec"]["containers"][0]["ports"], (0..growth.entries).map(port));
}

fn gates(pod: &mut Value, growth: &Growth) {
    let gate = |index: usize| json!({"name": format!("example.com/{}", growth.text(index))});
    extend(&mut pod["spec"]["schedulingGates"], (0..growth.entries).map(gate));
}

fn claims(pod: &mut Value, growth: &Growth) {
    let claim = |index: usize| json!({"name": format!("c{index}"), "resourceClaimName": "c"});
    extend(&mut pod["spec"]["resourceClaims"], (0..growth.entries).map(claim));
}

fn volumes(pod: &mut Value, growth: &Growth, source: impl Fn(usize) -> (&'static str, Value)) {
    let volume = |index: usize| {
        let (kind, source) = source(index);
        json!({"name": format!("{}-{index}", kind.to_lowercase()), kind: source})
    };
    extend(&mut pod["spec"]["volumes"], (0..growth.entries).map(volume));
}

fn claim_volumes(pod: &mut Value, growth: &Growth) {
    volumes(pod, growth, |index| {
        ("persistentVolumeClaim", json!({"claimName": format!("claim-{}", index % 50)}))
    });
}

fn ephemeral_volumes(pod: &mut Value, growth: &Growth) {
    volumes(pod, growth, |_| ("ephemeral", json!({"volumeClaimTemplate": {}})));
}

fn csi_volumes(pod: &mut Value, growth: &Growth) {
    volumes(pod, growth, |index| ("csi", json!({"driver": format!("d{index}.example.com")})));
}

fn gce_volumes(pod: &mut Value, growth: &Growth) {
    volumes(pod, growth, |index| ("gcePersistentDisk", json!({"pdName": growth.text(index)})));
}

fn rbd_volumes(pod: &mut Value, growth: &Growth) {
    let monitors: Vec<String> =
        (0..growth.values.min(64)).map(|value| format!("m{value}")).collect();
    volumes(pod, growth, |index| {
        ("rbd", json!({"monitors": monitors, "image": growth.text(index), "pool": "p"}))
    });
}

fn other_volumes(pod: &mut Value, growth: &Growth) {
    volumes(pod, growth, |_| ("emptyDir", json!({})));
}
