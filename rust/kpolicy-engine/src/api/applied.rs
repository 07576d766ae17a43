//! What applying objects changed: the state of pods, and parked pods to wake.

use std::sync::Arc;

/// Where a pod is, as the queue needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodState {
    /// Deleted, or in a terminal phase.
    Gone,
    /// On no node.
    Pending,
    /// Bound to a node.
    OnNode,
}

/// What became of one pod by an applied object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodChange {
    /// Where the pod is now.
    pub state: PodState,
    /// The pod's uid.
    pub uid: Arc<str>,
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub name: Arc<str>,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.schedulerName`.
    pub scheduler_name: Arc<str>,
    /// Whether scheduling gates are left.
    pub gated: bool,
    /// Empty while pending.
    pub node: Arc<str>,
    /// `status.nominatedNodeName`, or empty.
    pub nominated_node: Arc<str>,
    /// `metadata.creationTimestamp`, in nanoseconds since the epoch.
    pub created_ns: i64,
    /// `metadata.generation`, 0 where absent.
    pub generation: i64,
}

/// A parked pod that should be tried again, and the event that says so
/// (labelled as in kube-scheduler's metrics).
///
/// Without a uid: a hold may begin or end, and the caller is to ask which pods are next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The pod's uid; empty for holds.
    pub uid: Arc<str>,
    /// The event's label.
    pub event: &'static str,
}

/// What applying objects changed; callers reuse one over a batch of objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Pods that were added, changed or deleted, in the order in which it happened.
    pub pods: Vec<PodChange>,
    /// Parked pods to try again.
    pub wakes: Vec<Wake>,
    /// Names of nodes that were held and then deleted, also of those that came back since: the name
    /// is then that of another node.
    pub deleted_nodes: Vec<Box<str>>,
}
