//! Nodes, their taints and images.

use super::{ApiValues, Meta, ResourceList};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub meta: Meta,
    pub unschedulable: bool,
    pub taints: Box<[Taint]>,
    /// Where `status.allocatable` is absent, the decoder takes `status.capacity`.
    pub allocatable: ResourceList,
    pub capacity: ResourceList,
    /// `(type, status)` in source order.
    pub conditions: Box<[(Box<str>, Box<str>)]>,
    pub images: Box<[Image]>,
    /// Sorted.
    pub declared_features: Box<[Box<str>]>,
    pub api_values: ApiValues,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Taint {
    pub key: Box<str>,
    pub value: Box<str>,
    pub effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
    /// An effect that this release does not know: neither hard nor preferred.
    Unknown,
}

impl Effect {
    pub fn is_hard(self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    pub names: Box<[Box<str>]>,
    pub size_bytes: i64,
}
