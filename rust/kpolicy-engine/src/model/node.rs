//! Nodes, their taints and images.

use super::{ApiValues, Meta, ResourceList};

/// A node with the API's defaults applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Box<[Taint]>,
    /// Where `status.allocatable` is absent, the decoder takes `status.capacity`.
    pub allocatable: ResourceList,
    /// `status.capacity`.
    pub capacity: ResourceList,
    /// `(type, status)` in source order.
    pub conditions: Box<[(Box<str>, Box<str>)]>,
    /// `status.images`.
    pub images: Box<[Image]>,
    /// Sorted.
    pub declared_features: Box<[Box<str>]>,
    /// Values that expressions read by API path.
    pub api_values: ApiValues,
}

/// A taint, which keeps away pods that do not tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Taint {
    /// `key`.
    pub key: Box<str>,
    /// `value`, or empty.
    pub value: Box<str>,
    /// What the taint does to pods that do not tolerate it.
    pub effect: Effect,
}

/// `effect` of a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// New pods are rejected.
    NoSchedule,
    /// New pods are placed elsewhere if possible.
    PreferNoSchedule,
    /// New pods are rejected, and pods on the node are evicted.
    NoExecute,
    /// An effect that this release does not know: neither hard nor preferred.
    Unknown,
}

impl Effect {
    /// Whether filters reject for it.
    pub fn is_hard(self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }
}

/// An image on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// All names of the image, with tag or digest.
    pub names: Box<[Box<str>]>,
    /// `sizeBytes`.
    pub size_bytes: i64,
}
