//! How far the volumes of a placed pod are, while whoever binds it waits for them.
//!
//! Specification: the objects count as the API server showed them, whatever is promised; one that
//! is older than what was written for the pod says nothing yet; a volume must still name a claim, a
//! claim its node, and both be within the node's reach, or the pod is placed anew.

use crate::api::{AwaitedVolume, VolumeProgress};
use crate::model::{Kind, PersistentVolume, PersistentVolumeClaim};
use crate::snapshot::{Cluster, Node, PodEntry};

use super::bound::{Bound, Reach};
use super::needs::{is_bound, selected_node};

/// Why it goes no further: not yet, or not at all.
type Stop = VolumeProgress;

pub(crate) fn progress(awaited: &AwaitedVolume, cluster: &Cluster) -> VolumeProgress {
    let is_there = |entry: &&PodEntry| entry.node().is_some_and(|node| *node == awaited.node);
    let Some(entry) = cluster.pods().get(&awaited.uid).filter(is_there) else {
        return VolumeProgress::Gone;
    };
    let namespace = entry.pod.namespace();
    let judged = match awaited.volume.is_empty() {
        true => provisioned(awaited, namespace, cluster),
        false => taken(awaited, namespace, cluster),
    };
    judged.err().unwrap_or(VolumeProgress::Bound)
}

fn taken(awaited: &AwaitedVolume, namespace: &str, cluster: &Cluster) -> Result<(), Stop> {
    let missing = |kind: Kind, name: &str| {
        Stop::Failed(format!("failed to check binding: {}", not_found(kind, name)))
    };
    let node = node(awaited, cluster)?;
    let volume = cluster.confirmed_volume(&awaited.volume);
    let volume = volume.ok_or_else(|| missing(Kind::PersistentVolume, &awaited.volume))?;
    let key = format!("{namespace}/{}", awaited.claim);
    let claim = cluster.confirmed_claim(namespace, &awaited.claim);
    let claim = claim.ok_or_else(|| missing(Kind::PersistentVolumeClaim, &key))?;
    is_news(&volume.meta.resource_version, &awaited.version)?;
    is_reached(volume, node, cluster, "failed to translate pv to csi: ")?;
    let is_named = volume.claim.as_ref().is_some_and(|(_, _, uid)| !uid.is_empty());
    if !is_named {
        return Err(Stop::Failed(format!("ClaimRef got reset for pv {:?}", awaited.volume)));
    }
    is_whole(claim)
}

fn provisioned(awaited: &AwaitedVolume, namespace: &str, cluster: &Cluster) -> Result<(), Stop> {
    let node = node(awaited, cluster)?;
    let claim = cluster.confirmed_claim(namespace, &awaited.claim).ok_or_else(|| {
        let key = format!("{namespace}/{}", awaited.claim);
        let missing = not_found(Kind::PersistentVolumeClaim, &key);
        Stop::Failed(format!("failed to check provisioning pvc: {missing}"))
    })?;
    is_news(&claim.meta.resource_version, &awaited.version)?;
    if claim.meta.annotations.is_empty() {
        let text = format!("selectedNode annotation reset for PVC {:?}", awaited.claim);
        return Err(Stop::Failed(text));
    }
    // A provisioner that gives up removes the annotation.
    if selected_node(claim) != Some(&*awaited.node) {
        return Err(Stop::Failed(format!("provisioning failed for PVC {:?}", awaited.claim)));
    }
    if !claim.volume_name.is_empty() {
        let volume = cluster.confirmed_volume(&claim.volume_name).ok_or(Stop::Waiting)?;
        is_reached(volume, node, cluster, "")?;
    }
    is_whole(claim)
}

fn node<'c>(awaited: &AwaitedVolume, cluster: &'c Cluster) -> Result<&'c Node, Stop> {
    let slot = cluster.nodes().find(&awaited.node);
    let view = slot.and_then(|slot| cluster.nodes().view(slot));
    view.map(|view| view.node).ok_or_else(|| {
        let name = &awaited.node;
        Stop::Failed(format!("failed to get node {name:?}: node {name:?} not found"))
    })
}

/// kube-scheduler's text for an object that its cache lacks. `key` is `namespace/name` for a
/// namespaced object.
fn not_found(kind: Kind, key: &str) -> String {
    format!("{} {key:?} not found", kind.resource())
}

/// Versions of one object are numbers that grow.
fn is_news(shown: &str, written: &str) -> Result<(), Stop> {
    let number = |version: &str| version.parse::<u64>().unwrap_or(0);
    if number(shown) < number(written) { Err(Stop::Waiting) } else { Ok(()) }
}

fn is_reached(
    volume: &PersistentVolume,
    node: &Node,
    cluster: &Cluster,
    doing: &str,
) -> Result<(), Stop> {
    let csi_node = cluster.objects().csi_nodes.get("", &node.name);
    match Bound::to(volume).reach(node, csi_node.map(AsRef::as_ref)) {
        Reach::Within => Ok(()),
        Reach::Outside | Reach::Missing => Err(Stop::Failed(format!(
            "pv {:?} node affinity doesn't match node {:?}: no matching NodeSelectorTerms",
            volume.meta.name, node.name
        ))),
        Reach::Unknown(why) => Err(Stop::Failed(format!("{doing}could not translate pv: {why}"))),
    }
}

fn is_whole(claim: &PersistentVolumeClaim) -> Result<(), Stop> {
    if is_bound(claim) { Ok(()) } else { Err(Stop::Waiting) }
}
