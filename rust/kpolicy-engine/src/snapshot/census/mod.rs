//! The census: how many pods of a kind are on each node.
//!
//! There are two: pods by identity (what selectors see of them), grouped by namespace, and pods by
//! their affinity (what they demand of others), found by what their terms ask for. A selector is
//! matched once for each row, not once for each pod. Only pods on known nodes count. The order of rows
//! depends on history, so only sums may use it.

mod rows;
mod term_index;

use std::collections::BTreeMap;

use crate::intern::{Name, Shared};

use super::node::NodeSlot;
use super::pod::{Identity, Pod, PodAffinity};

pub(crate) use rows::Row;
pub(crate) use term_index::{AskingTerm, TermKind};

use rows::Rows;
use term_index::TermIndex;

/// Pods with affinity terms; where a term names no namespaces, it means this one.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) namespace: Name,
    pub(crate) affinity: Shared<PodAffinity>,
}

#[derive(Debug)]
struct InNamespace {
    namespace: Name,
    rows: Rows<Shared<Identity>>,
}

/// Counts of pods on nodes: by namespace and labels, and by the affinity terms that they carry.
#[derive(Debug, Default)]
pub struct Census {
    /// By the id of the namespace's name.
    identities: BTreeMap<u64, InNamespace>,
    identities_count: usize,
    asking: Rows<Asking>,
    terms: TermIndex,
}

impl Census {
    /// Pods by namespace and labels.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &Row<Shared<Identity>>> {
        self.identities.values().flat_map(|group| group.rows.all())
    }

    /// How many rows `Census::identities` has.
    pub fn identities_count(&self) -> usize {
        self.identities_count
    }

    /// Pods of a namespace by their labels.
    pub(crate) fn identities_in(&self, namespace: &Name) -> &[Row<Shared<Identity>>] {
        self.identities.get(&namespace.id()).map_or(&[], |group| group.rows.all())
    }

    /// As `Census::identities`, by namespace.
    pub(crate) fn by_namespace(&self) -> impl Iterator<Item = (&Name, &[Row<Shared<Identity>>])> {
        self.identities.values().map(|group| (&group.namespace, group.rows.all()))
    }

    /// How many namespaces have pods on nodes.
    pub(crate) fn namespaces_count(&self) -> usize {
        self.identities.len()
    }

    /// Calls `found` for each affinity term of pods on nodes that may mean a pod: for all that do, and
    /// for few others. Terms of one row come together where they ask for the same label.
    pub(crate) fn terms_about<'a>(&'a self, pod: &Identity, mut found: impl FnMut(AskingTerm<'a>)) {
        self.terms.about(pod, |row, kind, position| {
            let term = self.asking.get(row).and_then(|row| AskingTerm::of(row, kind, position));
            if let Some(term) = term {
                found(term);
            }
        });
    }

    pub(super) fn put(&mut self, slot: NodeSlot, pod: &Pod) {
        let namespace = pod.namespace();
        let group = self
            .identities
            .entry(namespace.id())
            .or_insert_with(|| InNamespace { namespace: namespace.clone(), rows: Rows::default() });
        let is_new = group.rows.put((pod.identity.id(), 0), slot, pod, || pod.identity.clone());
        self.identities_count += usize::from(is_new);
        let affinity = &pod.template.pod_affinity;
        if !affinity.is_empty() {
            let id = asking_id(pod);
            let asking = || Asking { namespace: namespace.clone(), affinity: affinity.clone() };
            if self.asking.put(id, slot, pod, asking) {
                self.terms.add(id, namespace, affinity);
            }
        }
    }

    pub(super) fn take(&mut self, slot: NodeSlot, pod: &Pod) {
        let namespace = pod.namespace();
        if let Some(group) = self.identities.get_mut(&namespace.id()) {
            let is_gone = group.rows.take((pod.identity.id(), 0), slot, pod);
            self.identities_count -= usize::from(is_gone);
            if group.rows.all().is_empty() {
                self.identities.remove(&namespace.id());
            }
        }
        let affinity = &pod.template.pod_affinity;
        if !affinity.is_empty() && self.asking.take(asking_id(pod), slot, pod) {
            self.terms.remove(asking_id(pod), namespace, affinity);
        }
    }
}

fn asking_id(pod: &Pod) -> (u64, u64) {
    (pod.namespace().id(), pod.template.pod_affinity.id())
}
