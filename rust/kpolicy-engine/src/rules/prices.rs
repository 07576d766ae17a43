//! What judging a pod takes, in units of work: every constant that a charge of the engine is made of.
//!
//! A unit is about ten nanoseconds; `benches/kernels.rs` measures what each kind of work takes.
//! Expressions have a table of their own (`rust/kpolicy-cel/src/prices.rs`), with the same unit.

use crate::model::{PodAffinityTerm, Selector};

// Of a part of a pod's spec, on one node. Amounts are looked up by name for filter, score and message.
/// A label key that some node has: where no rule asked for it yet, it is looked up on each node.
pub(super) const LABEL_KEY: u64 = 15;
pub(super) const PAIR: u64 = 5;
pub(super) const REQUIREMENT: u64 = 5;
pub(super) const TERM: u64 = 1;
pub(super) const TOLERATION: u64 = 1;
pub(super) const SCALAR: u64 = 10;
pub(super) const CONSTRAINT: u64 = 20;
pub(super) const AFFINITY_TERM: u64 = 20;
pub(super) const VOLUME: u64 = 10;
pub(super) const CLAIM: u64 = 3;
pub(super) const PORT: u64 = 5;
pub(super) const CONTAINER: u64 = 1;

/// Comparing one set of labels with a selector, and with each of its requirements.
pub(super) const COMPARING: u64 = 2;

// Of affinity terms of placed pods.
/// Finding one that may mean a pod, besides what is compared.
pub(super) const PLACED_TERM: u64 = 4;
/// Each kind of pods that carries it.
pub(super) const PLACED_ROW: u64 = 2;
/// Pods are added up by node: so many nodes for a unit.
pub(super) const PLACES_A_UNIT: usize = 2;

// Of looking for victims on a node.
/// For each of its pods, whether it may go or not.
pub(crate) const WALKING: u64 = 2;
/// Asking all filters, and what each entry of the pod's spec adds.
pub(crate) const ASKING: u64 = 20;
pub(crate) const ASKING_ENTRY: u64 = 3;
/// Putting a pod on a node or taking it away.
pub(crate) const MOVING: u64 = 10;
/// Filters hold sums by domain, of which there may be as many as nodes: so many are copied for a unit.
pub(crate) const NODES_COPIED: u64 = 8;

// Of a fact in an expression whose arguments are constant.
/// Counting pods by a selector, once for all nodes: each kind of pods is compared.
pub(super) const PODS_COUNT: u64 = 10;
/// Adding up what pods request, once for all nodes: each pod is read.
pub(super) const PODS_SUM: u64 = 30;
/// Reading a sum over a domain: its sums, and the domain of the node, are looked up.
pub(super) const DOMAIN_SUM: u64 = 6;
/// As how many kernels reading a column counts that the snapshot has.
pub(super) const COLUMN_KERNELS: u64 = 2;

// Of saying why an expression could not be evaluated on a node.
/// The text, besides evaluating it once more.
pub(super) const REASON: u64 = 20;
/// What evaluating takes there, for a unit of what it spends: errors are written out and the world is
/// looked up anew.
pub(super) const REASON_FACTOR: u64 = 3;

// Of a sum over a domain or the cluster in an expression: what is walked for one unit.
pub(super) const NODES_A_UNIT: usize = 16;
pub(super) const IDENTITIES_A_UNIT: usize = 4;
// Of a fact of one node whose arguments only evaluating tells.
/// Matching a selector with a pod of the node.
pub(super) const POD_MATCHED: u64 = 2;
/// Names of the node's images that are compared for one unit.
pub(super) const IMAGE_NAMES_A_UNIT: usize = 2;

/// Comparing one set of labels with a selector.
pub(crate) fn of_selector(selector: Option<&Selector>) -> u64 {
    let requirements = selector.map_or(0, |selector| selector.requirements.len() as u64);
    COMPARING.saturating_mul(requirements + 1)
}

/// Comparing one pod's labels with each of these terms.
pub(crate) fn of_terms(terms: &[PodAffinityTerm]) -> u64 {
    terms.iter().map(|term| of_selector(term.label_selector.as_ref())).sum()
}
