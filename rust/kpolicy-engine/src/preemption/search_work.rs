//! What looking for victims takes, in units, and how much of it one search may do.
//!
//! What it takes rests on the pod, the program, the node and the pods on it, and not on what is
//! remembered of other nodes: a search ends at the same node whatever was asked before.

use std::cell::RefCell;

use kpolicy_cel::Budget;
use rustc_hash::FxHashMap;

use crate::judging::{PreparedFilters, Question};
use crate::rules::decision_work::search_units_max;
use crate::rules::prices::{
    ASKING, ASKING_ENTRY, MOVING, NODES_COPIED, WALKING, of_selector, of_terms,
};
use crate::snapshot::pod::PodAffinity;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::Unplaced;

/// All that a search may take in a cluster as it is.
pub(super) fn of_search(cluster: &Cluster) -> Budget {
    let nodes = cluster.nodes();
    Budget::new(search_units_max(nodes.len(), nodes.pods()))
}

/// Prices that follow from the pod that needs room and from the number of nodes. Pods may share what
/// is known of a node and still differ in a part of their spec that no filter in force reads: what is
/// known holds only for a pod of equal prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PodPrices {
    /// Asking the filters that rest on the pods of a node, and the others.
    asking: u64,
    asking_others: u64,
    own_terms: u64,
    /// What filters count of each pod of a node, and of each that comes or goes.
    counting: u64,
    /// Copying all filters.
    copying: u64,
}

/// What parts of a dry run take for one pod that needs room.
#[derive(Debug)]
pub(super) struct Prices<'a> {
    cluster: &'a Cluster,
    of_pod: PodPrices,
    /// By namespace, what finding the disruption budgets of a pod takes.
    budgets: RefCell<FxHashMap<&'a str, u64>>,
}

impl PodPrices {
    pub(crate) fn of(
        question: Question<'_>,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
    ) -> Self {
        let in_expressions = |rest_on_pods: bool| {
            let filters = prepared.iter().flatten();
            let asked = filters.filter(|filter| filter.rests_on_pods() == rest_on_pods);
            asked.fold(0, |sum: u64, filter| sum.saturating_add(filter.units_a_check()))
        };
        let counting = prepared.iter().flatten().map(|filter| filter.units_a_pod()).sum();
        let affinity = &question.pod.template.pod_affinity;
        let constraints = question.pod.template.spread.iter();
        let of_constraints = constraints.map(|each| of_selector(each.label_selector.as_ref()));
        Self {
            asking: ASKING
                .saturating_add(ASKING_ENTRY.saturating_mul(question.entries))
                .saturating_add(in_expressions(true)),
            asking_others: in_expressions(false),
            own_terms: of_terms(&affinity.required)
                .saturating_add(of_terms(&affinity.anti_required))
                .saturating_add(of_constraints.sum()),
            counting,
            // Rounded up, so that a few nodes more change no price.
            copying: cluster.nodes().len().next_power_of_two() as u64 / NODES_COPIED,
        }
    }

    /// All of them, to tell pods apart by.
    pub(crate) const fn parts(self) -> [u64; 5] {
        [self.asking, self.asking_others, self.own_terms, self.counting, self.copying]
    }
}

impl<'a> Prices<'a> {
    pub(super) fn of(unplaced: Unplaced<'a>) -> Self {
        let Unplaced { question, prepared, cluster, .. } = unplaced;
        let of_pod = PodPrices::of(question, prepared, cluster);
        Self { cluster, of_pod, budgets: RefCell::default() }
    }

    /// Walking the pods of a node.
    pub(super) fn walking(&self, node: NodeView<'_>) -> u64 {
        let of_pod = WALKING.saturating_add(self.of_pod.counting);
        of_pod.saturating_mul(node.load.pods.len() as u64)
    }

    /// Asking all filters about the node, with and without nominated pods.
    pub(super) const fn asking_all(&self, worlds: u64) -> u64 {
        self.asking_again(worlds).saturating_add(self.of_pod.asking_others)
    }

    /// Asking those again that rest on the pods of the node.
    pub(super) const fn asking_again(&self, worlds: u64) -> u64 {
        self.of_pod.asking.saturating_mul(worlds)
    }

    /// Copying all filters for so many pods that are nominated to the node, and adding these.
    pub(super) fn nominating(&self, pods: usize) -> u64 {
        if pods == 0 {
            return 0;
        }
        let adding =
            MOVING.saturating_add(self.of_pod.own_terms).saturating_add(self.of_pod.counting);
        self.of_pod.copying.saturating_add(adding.saturating_mul(pods as u64))
    }

    /// Telling all filters of a pod that comes or goes.
    pub(super) fn moving(&self, pod: &Pod, worlds: u64) -> u64 {
        let affinity: &PodAffinity = &pod.template.pod_affinity;
        let terms = self.of_pod.own_terms.saturating_add(of_terms(&affinity.anti_required));
        let of_pod = MOVING.saturating_add(terms).saturating_add(self.of_pod.counting);
        of_pod.saturating_mul(worlds)
    }

    /// Finding which disruption budgets count the pod.
    pub(super) fn finding_budgets(&self, pod: &'a Pod) -> u64 {
        let namespace: &'a str = pod.namespace();
        *self.budgets.borrow_mut().entry(namespace).or_insert_with(|| {
            let budgets = self.cluster.objects().budgets.in_namespace(namespace);
            budgets.map(|budget| of_selector(budget.selector.as_ref())).sum()
        })
    }
}
