//! The engine's public vocabulary: what goes in (objects, outcomes) and what comes out (pod changes,
//! wakes, decisions).
//!
//! All values are flat, so that `kpolicy-py` can turn them into tuples.
//!
//! The engine itself:
//!
//! ```text
//! Engine::new(seed: u64) -> Engine
//! load(&mut self, program: &serde_json::Value) -> Result<(), Vec<Refusal>>
//! program_hash(&self) -> Arc<str>
//! resources(&self) -> Vec<&'static str>
//! list_begin(&mut self, kind: Kind)
//! list_end(&mut self, kind: Kind, now_ns: i64, applied: &mut Applied)
//! apply(&mut self, event: Event, now_ns: i64, applied: &mut Applied)   // also pages of a list
//! schedule(&mut self, uids: &[Arc<str>], now_ns: i64, stopwatch: &dyn Stopwatch) -> Batch
//! schedule_unit(&mut self, uids: &[Arc<str>], now_ns: i64, stopwatch: &dyn Stopwatch)
//!     -> ScheduledUnit                                               // all of them, or none
//! requested(&self, uids: &[Arc<str>], resources: &[String]) -> Vec<Vec<String>>
//! filter(&mut self, uid: &Arc<str>, stopwatch: &dyn Stopwatch) -> Filtered
//! choose(&mut self, uid: &Arc<str>, token: u64, kept: &[KeptNode], refused: &[RefusedNode],
//!     stopwatch: &dyn Stopwatch) -> Decision
//! volumes(&self, awaited: &[AwaitedVolume]) -> Vec<VolumeProgress>
//! second_opinions(&mut self, acted: &[Acted]) -> Vec<Opinion>        // of another engine's decisions
//! settle(&mut self, outcomes: &[(Arc<str>, Outcome)], now_ns: i64, applied: &mut Applied)
//! explain(&mut self, pods: Option<&[String]>) -> Vec<u8>             // JSON lines; `ns/name`
//! explain_parts(&mut self, pods: Option<&[String]>) -> Vec<u8>       // and what parts of expressions gave
//! evaluate(&self, asked: &evaluate::Query) -> serde_json::Value      // one expression
//! message(&self, uid: &str) -> Arc<str>
//! pending(&self) -> Vec<PodChange>
//! statistics(&self) -> Statistics
//! timings(&self) -> &Timings                                         // of stages and rules
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::model::{Event, Kind, Object};

/// Why something was refused. `place` is a JSON path of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    pub place: String,
    pub message: String,
    pub hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodState {
    Gone,
    Pending,
    OnNode,
}

/// What became of one pod by an applied object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodChange {
    pub state: PodState,
    pub uid: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub priority: i32,
    pub scheduler_name: Arc<str>,
    pub gated: bool,
    /// Empty while pending.
    pub node: Arc<str>,
    pub nominated_node: Arc<str>,
    pub created_ns: i64,
}

/// A parked pod that should be tried again, and the event that says so
/// (labelled as in kube-scheduler's metrics).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub uid: Arc<str>,
    pub event: &'static str,
}

/// What applying objects changed; callers reuse one over a batch of objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    pub pods: Vec<PodChange>,
    pub wakes: Vec<Wake>,
    /// Names of nodes that were held and then deleted, also of those that came back since: the name
    /// is then that of another node.
    pub deleted_nodes: Vec<Box<str>>,
}

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
    Gated,
    /// Only of `choose`: nothing is decided, filter again.
    Stale,
    /// Judging it takes more work than one decision may, or looking for victims does: the message
    /// names the part of its spec, or the search. Or a unit takes more than one call may. Try it again
    /// last, and ever more rarely.
    SetAside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub uid: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    /// Empty unless placed.
    pub node: Arc<str>,
    /// Empty if placed.
    pub message: Arc<str>,
    /// The chosen node's total.
    pub score: i64,
    pub nodes_total: usize,
    pub nodes_feasible: usize,
    pub filter_ns: u64,
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
    /// What is to be written before a placed pod may be bound; mostly nothing.
    pub writes: Vec<PreBindWrite>,
}

/// A write that a reservation waits for, by what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreBindWrite {
    Volume(VolumeWork),
}

/// One claim of a placed pod, in its namespace: to be given a volume, or to be provisioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeWork {
    pub claim: Box<str>,
    pub claim_uid: Box<str>,
    pub claim_version: Box<str>,
    /// The volume that is to name the claim. Empty: the claim is to name the pod's node.
    pub volume: Box<str>,
    pub volume_uid: Box<str>,
    pub volume_version: Box<str>,
    /// The API server does not say so yet.
    pub is_to_write: bool,
    /// The volume is to say that a controller bound it, not its user.
    pub is_to_mark: bool,
    /// How long to wait until the claim is bound.
    pub seconds_max: i64,
}

/// A claim whose binding is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedVolume {
    /// Of the pod.
    pub uid: Arc<str>,
    /// Where the pod was placed.
    pub node: Arc<str>,
    pub claim: Box<str>,
    /// Empty: it is being provisioned.
    pub volume: Box<str>,
    /// The version that the API server gave to the written object; empty if nothing was written.
    pub version: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeProgress {
    Waiting,
    Bound,
    /// It will not be bound so: the pod is to be placed anew.
    Failed(String),
    /// The pod is gone, or is on another node.
    Gone,
}

/// A pod that has to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victim {
    pub uid: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    /// It is going already: it need only be waited for.
    pub is_terminating: bool,
}

/// What another engine decided for a pod; `node` is empty where it placed it nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    pub uid: Arc<str>,
    pub node: Arc<str>,
}

/// What this engine would have decided instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    pub verdict: Verdict,
    pub uid: Arc<str>,
    /// The other's node if it is among the best, another best one otherwise; empty unless placed.
    pub node: Arc<str>,
    /// Whether the other's node passes every filter.
    pub accepts: bool,
}

/// The first step of a decision in two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filtered {
    /// To be given back with the second step.
    pub token: u64,
    /// Names of the nodes that pass, sorted.
    pub feasible: Vec<Arc<str>>,
    /// In the order of the rules.
    pub rejected: Vec<RejectedNodes>,
}

/// Nodes that one rule rejects for the same reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedNodes {
    pub rule: Arc<str>,
    /// kube-scheduler's name of the status code.
    pub code: &'static str,
    pub reasons: Vec<String>,
    /// Sorted.
    pub nodes: Vec<Arc<str>>,
}

/// A node that extenders kept, and the sum of what they scored times their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptNode {
    pub node: Arc<str>,
    pub score: i64,
}

/// A node that an extender refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedNode {
    pub node: Arc<str>,
    pub reason: String,
    /// Evicting pods cannot help.
    pub is_unresolvable: bool,
}

/// Where room can be made for a pod, for others to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// To be given back with what they chose.
    pub token: u64,
    pub nodes: Vec<CandidateNode>,
}

/// A node on which room can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateNode {
    pub node: Arc<str>,
    /// In order of importance.
    pub victims: Vec<Victim>,
    /// How many of them go beyond a disruption budget.
    pub violations: usize,
}

/// What extenders left of candidates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemainingCandidates {
    /// Of the candidates.
    pub token: u64,
    /// Why one that may not fail gave no answer; empty where all did.
    pub failure: String,
    /// `None`: there were no candidates.
    pub nodes: Option<Vec<RemainingCandidate>>,
}

/// A node that they left, with the uids of those who are to go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemainingCandidate {
    pub node: Arc<str>,
    pub victims: Vec<Arc<str>>,
    pub violations: usize,
}

/// A pod on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub uid: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub node: Arc<str>,
}

/// Pods that are placed together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledUnit {
    pub program_hash: Arc<str>,
    /// Of the newest object applied.
    pub resource_version: Arc<str>,
    /// The placements of all pods, or the decision about the first pod that cannot be placed.
    pub decided: Result<Vec<Decision>, Box<Decision>>,
}

/// Decisions of one call, and what they rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
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

/// Time spent, from a start that the caller chose: the engine has no clock of its own.
pub trait Stopwatch {
    fn elapsed_ns(&self) -> u64;
}

/// A stopwatch that stands still, for offline verbs and tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Still;

impl Stopwatch for Still {
    fn elapsed_ns(&self) -> u64 {
        0
    }
}

/// Sizes of everything held.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    pub nodes: usize,
    pub pods: usize,
    pub pods_pending: usize,
    pub pods_on_nodes: usize,
    pub pods_assumed: usize,
    pub pods_on_unknown_nodes: usize,
    /// Volumes and claims that stand as decided, before the API server says so.
    pub objects_promised: usize,
    pub pods_parked: usize,
    pub pod_templates: usize,
    pub pod_identities: usize,
    pub objects: usize,
    pub cached_shapes: usize,
    pub cached_columns: usize,
    pub cached_bytes: usize,
    pub decisions: u64,
    pub shape_hits: u64,
    pub shape_misses: u64,
    /// Decisions for which each node was asked, as there was no room to keep their answers.
    pub decisions_uncached: u64,
    /// Of rules written as expressions, by profile and name.
    pub rules: BTreeMap<String, RuleStatistics>,
}

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
