//! Judges nodes with nominated pods a second time, as if these pods were on the node already.
//!
//! Specification: on each node, nominated pods count whose priority is at least that of the pod.
//! The node must pass both with and without them, because affinity may depend on a pod that is not
//! there yet. Rules that skipped this cycle are not asked either time.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::program::Program;
use crate::rules::Code;
use crate::snapshot::{Cluster, Generation, NodeSlot, NodeView, Pod};
use crate::timing::Meter;

use super::by_node::{ByNode, Forgotten};
use super::hypothetical::{Forks, HypotheticalNode};
use super::verdicts::{NodeRejection, PreparedFilters};

/// What is known of nodes with their nominated pods on them: how each rejects a pod, if it does.
#[derive(Debug, Default)]
pub(crate) struct NominatedMemo {
    by_node: ByNode<Option<NodeRejection>>,
    /// The nodes that their nominated pods close, as of the last time.
    closed: Vec<NodeRejection>,
    /// Nodes that are to be asked again. `None`: every node that a pod is nominated to.
    stale: Option<Vec<NodeSlot>>,
    /// That of all nodes, as of the last time.
    rows_replaced: u64,
}

impl HeapBytes for NominatedMemo {
    /// What closed nodes hold is held by `by_node` too.
    fn heap_bytes(&self) -> usize {
        let stale = self.stale.as_ref().map_or(0, Vec::capacity) * size_of::<NodeSlot>();
        self.by_node.heap_bytes() + self.closed.capacity() * size_of::<NodeRejection>() + stale
    }
}

impl NominatedMemo {
    /// Nodes that a nominated pod closes to this one, in no order. Asks those again that may have
    /// changed since the last time.
    pub(crate) fn rejections(
        &mut self,
        pod: &Pod,
        program: &Program,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
        is_rewritten: impl Fn(Generation) -> bool,
    ) -> Vec<NodeRejection> {
        let forgotten = self.by_node.followed(pod, prepared, cluster, is_rewritten);
        let rows_replaced = cluster.nodes().rows_replaced();
        let were_replaced = std::mem::replace(&mut self.rows_replaced, rows_replaced);
        match (forgotten, &mut self.stale) {
            (Forgotten::Nodes(nodes), Some(stale)) if were_replaced == rows_replaced => {
                stale.extend(nodes);
            }
            _ => self.stale = None,
        }
        let slots = match self.stale.take() {
            Some(mut stale) => {
                stale.sort_unstable();
                stale.dedup();
                self.closed.retain(|node| stale.binary_search(&node.slot).is_err());
                stale
            }
            None => {
                self.closed.clear();
                let named = cluster.nominations().nodes();
                named.filter_map(|name| cluster.nodes().find(name)).collect()
            }
        };
        let own = cluster.nominations().node_of(&pod.uid);
        let own = own.and_then(|name| cluster.nodes().find(name));
        let mut for_this_pod = None;
        for slot in slots.iter().filter(|slot| Some(**slot) != own) {
            let found = self.rejection(*slot, pod, program, prepared, cluster);
            self.closed.extend(found);
        }
        if let Some(own) = own {
            for_this_pod = self.rejection(own, pod, program, prepared, cluster);
        }
        let others = self.closed.iter().filter(|node| Some(node.slot) != own);
        let rejections = others.cloned().chain(for_this_pod).collect();
        // What was found for this pod alone is to be found anew for the next.
        let is_kept = |slot: &NodeSlot| self.by_node.keeps(*slot);
        self.stale = Some(slots.into_iter().filter(|slot| !is_kept(slot)).collect());
        rejections
    }

    /// How a node rejects the pod with the pods nominated to it, if it does.
    fn rejection(
        &mut self,
        slot: NodeSlot,
        pod: &Pod,
        program: &Program,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
    ) -> Option<NodeRejection> {
        let node = cluster.nodes().view(slot)?;
        if let Some(known) = self.by_node.get(node) {
            return known.clone();
        }
        let pods = ahead_of(pod, &node.node.name, program, cluster);
        if pods.is_empty() {
            return None;
        }
        let found = with_pods(slot, &pods, prepared, cluster);
        self.by_node.keep(node, found.clone());
        found
    }
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
    let mut with_nominated =
        HypotheticalNode::of(cluster.nodes().view(slot)?, Forks::of(prepared), cluster);
    for pod in pods {
        with_nominated.put(pod);
    }
    let (filter, code) = with_nominated.rejection()?;
    Some(NodeRejection {
        slot,
        filter,
        code,
        status: with_nominated.describe(filter, code).map(Arc::new),
    })
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
