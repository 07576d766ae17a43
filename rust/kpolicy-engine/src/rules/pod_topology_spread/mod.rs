//! `PodTopologySpread`: pods like these spread evenly over zones, hosts or any other topology.
//!
//! Specification: Kubernetes API `TopologySpreadConstraint`, as kube-scheduler 1.36 reads it.
//! Constraints that must hold filter, those that should hold score. A pod without constraints of
//! its own has the profile's, with the selector of its services and controller. Reads: pods on
//! nodes, node labels and taints, services and controllers; the pod's constraints, labels, owner,
//! node affinity and tolerations.

mod args;
mod constraints;
mod counts;
mod filter;
mod hints;
mod levels;
mod score;
mod standing;
mod sums;
#[cfg(test)]
pub(in crate::rules) mod testing;
#[cfg(test)]
mod tests;

use crate::model::{Kind, SpreadConstraint};

pub(crate) use args::from_args;

use super::default_selector;
use super::tolerations::Operators;

pub(crate) const NAME: &str = "PodTopologySpread";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodTopologySpread {
    /// For pods that have no constraints; without selectors.
    defaults: Box<[SpreadConstraint]>,
    /// `defaults` are ours: then a node may lack some of their keys and still be scored.
    is_system: bool,
    /// Which taints a pod tolerates, for constraints that honour taints.
    operators: Operators,
}

impl PodTopologySpread {
    fn source_kinds(&self) -> &'static [Kind] {
        if self.defaults.is_empty() { &[] } else { default_selector::KINDS }
    }
}
