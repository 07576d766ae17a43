//! Judges nodes with nominated pods a second time, as if these pods were on the node already.
//!
//! Specification: on each node, nominated pods count whose priority is at least that of the pod.
//! The node must pass both with and without them, because affinity may depend on a pod that is not
//! there yet. Rules that skipped this cycle are not asked either time.

use std::sync::Arc;

use crate::program::Program;
use crate::rules::Code;
use crate::snapshot::{Cluster, NodeSlot, NodeView, Pod};
use crate::timing::Meter;

use super::by_node::ByNode;
use super::hypothetical::{Forks, HypotheticalNode};
use super::verdicts::{NodeRejection, PreparedFilters};

/// What is known of nodes with their nominated pods on them: how each rejects a pod, if it does.
pub(crate) type NominatedMemo = ByNode<Option<NodeRejection>>;

/// Nodes that a nominated pod closes to this one. `nominated_memo` is up to date and good for the pod.
pub(crate) fn rejections(
    pod: &Pod,
    program: &Program,
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
    nominated_memo: &mut NominatedMemo,
) -> Vec<NodeRejection> {
    let mut rejections = Vec::new();
    for name in cluster.nominations().nodes() {
        let slot = cluster.nodes().find(name);
        let Some(node) = slot.and_then(|slot| cluster.nodes().view(slot)) else { continue };
        if let Some(known) = nominated_memo.get(node, cluster) {
            rejections.extend(known.clone());
            continue;
        }
        let pods = ahead_of(pod, name, program, cluster);
        let found = with_pods(node.slot, &pods, prepared, cluster);
        rejections.extend(found.clone());
        nominated_memo.keep(node, cluster, found);
    }
    rejections
}

/// Pods nominated to a node that this one must leave room for.
pub(crate) fn ahead_of<'a>(
    pod: &Pod,
    node: &str,
    program: &Program,
    cluster: &'a Cluster,
) -> Vec<&'a Arc<Pod>> {
    let counts = |other: &&Arc<Pod>| {
        other.priority() >= pod.priority()
            && other.uid != pod.uid
            && program.profile_of(other).is_some()
    };
    cluster.nominations().on(node).filter(counts).collect()
}

/// Uids of pods nominated to a node that must give way to this one.
pub(crate) fn behind(pod: &Pod, node: &str, program: &Program, cluster: &Cluster) -> Vec<Arc<str>> {
    let yields = |other: &&Arc<Pod>| {
        other.priority() < pod.priority() && program.profile_of(other).is_some()
    };
    cluster.nominations().on(node).filter(yields).map(|other| Arc::clone(&other.uid)).collect()
}

/// How a node is rejected with some pods put on it, if it is.
pub(crate) fn with_pods(
    slot: NodeSlot,
    pods: &[&Arc<Pod>],
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
) -> Option<NodeRejection> {
    if pods.is_empty() {
        return None;
    }
    let mut crowded =
        HypotheticalNode::of(cluster.nodes().view(slot)?, Forks::of(prepared), cluster);
    for pod in pods {
        crowded.put(pod);
    }
    let (filter, code) = crowded.rejection()?;
    Some(NodeRejection { slot, filter, code, status: crowded.describe(filter, code).map(Arc::new) })
}

/// The first filter that rejects a node, with its status and reasons.
pub(crate) fn first_rejection(
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
    node: NodeView<'_>,
    meter: impl Meter,
) -> Option<NodeRejection> {
    let (filter, code) = first_verdict(prepared, cluster, node, meter)?;
    let status = (*prepared.get(filter)?)?.describe(cluster, node, code);
    Some(NodeRejection { slot: node.slot, filter, code, status: Some(Arc::new(status)) })
}

/// The position of the first filter that rejects a node, and its code.
pub(crate) fn first_verdict(
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
    node: NodeView<'_>,
    meter: impl Meter,
) -> Option<(usize, Code)> {
    meter.begin();
    for (position, filter) in prepared.iter().enumerate() {
        let Some(filter) = filter else { continue };
        let code = filter.check(cluster, node);
        let metered = meter.at(position);
        metered.judged(|verdicts| verdicts.one(*filter, node.slot, code, cluster));
        if !code.passes() {
            return Some((position, code));
        }
    }
    None
}
