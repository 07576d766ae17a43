//! Rows of a census: pods that are alike, and how many of them are on each node.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::snapshot::node::NodeSlot;
use crate::snapshot::pod::Pod;

/// What pods of a row have in common, by the ids of their parts.
pub(super) type RowId = (u64, u64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// All pods, terminating ones too.
    pub(crate) pods: u32,
    pub(crate) terminating: u32,
}

#[derive(Debug)]
pub(crate) struct Row<T> {
    /// Its key in `Rows::by_id`.
    id: RowId,
    pub(crate) what: T,
    pub(crate) by_node: BTreeMap<NodeSlot, Tally>,
}

#[derive(Debug)]
pub(super) struct Rows<T> {
    rows: Vec<Row<T>>,
    by_id: FxHashMap<RowId, usize>,
    /// How many nodes the rows have pods on, those of each row counted.
    places: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_id: FxHashMap::default(), places: 0 }
    }
}

impl<T> Rows<T> {
    pub(super) fn all(&self) -> &[Row<T>] {
        &self.rows
    }

    pub(super) const fn places(&self) -> usize {
        self.places
    }

    pub(super) fn get(&self, id: RowId) -> Option<&Row<T>> {
        self.rows.get(*self.by_id.get(&id)?)
    }

    /// Counts a pod; true where its row is a new one.
    pub(super) fn put(
        &mut self,
        id: RowId,
        slot: NodeSlot,
        pod: &Pod,
        what: impl FnOnce() -> T,
    ) -> bool {
        let known = self.rows.len();
        let index = *self.by_id.entry(id).or_insert_with(|| {
            self.rows.push(Row { id, what: what(), by_node: BTreeMap::new() });
            known
        });
        if let Some(row) = self.rows.get_mut(index) {
            let tally = row.by_node.entry(slot).or_default();
            self.places += usize::from(tally.pods == 0);
            tally.pods += 1;
            tally.terminating += u32::from(pod.is_terminating);
        }
        self.rows.len() != known
    }

    /// Counts a pod no more; true where its row is gone.
    pub(super) fn take(&mut self, id: RowId, slot: NodeSlot, pod: &Pod) -> bool {
        let Some(&index) = self.by_id.get(&id) else { return false };
        let Some(row) = self.rows.get_mut(index) else { return false };
        if let Some(tally) = row.by_node.get_mut(&slot) {
            tally.pods = tally.pods.saturating_sub(1);
            tally.terminating = tally.terminating.saturating_sub(u32::from(pod.is_terminating));
            if tally.pods == 0 {
                row.by_node.remove(&slot);
                self.places -= 1;
            }
        }
        let is_gone = row.by_node.is_empty();
        if is_gone {
            self.by_id.remove(&id);
            self.rows.swap_remove(index);
            // The row that took its place was the last one.
            if let Some(moved) = self.rows.get(index) {
                self.by_id.insert(moved.id, index);
            }
        }
        is_gone
    }
}
