//! How many kinds of pods on nodes an affinity term may select, by the namespaces that it means.

use crate::intern::Name;
use crate::model::{PodAffinityTerm, Selector};
use crate::release::NamespaceSelectors;
use crate::snapshot::{Cluster, Pod};

use super::inter_pod_affinity::means_namespace;

/// How often a requirement of namespace selectors is compared at most.
const COMPARISONS_MAX: usize = 1 << 16;

/// Counts for the terms of one pod.
#[derive(Debug)]
pub(super) struct SelectableIdentities<'a> {
    pub cluster: &'a Cluster,
    namespace: &'a Name,
    /// What may still be compared. A term that would need more is taken to select all namespaces.
    comparisons: usize,
}

impl<'a> SelectableIdentities<'a> {
    /// Takes terms with a namespace selector to select all namespaces.
    pub(super) fn of(pod: &'a Pod, cluster: &'a Cluster) -> Self {
        Self { cluster, namespace: pod.namespace(), comparisons: 0 }
    }

    /// Looks which namespaces are selected.
    pub(super) fn with_selectors(self) -> Self {
        Self { comparisons: COMPARISONS_MAX, ..self }
    }

    pub(super) fn count(&mut self, term: &PodAffinityTerm) -> u64 {
        let census = self.cluster.census();
        let identities = match &term.namespace_selector {
            Some(selector) if !self.can_compare(selector) => census.identities_count(),
            Some(_) => {
                let groups = census.by_namespace().filter(|(namespace, _)| {
                    let widest = NamespaceSelectors::ByLabelsOrNone;
                    means_namespace(term, self.namespace, namespace, self.cluster, widest)
                });
                groups.map(|(_, rows)| rows.len()).sum()
            }
            None if term.namespaces.is_empty() => census.identities_in(self.namespace).len(),
            None => {
                let names = term.namespaces.iter();
                let known = names.filter_map(|name| self.cluster.find_name(name));
                known.map(|name| census.identities_in(&name).len()).sum()
            }
        };
        identities as u64
    }

    fn can_compare(&mut self, selector: &Selector) -> bool {
        let namespaces = self.cluster.census().namespaces_count();
        let comparisons = namespaces.saturating_mul(1 + selector.requirements.len());
        let left = self.comparisons.checked_sub(comparisons);
        self.comparisons = left.unwrap_or(self.comparisons);
        left.is_some()
    }
}
