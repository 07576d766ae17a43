//! One change of the snapshot: the state before and the state after.

use std::sync::Arc;

use super::node::{Node, NodeParts};
use super::objects::Replaced;
use super::pod::Pod;

/// What changed; at least one side is there.
#[derive(Debug, Clone)]
pub enum Occurrence {
    Node {
        old: Option<Arc<Node>>,
        new: Option<Arc<Node>>,
        parts: NodeParts,
    },
    Pod {
        old: Option<Arc<Pod>>,
        new: Option<Arc<Pod>>,
        /// It is on a node or was nominated to one; otherwise it is waiting, and only its own
        /// update matters to it.
        is_assigned: bool,
    },
    Object(Replaced),
}

impl Occurrence {
    pub(crate) fn is_assigned(&self) -> bool {
        matches!(self, Self::Pod { is_assigned: true, .. })
    }
}
