//! The key of a sub-shape: all that a rule reads of a pod.

use crate::snapshot::{Cluster, Pod};

/// All labels of the pod count.
const WHOLE: u64 = u64::MAX;
/// So many labels may stand in a key, which is read for every decision. More are told apart by all of them.
const PAIRS_MAX: usize = 32;

/// What a rule reads of a pod, as ids and numbers. Pods with equal keys get equal answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Key {
    parts: Vec<u64>,
    /// What selectors see of the pod; empty where that is to be told by all of its labels.
    seen: Vec<u64>,
    /// A claim was made for the extended resources of the pod.
    has_made_claim: bool,
}

impl Key {
    /// Usually the id of a facet (`pod.template.tolerations.id()`).
    pub(crate) fn push(&mut self, part: u64) {
        self.parts.push(part);
    }

    /// A text of any length.
    pub(crate) fn push_text(&mut self, text: &str) {
        push_text(&mut self.parts, text);
    }

    /// Namespace and labels of the pod, for a rule that compares them with selectors of the snapshot and
    /// reads no more of them.
    pub(crate) fn push_seen(&mut self, pod: &Pod) {
        match self.seen.as_slice() {
            [] => self.parts.push(pod.identity.id()),
            seen => self.parts.extend_from_slice(seen),
        }
    }

    /// The pod itself where a claim was made for its extended resources: pods that are alike otherwise
    /// have no such claim.
    pub(crate) fn push_made_claim(&mut self, pod: &Pod) {
        self.push_text(if self.has_made_claim { &pod.uid } else { "" });
    }

    pub(crate) fn parts(&self) -> &[u64] {
        &self.parts
    }

    /// Begins anew, for a pod in a cluster: its labels count as far as selectors read them now. Where another key
    /// comes to be read, what was begun before is found no more: that of how many is a part.
    pub(crate) fn begin(&mut self, pod: &Pod, cluster: &Cluster) {
        let labels = cluster.read_labels();
        self.parts.clear();
        self.seen.clear();
        self.has_made_claim = cluster.objects().devices_in_use.has_made_for(&pod.uid);
        let Some(count) = labels.count() else {
            self.seen.extend([WHOLE, pod.identity.id()]);
            return;
        };
        let pairs = labels.of(pod).take(PAIRS_MAX + 1).count();
        self.seen.extend([count as u64, pod.namespace().id(), pairs as u64]);
        if pairs > PAIRS_MAX {
            self.seen.push(pod.identity.id());
            return;
        }
        for (key, value) in labels.of(pod) {
            self.seen.push(key);
            push_text(&mut self.seen, value);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }
}

fn push_text(parts: &mut Vec<u64>, text: &str) {
    parts.push(text.len() as u64);
    let chunks = text.as_bytes().chunks(8);
    parts.extend(
        chunks.map(|chunk| chunk.iter().fold(0, |part, byte| part << 8 | u64::from(*byte))),
    );
}
