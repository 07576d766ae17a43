//! Nodes with pods that have all labels of the one to place.
//!
//! Owns which of them is asked for the labels that the pod's node selector leaves open. Clause:
//! kube-scheduler asks the first that its list of nodes comes to; terminating pods are peers too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::intern::Shared;
use crate::model::Labels;
use crate::rules::node_zones::NodeZones;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Cluster, NodeSlot, Pod};

#[derive(Debug, Clone)]
pub struct Peers {
    identity: Shared<Identity>,
    /// By slot.
    turns: Arc<[u32]>,
    /// Pods by the turn of their node; shared with copies to argue with.
    in_turn: Arc<BTreeMap<(u32, NodeSlot), u32>>,
    /// Nodes of pods put for argument's sake; they come last.
    argued: Vec<NodeSlot>,
}

impl Peers {
    pub fn of(pod: &Pod, cluster: &Cluster) -> Self {
        let mut peers = Self {
            identity: pod.identity.clone(),
            turns: NodeZones::of(cluster).turns(cluster).into(),
            in_turn: Arc::default(),
            argued: Vec::new(),
        };
        let mut in_turn = BTreeMap::new();
        for row in cluster.census().identities().iter().filter(|row| peers.has(&row.what)) {
            for (slot, tally) in &row.by_node {
                *in_turn.entry(peers.place(*slot)).or_default() += tally.pods;
            }
        }
        peers.in_turn = Arc::new(in_turn);
        peers
    }

    /// The node whose labels count.
    pub fn first(&self) -> Option<NodeSlot> {
        let real = self.in_turn.keys().next().map(|(_, slot)| *slot);
        real.or_else(|| self.argued.first().copied())
    }

    pub fn put(&mut self, slot: NodeSlot, pod: &Pod) {
        if self.has(&pod.identity) {
            let place = self.place(slot);
            *Arc::make_mut(&mut self.in_turn).entry(place).or_default() += 1;
        }
    }

    pub fn take(&mut self, slot: NodeSlot, pod: &Pod) {
        if !self.has(&pod.identity) {
            return;
        }
        if let Some(position) = self.argued.iter().position(|other| *other == slot) {
            self.argued.remove(position);
            return;
        }
        let place = self.place(slot);
        let in_turn = Arc::make_mut(&mut self.in_turn);
        if let Some(pods) = in_turn.get_mut(&place) {
            *pods = pods.saturating_sub(1);
            if *pods == 0 {
                in_turn.remove(&place);
            }
        }
    }

    pub fn argue(&mut self, slot: NodeSlot, pod: &Pod) {
        if self.has(&pod.identity) {
            self.argued.push(slot);
        }
    }

    fn has(&self, other: &Identity) -> bool {
        let wanted: &Labels = &self.identity.labels;
        other.namespace == self.identity.namespace
            && wanted.iter().all(|(key, value)| other.labels.get(key) == Some(value))
    }

    fn place(&self, slot: NodeSlot) -> (u32, NodeSlot) {
        (self.turns.get(slot.index()).copied().unwrap_or(u32::MAX), slot)
    }
}
