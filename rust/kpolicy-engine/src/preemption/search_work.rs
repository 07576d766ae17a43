//! What looking for victims takes, in units, and how much of it one decision may do.
//!
//! The prices of a dry run, and the bound of a search. Prices rest on the pod, the program, the
//! node and the pods on it, and not on what is remembered of other nodes: a search ends at the same
//! node whatever was asked before. The bound grows with the placed pods, as each of them may have to
//! be taken off its node and put back, in kube-scheduler too; what it bounds is what one of them may
//! take.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::model::{PodAffinityTerm, Selector};
use crate::rules::decision_work::{DecisionWork, units_max};
use crate::snapshot::pod::PodAffinity;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::Unplaced;

/// What a search may take for each placed pod, besides what a decision may take.
const UNITS_A_PLACED_POD: u64 = 150;
/// What a dry run takes on a node for each of its pods, whether it may go or not.
const WALKING: u64 = 2;
/// What asking all filters takes, and what each entry of the pod's spec adds.
const ASKING: u64 = 20;
const ASKING_ENTRY: u64 = 3;
/// What putting a pod on a node or taking it away takes, and each affinity term that is compared.
const MOVING: u64 = 10;
const MOVING_TERM: u64 = 2;

/// Filters hold sums by domain, of which there may be as many as nodes: so many are copied for a unit.
const NODES_COPIED: u64 = 8;

/// A search has used up what it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkExceeded;

/// What is left of the work of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkLeft {
    units: u64,
}

impl WorkLeft {
    pub(super) const fn of(units: u64) -> Self {
        Self { units }
    }

    pub(super) const fn units(self) -> u64 {
        self.units
    }

    pub(super) fn charge(&mut self, units: u64) -> Result<(), WorkExceeded> {
        match self.units.checked_sub(units) {
            Some(left) => {
                self.units = left;
                Ok(())
            }
            None => {
                self.units = 0;
                Err(WorkExceeded)
            }
        }
    }
}

/// What a search may take among so many nodes, with so many pods on them.
pub fn search_units_max(nodes: usize, placed: usize) -> u64 {
    let for_pods = (placed as u64).saturating_mul(UNITS_A_PLACED_POD);
    units_max(nodes).saturating_add(for_pods)
}

impl WorkLeft {
    /// All that a search may take in a cluster as it is.
    pub(super) fn of_search(cluster: &Cluster) -> Self {
        let nodes = cluster.nodes();
        let placed = nodes.iter().map(|view| view.load.pods.len()).sum();
        Self::of(search_units_max(nodes.len(), placed))
    }
}

/// Prices that follow from the pod that needs room and from the number of nodes. Pods may share what
/// is known of a node and still differ in a part of their spec that no filter in force reads: what is
/// known holds only for a pod of equal prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodPrices {
    asking: u64,
    own_terms: u64,
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

impl<'a> Prices<'a> {
    pub(super) fn of(unplaced: Unplaced<'a>) -> Self {
        let (pod, cluster) = (unplaced.question.pod, unplaced.cluster);
        let entries = DecisionWork::of(pod, cluster).entries();
        let in_expressions: u64 =
            unplaced.prepared.iter().flatten().map(|filter| filter.units_a_check()).sum();
        let affinity = &pod.template.pod_affinity;
        let constraints = pod.template.spread.iter();
        let of_constraints = constraints.map(|each| of_selector(each.label_selector.as_ref()));
        let of_pod = PodPrices {
            asking: ASKING
                .saturating_add(ASKING_ENTRY.saturating_mul(entries))
                .saturating_add(in_expressions),
            own_terms: of_terms(&affinity.required)
                .saturating_add(of_terms(&affinity.anti_required))
                .saturating_add(of_constraints.sum()),
            // Rounded up, so that a few nodes more change no price.
            copying: cluster.nodes().len().next_power_of_two() as u64 / NODES_COPIED,
        };
        Self { cluster, of_pod, budgets: RefCell::default() }
    }

    pub(super) const fn of_pod(&self) -> PodPrices {
        self.of_pod
    }

    /// Asking all filters about the node, with and without nominated pods.
    pub(super) const fn asking(&self, worlds: u64) -> u64 {
        self.of_pod.asking.saturating_mul(worlds)
    }

    /// Copying all filters for so many pods that are nominated to the node, and adding these.
    pub(super) fn nominating(&self, pods: usize) -> u64 {
        if pods == 0 {
            return 0;
        }
        let adding = MOVING.saturating_add(MOVING_TERM.saturating_mul(self.of_pod.own_terms));
        self.of_pod.copying.saturating_add(adding.saturating_mul(pods as u64))
    }

    /// Telling all filters of a pod that comes or goes.
    pub(super) fn moving(&self, pod: &Pod, worlds: u64) -> u64 {
        let affinity: &PodAffinity = &pod.template.pod_affinity;
        let terms = self.of_pod.own_terms.saturating_add(of_terms(&affinity.anti_required));
        MOVING.saturating_add(MOVING_TERM.saturating_mul(terms)).saturating_mul(worlds)
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

/// Walking the pods of a node.
pub(super) fn of_walking(node: NodeView<'_>) -> u64 {
    WALKING.saturating_mul(node.load.pods.len() as u64)
}

fn of_selector(selector: Option<&Selector>) -> u64 {
    1 + selector.map_or(0, |selector| selector.requirements.len() as u64)
}

fn of_terms(terms: &[PodAffinityTerm]) -> u64 {
    terms.iter().map(|term| of_selector(term.label_selector.as_ref())).sum()
}

#[cfg(test)]
mod tests {
    use super::{WorkExceeded, WorkLeft};

    #[test]
    fn work_is_used_up_to_the_last_unit_and_not_beyond() {
        let mut work = WorkLeft::of(10);
        assert_eq!((work.charge(4), work.charge(6), work.units()), (Ok(()), Ok(()), 0));
        assert_eq!(work.charge(1), Err(WorkExceeded));
        let mut work = WorkLeft::of(10);
        assert_eq!((work.charge(11), work.units()), (Err(WorkExceeded), 0));
        assert_eq!(work.charge(1), Err(WorkExceeded), "nothing smaller is done instead");
    }
}
