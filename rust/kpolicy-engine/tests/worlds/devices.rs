//! Random classes, slices, taint rules and claims of devices.

use serde_json::{Value, json};

use crate::draws::Draws;
use crate::objects::{NAMESPACES, NODES, node_name};

const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];
const CLASSES: [&str; 3] = ["gpu", "nic", "any"];
/// Claims that pods use, in each namespace.
const CLAIMS: usize = 4;

pub(crate) fn claim_name(draws: &mut Draws) -> String {
    format!("r{}", draws.below(CLAIMS))
}

pub(crate) fn any(draws: &mut Draws) -> Value {
    match draws.below(8) {
        0 => class(draws),
        1 => json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": "t", "namespace": draws.pick(&NAMESPACES),
                         "labels": {"a": draws.pick(&["1", "2"])}}}),
        2 => json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
            "metadata": {"name": format!("rule{}", draws.below(2))},
            "spec": {"deviceSelector": {"driver": draws.pick(&DRIVERS)},
                     "taint": {"key": "k", "effect": draws.pick(&["NoSchedule", "None"])}}}),
        3..=5 => slice(draws),
        6 if draws.one_in(2) => left(draws),
        _ => claim(draws),
    }
}

/// A claim that an earlier attempt made for the extended resources of a pod.
fn left(draws: &mut Draws) -> Value {
    let index = draws.below(12);
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": format!("left{index}"), "namespace": draws.pick(&NAMESPACES),
                     "uid": format!("left{index}"),
                     "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                     "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "controller": true,
                                          "name": format!("p{index}"), "uid": format!("u{index}")}]},
        "spec": {"devices": {"requests": []}}})
}

fn class(draws: &mut Draws) -> Value {
    let name = *draws.pick(&CLASSES);
    let mut class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": name}, "spec": {}});
    if draws.one_in(2) {
        class["spec"]["extendedResourceName"] = json!("example.com/gpu");
    }
    class
}

fn slice(draws: &mut Draws) -> Value {
    let driver = *draws.pick(&DRIVERS);
    let pool = node_name(draws.below(NODES));
    let devices = (0..=draws.below(3)).map(|index| {
        let mut device = json!({"name": format!("d{index}"),
            "attributes": {"model": {"string": draws.pick(&["a", "b"])}},
            "capacity": {"memory": {"value": draws.pick(&["8Gi", "16Gi"])}},
            "allowMultipleAllocations": draws.one_in(4)});
        if draws.one_in(5) {
            device["taints"] = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
        }
        device
    });
    let devices: Vec<Value> = devices.collect();
    let mut spec = json!({"driver": driver, "devices": devices,
        "pool": {"name": pool, "generation": 1 + draws.below(2),
                 "resourceSliceCount": 1 + usize::from(draws.one_in(8))}});
    match draws.below(6) {
        0 => spec["allNodes"] = json!(true),
        1 => {
            spec["nodeSelector"] = json!({"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "disk", "operator": "In", "values": [draws.pick(&["ssd", "hdd"])]}]}]});
        }
        _ => spec["nodeName"] = json!(pool),
    }
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": format!("s{}", draws.below(12))}, "spec": spec})
}

fn claim(draws: &mut Draws) -> Value {
    let ask = |draws: &mut Draws| {
        json!({"deviceClassName": draws.pick(&CLASSES), "count": 1 + draws.below(2),
               "allocationMode": "ExactCount"})
    };
    let requests: Vec<Value> = (0..=draws.below(2))
        .map(|index| {
            let name = format!("q{index}");
            if draws.one_in(3) {
                let mut first = ask(draws);
                first["name"] = json!("first");
                let mut second = ask(draws);
                second["name"] = json!("second");
                json!({"name": name, "firstAvailable": [first, second]})
            } else {
                json!({"name": name, "exactly": ask(draws)})
            }
        })
        .collect();
    let constraints = if draws.one_in(4) {
        json!([{"matchAttribute": "gpu.example.com/model"}])
    } else {
        json!([])
    };
    let name = claim_name(draws);
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": draws.pick(&NAMESPACES), "uid": format!("c-{name}"),
                     "resourceVersion": format!("{}", draws.below(1000))},
        "spec": {"devices": {"requests": requests, "constraints": constraints}}})
}
