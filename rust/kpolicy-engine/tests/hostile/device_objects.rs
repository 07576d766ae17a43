//! Objects about devices for the hostile tests: slices, classes, claims and taint rules, as large as an
//! API server accepts them.

use std::ops::Range;

use serde_json::{Value, json};

use crate::cluster::{NODES, node_name, pod};
use crate::number;

pub(crate) const DRIVER: &str = "d.x";
const VERSION: &str = "resource.k8s.io/v1";

/// What a slice says of each of its devices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// Attributes besides `model` and `index`.
    pub attributes: usize,
    pub capacities: usize,
    /// Values that a share of a capacity may have.
    pub values: usize,
    pub taints: usize,
    /// Counters that it takes of the pool's set.
    pub counters: usize,
    pub is_shared: bool,
    /// Each device has a number that no other has.
    pub has_serials: bool,
}

fn device(pool: &str, index: usize, look: Look) -> Value {
    let mut attributes = json!({"model": {"string": "a"}, "index": {"int": index}});
    if look.has_serials {
        attributes["serial"] = json!({"string": format!("{pool}-{index}")});
    }
    for number in 0..look.attributes {
        attributes[format!("attribute{number:02}")] = json!({"string": "x"});
    }
    let mut device = json!({"name": format!("device-{index:03}"), "attributes": attributes});
    if look.is_shared {
        device["allowMultipleAllocations"] = json!(true);
    }
    for number in 0..look.capacities {
        let mut capacity = json!({"value": "100Gi"});
        if look.values > 0 {
            let values: Vec<String> = (1..=look.values).map(|value| format!("{value}Gi")).collect();
            capacity["requestPolicy"] = json!({"default": "1Gi", "validValues": values});
        }
        device["capacity"][format!("capacity{number:02}")] = capacity;
    }
    if look.taints > 0 {
        let taint = |number: usize| json!({"key": format!("t{number}"), "effect": "NoSchedule"});
        device["taints"] = (0..look.taints).map(taint).collect();
    }
    if look.counters > 0 {
        let counters: Value = counters(look.counters, "1");
        device["consumesCounters"] = json!([{"counterSet": "set", "counters": counters}]);
    }
    device
}

fn counters(count: usize, value: &str) -> Value {
    let counter = |number: usize| (format!("counter{number:02}"), json!({"value": value}));
    Value::Object((0..count).map(counter).collect())
}

/// A slice; `place` says which nodes reach it.
pub(crate) fn slice(
    name: &str,
    (pool, slices): (&str, usize),
    place: &Value,
    devices: Range<usize>,
    look: Look,
) -> Value {
    let devices: Vec<Value> = devices.map(|index| device(pool, index, look)).collect();
    let mut spec = json!({"driver": DRIVER, "devices": devices,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": slices}});
    for (field, value) in place.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    published(name, &spec)
}

fn published(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": name},
        "spec": spec})
}

/// The first of two slices of a pool: its counters.
fn counters_of(pool: &str, node: &str, count: usize) -> Value {
    let spec = json!({"driver": DRIVER, "nodeName": node,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 2},
        "sharedCounters": [{"name": "set", "counters": counters(count, "100")}]});
    published(&format!("{pool}-counters"), &spec)
}

/// So many pools, each of a node, whose devices are not published.
pub(crate) fn without_devices(pools: usize) -> impl Iterator<Item = Value> {
    (0..pools).map(|index| counters_of(&format!("half-{index}"), &node_name(index), 8))
}

/// The slices of a node. Counters are in a slice of their own: an API server accepts none with both.
fn slices_of_node(index: usize, devices: usize, look: Look) -> impl Iterator<Item = Value> {
    let name = node_name(index);
    let slices = 1 + usize::from(look.counters > 0);
    let of_counters = (look.counters > 0).then(|| counters_of(&name, &name, look.counters));
    let own = slice(&name, (&name, slices), &json!({"nodeName": name}), 0..devices, look);
    of_counters.into_iter().chain([own])
}

/// Objects that are made one by one, when each is published.
pub(crate) type Objects = Box<dyn Iterator<Item = Value>>;

/// Slices with so many devices of each `step`-th of as many nodes as are asked for, and memory allows
/// for. Nodes that have the same share an answer.
pub(crate) fn on_alike_nodes(devices: usize, look: Look, step: usize) -> Objects {
    let nodes = (0..nodes_with_devices(devices, look)).step_by(step);
    Box::new(nodes.flat_map(move |index| slices_of_node(index, devices, look)))
}

/// The same where each node is asked itself, and the work is shared by all of them: a slice that names
/// none, and that no node reaches, makes it so.
pub(crate) fn on_each_node(devices: usize, look: Look, step: usize) -> Objects {
    let place = json!({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "nowhere", "operator": "Exists"}]}]}});
    let nowhere = slice("nowhere", ("nowhere", 1), &place, 0..1, Look { counters: 0, ..look });
    Box::new(on_alike_nodes(devices, look, step).chain([nowhere]))
}

/// A fraction of the nodes unless the environment asks for attacks, and never more than about 1 GiB.
pub(crate) fn nodes_with_devices(devices: usize, look: Look) -> usize {
    let Look { attributes, capacities, values, taints, counters, .. } = look;
    let bytes = 300
        + 100 * (2 + attributes)
        + (250 + 40 * values) * capacities
        + 200 * taints
        + 100 * counters;
    let asked = if number("KPOLICY_ATTACKS", 0) > 0 { NODES } else { NODES / 50 };
    asked.min((1 << 30) / (bytes * devices.max(1)))
}

pub(crate) fn class(name: &str, selectors: &[&str]) -> Value {
    let selectors: Vec<Value> = selectors.iter().map(|text| of_cel(text)).collect();
    json!({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": name},
        "spec": {"selectors": selectors}})
}

fn of_cel(text: &str) -> Value {
    json!({"cel": {"expression": text}})
}

/// A taint for devices; `selector` says for which.
pub(crate) fn taint_rule(index: usize, selector: &Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "DeviceTaintRule",
        "metadata": {"name": format!("rule-{index}")},
        "spec": {"deviceSelector": selector,
            "taint": {"key": format!("r{index}"), "effect": "NoSchedule"}}})
}

/// What a request asks for, `exactly` or as an alternative.
pub(crate) fn ask(count: usize, selectors: &[&str]) -> Value {
    let selectors: Vec<Value> = selectors.iter().map(|text| of_cel(text)).collect();
    json!({"deviceClassName": "c", "selectors": selectors,
        "allocationMode": "ExactCount", "count": count})
}

pub(crate) fn all() -> Value {
    json!({"deviceClassName": "c", "allocationMode": "All"})
}

/// Requests `r0`, `r1`, … of one ask.
pub(crate) fn requests(count: usize, ask: &Value) -> Value {
    (0..count).map(|index| json!({"name": format!("r{index}"), "exactly": ask})).collect()
}

/// Requests whose alternatives are all of one ask.
pub(crate) fn lists(count: usize, alternatives: usize, ask: &Value) -> Value {
    let list = |index: usize| {
        let alternative = |number: usize| {
            let mut own = ask.clone();
            own["name"] = json!(format!("a{number}"));
            own
        };
        let alternatives: Vec<Value> = (0..alternatives).map(alternative).collect();
        json!({"name": format!("r{index}"), "firstAvailable": alternatives})
    };
    (0..count).map(list).collect()
}

/// Whether all devices of the requests have one value of an attribute, so often.
pub(crate) fn matching(count: usize, attribute: &str) -> Value {
    (0..count).map(|_| json!({"matchAttribute": format!("{DRIVER}/{attribute}")})).collect()
}

pub(crate) fn distinct(attribute: &str) -> Value {
    json!([{"distinctAttribute": format!("{DRIVER}/{attribute}")}])
}

/// A claim whose `spec.devices` has these fields.
pub(crate) fn claim(name: &str, devices: Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "ResourceClaim", "spec": {"devices": devices},
        "metadata": {"name": name, "namespace": "d", "uid": format!("claim-{name}")}})
}

/// A claim that has devices of a node.
pub(crate) fn allocated(name: &str, node: &str, devices: Range<usize>) -> Value {
    let result = |index: usize| {
        json!({"request": "r0", "driver": DRIVER, "pool": node,
            "device": format!("device-{index:03}")})
    };
    let mut claim = claim(name, json!({"requests": requests(1, &ask(1, &[]))}));
    claim["status"] = json!({"allocation": {
        "devices": {"results": devices.map(result).collect::<Vec<Value>>()}}});
    claim
}

/// A pod with these claims.
pub(crate) fn pod_with(claims: &[String]) -> Value {
    let entry = |(index, claim): (usize, &String)| json!({"name": format!("c{index}"), "resourceClaimName": claim});
    let entries: Vec<Value> = claims.iter().enumerate().map(entry).collect();
    pod("devices", json!({"resourceClaims": entries}))
}
