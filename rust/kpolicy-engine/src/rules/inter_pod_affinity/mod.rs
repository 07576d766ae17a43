//! `InterPodAffinity`: where pods like these run, or must not, by topology.
//!
//! Specification: Kubernetes API `PodAffinity` and `PodAntiAffinity`, as kube-scheduler reads
//! them. Required affinity wants one pod that matches *all* terms (each term's topology is then
//! checked by itself); anti-affinity terms are independent, and those of pods on nodes are honoured
//! too. Reads: pods on nodes and their terms, node labels, namespaces; the pod's identity and
//! terms.

mod counts;
mod filter;
mod hints;
mod others;
mod score;
mod terms;

use crate::fields::{Fields, Refusals};
use crate::release::{Followed, NamespaceSelectors};

pub(super) use terms::means_namespace;

pub(crate) const NAME: &str = "InterPodAffinity";

const HARD_WEIGHT_DEFAULT: i64 = 1;
const HARD_WEIGHT_MAX: i64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InterPodAffinity {
    /// What the required affinity of a pod on a node is worth to the pods it asks for.
    hard_weight: i64,
    /// Pods without preferences of their own do not look at those of others.
    ignores_others_preferences: bool,
    selectors: NamespaceSelectors,
}

/// From the plugin's arguments; the same for filter and score.
pub(crate) fn from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<InterPodAffinity> {
    let hard_weight = args.integer_or(
        "hardPodAffinityWeight",
        HARD_WEIGHT_DEFAULT,
        0..=HARD_WEIGHT_MAX,
        refusals,
    );
    let ignores = args.flag_or("ignorePreferredTermsOfExistingPods", false, refusals);
    Some(InterPodAffinity {
        hard_weight: hard_weight?,
        ignores_others_preferences: ignores?,
        selectors: followed.traits().namespace_selectors,
    })
}
