//! Another engine's decisions, and what this one would have decided (shadow policies).

use std::sync::Arc;

use super::decision::Verdict;
use crate::model::Labels;

/// What another engine decided for a pod; `node` is empty where it placed it nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The node that it chose.
    pub node: Arc<str>,
}

/// What this engine would have decided instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// What this engine would have decided.
    pub verdict: Verdict,
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The other's node if it is among the best, another best one otherwise; empty unless placed.
    pub node: Arc<str>,
    /// Whether the other's node passes every filter.
    pub accepts: bool,
}

/// A pod with what tells to which workload it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub name: Arc<str>,
    /// The name of the owner that controls it; empty if none does.
    pub controller: Box<str>,
    /// The pod's labels.
    pub labels: Labels,
}
