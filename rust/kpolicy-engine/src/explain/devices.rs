//! What an explanation says of claims on devices: why they are not ready, and what would be written.

use serde_json::{Map, Value, json};

use crate::program::Profile;
use crate::rules::Status;
use crate::rules::dynamic_resources::{self, Shown};
use crate::snapshot::{Cluster, Pod};

/// Why kube-scheduler does not try the pod at all.
pub(super) fn claims_not_ready(pod: &Pod, profile: &Profile, cluster: &Cluster) -> Option<Status> {
    let rule = profile.filters.get(profile.dynamic_resources()?)?;
    // A policy may say that it does not hold for this pod.
    rule.prepare(pod, cluster)?;
    dynamic_resources::pre_enqueue(pod, cluster)
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
