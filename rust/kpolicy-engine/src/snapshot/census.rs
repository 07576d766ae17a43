//! The census: how many pods of a kind are on each node.
//!
//! There are two: pods by identity (what selectors see of them) and pods by their affinity (what
//! they demand of others). A selector is matched once for each row, not once for each pod. Only
//! pods on known nodes count. The order of rows depends on history, so only sums may use it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::intern::{Name, Shared};

use super::node::NodeSlot;
use super::pod::{Identity, Pod, PodAffinity};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// All pods, terminating ones too.
    pub pods: u32,
    pub terminating: u32,
}

#[derive(Debug)]
pub struct Row<T> {
    /// Its key in `Rows::by_id`.
    id: (u64, u64),
    pub what: T,
    pub(crate) by_node: BTreeMap<NodeSlot, Tally>,
}

/// Pods with affinity terms; where a term names no namespaces, it means this one.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub namespace: Name,
    pub affinity: Shared<PodAffinity>,
}

#[derive(Debug)]
pub(crate) struct Rows<T> {
    rows: Vec<Row<T>>,
    by_id: FxHashMap<(u64, u64), usize>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_id: FxHashMap::default() }
    }
}

impl<T> Rows<T> {
    fn put(&mut self, id: (u64, u64), slot: NodeSlot, pod: &Pod, what: impl FnOnce() -> T) {
        let index = *self.by_id.entry(id).or_insert_with(|| {
            self.rows.push(Row { id, what: what(), by_node: BTreeMap::new() });
            self.rows.len() - 1
        });
        if let Some(row) = self.rows.get_mut(index) {
            let tally = row.by_node.entry(slot).or_default();
            tally.pods += 1;
            tally.terminating += u32::from(pod.is_terminating);
        }
    }

    fn take(&mut self, id: (u64, u64), slot: NodeSlot, pod: &Pod) {
        let Some(&index) = self.by_id.get(&id) else { return };
        let Some(row) = self.rows.get_mut(index) else { return };
        if let Some(tally) = row.by_node.get_mut(&slot) {
            tally.pods = tally.pods.saturating_sub(1);
            tally.terminating = tally.terminating.saturating_sub(u32::from(pod.is_terminating));
            if tally.pods == 0 {
                row.by_node.remove(&slot);
            }
        }
        if row.by_node.is_empty() {
            self.by_id.remove(&id);
            self.rows.swap_remove(index);
            // The row that took its place was the last one.
            if let Some(moved) = self.rows.get(index) {
                self.by_id.insert(moved.id, index);
            }
        }
    }
}

/// Counts of pods on nodes: by namespace and labels, and by the affinity terms that they carry.
#[derive(Debug, Default)]
pub struct Census {
    identities: Rows<Shared<Identity>>,
    asking: Rows<Asking>,
}

impl Census {
    /// Pods by namespace and labels.
    pub fn identities(&self) -> &[Row<Shared<Identity>>] {
        &self.identities.rows
    }

    /// Pods that have any affinity or anti-affinity to pods.
    pub(crate) fn asking(&self) -> &[Row<Asking>] {
        &self.asking.rows
    }

    pub(super) fn put(&mut self, slot: NodeSlot, pod: &Pod) {
        self.identities.put((pod.identity.id(), 0), slot, pod, || pod.identity.clone());
        let affinity = &pod.template.pod_affinity;
        if !affinity.is_empty() {
            self.asking.put(asking_id(pod), slot, pod, || Asking {
                namespace: pod.namespace().clone(),
                affinity: affinity.clone(),
            });
        }
    }

    pub(super) fn take(&mut self, slot: NodeSlot, pod: &Pod) {
        self.identities.take((pod.identity.id(), 0), slot, pod);
        if !pod.template.pod_affinity.is_empty() {
            self.asking.take(asking_id(pod), slot, pod);
        }
    }
}

fn asking_id(pod: &Pod) -> (u64, u64) {
    (pod.namespace().id(), pod.template.pod_affinity.id())
}
