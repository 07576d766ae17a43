//! The key of a shape: what every rule of a profile reads of a pod. A part of it is the key of a column.

use crate::program::Profile;
use crate::rules::Key;
use crate::snapshot::{Cluster, Pod};

/// Where the key of each rule ends in the key of the shape.
#[derive(Debug, Clone, Default)]
pub(super) struct ShapeKey {
    key: Key,
    ends: Vec<usize>,
}

impl ShapeKey {
    /// The key of a pod: profile, then what each rule's column is found by; last what decides who may
    /// be evicted for it.
    pub(super) fn set(&mut self, position: usize, profile: &Profile, pod: &Pod, cluster: &Cluster) {
        self.key.begin(pod, cluster);
        self.ends.clear();
        self.key.push(position as u64);
        self.ends.push(self.key.len());
        for filter in &profile.filters {
            self.add(position, |key| filter.key(pod, key));
        }
        for score in &profile.scores {
            self.add(position, |key| score.key(pod, key));
        }
        if let Some(victims) = profile.victims() {
            self.add(position, |key| victims.key(pod, key));
        }
    }

    pub(super) fn parts(&self) -> &[u64] {
        self.key.parts()
    }

    /// Profile and rule, what the rule reads of the pod, and the length of that, so that none runs
    /// into the next.
    fn add(&mut self, profile: usize, read: impl FnOnce(&mut Key)) {
        let rule = self.ends.len() - 1;
        self.key.push((profile as u64) << 32 | rule as u64);
        let start = self.key.len();
        read(&mut self.key);
        self.key.push((self.key.len() - start) as u64);
        self.ends.push(self.key.len());
    }

    /// The key of the column of one rule, filters first.
    pub(super) fn of_column(&self, rule: usize) -> &[u64] {
        let start = self.ends.get(rule).copied().unwrap_or(0);
        let end = self.ends.get(rule + 1).copied().unwrap_or(start);
        self.key.parts().get(start..end).unwrap_or_default()
    }
}
