//! Storage objects: volumes, claims, classes and what CSI drivers report.

use super::{Meta, NodeSelector, Quantity, Selector, VolumeSource};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersistentVolume {
    pub meta: Meta,
    pub capacity: Quantity,
    pub storage_class: Box<str>,
    /// `Filesystem` where absent.
    pub volume_mode: Box<str>,
    /// Sorted.
    pub access_modes: Box<[Box<str>]>,
    pub attributes_class: Box<str>,
    /// `status.phase`.
    pub phase: Box<str>,
    /// `spec.claimRef`: namespace, name, uid.
    pub claim: Option<(Box<str>, Box<str>, Box<str>)>,
    pub node_affinity: Option<NodeSelector>,
    /// Driver and handle of a CSI volume.
    pub csi: Option<(Box<str>, Box<str>)>,
    /// A source from before CSI, as a pod would have it inline.
    pub in_tree: Option<VolumeSource>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersistentVolumeClaim {
    pub meta: Meta,
    pub volume_name: Box<str>,
    /// `None` where the field (and the legacy annotation) is absent.
    pub storage_class: Option<Box<str>>,
    pub volume_mode: Box<str>,
    pub access_modes: Box<[Box<str>]>,
    pub requested: Quantity,
    pub selector: Option<Selector>,
    pub attributes_class: Option<Box<str>>,
    pub phase: Box<str>,
    /// Uid of the controlling owner.
    pub owner_uid: Box<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageClass {
    pub meta: Meta,
    pub provisioner: Box<str>,
    /// `None` where absent, which some rules report.
    pub waits_for_first_consumer: Option<bool>,
    /// `ORed`.
    pub allowed_topologies: Box<[TopologyTerm]>,
}

/// Keys with the sorted values that each may have, `ANDed`.
pub(crate) type TopologyTerm = Box<[(Box<str>, Box<[Box<str>]>)]>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiNode {
    pub meta: Meta,
    /// Driver, and its `allocatable.count` where it has one.
    pub drivers: Box<[(Box<str>, Option<i32>)]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiDriver {
    pub meta: Meta,
    pub storage_capacity: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiStorageCapacity {
    pub meta: Meta,
    pub storage_class: Box<str>,
    pub node_topology: Option<Selector>,
    pub capacity: Option<Quantity>,
    pub maximum_volume_size: Option<Quantity>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeAttachment {
    pub meta: Meta,
    pub attacher: Box<str>,
    pub node_name: Box<str>,
    pub volume_name: Option<Box<str>>,
    /// Driver and handle of an inline volume spec.
    pub inline: Option<(Box<str>, Box<str>)>,
}
