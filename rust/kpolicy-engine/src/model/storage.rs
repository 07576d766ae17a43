//! Storage objects: volumes, claims, classes and what CSI drivers report.

use super::{Meta, NodeSelector, Quantity, Selector, VolumeSource};

/// A volume of the cluster, which a claim can bind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersistentVolume {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.storageClassName` or the legacy annotation; empty for none.
    pub storage_class: Box<str>,
    /// `Filesystem` where absent.
    pub volume_mode: Box<str>,
    /// Sorted.
    pub access_modes: Box<[Box<str>]>,
    /// `spec.volumeAttributesClassName`, or empty.
    pub attributes_class: Box<str>,
    /// `status.phase`.
    pub phase: Box<str>,
    /// `spec.claimRef`: namespace, name, uid.
    pub claim: Option<(Box<str>, Box<str>, Box<str>)>,
    /// `spec.nodeAffinity.required`: the nodes that reach the volume.
    pub node_affinity: Option<NodeSelector>,
    /// Driver and handle of a CSI volume.
    pub csi: Option<(Box<str>, Box<str>)>,
    /// A source from before CSI, as a pod would have it inline.
    pub in_tree: Option<VolumeSource>,
}

/// A pod's claim for a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersistentVolumeClaim {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.volumeName`; empty while unbound.
    pub volume_name: Box<str>,
    /// `None` where the field (and the legacy annotation) is absent.
    pub storage_class: Option<Box<str>>,
    /// `spec.volumeMode`; `Filesystem` where absent.
    pub volume_mode: Box<str>,
    /// `spec.accessModes`, sorted.
    pub access_modes: Box<[Box<str>]>,
    /// `spec.resources.requests.storage`.
    pub requested: Quantity,
    /// `spec.selector`: which volumes may be bound.
    pub selector: Option<Selector>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Box<str>>,
    /// `status.phase`.
    pub phase: Box<str>,
    /// Uid of the controlling owner.
    pub owner_uid: Box<str>,
}

/// How volumes of a class are provisioned and bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// `metadata`.
    pub meta: Meta,
    /// `provisioner`: a CSI driver's name, or a marker that there is none.
    pub provisioner: Box<str>,
    /// `None` where absent, which some rules report.
    pub waits_for_first_consumer: Option<bool>,
    /// `ORed`.
    pub allowed_topologies: Box<[TopologyTerm]>,
}

/// Keys with the sorted values that each may have, `ANDed`.
pub(crate) type TopologyTerm = Box<[(Box<str>, Box<[Box<str>]>)]>;

/// The CSI drivers that run on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiNode {
    /// `metadata`; the name is the node's.
    pub meta: Meta,
    /// Driver, and its `allocatable.count` where it has one.
    pub drivers: Box<[(Box<str>, Option<i32>)]>,
}

/// What a CSI driver supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiDriver {
    /// `metadata`; the name is the driver's.
    pub meta: Meta,
    /// `spec.storageCapacity`: the driver publishes `CSIStorageCapacity` objects.
    pub storage_capacity: bool,
    /// `spec.preventPodSchedulingIfMissing`: nodes without the driver take no pods that need it.
    pub prevents_where_missing: bool,
}

/// How much a driver can provision of a class in one topology segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiStorageCapacity {
    /// `metadata`.
    pub meta: Meta,
    /// `storageClassName`.
    pub storage_class: Box<str>,
    /// `nodeTopology`: the nodes of the segment.
    pub node_topology: Option<Selector>,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`, which counts before `capacity`.
    pub maximum_volume_size: Option<Quantity>,
}

/// A volume that is attached to a node, or is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.attacher`: the CSI driver's name.
    pub attacher: Box<str>,
    /// `spec.nodeName`.
    pub node_name: Box<str>,
    /// `spec.source.persistentVolumeName`.
    pub volume_name: Option<Box<str>>,
    /// Driver and handle of an inline volume spec.
    pub inline: Option<(Box<str>, Box<str>)>,
}
