//! Decisions in two steps, between which extenders are asked.

use std::sync::Arc;

use super::decision::Victim;

/// The first step of a decision in two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filtered {
    /// To be given back with the second step.
    pub token: u64,
    /// Names of the nodes that pass: sorted, or where only some are looked at, as they were found.
    pub feasible: Vec<Arc<str>>,
}

/// A node that extenders kept, and the sum of what they scored times their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptNode {
    /// The node's name.
    pub node: Arc<str>,
    /// The weighted sum, on the extenders' scale of 0–10.
    pub score: i64,
}

/// A node that an extender refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedNode {
    /// The node's name.
    pub node: Arc<str>,
    /// The extender's message.
    pub reason: String,
    /// Evicting pods cannot help.
    pub is_unresolvable: bool,
}

/// Where room can be made for a pod, for others to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// To be given back with what they chose.
    pub token: u64,
    /// In the order in which the search found them.
    pub nodes: Vec<CandidateNode>,
}

/// A node on which room can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateNode {
    /// The node's name.
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
    /// The node's name.
    pub node: Arc<str>,
    /// Uids of the pods to evict.
    pub victims: Vec<Arc<str>>,
    /// How many of them go beyond a disruption budget.
    pub violations: usize,
}

/// A pod on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub name: Arc<str>,
    /// The name of the node that it is on.
    pub node: Arc<str>,
}
