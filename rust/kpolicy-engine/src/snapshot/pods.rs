//! All pods by uid, and where each is: pending, then assumed, then on a node.
//!
//! `Cluster` keeps the loads of nodes in step. No assumption ends by time.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::pod::Pod;

#[derive(Debug, Clone)]
pub(crate) enum Place {
    Pending,
    /// `held` is the row whose requests the node carries.
    On {
        node: Arc<str>,
        held: Arc<Pod>,
        is_assumed: bool,
    },
}

/// One pod, and where it is.
#[derive(Debug, Clone)]
pub struct PodEntry {
    /// The pod as the API server last showed it.
    pub pod: Arc<Pod>,
    pub(crate) place: Place,
}

impl PodEntry {
    /// The node that it is on or assumed on; `None` while pending.
    pub fn node(&self) -> Option<&Arc<str>> {
        match &self.place {
            Place::Pending => None,
            Place::On { node, .. } => Some(node),
        }
    }

    /// Whether it was placed by a decision that the watch has not confirmed yet.
    pub fn is_assumed(&self) -> bool {
        matches!(self.place, Place::On { is_assumed: true, .. })
    }

    /// The pod whose room becomes free when this one leaves: on a node it is the version that the node
    /// holds, which an update of an assumed pod does not change.
    pub(super) fn frees(&self) -> Arc<Pod> {
        match &self.place {
            Place::Pending => Arc::clone(&self.pod),
            Place::On { held, .. } => Arc::clone(held),
        }
    }
}

/// All pods, by uid.
#[derive(Debug, Default)]
pub struct Pods {
    by_uid: FxHashMap<Arc<str>, PodEntry>,
    /// Pods on nodes that we have not seen, by node.
    waiting: FxHashMap<Arc<str>, Vec<Arc<Pod>>>,
    assumed: usize,
    pending: usize,
}

impl Pods {
    /// The pod of this uid.
    pub fn get(&self, uid: &str) -> Option<&PodEntry> {
        self.by_uid.get(uid)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_uid.len()
    }

    pub(crate) fn assumed(&self) -> usize {
        self.assumed
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    pub(crate) fn on_unknown_nodes(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }

    /// By `namespace/name`; walks all.
    pub(crate) fn named(&self, key: &str) -> Option<&PodEntry> {
        let (namespace, name) = key.split_once('/')?;
        let is_named = |pod: &Pod| *pod.name == *name && ***pod.namespace() == *namespace;
        self.by_uid.values().find(|entry| is_named(&entry.pod))
    }

    /// Every pod, in order of uid.
    pub fn in_order(&self) -> Vec<&PodEntry> {
        let mut entries: Vec<&PodEntry> = self.by_uid.values().collect();
        entries.sort_unstable_by(|left, right| left.pod.uid.cmp(&right.pod.uid));
        entries
    }

    pub(super) fn set(&mut self, entry: PodEntry) -> Option<PodEntry> {
        self.count(&entry, 1);
        let old = self.by_uid.insert(Arc::clone(&entry.pod.uid), entry);
        if let Some(old) = &old {
            self.count(old, -1);
        }
        old
    }

    pub(super) fn remove(&mut self, uid: &str) -> Option<PodEntry> {
        let old = self.by_uid.remove(uid)?;
        self.count(&old, -1);
        Some(old)
    }

    fn count(&mut self, entry: &PodEntry, by: isize) {
        match &entry.place {
            Place::Pending => self.pending = self.pending.saturating_add_signed(by),
            Place::On { is_assumed: true, .. } => {
                self.assumed = self.assumed.saturating_add_signed(by);
            }
            Place::On { .. } => {}
        }
    }

    pub(super) fn wait(&mut self, node: &Arc<str>, pod: Arc<Pod>) {
        self.waiting.entry(Arc::clone(node)).or_default().push(pod);
    }

    pub(super) fn stop_waiting(&mut self, node: &str, uid: &str) {
        if let Some(pods) = self.waiting.get_mut(node) {
            pods.retain(|pod| pod.uid.as_ref() != uid);
            if pods.is_empty() {
                self.waiting.remove(node);
            }
        }
    }

    pub(super) fn waiting_for(&mut self, node: &str) -> Vec<Arc<Pod>> {
        self.waiting.remove(node).unwrap_or_default()
    }
}

/// Pending pods for which preemption makes room, by node.
#[derive(Debug, Default)]
pub struct Nominations {
    by_node: BTreeMap<Arc<str>, Nominated>,
    node_of: FxHashMap<Arc<str>, Arc<str>>,
    /// Pods whose nomination a decision ended, until the API server shows what became of them.
    renounced: FxHashMap<Arc<str>, Arc<Pod>>,
    version: u64,
}

/// Pods nominated to one node.
#[derive(Debug, Default)]
struct Nominated {
    /// That of all nominations when these changed last.
    version: u64,
    by_uid: BTreeMap<Arc<str>, Arc<Pod>>,
}

impl Nominations {
    pub(crate) fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }

    /// The node that the pod of this uid is nominated to.
    pub fn node_of(&self, uid: &str) -> Option<&Arc<str>> {
        self.node_of.get(uid)
    }

    /// Changes whenever any nomination does.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The version at which those to this node changed last; 0 where there are none.
    pub(crate) fn version_on(&self, node: &str) -> u64 {
        if self.is_empty() { 0 } else { self.by_node.get(node).map_or(0, |own| own.version) }
    }

    /// Pods nominated to a node, in order of uid.
    pub(crate) fn on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_node.get(node).into_iter().flat_map(|own| own.by_uid.values())
    }

    /// Names of nodes that any pod is nominated to, sorted.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_node.keys()
    }

    pub(super) fn set(&mut self, pod: &Arc<Pod>, node: &Arc<str>) {
        self.remove(&pod.uid);
        self.version += 1;
        let own = self.by_node.entry(Arc::clone(node)).or_default();
        own.version = self.version;
        own.by_uid.insert(Arc::clone(&pod.uid), Arc::clone(pod));
        self.node_of.insert(Arc::clone(&pod.uid), Arc::clone(node));
    }

    /// Ends a nomination by a decision. Its wakes follow when the API server shows the change.
    pub(super) fn renounce(&mut self, pod: &Arc<Pod>) {
        if self.remove(&pod.uid) {
            self.renounced.insert(Arc::clone(&pod.uid), Arc::clone(pod));
        }
    }

    /// The API server showed what became of a pod whose nomination had ended.
    pub(super) fn settle(&mut self, uid: &str) -> Option<Arc<Pod>> {
        self.renounced.remove(uid)
    }

    pub(super) fn remove(&mut self, uid: &str) -> bool {
        let Some(node) = self.node_of.remove(uid) else { return false };
        self.version += 1;
        if let Some(own) = self.by_node.get_mut(&node) {
            own.version = self.version;
            own.by_uid.remove(uid);
            if own.by_uid.is_empty() {
                self.by_node.remove(&node);
            }
        }
        true
    }
}
