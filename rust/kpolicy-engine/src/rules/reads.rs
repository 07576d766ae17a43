//! What an answer for a node rests on, and how a prepared form follows changes.

use crate::snapshot::NodeParts;

/// What of a node an answer rests on: when that changes, this node is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// Parts of the node itself, which only updates of the node change.
    pub node: NodeParts,
    /// Which pods are on the node, or what they hold.
    pub load: bool,
}

impl Reads {
    pub(crate) const fn parts(node: NodeParts) -> Self {
        Self { node, load: false }
    }

    #[must_use]
    pub(crate) const fn and_load(self) -> Self {
        Self { load: true, ..self }
    }
}

/// What a prepared form makes of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Only nodes that changed in what [`Reads`] names are to be asked again.
    Nodes,
    /// Every node is to be asked again.
    All,
    /// It is out of date: prepare anew.
    Again,
}
