//! Affinity terms of pods on nodes, each kept once, with the rows of the pods that carry it.
//!
//! A term that means every pod is not compared with any: there is one for each topology key, and what
//! it demands is summed up by node, once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::model::{PodAffinityTerm, Selector};
use crate::snapshot::node::NodeSlot;
use crate::snapshot::nodes::Nodes;
use crate::snapshot::pod::{Identity, PodAffinity};

use super::Asking;
use super::demand::{Demand, terms_of};
use super::filed_terms::{FiledTerms, Found, TermId};
use super::rows::{RowId, Rows};

/// What pods demand on each node where one of them is.
type ByNode = BTreeMap<NodeSlot, Demand>;

/// A term, and the rows of the pods that carry it.
#[derive(Debug)]
pub(super) struct SharedTerm {
    /// Names the namespace of its pods where they named none.
    pub(super) term: Arc<PodAffinityTerm>,
    /// What one pod of each row demands.
    pub(super) rows: BTreeMap<RowId, Demand>,
    /// What these demand together.
    pub(super) together: Demand,
    /// What all pods demand on each node, where the term means every pod. Worked out when a decision
    /// first asks, and kept up to date from then on.
    by_node: OnceLock<ByNode>,
}

/// How many topology keys there are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TopologyKeys {
    pub(crate) all: usize,
    /// Those of terms that mean every pod.
    pub(crate) of_all: usize,
}

/// Terms that ask for one topology key.
#[derive(Debug, Default)]
struct OfKey {
    terms: usize,
    /// The one that means every pod.
    of_all: Option<TermId>,
}

#[derive(Debug, Default)]
pub(super) struct TermIndex {
    terms: Vec<Option<SharedTerm>>,
    free: Vec<TermId>,
    ids: FxHashMap<Arc<PodAffinityTerm>, TermId>,
    by_topology: FxHashMap<Box<str>, OfKey>,
    filed: FiledTerms,
}

impl TermIndex {
    /// Adds the terms of a new row of pods; gives those that mean every pod.
    pub(super) fn add(
        &mut self,
        row: RowId,
        namespace: &str,
        affinity: &PodAffinity,
    ) -> Box<[(TermId, Demand)]> {
        let mut of_all: BTreeMap<TermId, Demand> = BTreeMap::new();
        // Without a selector a term means no pod.
        for (term, demand) in terms_of(affinity).filter(|(term, _)| term.label_selector.is_some()) {
            let id = self.id_of(with_namespace(term, namespace));
            let Some(Some(shared)) = self.terms.get_mut(id) else { continue };
            shared.together = shared.together.plus(demand, 1);
            let of_row = shared.rows.entry(row).or_default();
            let is_new = *of_row == Demand::default();
            *of_row = of_row.plus(demand, 1);
            if means_every_pod(&shared.term) {
                of_all.insert(id, *of_row);
            } else if is_new {
                self.filed.count_row(&shared.term, true);
            }
        }
        of_all.into_iter().collect()
    }

    /// Removes the terms of a row that is gone.
    pub(super) fn remove(&mut self, row: RowId, namespace: &str, affinity: &PodAffinity) {
        for (term, _) in terms_of(affinity) {
            let Some(&id) = self.ids.get(&*with_namespace(term, namespace)) else { continue };
            let Some(Some(shared)) = self.terms.get_mut(id) else { continue };
            let Some(of_row) = shared.rows.remove(&row) else { continue };
            shared.together = shared.together.plus(of_row, -1);
            if !means_every_pod(&shared.term) {
                self.filed.count_row(&shared.term, false);
            }
            if shared.rows.is_empty() {
                self.forget(id);
            }
        }
    }

    /// Counts pods of a row on a node, or takes them back; `of_all` is what `TermIndex::add` gave.
    pub(super) fn follow(&mut self, slot: NodeSlot, of_all: &[(TermId, Demand)], pods: i64) {
        for (id, demand) in of_all {
            let shared = self.terms.get_mut(*id).and_then(Option::as_mut);
            let Some(by_node) = shared.and_then(|shared| shared.by_node.get_mut()) else {
                continue;
            };
            let on_node = by_node.entry(slot).or_default();
            *on_node = on_node.plus(*demand, pods);
            if *on_node == Demand::default() {
                by_node.remove(&slot);
            }
        }
    }

    /// Each term that may mean a pod, without those that mean every pod.
    pub(super) fn about<'a>(&'a self, pod: &'a Identity) -> impl Iterator<Item = &'a SharedTerm> {
        self.filed.about(pod).filter_map(|id| self.terms.get(id)?.as_ref())
    }

    pub(super) fn found(&self, pod: &Identity) -> Found {
        self.filed.found(pod)
    }

    /// What the terms that mean every pod demand, by topology key and node, where `counts` holds for what
    /// one pod of each row demands.
    pub(super) fn of_all<'a>(
        &'a self,
        rows: &'a Rows<Asking>,
        nodes: &'a Nodes,
        counts: impl Fn(Demand) -> bool,
    ) -> impl Iterator<Item = (&'a str, &'a ByNode)> {
        self.keys_on(nodes).filter_map(move |(key, of_key)| {
            let shared = self.terms.get(of_key.of_all?)?.as_ref()?;
            counts(shared.together)
                .then(|| (key, shared.by_node.get_or_init(|| summed(shared, rows))))
        })
    }

    /// How many of the topology keys that terms ask for some node has.
    pub(super) fn keys(&self, nodes: &Nodes) -> TopologyKeys {
        self.keys_on(nodes).fold(TopologyKeys::default(), |sum, (_, key)| TopologyKeys {
            all: sum.all + 1,
            of_all: sum.of_all + usize::from(key.of_all.is_some()),
        })
    }

    /// Those that some node has.
    fn keys_on<'a>(&'a self, nodes: &'a Nodes) -> impl Iterator<Item = (&'a str, &'a OfKey)> {
        let asks_for_few = self.by_topology.len() <= nodes.label_keys_count();
        let asked = self.by_topology.iter().filter(move |_| asks_for_few);
        let asked = asked.filter(|(key, _)| nodes.any_has_label(key));
        let had = nodes.label_keys().filter(move |_| !asks_for_few);
        let had = had.filter_map(|key| self.by_topology.get_key_value(key));
        asked.chain(had).map(|(key, of_key)| (&**key, of_key))
    }

    fn id_of(&mut self, term: Arc<PodAffinityTerm>) -> TermId {
        if let Some(id) = self.ids.get(&term) {
            return *id;
        }
        let id = self.free.pop().unwrap_or(self.terms.len());
        if id == self.terms.len() {
            self.terms.push(None);
        }
        let of_key = self.by_topology.entry(term.topology_key.clone()).or_default();
        of_key.terms += 1;
        if means_every_pod(&term) {
            of_key.of_all = Some(id);
        } else {
            self.filed.add(id, &term);
        }
        self.ids.insert(Arc::clone(&term), id);
        if let Some(place) = self.terms.get_mut(id) {
            let (rows, together) = (BTreeMap::new(), Demand::default());
            *place = Some(SharedTerm { term, rows, together, by_node: OnceLock::new() });
        }
        id
    }

    fn forget(&mut self, id: TermId) {
        let Some(shared) = self.terms.get_mut(id).and_then(Option::take) else { return };
        let term = shared.term;
        self.ids.remove(&term);
        self.free.push(id);
        if let Some(of_key) = self.by_topology.get_mut(&term.topology_key) {
            of_key.terms -= 1;
            of_key.of_all = of_key.of_all.filter(|of_all| *of_all != id);
            if of_key.terms == 0 {
                self.by_topology.remove(&term.topology_key);
            }
        }
        if !means_every_pod(&term) {
            self.filed.remove(id, &term);
        }
    }
}

fn summed(shared: &SharedTerm, rows: &Rows<Asking>) -> ByNode {
    let mut sums = ByNode::new();
    for (row, demand) in &shared.rows {
        for (slot, tally) in rows.get(*row).into_iter().flat_map(|row| &row.by_node) {
            let on_node = sums.entry(*slot).or_default();
            *on_node = on_node.plus(*demand, i64::from(tally.pods));
        }
    }
    sums
}

/// The term with its namespaces named: those of its owner where it names and selects none, and none
/// where it means every pod.
fn with_namespace(term: &PodAffinityTerm, owner: &str) -> Arc<PodAffinityTerm> {
    let mut term = term.clone();
    if means_every_pod(&term) {
        term.namespaces = Box::default();
    } else if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        term.namespaces = [owner.into()].into();
    }
    Arc::new(term)
}

fn means_every_pod(term: &PodAffinityTerm) -> bool {
    let is_empty = |selector: Option<&Selector>| {
        selector.is_some_and(|selector| selector.requirements.is_empty())
    };
    is_empty(term.label_selector.as_ref()) && is_empty(term.namespace_selector.as_ref())
}
