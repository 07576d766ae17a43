//! What an explanation says of claims on devices: what nodes would give, or lack, and what would be
//! written.

use serde_json::{Map, Value, json};

use crate::cycle::reference::NodeJudgement;
use crate::rules::dynamic_resources::Shown;
use crate::snapshot::Cluster;

/// A part of a node's line.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) value: Value,
}

/// The devices that a node would give, with what they are worth to the rules of the policy, or what it has for each request if these are too few.
pub(super) fn devices(shown: &Shown, node: &NodeJudgement, cluster: &Cluster) -> Vec<Part> {
    let Some(view) = cluster.nodes().view(node.slot) else { return Vec::new() };
    let (name, devices, scores) = match node.filter {
        None => {
            let (allocations, scores) = shown.allocations(cluster, view);
            ("allocations", allocations, scores)
        }
        Some(_) => ("devices", shown.supplies(cluster, view), None),
    };
    let scores = scores.map(|value| Part { name: "allocationScores", value });
    let devices = (!devices.is_empty()).then(|| Part { name, value: devices.into() });
    scores.into_iter().chain(devices).collect()
}

/// What would be written for the pod on the first of the best nodes.
pub(super) fn bind(shown: &Shown, cluster: &Cluster, object: &mut Map<String, Value>) {
    let best = object.get("best").and_then(|best| best.get(0)?.as_str());
    let node = best.and_then(|name| cluster.nodes().find(name));
    let bound =
        node.and_then(|slot| cluster.nodes().view(slot)).map(|view| shown.bind(cluster, view));
    if let Some(bound) = bound {
        object.insert("dra".into(), json!({"bind": bound}));
    }
}
