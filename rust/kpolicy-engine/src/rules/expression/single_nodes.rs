//! Answers for single nodes, of an expression that kernels evaluate as a whole.
//!
//! For all nodes side by side such an expression takes a fraction of what it takes for each node by
//! itself, and this fraction is what it is charged. So once it was asked about many single nodes, it
//! is evaluated for all, and answers from that until the cluster changes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::snapshot::{Cluster, NodeSlot};

use super::Written;

/// The answers by slot, once all nodes were worth asking.
#[derive(Debug)]
pub(super) struct SingleNodes<T> {
    asked: AtomicUsize,
    all: OnceLock<Box<[T]>>,
}

impl<T> Default for SingleNodes<T> {
    fn default() -> Self {
        Self { asked: AtomicUsize::default(), all: OnceLock::default() }
    }
}

impl<T: Copy + Default> SingleNodes<T> {
    /// The answer for a node: that of `one`, or one of those of `all`.
    pub(super) fn answer(
        &self,
        slot: NodeSlot,
        cluster: &Cluster,
        one: impl FnOnce() -> T,
        all: impl FnOnce(&mut [T]),
    ) -> T {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked < worth_asking_all(cluster.nodes().len()) {
            return one();
        }
        let answers = self.all.get_or_init(|| {
            let mut answers = vec![T::default(); cluster.nodes().slots()];
            all(&mut answers);
            answers.into()
        });
        answers.get(slot.index()).copied().unwrap_or_else(one)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.all.get().map_or(0, |answers| size_of_val(&**answers))
    }
}

/// Debug builds ask all nodes early: their tests have few nodes.
fn worth_asking_all(nodes: usize) -> usize {
    if cfg!(debug_assertions) { 1 } else { Written::worth_asking_all(nodes) }
}
