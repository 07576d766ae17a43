//! The change log: what changed since a generation, so that a cache reads only that.
//!
//! A ring of changes, each with its own generation, bounded in number and in the bytes of pods that it
//! keeps, which may be gone from the cluster. A cache that is further behind than the ring reaches
//! starts from scratch.

use std::collections::VecDeque;
use std::sync::Arc;

use kpolicy_cel::Timestamp;
use rustc_hash::FxHashMap;

use crate::model::Kind;

use super::node::{NodeParts, NodeSlot};
use super::pod::Pod;

/// How many changes are remembered.
pub(crate) const LOG_ENTRIES_MAX: usize = 16_384;
/// What the remembered pods may hold.
const LOG_BYTES_MAX: usize = 12 << 20;

/// One change of the snapshot, as small as a cache needs it.
#[derive(Debug, Clone)]
pub enum Change {
    /// Parts of a node differ; with [`NodeParts::EXISTENCE`] it appeared or vanished.
    Node(NodeSlot, NodeParts),
    /// A pod was added to the load of a node.
    PodPut(NodeSlot, Arc<Pod>),
    /// A pod was removed from the load of a node.
    PodTaken(NodeSlot, Arc<Pod>),
    /// An object of another kind appeared, changed or vanished.
    Object(Kind),
    /// Time passed, from a moment to another one.
    Time(Timestamp, Timestamp),
}

impl Change {
    /// The node that it is about; `None` for objects of other kinds and for time.
    pub fn slot(&self) -> Option<NodeSlot> {
        match self {
            Self::Node(slot, _) | Self::PodPut(slot, _) | Self::PodTaken(slot, _) => Some(*slot),
            Self::Object(_) | Self::Time(..) => None,
        }
    }

    fn pod(&self) -> Option<&Arc<Pod>> {
        match self {
            Self::PodPut(_, pod) | Self::PodTaken(_, pod) => Some(pod),
            Self::Node(..) | Self::Object(_) | Self::Time(..) => None,
        }
    }
}

/// How many changes a snapshot has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(u64);

impl Generation {
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// A part that pods may share: which table it is of, and its id there.
type PartId = (u8, u64);

/// The pods of the log and what they hold, a part that they share counted once.
#[derive(Debug, Default)]
struct HeldPods {
    holders: FxHashMap<PartId, u32>,
    bytes: usize,
}

impl HeldPods {
    fn add(&mut self, pod: &Pod) {
        self.bytes += row_bytes(pod);
        for id in parts(pod) {
            let holders = self.holders.entry(id).or_default();
            *holders += 1;
            if *holders == 1 {
                self.bytes += part_bytes(pod, id);
            }
        }
    }

    fn remove(&mut self, pod: &Pod) {
        self.bytes -= row_bytes(pod);
        for id in parts(pod) {
            let Some(holders) = self.holders.get_mut(&id) else { continue };
            *holders -= 1;
            if *holders == 0 {
                self.holders.remove(&id);
                self.bytes -= part_bytes(pod, id);
            }
        }
    }
}

fn row_bytes(pod: &Pod) -> usize {
    size_of::<Pod>() + pod.uid.len() + pod.name.len()
}

fn parts(pod: &Pod) -> [PartId; 4] {
    [
        (0, pod.template.id()),
        (1, pod.identity.id()),
        (2, pod.annotations.id()),
        (3, pod.api_values.id()),
    ]
}

/// What a part of a pod holds. It is asked only for the first pod that has the part, and the last.
fn part_bytes(pod: &Pod, (table, _): PartId) -> usize {
    match table {
        0 => pod.template_bytes(),
        1 => pod.identity.bytes(),
        2 => pod.annotations.bytes(),
        _ => pod.api_values.bytes(),
    }
}

/// A ring of the newest changes.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Change>,
    held: HeldPods,
    generation: Generation,
}

impl Log {
    /// The generation of the newest change.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(super) fn push(&mut self, change: Change) {
        if let Some(pod) = change.pod() {
            self.held.add(pod);
        }
        self.entries.push_back(change);
        while self.entries.len() > LOG_ENTRIES_MAX || self.held.bytes > LOG_BYTES_MAX {
            let Some(forgotten) = self.entries.pop_front() else { break };
            if let Some(pod) = forgotten.pod() {
                self.held.remove(pod);
            }
        }
        self.generation.0 += 1;
    }

    /// Changes after a generation, oldest first; `None` if some are forgotten.
    pub fn since(&self, generation: Generation) -> Option<Changes<'_>> {
        let behind = usize::try_from(self.generation.0.checked_sub(generation.0)?).ok()?;
        let start = self.entries.len().checked_sub(behind)?;
        Some(Changes { entries: &self.entries, start })
    }
}

/// A stretch of the log.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    entries: &'a VecDeque<Change>,
    start: usize,
}

impl<'a> Changes<'a> {
    /// Oldest first.
    pub fn iter(self) -> impl Iterator<Item = &'a Change> {
        self.entries.range(self.start..)
    }

    pub(crate) fn len(self) -> usize {
        self.entries.len() - self.start
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Change, LOG_BYTES_MAX, LOG_ENTRIES_MAX, Log};
    use crate::model::{Labels, Meta};
    use crate::snapshot::tables::Tables;
    use crate::snapshot::{NodeSlot, Pod};

    /// A pod of a template that others have too, with so many bytes of labels of its own.
    fn pod(tables: &mut Tables, number: usize, bytes: usize) -> Arc<Pod> {
        let labels: Labels = [(format!("k{number}"), "x".repeat(bytes))].into_iter().collect();
        let meta = Meta { uid: number.to_string().into(), labels, ..Meta::default() };
        Arc::new(tables.pod(crate::model::Pod { meta, ..crate::model::Pod::default() }))
    }

    /// Pods come and go: what the log holds, and how many changes it remembers.
    fn fill(log: &mut Log, pods: usize, bytes: usize) {
        let mut tables = Tables::default();
        let Some(slot) = NodeSlot::at(0) else { return };
        for number in 0..pods {
            let pod = pod(&mut tables, number, bytes);
            log.push(Change::PodPut(slot, Arc::clone(&pod)));
            log.push(Change::PodTaken(slot, pod));
            assert!(log.held.bytes <= LOG_BYTES_MAX);
        }
    }

    /// Pods of 3 KiB each, of which a full log would keep 24 MiB.
    #[test]
    fn small_pods_count_as_well() {
        let mut log = Log::default();
        fill(&mut log, LOG_ENTRIES_MAX, 3 << 10);
        let remembered = log.entries.len();
        assert!((2_000..LOG_ENTRIES_MAX).contains(&remembered), "{remembered} changes");
    }

    #[test]
    fn ordinary_pods_leave_room_for_every_change() {
        let mut log = Log::default();
        fill(&mut log, LOG_ENTRIES_MAX, 300);
        assert_eq!(log.entries.len(), LOG_ENTRIES_MAX);
    }

    #[test]
    fn what_is_forgotten_counts_nothing() {
        let mut log = Log::default();
        fill(&mut log, LOG_ENTRIES_MAX, 300);
        for _ in 0..LOG_ENTRIES_MAX {
            log.push(Change::Object(crate::model::Kind::Service));
        }
        assert_eq!((log.held.bytes, log.held.holders.len()), (0, 0));
    }
}
