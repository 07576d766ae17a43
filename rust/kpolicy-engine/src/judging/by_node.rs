//! A memo of findings about single nodes under an assumption, such as nominated pods.
//!
//! An entry is forgotten when its node or its pods changed, when other pods are nominated to it, or
//! when one of its pods was updated. All entries are forgotten when a rule asked all nodes again.
//! Nothing is kept while the answers of a rule depend on other nodes. A memo is for pods of one
//! priority with the same active filters; whoever keeps it sees to that.

use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, table_bytes};
use crate::snapshot::{Cluster, Generation, NodeSlot, NodeView, Pod};

use super::verdicts::PreparedFilters;

#[derive(Debug)]
pub(crate) struct ByNode<T> {
    found: FxHashMap<NodeSlot, Entry<T>>,
    /// What all that was found holds besides its places in the table.
    value_bytes: usize,
    /// What the entries are good for; `None` before the first time.
    seen: Option<Seen>,
    /// Whether no answer rests on other nodes.
    is_local: bool,
    /// The node that who asks is nominated to itself: for it, and for it alone, that nomination does
    /// not count.
    own: Option<NodeSlot>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    generation: Generation,
    /// The version of all nominations.
    nominations: u64,
}

#[derive(Debug)]
struct Entry<T> {
    rows_replaced: u64,
    value: T,
}

/// Whose entries do not hold any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Forgotten {
    All,
    /// Each may be named several times.
    Nodes(Vec<NodeSlot>),
}

impl<T> Default for ByNode<T> {
    fn default() -> Self {
        Self { found: FxHashMap::default(), value_bytes: 0, seen: None, is_local: false, own: None }
    }
}

impl<T> HeapBytes for ByNode<T> {
    fn heap_bytes(&self) -> usize {
        table_bytes(&self.found) + self.value_bytes
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
        self.followed(pod, prepared, cluster, is_rewritten);
    }

    /// As [`ByNode::follow`], and tells what was forgotten.
    pub(super) fn followed(
        &mut self,
        pod: &Pod,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
        is_rewritten: impl Fn(Generation) -> bool,
    ) -> Forgotten {
        let own = cluster.nominations().node_of(&pod.uid);
        self.own = own.and_then(|node| cluster.nodes().find(node));
        let was_local = self.is_local;
        self.is_local = prepared.iter().flatten().all(|filter| filter.is_local());
        let now =
            Seen { generation: cluster.generation(), nominations: cluster.nominations().version() };
        let forgotten = self
            .seen
            .replace(now)
            .filter(|seen| was_local && self.is_local && !is_rewritten(seen.generation))
            .and_then(|seen| touched_since(seen, cluster));
        let Some(touched) = forgotten else {
            self.found.clear();
            self.value_bytes = 0;
            return Forgotten::All;
        };
        for slot in &touched {
            if let Some(entry) = self.found.remove(slot) {
                self.value_bytes -= entry.value.heap_bytes();
            }
        }
        Forgotten::Nodes(touched)
    }

    pub(crate) fn get(&self, node: NodeView<'_>) -> Option<&T> {
        let entry = self.found.get(&node.slot)?;
        let holds = self.own != Some(node.slot) && entry.rows_replaced == node.load.rows_replaced;
        holds.then_some(&entry.value)
    }

    /// Whether what is found of this node is kept: not where it is found for this pod alone.
    pub(super) fn keeps(&self, slot: NodeSlot) -> bool {
        self.is_local && self.own != Some(slot)
    }

    pub(crate) fn keep(&mut self, node: NodeView<'_>, value: T) {
        if self.keeps(node.slot) {
            let rows_replaced = node.load.rows_replaced;
            self.value_bytes += value.heap_bytes();
            if let Some(before) = self.found.insert(node.slot, Entry { rows_replaced, value }) {
                self.value_bytes -= before.value.heap_bytes();
            }
        }
    }
}

/// The nodes that changed, or whose nominations did. `None`: all that was found is to be forgotten.
fn touched_since(seen: Seen, cluster: &Cluster) -> Option<Vec<NodeSlot>> {
    let (_, changes) = cluster.changes_since(Some(seen.generation))?;
    let nominated = cluster.nominations().changed_since(seen.nominations)?;
    let mut touched = Vec::new();
    for change in changes.iter() {
        touched.push(change.slot()?);
    }
    touched.extend(nominated.filter_map(|node| cluster.nodes().find(node)));
    Some(touched)
}
