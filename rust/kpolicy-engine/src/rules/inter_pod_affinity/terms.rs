//! The pods that an affinity term selects.
//!
//! Matches namespaces and labels from both sides: terms of the pod that is placed, whose namespace
//! selectors are resolved to names, and terms of pods on nodes, which read the labels of the placed
//! pod's namespace.

use crate::model::{Labels, PodAffinityTerm, Selector};
use crate::release::NamespaceSelectors;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Cluster, Pod};

/// What a term of a pod on a node may read of the pod that is placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming<'a> {
    pub identity: &'a Identity,
    /// Empty where the namespace is not known.
    pub namespace_labels: &'a Labels,
}

/// Whether a term of a pod in `owner_namespace` means the incoming pod.
pub(super) fn means_incoming(
    term: &PodAffinityTerm,
    owner_namespace: &str,
    incoming: Incoming<'_>,
) -> bool {
    let namespace = &**incoming.identity.namespace;
    let by_selector = |selector: &Selector| selector.matches(incoming.namespace_labels);
    (names(term, owner_namespace, namespace)
        || term.namespace_selector.as_ref().is_some_and(by_selector))
        && has_labels(term, &incoming.identity.labels)
}

/// As [`means_incoming`], for a term that names its owner's namespace where it would mean it.
pub(super) fn means_by_names(term: &PodAffinityTerm, incoming: Incoming<'_>) -> bool {
    means_incoming(term, "", incoming)
}

/// Whether a term of the incoming pod, of `owner_namespace`, means a pod on a node.
///
/// kube-scheduler up to 1.36 adds the names of selected namespaces and still asks the selector
/// again, with no labels: one that the empty set meets selects every namespace.
pub(super) fn means_existing(
    term: &PodAffinityTerm,
    owner_namespace: &str,
    existing: &Identity,
    cluster: &Cluster,
    selectors: NamespaceSelectors,
) -> bool {
    means_namespace(term, owner_namespace, &existing.namespace, cluster, selectors)
        && has_labels(term, &existing.labels)
}

/// The part of [`means_existing`] that is the same for all pods of a namespace.
pub(in crate::rules) fn means_namespace(
    term: &PodAffinityTerm,
    owner_namespace: &str,
    namespace: &str,
    cluster: &Cluster,
    selectors: NamespaceSelectors,
) -> bool {
    let by_selector = |selector: &Selector| {
        (selectors == NamespaceSelectors::ByLabelsOrNone && selector.matches(&Labels::default()))
            || cluster.namespace_labels(namespace).is_some_and(|labels| selector.matches(labels))
    };
    names(term, owner_namespace, namespace)
        || term.namespace_selector.as_ref().is_some_and(by_selector)
}

/// As [`means_existing`] for every term; without terms no pod matches.
pub(super) fn all_mean(
    terms: &[PodAffinityTerm],
    owner_namespace: &str,
    existing: &Identity,
    cluster: &Cluster,
    selectors: NamespaceSelectors,
) -> bool {
    let is_meant_by = |term| means_existing(term, owner_namespace, existing, cluster, selectors);
    !terms.is_empty() && terms.iter().all(is_meant_by)
}

/// For hints, which know no namespace labels: as kube-scheduler's, which pass none.
pub(super) fn all_mean_by_name(terms: &[PodAffinityTerm], owner: &Pod, other: &Pod) -> bool {
    let nothing = Labels::default();
    let incoming = Incoming { identity: &other.identity, namespace_labels: &nothing };
    !terms.is_empty() && terms.iter().all(|term| means_incoming(term, owner.namespace(), incoming))
}

/// A term that names no namespace and selects none means its owner's.
fn names(term: &PodAffinityTerm, owner_namespace: &str, namespace: &str) -> bool {
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return namespace == owner_namespace;
    }
    term.namespaces.binary_search_by(|have| have.as_ref().cmp(namespace)).is_ok()
}

/// No selector at all matches nothing.
pub(super) fn has_labels(term: &PodAffinityTerm, labels: &Labels) -> bool {
    term.label_selector.as_ref().is_some_and(|selector| selector.matches(labels))
}
