//! A memo of findings about single nodes under an assumption, such as nominated pods.
//!
//! An entry is forgotten when its node or its pods changed, when other pods are nominated to it, or
//! when one of its pods was updated. All entries are forgotten when a rule asked all nodes again,
//! when other rules are active, or when the pod has another priority. Nothing is kept while the
//! answers of a rule depend on other nodes.

use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, flat_bytes, table_bytes};
use crate::snapshot::{Change, Cluster, Generation, NodeSlot, NodeView, Pod};

use super::verdicts::PreparedFilters;

#[derive(Debug)]
pub(crate) struct ByNode<T> {
    found: FxHashMap<NodeSlot, Entry<T>>,
    /// What all that was found holds besides its places in the table.
    value_bytes: usize,
    /// The generation that the entries are good for; `None` before the first time.
    seen: Option<Generation>,
    rests_on: RestsOn,
    /// The node that who asks is nominated to itself: for it, and for it alone, that nomination does
    /// not count.
    own: Option<NodeSlot>,
}

/// What all entries rest on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct RestsOn {
    priority: i32,
    /// The active filters, by position.
    active: Vec<bool>,
    is_local: bool,
}

#[derive(Debug)]
struct Entry<T> {
    nominations: u64,
    rows_replaced: u64,
    value: T,
}

impl<T> Default for ByNode<T> {
    fn default() -> Self {
        Self {
            found: FxHashMap::default(),
            value_bytes: 0,
            seen: None,
            rests_on: RestsOn::default(),
            own: None,
        }
    }
}

impl<T> HeapBytes for ByNode<T> {
    fn heap_bytes(&self) -> usize {
        table_bytes(&self.found) + self.value_bytes + flat_bytes(&self.rests_on.active)
    }
}

impl<T: HeapBytes> ByNode<T> {
    /// Forgets what may not hold any more for this pod.
    pub(crate) fn follow(
        &mut self,
        pod: &Pod,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
        is_rewritten: impl Fn(Generation) -> bool,
    ) {
        let own = cluster.nominations().node_of(&pod.uid);
        self.own = own.and_then(|node| cluster.nodes().find(node));
        let rests_on = RestsOn {
            priority: pod.priority(),
            active: prepared.iter().map(Option::is_some).collect(),
            is_local: prepared.iter().flatten().all(|filter| filter.is_local()),
        };
        let seen = self.seen.replace(cluster.generation());
        let changes = cluster
            .changes_since(seen)
            .filter(|(seen, _)| !is_rewritten(*seen) && self.rests_on == rests_on);
        self.rests_on = rests_on;
        let Some((_, changes)) = changes else {
            self.clear();
            return;
        };
        for change in changes.iter() {
            match change {
                Change::Object(_) => self.clear(),
                Change::Node(slot, _) | Change::PodPut(slot, _) | Change::PodTaken(slot, _) => {
                    if let Some(entry) = self.found.remove(slot) {
                        self.value_bytes -= entry.value.heap_bytes();
                    }
                }
            }
        }
    }

    fn clear(&mut self) {
        self.found.clear();
        self.value_bytes = 0;
    }

    pub(crate) fn get(&self, node: NodeView<'_>, cluster: &Cluster) -> Option<&T> {
        let entry = self.found.get(&node.slot)?;
        let holds = self.own != Some(node.slot)
            && entry.rows_replaced == node.load.rows_replaced
            && entry.nominations == cluster.nominations().version_on(&node.node.name);
        holds.then_some(&entry.value)
    }

    pub(crate) fn keep(&mut self, node: NodeView<'_>, cluster: &Cluster, value: T) {
        if self.rests_on.is_local && self.own != Some(node.slot) {
            let nominations = cluster.nominations().version_on(&node.node.name);
            let rows_replaced = node.load.rows_replaced;
            self.value_bytes += value.heap_bytes();
            let entry = Entry { nominations, rows_replaced, value };
            if let Some(before) = self.found.insert(node.slot, entry) {
                self.value_bytes -= before.value.heap_bytes();
            }
        }
    }
}
