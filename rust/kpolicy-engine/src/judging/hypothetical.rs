//! Judges one node with pods added or removed, without changing the snapshot.
//!
//! Works on copies of the prepared filters. Rules that are not active in this cycle are not asked.
//! A filter that sees a pod added and removed again (or removed and added) must be as before.

use std::sync::Arc;

use crate::rules::{Code, PreparedFilter, Status};
use crate::snapshot::{Cluster, Imagined, Load, NodeView, Pod};

use super::verdicts::PreparedFilters;

/// Copies of the prepared filters, by position in the profile.
#[derive(Debug, Default)]
pub(crate) struct Forks(Vec<Option<Box<dyn PreparedFilter>>>);

impl Forks {
    pub(crate) fn of(prepared: &PreparedFilters<'_>) -> Self {
        Self(prepared.iter().map(|filter| filter.map(PreparedFilter::fork)).collect())
    }
}

#[derive(Debug)]
pub(crate) struct HypotheticalNode<'a> {
    cluster: &'a Cluster,
    node: Imagined<'a>,
    filters: Forks,
}

impl<'a> HypotheticalNode<'a> {
    /// The node as it is.
    pub(crate) fn of(node: NodeView<'a>, filters: Forks, cluster: &'a Cluster) -> Self {
        let node = Imagined { slot: node.slot, node: node.node, load: node.load.clone() };
        Self { cluster, node, filters }
    }

    /// The node without some of its pods.
    pub(crate) fn without(
        node: NodeView<'a>,
        is_taken: impl Fn(&Pod) -> bool,
        filters: Forks,
        cluster: &'a Cluster,
    ) -> Self {
        let mut load = Load::default();
        for pod in node.load.pods.iter().filter(|pod| !is_taken(pod)) {
            load.put(Arc::clone(pod));
        }
        let imagined = Imagined { slot: node.slot, node: node.node, load };
        let mut hypothetical = Self { cluster, node: imagined, filters };
        for pod in node.load.pods.iter().filter(|pod| is_taken(pod)) {
            hypothetical.tell_taken(pod);
        }
        hypothetical
    }

    /// A copy of the assumption, which can be extended.
    #[must_use]
    pub(crate) fn fork(&self) -> Self {
        let fork = |filter: &Option<Box<dyn PreparedFilter>>| filter.as_ref().map(|own| own.fork());
        let filters = Forks(self.filters.0.iter().map(fork).collect());
        Self { cluster: self.cluster, node: self.node.clone(), filters }
    }

    /// Ends the argument. The filters are good for the next one if the node has its own pods again.
    pub(crate) fn into_forks(self) -> Forks {
        self.filters
    }

    pub(crate) fn put(&mut self, pod: &Arc<Pod>) {
        self.node.load.put(Arc::clone(pod));
        for filter in self.filters.0.iter_mut().flatten() {
            filter.add_pod(pod, self.cluster, self.node.view());
        }
    }

    pub(crate) fn take(&mut self, pod: &Arc<Pod>) {
        self.node.load.take(&pod.uid);
        self.tell_taken(pod);
    }

    fn tell_taken(&mut self, pod: &Arc<Pod>) {
        for filter in self.filters.0.iter_mut().flatten() {
            filter.remove_pod(pod, self.cluster, self.node.view());
        }
    }

    /// The first filter that rejects the node, by position, and its verdict.
    pub(crate) fn rejection(&self) -> Option<(usize, Code)> {
        self.first(|_| true)
    }

    /// As [`HypotheticalNode::rejection`], where all filters that do not rest on the pods of a node let it
    /// pass.
    pub(crate) fn rejection_by_pods(&self) -> Option<(usize, Code)> {
        self.first(|filter| filter.rests_on_pods())
    }

    /// What its filters have taken since this was asked last, in units besides their prices.
    pub(crate) fn take_units(&self) -> u64 {
        self.filters.0.iter().flatten().map(|filter| filter.take_units()).sum()
    }

    fn first(&self, is_asked: impl Fn(&dyn PreparedFilter) -> bool) -> Option<(usize, Code)> {
        self.filters.0.iter().enumerate().find_map(|(position, filter)| {
            let filter = filter.as_deref().filter(|filter| is_asked(*filter))?;
            let code = filter.check(self.cluster, self.node.view());
            (!code.passes()).then_some((position, code))
        })
    }

    /// What a verdict of [`HypotheticalNode::rejection`] means, as long as nothing was put or taken since.
    pub(crate) fn describe(&self, filter: usize, code: Code) -> Option<Status> {
        let filter = self.filters.0.get(filter)?.as_ref()?;
        Some(filter.describe(self.cluster, self.node.view(), code))
    }
}
