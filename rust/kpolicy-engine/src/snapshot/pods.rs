//! All pods by uid, and where each is: pending, then assumed, then on a node.
//!
//! `Cluster` keeps the loads of nodes in step. No assumption ends by time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::pod::Pod;
use super::usage::{Usage, UsageChanges};

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
    /// What each tenant has, while a program reads it.
    usage: Option<Box<Usage>>,
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

    /// The pods for which a test holds, in order of uid.
    pub(crate) fn found(&self, test: impl Fn(&PodEntry) -> bool) -> Vec<PodEntry> {
        let mut entries: Vec<PodEntry> =
            self.by_uid.values().filter(|entry| test(entry)).cloned().collect();
        entries.sort_unstable_by(|left, right| left.pod.uid.cmp(&right.pod.uid));
        entries
    }

    /// Every pod, in order of uid.
    pub fn in_order(&self) -> Vec<&PodEntry> {
        let mut entries: Vec<&PodEntry> = self.by_uid.values().collect();
        entries.sort_unstable_by(|left, right| left.pod.uid.cmp(&right.pod.uid));
        entries
    }

    pub(super) fn set(&mut self, entry: PodEntry) -> Option<PodEntry> {
        self.count(&entry, 1);
        let has_node = entry.node().is_some();
        let uid = Arc::clone(&entry.pod.uid);
        if let Some(usage) = &mut self.usage {
            usage.puts(&entry);
        }
        let old = self.by_uid.insert(Arc::clone(&uid), entry);
        if let Some(old) = &old {
            self.count(old, -1);
        }
        if let Some(usage) = &mut self.usage {
            old.iter().for_each(|old| usage.takes(old));
            if has_node {
                usage.arrived(&uid);
            }
        }
        old
    }

    pub(super) fn remove(&mut self, uid: &str) -> Option<PodEntry> {
        let old = self.by_uid.remove(uid)?;
        self.count(&old, -1);
        if let Some(usage) = &mut self.usage {
            usage.takes(&old);
            usage.arrived(uid);
        }
        Some(old)
    }

    /// What each tenant has; `None`: no program reads it.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.as_deref()
    }

    pub(crate) fn take_usage_changes(&mut self) -> UsageChanges {
        self.usage.as_mut().map(|usage| usage.take_changes()).unwrap_or_default()
    }

    /// From now on the sums of tenants are kept, which are the values of a label of namespaces, or all
    /// namespaces if it is empty. Pods that were let go stay so.
    pub(super) fn follow_usage(
        &mut self,
        label: &str,
        values: impl Iterator<Item = (Arc<str>, Arc<str>)>,
    ) {
        let let_go = self.usage.take().map_or_else(FxHashSet::default, |old| old.into_let_go());
        let mut usage = Usage::new(label, values, let_go);
        self.by_uid.values().for_each(|entry| usage.puts(entry));
        self.usage = Some(Box::new(usage));
    }

    pub(super) fn drop_usage(&mut self) {
        self.usage = None;
    }

    pub(super) fn usage_mut(&mut self) -> Option<&mut Usage> {
        self.usage.as_deref_mut()
    }

    /// The queue hands out a pod: its tenant has what it requests from now on.
    pub(super) fn let_go(&mut self, uid: &str) {
        if let (Some(usage), Some(entry)) = (&mut self.usage, self.by_uid.get(uid))
            && matches!(entry.place, Place::Pending)
        {
            usage.let_go(&entry.pod);
        }
    }

    /// Nothing is to be decided about the pod any more. If it has no node, its tenant gets back what it
    /// requests.
    pub(super) fn came_back(&mut self, uid: &str) {
        if let (Some(usage), Some(entry)) = (&mut self.usage, self.by_uid.get(uid))
            && usage.is_let_go(uid)
        {
            usage.came_back(&entry.pod);
        }
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

/// How many changes of nominations are remembered.
const NOMINATIONS_LOGGED_MAX: usize = 4_096;

/// Pending pods for which preemption makes room, by node.
#[derive(Debug, Default)]
pub struct Nominations {
    /// By name of the node; of each, by uid.
    by_node: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Pod>>>,
    node_of: FxHashMap<Arc<str>, Arc<str>>,
    /// Pods whose nomination a decision ended, until the API server shows what became of them.
    renounced: FxHashMap<Arc<str>, Arc<Pod>>,
    /// How many changes there were.
    version: u64,
    /// The nodes that the last of them were about, the newest at the end.
    changed: VecDeque<Arc<str>>,
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

    /// Names of nodes whose nominations changed since a version, oldest change first; `None` if some
    /// changes are forgotten.
    pub(crate) fn changed_since(&self, version: u64) -> Option<impl Iterator<Item = &Arc<str>>> {
        let behind = usize::try_from(self.version.checked_sub(version)?).ok()?;
        let start = self.changed.len().checked_sub(behind)?;
        Some(self.changed.range(start..))
    }

    /// Pods nominated to a node, in order of uid.
    pub(crate) fn on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_node.get(node).into_iter().flat_map(BTreeMap::values)
    }

    /// Names of nodes that any pod is nominated to, sorted.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_node.keys()
    }

    pub(super) fn set(&mut self, pod: &Arc<Pod>, node: &Arc<str>) {
        self.remove(&pod.uid);
        let own = self.by_node.entry(Arc::clone(node)).or_default();
        own.insert(Arc::clone(&pod.uid), Arc::clone(pod));
        self.note_change(Arc::clone(node));
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
        if let Some(own) = self.by_node.get_mut(&node) {
            own.remove(uid);
            if own.is_empty() {
                self.by_node.remove(&node);
            }
        }
        self.note_change(node);
        true
    }

    fn note_change(&mut self, node: Arc<str>) {
        self.version += 1;
        self.changed.push_back(node);
        if self.changed.len() > NOMINATIONS_LOGGED_MAX {
            self.changed.pop_front();
        }
    }
}
