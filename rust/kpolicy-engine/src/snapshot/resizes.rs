//! Follows the rule by which resizes in progress count, which a program brings with its release.

use std::sync::Arc;

use crate::release::ResizeRule;

use super::Cluster;
use super::pod::Pod;
use super::pods::{Place, PodEntry};
use super::supposed::PodParts;

impl Cluster {
    /// Counts resizes by this rule from now on. Pods that hold something else by it get new rows.
    pub(crate) fn count_resizes(&mut self, rule: ResizeRule) {
        if !self.tables.count_resizes(rule) {
            return;
        }
        let differs = |pod: &Pod| pod.requests().by(rule).is_some();
        let entries = self.pods.found(|entry| match &entry.place {
            Place::On { held, .. } => differs(&entry.pod) || differs(held),
            Place::Pending => differs(&entry.pod),
        });
        for entry in entries {
            self.recount(&entry, rule);
        }
    }

    fn recount(&mut self, entry: &PodEntry, rule: ResizeRule) {
        let pod = self.counted_by(&entry.pod, rule);
        let place = match &entry.place {
            Place::On { node, held, is_assumed } => Place::On {
                node: Arc::clone(node),
                held: if Arc::ptr_eq(held, &entry.pod) {
                    Arc::clone(&pod)
                } else {
                    self.counted_by(held, rule)
                },
                is_assumed: *is_assumed,
            },
            Place::Pending => Place::Pending,
        };
        self.take_off(entry);
        if let Some(node) = self.nominations.node_of(&pod.uid).cloned() {
            self.nominations.set(&pod, &node);
        }
        self.release(entry, Some(&pod));
        self.put_back(PodEntry { pod, place });
    }

    fn counted_by(&mut self, pod: &Arc<Pod>, rule: ResizeRule) -> Arc<Pod> {
        let Some(requests) = pod.requests().by(rule) else { return Arc::clone(pod) };
        let parts = PodParts { requests: Some(requests), ..PodParts::default() };
        Arc::new(self.supposed_pod(pod, parts))
    }
}
