//! One object of any kind that the engine reads.

use super::kind::Kind;
use super::{
    Controller, CsiDriver, CsiNode, CsiStorageCapacity, DisruptionBudget, Meta, Namespace, Node,
    PersistentVolume, PersistentVolumeClaim, Pod, Service, StorageClass, VolumeAttachment,
};

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
