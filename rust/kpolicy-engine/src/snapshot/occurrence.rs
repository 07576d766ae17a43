//! One change of the snapshot: the state before and the state after.

use std::sync::Arc;

use kpolicy_cel::Timestamp;

use super::node::{Node, NodeParts};
use super::objects::Replaced;
use super::pod::Pod;

/// What changed; at least one side is there.
#[derive(Debug, Clone)]
pub enum Occurrence {
    /// A node was added, changed or deleted.
    Node {
        /// Before; `None` if it was added.
        old: Option<Arc<Node>>,
        /// After; `None` if it was deleted.
        new: Option<Arc<Node>>,
        /// What differs.
        parts: NodeParts,
    },
    /// A pod was added, changed or deleted.
    Pod {
        /// Before; `None` if it was added.
        old: Option<Arc<Pod>>,
        /// After; `None` if it was deleted.
        new: Option<Arc<Pod>>,
        /// It is on a node or was nominated to one; otherwise it is waiting, and only its own
        /// update matters to it.
        is_assigned: bool,
    },
    /// An object of another kind was added, changed or deleted.
    Object(Replaced),
    /// Time passed, and nothing else happened.
    Time {
        /// The moment before.
        from: Timestamp,
        /// The moment of decisions from now on.
        to: Timestamp,
    },
}

impl Occurrence {
    pub(crate) fn is_assigned(&self) -> bool {
        matches!(self, Self::Pod { is_assigned: true, .. })
    }
}
