//! Which label keys nodes have, so that a key that no node has is known without looking at any.

use rustc_hash::FxHashMap;

use crate::model::Labels;

#[derive(Debug, Default)]
pub(super) struct LabelKeys {
    /// How many nodes have a key.
    nodes: FxHashMap<Box<str>, usize>,
}

impl LabelKeys {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.nodes.contains_key(key)
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(AsRef::as_ref)
    }

    /// Follows a node that came, changed or went.
    pub(super) fn follow(&mut self, old: Option<&Labels>, new: Option<&Labels>) {
        if old == new {
            return;
        }
        for (key, _) in new.into_iter().flat_map(Labels::iter) {
            if let Some(nodes) = self.nodes.get_mut(key) {
                *nodes += 1;
            } else {
                self.nodes.insert(key.into(), 1);
            }
        }
        for (key, _) in old.into_iter().flat_map(Labels::iter) {
            if let Some(nodes) = self.nodes.get_mut(key) {
                *nodes -= 1;
                if *nodes == 0 {
                    self.nodes.remove(key);
                }
            }
        }
    }
}
