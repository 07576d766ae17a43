//! Decisions about pods, and what becomes of them.

use std::sync::Arc;

use super::volumes::PreBindWrite;

/// What a decision says about its pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Assumed on `Decision::node`.
    Placed,
    /// No node would have it; the engine watches for what may help.
    Parked,
    /// A rule failed; back off.
    Failed,
    /// Deleted, bound by someone else, served by no profile, or unknown.
    Gone,
    /// The pod has scheduling gates; it is not tried.
    Gated,
    /// The claims of the pod on devices are not ready. The pod is told nothing, as kube-scheduler does
    /// not try it at all; the engine watches for what may help.
    NotReady,
    /// Only of `choose`: nothing is decided, filter again.
    Stale,
    /// Judging it takes more work than one decision may, or looking for victims does: the message
    /// names the part of its spec, or the search. Or a unit takes more than one call may. Try it again
    /// last, and ever more rarely.
    SetAside,
}

/// What was decided for one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What the queue is to do with the pod.
    pub verdict: Verdict,
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The pod's namespace; empty if the pod is unknown.
    pub namespace: Arc<str>,
    /// The pod's name; empty if the pod is unknown.
    pub name: Arc<str>,
    /// Empty unless placed.
    pub node: Arc<str>,
    /// Empty if placed.
    pub message: Arc<str>,
    /// The chosen node's total.
    pub score: i64,
    /// How many nodes the cluster has.
    pub nodes_total: usize,
    /// How many nodes passed every filter, of those that were checked.
    pub nodes_feasible: usize,
    /// How long filters took.
    pub filter_ns: u64,
    /// How long scores took.
    pub score_ns: u64,
    /// Looking for room, where no node will do.
    pub post_filter_ns: u64,
    /// The node that is held for the pod while preemption makes room on it, from now or from before;
    /// where it is empty, an earlier nomination is void.
    pub nominated_node: Arc<str>,
    /// Pods to evict, in order of importance.
    pub victims: Vec<Victim>,
    /// Uids of pods of lower priority that lose their nomination to `nominated_node`.
    pub displaced: Vec<Arc<str>>,
    /// Names of the rules that rejected nodes, sorted. Empty for a parked pod means that there were
    /// no nodes at all, which backs off like an error (kube-scheduler's no-nodes failure).
    pub rejected_by: Vec<Arc<str>>,
    /// Whether a node that the cluster does not have yet could help a pod that fits nowhere. It could
    /// not where rules that no new node helps reject the pod on every node.
    pub is_helped_by_node: bool,
    /// What is to be written before a placed pod may be bound, or what is to be given up for a pod that
    /// was parked; mostly nothing.
    pub writes: Vec<PreBindWrite>,
}

/// A pod that has to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victim {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub name: Arc<str>,
    /// It is going already: it need only be waited for.
    pub is_terminating: bool,
    /// `metadata.generation`, 0 where absent.
    pub generation: i64,
}

/// Pods that are placed together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledUnit {
    /// The hash of the program that decided.
    pub program_hash: Arc<str>,
    /// Of the newest object applied.
    pub resource_version: Arc<str>,
    /// The placements of all pods, or the decision about the first pod that cannot be placed.
    pub decided: Result<Vec<Decision>, Box<Decision>>,
}

/// Decisions of one call, and what they rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The hash of the program that decided.
    pub program_hash: Arc<str>,
    /// Of the newest object applied.
    pub resource_version: Arc<str>,
    /// Of the first pods asked about; those after them are undecided, and to be asked about first in the
    /// next call.
    pub decisions: Vec<Decision>,
}

/// What became of a bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindOutcome {
    /// The API server accepted it; the watch will confirm.
    Bound,
    /// Forget the reservation.
    Failed,
    /// The pod is gone.
    Gone,
}
