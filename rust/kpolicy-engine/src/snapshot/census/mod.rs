//! The census: how many pods of a kind are on each node.
//!
//! There are three: pods by identity (what selectors see of them), grouped by namespace, pods by their
//! controller, and pods by their affinity (what they demand of others), found by what their terms ask
//! for. A selector is
//! matched once for each row, not once for each pod. Only pods on known nodes count. The order of rows
//! depends on history, so only sums may use it.

mod demand;
mod filed_terms;
mod rows;
mod term_index;

use std::collections::BTreeMap;

use crate::intern::{Name, Shared};
use crate::model::{OwnerReference, PodAffinityTerm};

use super::node::NodeSlot;
use super::nodes::Nodes;
use super::pod::{Identity, Pod};

pub(crate) use demand::Demand;
pub(crate) use rows::Row;

use filed_terms::{Found, TermId};
use rows::{RowId, Rows};
use term_index::{TermIndex, TopologyKeys};

/// Pods of a namespace that have the same affinity terms.
#[derive(Debug)]
pub(crate) struct Asking {
    /// Their terms that mean every pod.
    of_all: Box<[(TermId, Demand)]>,
}

/// A term of pods on nodes that may mean a pod.
pub(crate) struct AskingTerm<'a> {
    /// Names the namespace of its pods where they named none.
    pub(crate) term: &'a PodAffinityTerm,
    /// What all rows of its pods demand, one pod of each.
    pub(crate) together: Demand,
    by_row: &'a BTreeMap<RowId, Demand>,
}

/// Which of the rows of `Census::asking` it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AskingRow(RowId);

impl<'a> AskingTerm<'a> {
    /// The rows of its pods, with what one pod of each demands.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (AskingRow, Demand)> + 'a {
        self.by_row.iter().map(|(row, demand)| (AskingRow(*row), *demand))
    }
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
    /// By the ids of namespace and controller, which the rows hold.
    controlled: Rows<(Name, Shared<OwnerReference>)>,
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

    /// Pods of a namespace that have this controller.
    pub(crate) fn controlled_by(
        &self,
        namespace: &Name,
        controller: &Shared<OwnerReference>,
    ) -> Option<&Row<(Name, Shared<OwnerReference>)>> {
        self.controlled.get((namespace.id(), controller.id()))
    }

    /// As `Census::identities`, by namespace.
    pub(crate) fn by_namespace(&self) -> impl Iterator<Item = (&Name, &[Row<Shared<Identity>>])> {
        self.identities.values().map(|group| (&group.namespace, group.rows.all()))
    }

    /// How many namespaces have pods on nodes.
    pub(crate) fn namespaces_count(&self) -> usize {
        self.identities.len()
    }

    /// Each affinity term of pods on nodes that may mean a pod: all that do, and few others. Those that
    /// mean every pod are in `Census::demands_of_all`.
    pub(crate) fn terms_about<'a>(
        &'a self,
        pod: &'a Identity,
    ) -> impl Iterator<Item = AskingTerm<'a>> {
        self.terms.about(pod).map(|shared| AskingTerm {
            term: &shared.term,
            together: shared.together,
            by_row: &shared.rows,
        })
    }

    /// How much `Census::terms_about` finds.
    pub(crate) fn found_about(&self, pod: &Identity) -> Found {
        self.terms.found(pod)
    }

    /// Pods with affinity terms, by node.
    pub(crate) fn asking(&self, row: AskingRow) -> Option<&Row<Asking>> {
        self.asking.get(row.0)
    }

    /// How many nodes the rows of `Census::asking` have pods on, those of each row counted.
    pub(crate) fn asking_places(&self) -> usize {
        self.asking.places()
    }

    /// What terms that mean every pod demand on each node, by topology key, where `counts` holds for what
    /// one pod of each row demands.
    pub(crate) fn demands_of_all<'a>(
        &'a self,
        nodes: &'a Nodes,
        counts: impl Fn(Demand) -> bool,
    ) -> impl Iterator<Item = (&'a str, &'a BTreeMap<NodeSlot, Demand>)> {
        self.terms.of_all(&self.asking, nodes, counts)
    }

    /// How many topology keys of affinity terms some node has.
    pub(crate) fn topology_keys(&self, nodes: &Nodes) -> TopologyKeys {
        self.terms.keys(nodes)
    }

    pub(super) fn put(&mut self, slot: NodeSlot, pod: &Pod) {
        let namespace = pod.namespace();
        let group = self
            .identities
            .entry(namespace.id())
            .or_insert_with(|| InNamespace { namespace: namespace.clone(), rows: Rows::default() });
        let is_new = group.rows.put((pod.identity.id(), 0), slot, pod, || pod.identity.clone());
        self.identities_count += usize::from(is_new);
        if let Some(controller) = &pod.template.owner {
            let what = || (namespace.clone(), controller.clone());
            self.controlled.put((namespace.id(), controller.id()), slot, pod, what);
        }
        let affinity = &pod.template.pod_affinity;
        if !affinity.is_empty() {
            let id = asking_id(pod);
            let terms = &mut self.terms;
            self.asking
                .put(id, slot, pod, || Asking { of_all: terms.add(id, namespace, affinity) });
            if let Some(row) = self.asking.get(id) {
                self.terms.follow(slot, &row.what.of_all, 1);
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
        if let Some(controller) = &pod.template.owner {
            self.controlled.take((namespace.id(), controller.id()), slot, pod);
        }
        let affinity = &pod.template.pod_affinity;
        if !affinity.is_empty() {
            let id = asking_id(pod);
            if let Some(row) = self.asking.get(id) {
                self.terms.follow(slot, &row.what.of_all, -1);
            }
            if self.asking.take(id, slot, pod) {
                self.terms.remove(id, namespace, affinity);
            }
        }
    }
}

fn asking_id(pod: &Pod) -> (u64, u64) {
    (pod.namespace().id(), pod.template.pod_affinity.id())
}
