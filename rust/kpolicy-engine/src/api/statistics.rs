//! Sizes and counts of everything that the engine holds.

use std::collections::BTreeMap;

/// Sizes of everything held.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    /// Nodes in the snapshot.
    pub nodes: usize,
    /// Pods in the snapshot.
    pub pods: usize,
    /// Pods on no node.
    pub pods_pending: usize,
    /// Pods on nodes, assumed ones among them.
    pub pods_on_nodes: usize,
    /// Pods that are placed and whose node the watch has not confirmed.
    pub pods_assumed: usize,
    /// Pods on nodes that are not in the snapshot.
    pub pods_on_unknown_nodes: usize,
    /// Volumes and claims that stand as decided, before the API server says so.
    pub objects_promised: usize,
    /// Pods that fit nowhere and wait for an event.
    pub pods_parked: usize,
    /// Different templates of pods.
    pub pod_templates: usize,
    /// Different pairs of namespace and labels of pods.
    pub pod_identities: usize,
    /// Objects of kinds other than pods and nodes.
    pub objects: usize,
    /// Shapes of pods whose answers are cached.
    pub cached_shapes: usize,
    /// Columns of answers, one for each rule and key.
    pub cached_columns: usize,
    /// Bytes that the cache holds.
    pub cached_bytes: usize,
    /// Decisions since the start.
    pub decisions: u64,
    /// Decisions whose shape was in the cache.
    pub shape_hits: u64,
    /// Decisions whose shape was not in the cache.
    pub shape_misses: u64,
    /// Decisions for which each node was asked, as there was no room to keep their answers.
    pub decisions_uncached: u64,
    /// Of rules written as expressions, by profile and name.
    pub rules: BTreeMap<String, RuleStatistics>,
    /// While the program orders the queue or holds pods: the tenants with the largest shares.
    pub tenants: BTreeMap<String, TenantStatistics>,
}

/// What a tenant has and asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantStatistics {
    /// Its dominant share, from 0 to 1.
    pub share: f64,
    /// Its pods on nodes, and those that are being placed.
    pub pods: i64,
    /// Its other pods, which wait.
    pub waiting: i64,
}

/// What a rule written as an expression counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleStatistics {
    /// Nodes that it could not judge.
    pub errors: u64,
    /// Those of them for which it may not cost so much.
    pub cost_exceeded: u64,
    /// Nodes whose score, taken as it is, was not within 0–100.
    pub clamped: u64,
    /// Placements that it would have rejected, were it not only auditing.
    pub audited: u64,
}

impl RuleStatistics {
    pub(crate) fn add(&mut self, other: Self) {
        self.errors += other.errors;
        self.cost_exceeded += other.cost_exceeded;
        self.clamped += other.clamped;
        self.audited += other.audited;
    }
}
