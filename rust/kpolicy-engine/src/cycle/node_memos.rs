//! What is known of single nodes for pods that find no room at once: which nodes nominated pods close,
//! and what evicting pods would come to.
//!
//! It rests on the active filters, and on little else of the pod. So shapes share it that differ only in
//! what filters without a say in this cycle, and scores, read of a pod.

use crate::heap::HeapBytes;
use crate::judging::nominated::NominatedMemo;
use crate::judging::{PreparedFilters, Question};
use crate::preemption::{CandidateMemo, PodPrices};
use crate::program::Profile;
use crate::rules::Key;
use crate::snapshot::Cluster;

#[derive(Debug, Default)]
pub(super) struct NodeMemos {
    pub(super) nominated: NominatedMemo,
    pub(super) candidates: CandidateMemo,
}

impl HeapBytes for NodeMemos {
    fn heap_bytes(&self) -> usize {
        self.nominated.heap_bytes() + self.candidates.heap_bytes()
    }
}

/// All that it rests on besides the cluster. `columns` are the keys of the active filters' columns, which
/// name the profile and the rule.
pub(super) fn key<'a>(
    question: Question<'_>,
    profile: &Profile,
    columns: impl Iterator<Item = &'a [u64]>,
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
) -> Key {
    let mut key = Key::default();
    key.push(question.profile as u64);
    key.push(u64::from(question.pod.priority().cast_unsigned()));
    PodPrices::of(question, prepared, cluster).parts().into_iter().for_each(|part| key.push(part));
    columns.for_each(|column| column.iter().for_each(|part| key.push(*part)));
    if let Some(victims) = profile.victims() {
        victims.key(question.pod, &mut key);
    }
    key
}
