//! Whether a new node could help a pod that fits nowhere.
//!
//! It could not where rules that no new node helps reject the pod on every node there is: one more
//! would be rejected too. Rules after the first that rejects a node count as well.

use crate::program::Profile;
use crate::rules::{Code, FilterRule, PreparedFilter, Stage};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::{PreparedFilters, Rejected};

/// The rules that keep the pod from every node and that no new node helps, by position and in order.
/// None where a new node could help. `rejects` says whether a filter rejects a node by itself.
pub(crate) fn kept_back_by(
    rejected: &Rejected,
    profile: &Profile,
    cluster: &Cluster,
    rejects: impl Fn(usize, NodeView<'_>) -> bool,
) -> Vec<usize> {
    let is_beyond = |position: usize| {
        profile.filters.get(position).is_some_and(FilterRule::is_beyond_new_nodes)
    };
    let beyond: Vec<usize> =
        (0..profile.filters.len()).filter(|position| is_beyond(*position)).collect();
    if beyond.is_empty() {
        return Vec::new();
    }
    if let Some((filter, _)) = rejected.pre_filter.as_deref().filter(|(own, _)| is_beyond(*own)) {
        return vec![*filter];
    }
    // Nominated pods count for the first rule that rejects a node; others are asked without them.
    let mut first: Vec<Option<usize>> = vec![None; cluster.nodes().slots()];
    for node in rejected.nodes.iter().filter(|node| is_beyond(node.filter)) {
        if let Some(cell) = first.get_mut(node.slot.index()) {
            *cell = Some(node.filter);
        }
    }
    let mut keeping = Vec::new();
    for view in cluster.nodes().iter() {
        let known = first.get(view.slot.index()).copied().flatten();
        let asked = || beyond.iter().copied().find(|position| rejects(*position, view));
        let Some(position) = known.or_else(asked) else { return Vec::new() };
        if !keeping.contains(&position) {
            keeping.push(position);
        }
    }
    keeping.sort_unstable();
    keeping
}

/// As [`kept_back_by`] in a cluster without nodes: what a rule says of any node.
pub(crate) fn kept_back_without_nodes(
    pod: &Pod,
    profile: &Profile,
    cluster: &Cluster,
) -> Vec<usize> {
    let rejects = |rule: &FilterRule| {
        rule.prepare(pod, cluster).is_some_and(|filter| match filter.stage() {
            Stage::Skip => false,
            Stage::Reject(_) => true,
            Stage::Check => filter.rejects_any_node(cluster),
        })
    };
    let rules = profile.filters.iter().enumerate();
    let keeping = rules.filter(|(_, rule)| rule.is_beyond_new_nodes() && rejects(rule));
    keeping.map(|(position, _)| position).collect()
}

/// Whether rules that no new node helps keep a pod from every node, whatever else does, and how many nodes
/// were looked at.
pub(crate) fn is_kept_back(pod: &Pod, profile: &Profile, cluster: &Cluster) -> (bool, u64) {
    if cluster.nodes().is_empty() {
        return (!kept_back_without_nodes(pod, profile, cluster).is_empty(), 1);
    }
    let beyond = profile.filters.iter().filter(|rule| rule.is_beyond_new_nodes());
    let prepared: Vec<_> = beyond.filter_map(|rule| rule.prepare(pod, cluster)).collect();
    let mut looked = 1;
    let is_kept_back = cluster.nodes().iter().all(|node| {
        looked += 1;
        prepared.iter().any(|filter| rejects(Some(&**filter), node, cluster, None))
    });
    (is_kept_back, looked)
}

/// Whether a filter rejects a node by itself; `known` is its code, where that was worked out.
pub(crate) fn rejects(
    filter: Option<&dyn PreparedFilter>,
    node: NodeView<'_>,
    cluster: &Cluster,
    known: Option<Code>,
) -> bool {
    filter.is_some_and(|filter| match filter.stage() {
        Stage::Skip => false,
        Stage::Reject(_) => true,
        Stage::Check => !known.unwrap_or_else(|| filter.check(cluster, node)).passes(),
    })
}

/// As [`rejects`] of the filters that were made ready for the pod.
pub(crate) fn rejects_one_by_one<'a>(
    prepared: &'a PreparedFilters<'a>,
    cluster: &'a Cluster,
) -> impl Fn(usize, NodeView<'_>) -> bool + 'a {
    move |position, node| rejects(prepared.get(position).copied().flatten(), node, cluster, None)
}
