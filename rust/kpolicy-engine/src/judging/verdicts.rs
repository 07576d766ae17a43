//! The result of a cycle in which no node fits.

use std::borrow::Cow;
use std::sync::Arc;

use kpolicy_cel::Budget;
use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, arc_bytes};
use crate::message::Histogram;
use crate::program::Profile;
use crate::rules::decision_work::reasons_units_max;
use crate::rules::{Code, PreparedFilter, Rejection, Status};
use crate::snapshot::{Cluster, NodeSlot, Pod};

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
    /// Whether both were rejected by one verdict of a filter, whatever it means there.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let verdict = |node: &Self| (node.filter, node.code, node.status.is_none());
        verdict(self) == verdict(other)
    }

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

impl NodeRejection {
    /// As [`NodeRejection::full_status`] as far as the units for it last, and briefly beyond.
    fn affordable_status(
        &self,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
        left: &mut Budget,
    ) -> Option<Arc<Status>> {
        let filter = prepared.get(self.filter).copied().flatten();
        let Some(filter) = filter.filter(|_| self.status.is_none()) else {
            return self.full_status(prepared, cluster);
        };
        match left.charge(filter.units_a_description(self.code)) {
            Ok(()) => self.full_status(prepared, cluster),
            Err(_) => {
                let node = cluster.nodes().view(self.slot)?;
                Some(Arc::new(filter.describe_briefly(cluster, node, self.code)))
            }
        }
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
        pod: &Pod,
        profile: &Profile,
        prepared: &PreparedFilters<'_>,
        cluster: &Cluster,
    ) -> Histogram {
        let mut histogram = Histogram::default();
        let mut by_code: FxHashMap<(usize, Code), (usize, &NodeRejection)> = FxHashMap::default();
        let mut others = Vec::new();
        for nodes in self.nodes.chunk_by(NodeRejection::is_alike) {
            let Some(node) = nodes.first() else { continue };
            let alike = node.status.is_none()
                && matches!(prepared.get(node.filter), Some(Some(filter)) if filter.describes_code(node.code));
            if alike {
                let of_code = by_code.entry((node.filter, node.code)).or_insert((0, node));
                of_code.0 += nodes.len();
            } else {
                others.extend(nodes);
            }
        }
        others.sort_unstable_by_key(|node| cluster.nodes().rank_of(node.slot));
        let mut left = Budget::new(reasons_units_max(cluster.nodes().len()));
        for node in others {
            if let Some(status) = node.affordable_status(prepared, cluster, &mut left) {
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
        if let Some(status) = self.status_outside(pod, profile, cluster) {
            histogram.add(&status.reasons, outside);
        }
        histogram
    }

    /// The status of nodes that were not looked at. kube-scheduler writes it before it asks filters
    /// about nodes: it names the rules that narrowed, and the rule that rejected the nominated node,
    /// which is tried before all others.
    pub(crate) fn status_outside(
        &self,
        pod: &Pod,
        profile: &Profile,
        cluster: &Cluster,
    ) -> Option<Status> {
        if self.narrowed_by.is_empty() {
            return None;
        }
        let own = cluster.nominations().node_of(&pod.uid);
        let own = own.and_then(|name| cluster.nodes().find(name));
        let on_nominated = self.nodes.iter().filter(|node| Some(node.slot) == own);
        let filters = self.narrowed_by.iter().copied();
        let names = names_of(filters.chain(on_nominated.map(|node| node.filter)), profile);
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let reason = format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" "));
        Some(Status::unresolvable(reason))
    }

    /// Positions of the rules that rejected the pod or any node, in order; with those that keep it
    /// back, of which others may be the first to reject it.
    pub(crate) fn rules(&self, kept_back_by: &[usize]) -> Vec<usize> {
        let filters = self.pre_filter.as_deref().into_iter().map(|(filter, _)| *filter);
        let of_nodes = self.nodes.chunk_by(|left, right| left.filter == right.filter);
        let mut filters: Vec<usize> = filters
            .chain(self.narrowed_by.iter().copied())
            .chain(of_nodes.filter_map(|nodes| Some(nodes.first()?.filter)))
            .chain(self.is_by_extenders.then_some(EXTENDER))
            .chain(kept_back_by.iter().copied())
            .collect();
        filters.sort_unstable();
        filters.dedup();
        filters
    }
}

/// What filters are called, each once, sorted.
pub(crate) fn names_of(filters: impl Iterator<Item = usize>, profile: &Profile) -> Vec<Arc<str>> {
    let name = |filter: usize| match filter {
        EXTENDER => Some(EXTENDER_NAME.into()),
        position => Some(Arc::clone(&profile.filters.get(position)?.name)),
    };
    let mut names: Vec<Arc<str>> = filters.filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
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
