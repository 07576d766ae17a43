//! Nodes with pods that have all labels of the pod to place.
//!
//! Finds the node that decides about the labels that the pod's node selector leaves open.
//! Specification: kube-scheduler asks whichever comes first, in no order that it promises; here the
//! first by name. Terminating pods are peers too. Holds until nodes come or go.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::heap::{HeapBytes, arc_bytes};
use crate::intern::Shared;
use crate::model::Labels;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Cluster, NodeSlot, Pod};

#[derive(Debug, Clone)]
pub(super) struct Peers {
    identity: Shared<Identity>,
    /// Pods by rank and slot of their node; shared with copies to argue with.
    by_rank: Arc<BTreeMap<(u32, NodeSlot), u32>>,
}

impl Peers {
    pub(super) fn of(pod: &Pod, cluster: &Cluster) -> Self {
        let mut peers = Self { identity: pod.identity.clone(), by_rank: Arc::default() };
        let mut by_rank = BTreeMap::new();
        for row in cluster
            .census()
            .identities_in(pod.namespace())
            .iter()
            .filter(|row| peers.has(&row.what))
        {
            for (slot, tally) in &row.by_node {
                *by_rank.entry(place(*slot, cluster)).or_default() += tally.pods;
            }
        }
        peers.by_rank = Arc::new(by_rank);
        peers
    }

    /// The node whose labels count.
    pub(super) fn first(&self) -> Option<NodeSlot> {
        self.by_rank.keys().next().map(|(_, slot)| *slot)
    }

    pub(super) fn put(&mut self, slot: NodeSlot, pod: &Pod, cluster: &Cluster) {
        if self.has(&pod.identity) {
            let place = place(slot, cluster);
            *Arc::make_mut(&mut self.by_rank).entry(place).or_default() += 1;
        }
    }

    pub(super) fn take(&mut self, slot: NodeSlot, pod: &Pod, cluster: &Cluster) {
        if !self.has(&pod.identity) {
            return;
        }
        let place = place(slot, cluster);
        let by_rank = Arc::make_mut(&mut self.by_rank);
        if let Some(pods) = by_rank.get_mut(&place) {
            *pods = pods.saturating_sub(1);
            if *pods == 0 {
                by_rank.remove(&place);
            }
        }
    }

    fn has(&self, other: &Identity) -> bool {
        let wanted: &Labels = &self.identity.labels;
        other.namespace == self.identity.namespace
            && wanted.iter().all(|(key, value)| other.labels.get(key) == Some(value))
    }
}

fn place(slot: NodeSlot, cluster: &Cluster) -> (u32, NodeSlot) {
    (cluster.nodes().rank_of(slot), slot)
}

impl HeapBytes for Peers {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.by_rank)
    }
}
