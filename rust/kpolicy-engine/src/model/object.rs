//! Kinds of objects that the engine reads, and one object of any of them.
//!
//! Owns the names by which the API knows each kind. Assumes the stable API groups. Must not know
//! how an object is decoded or what reads it.

use super::{
    Controller, CsiDriver, CsiNode, CsiStorageCapacity, DisruptionBudget, Meta, Namespace, Node,
    PersistentVolume, PersistentVolumeClaim, Pod, Service, StorageClass, VolumeAttachment,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Pod,
    Node,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
}

impl Kind {
    pub const ALL: [Self; 15] = [
        Self::Pod,
        Self::Node,
        Self::Namespace,
        Self::Service,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::StorageClass,
        Self::CsiNode,
        Self::CsiDriver,
        Self::CsiStorageCapacity,
        Self::VolumeAttachment,
        Self::PodDisruptionBudget,
    ];

    /// The plural in API paths, for example `pods`.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::Node => "nodes",
            Self::Namespace => "namespaces",
            Self::Service => "services",
            Self::ReplicationController => "replicationcontrollers",
            Self::ReplicaSet => "replicasets",
            Self::StatefulSet => "statefulsets",
            Self::PersistentVolume => "persistentvolumes",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
            Self::StorageClass => "storageclasses",
            Self::CsiNode => "csinodes",
            Self::CsiDriver => "csidrivers",
            Self::CsiStorageCapacity => "csistoragecapacities",
            Self::VolumeAttachment => "volumeattachments",
            Self::PodDisruptionBudget => "poddisruptionbudgets",
        }
    }

    /// The `kind` field, for example `Pod`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::Service => "Service",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::StorageClass => "StorageClass",
            Self::CsiNode => "CSINode",
            Self::CsiDriver => "CSIDriver",
            Self::CsiStorageCapacity => "CSIStorageCapacity",
            Self::VolumeAttachment => "VolumeAttachment",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
        }
    }

    /// The API group; empty for the core group.
    pub fn group(self) -> &'static str {
        match self {
            Self::ReplicaSet | Self::StatefulSet => "apps",
            Self::StorageClass
            | Self::CsiNode
            | Self::CsiDriver
            | Self::CsiStorageCapacity
            | Self::VolumeAttachment => "storage.k8s.io",
            Self::PodDisruptionBudget => "policy",
            _ => "",
        }
    }

    pub fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::Node
                | Self::Namespace
                | Self::PersistentVolume
                | Self::StorageClass
                | Self::CsiNode
                | Self::CsiDriver
                | Self::VolumeAttachment
        )
    }

    pub fn of_resource(resource: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.resource() == resource)
    }

    /// The kind of an object by its group and `kind`; `None` for kinds that no rule reads.
    pub fn of_name(group: &str, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name && kind.group() == group)
    }
}

/// One decoded object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    Pod(Box<Pod>),
    Node(Box<Node>),
    Namespace(Box<Namespace>),
    Service(Box<Service>),
    Controller(Box<Controller>),
    PersistentVolume(Box<PersistentVolume>),
    PersistentVolumeClaim(Box<PersistentVolumeClaim>),
    StorageClass(Box<StorageClass>),
    CsiNode(Box<CsiNode>),
    CsiDriver(Box<CsiDriver>),
    CsiStorageCapacity(Box<CsiStorageCapacity>),
    VolumeAttachment(Box<VolumeAttachment>),
    DisruptionBudget(Box<DisruptionBudget>),
}

impl Object {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
            Self::Namespace(_) => Kind::Namespace,
            Self::Service(_) => Kind::Service,
            Self::Controller(controller) => controller.kind.into(),
            Self::PersistentVolume(_) => Kind::PersistentVolume,
            Self::PersistentVolumeClaim(_) => Kind::PersistentVolumeClaim,
            Self::StorageClass(_) => Kind::StorageClass,
            Self::CsiNode(_) => Kind::CsiNode,
            Self::CsiDriver(_) => Kind::CsiDriver,
            Self::CsiStorageCapacity(_) => Kind::CsiStorageCapacity,
            Self::VolumeAttachment(_) => Kind::VolumeAttachment,
            Self::DisruptionBudget(_) => Kind::PodDisruptionBudget,
        }
    }

    pub fn meta(&self) -> &Meta {
        match self {
            Self::Pod(pod) => &pod.meta,
            Self::Node(node) => &node.meta,
            Self::Namespace(namespace) => &namespace.meta,
            Self::Service(service) => &service.meta,
            Self::Controller(controller) => &controller.meta,
            Self::PersistentVolume(volume) => &volume.meta,
            Self::PersistentVolumeClaim(claim) => &claim.meta,
            Self::StorageClass(class) => &class.meta,
            Self::CsiNode(node) => &node.meta,
            Self::CsiDriver(driver) => &driver.meta,
            Self::CsiStorageCapacity(capacity) => &capacity.meta,
            Self::VolumeAttachment(attachment) => &attachment.meta,
            Self::DisruptionBudget(budget) => &budget.meta,
        }
    }
}

/// What the API server said of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is there, new or changed.
    Present(Object),
    /// It is gone; its last metadata.
    Gone(Kind, Box<Meta>),
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_found_by_its_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_resource(kind.resource()), Some(kind));
            assert_eq!(Kind::of_name(kind.group(), kind.name()), Some(kind));
        }
        assert_eq!(Kind::of_name("serving.knative.dev", "Service"), None);
        assert_eq!(Kind::of_resource("secrets"), None);
    }
}
