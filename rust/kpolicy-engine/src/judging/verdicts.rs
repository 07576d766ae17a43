//! The result of a cycle in which no node fits.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, arc_bytes};
use crate::message::Histogram;
use crate::program::Profile;
use crate::rules::{Code, PreparedFilter, Rejection, Status};
use crate::snapshot::{Cluster, NodeSlot};

/// Stands for extenders where a position in the profile's filters is wanted.
pub(crate) const EXTENDER: usize = usize::MAX;
/// What they are called together, as in kube-scheduler.
const EXTENDER_NAME: &str = "Extender";

/// The first filter that rejected a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeRejection {
    pub(crate) slot: NodeSlot,
    /// Position in the profile's filters, or [`EXTENDER`].
    pub(crate) filter: usize,
    pub(crate) code: Code,
    /// If the verdict depends on nominated pods, the message is complete.
    pub(crate) status: Option<Arc<Status>>,
}

impl NodeRejection {
    /// The status in full, with reasons in the words of the rule that rejected the node.
    pub(crate) fn full_status(
        &self,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
    ) -> Option<Arc<Status>> {
        if let Some(status) = &self.status {
            return Some(Arc::clone(status));
        }
        let filter = (*prepared.get(self.filter)?)?;
        let status = filter.describe(cluster, cluster.nodes().view(self.slot)?, self.code);
        Some(Arc::new(status))
    }
}

impl HeapBytes for NodeRejection {
    fn heap_bytes(&self) -> usize {
        self.status.as_ref().map_or(0, arc_bytes)
    }
}

/// Why a pod fits nowhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rejected {
    /// The filter that rejected the pod before any node was looked at.
    pub(crate) pre_filter: Option<Box<(usize, Status)>>,
    /// Nodes looked at.
    pub(crate) nodes: Vec<NodeRejection>,
    /// Filters that left only some nodes to look at; the others are rejected for good.
    pub(crate) narrowed_by: Vec<usize>,
    /// Extenders kept none of the nodes that passed. They need not say why.
    pub(crate) is_by_extenders: bool,
}

/// The filters of a profile made ready for one pod, by position; `None` where one has no say.
pub(crate) type PreparedFilters<'a> = Vec<Option<&'a dyn PreparedFilter>>;

impl Rejected {
    pub(crate) fn by_pre_filter(filter: usize, status: Status) -> Self {
        Self { pre_filter: Some(Box::new((filter, status))), ..Self::default() }
    }

    /// How many nodes have which reason, nodes not looked at included.
    pub(crate) fn histogram(
        &self,
        profile: &Profile,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
    ) -> Histogram {
        let mut histogram = Histogram::default();
        let mut by_code: FxHashMap<(usize, Code), (usize, &NodeRejection)> = FxHashMap::default();
        for node in &self.nodes {
            let alike = node.status.is_none()
                && matches!(prepared.get(node.filter), Some(Some(filter)) if filter.describes_code(node.code));
            if alike {
                by_code.entry((node.filter, node.code)).or_insert((0, node)).0 += 1;
            } else if let Some(status) = node.full_status(prepared, cluster) {
                histogram.add(&status.reasons, 1);
            }
        }
        // The histogram is a map in order: the order of adding does not matter.
        by_code.values().for_each(|(count, node)| {
            if let Some(status) = node.full_status(prepared, cluster) {
                histogram.add(&status.reasons, *count);
            }
        });
        let outside = cluster.nodes().len().saturating_sub(self.nodes.len());
        if let Some(status) = self.status_outside(profile) {
            histogram.add(&status.reasons, outside);
        }
        histogram
    }

    /// The status of nodes that were not looked at. kube-scheduler names all rules that rejected
    /// anything, not only those that narrowed.
    pub(crate) fn status_outside(&self, profile: &Profile) -> Option<Status> {
        if self.narrowed_by.is_empty() {
            return None;
        }
        let names = self.rejected_by(profile);
        Some(outside(&names))
    }

    /// Names of the rules that rejected the pod or any node, sorted.
    pub(crate) fn rejected_by(&self, profile: &Profile) -> Vec<Arc<str>> {
        let name = |filter: usize| match filter {
            EXTENDER => Some(EXTENDER_NAME.into()),
            position => Some(Arc::clone(&profile.filters.get(position)?.name)),
        };
        let mut names: Vec<Arc<str>> = self.rules().into_iter().filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// Positions of those rules, in order.
    pub(crate) fn rules(&self) -> Vec<usize> {
        let filters = self.pre_filter.as_deref().into_iter().map(|(filter, _)| *filter);
        let mut filters: Vec<usize> = filters
            .chain(self.narrowed_by.iter().copied())
            .chain(self.nodes.iter().map(|node| node.filter))
            .chain(self.is_by_extenders.then_some(EXTENDER))
            .collect();
        filters.sort_unstable();
        filters.dedup();
        filters
    }
}

/// The status of nodes that some rules left out beforehand.
pub(crate) fn outside(names: &[Arc<str>]) -> Status {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Status::unresolvable(format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" ")))
}

/// The status of a pod for which rules left no node at all.
pub(crate) fn conflicting(names: &[Arc<str>]) -> Status {
    let joined: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let reason: Cow<'static, str> = match joined.as_slice() {
        [only] => format!("node(s) didn't satisfy plugin {only}").into(),
        several => {
            format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" "))
                .into()
        }
    };
    Status { rejection: Rejection::Unresolvable, reasons: vec![reason], fault: None }
}
