//! The change log: what changed since a generation, so that a cache reads only that.
//!
//! A ring of changes, each with its own generation, bounded in number and in the bytes of pods that it
//! keeps. A cache that is further behind than the ring reaches starts from scratch.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::Kind;

use super::node::{NodeParts, NodeSlot};
use super::pod::Pod;

/// How many changes are remembered.
pub(crate) const LOG_ENTRIES_MAX: usize = 16_384;
/// What the remembered pods may hold, which may be gone from the cluster. Ordinary pods count nothing.
const LOG_BYTES_MAX: usize = 8 << 20;
/// A pod that holds less is ordinary.
const ORDINARY_POD_BYTES: usize = 4 << 10;

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
}

impl Change {
    /// The node that it is about; `None` for objects of other kinds.
    pub fn slot(&self) -> Option<NodeSlot> {
        match self {
            Self::Node(slot, _) | Self::PodPut(slot, _) | Self::PodTaken(slot, _) => Some(*slot),
            Self::Object(_) => None,
        }
    }

    /// What is held because the change is remembered.
    fn held_bytes(&self) -> usize {
        match self {
            Self::PodPut(_, pod) | Self::PodTaken(_, pod) => {
                pod.shared_bytes().saturating_sub(ORDINARY_POD_BYTES)
            }
            Self::Node(..) | Self::Object(_) => 0,
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

/// A ring of the newest changes.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Change>,
    bytes: usize,
    generation: Generation,
}

impl Log {
    /// The generation of the newest change.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(super) fn push(&mut self, change: Change) {
        self.bytes += change.held_bytes();
        self.entries.push_back(change);
        while self.entries.len() > LOG_ENTRIES_MAX || self.bytes > LOG_BYTES_MAX {
            let Some(forgotten) = self.entries.pop_front() else { break };
            self.bytes -= forgotten.held_bytes();
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
