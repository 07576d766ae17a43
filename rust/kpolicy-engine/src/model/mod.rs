//! The model: the parts of Kubernetes objects that rules may read, decoded and normalized. Plain
//! values, one module for each kind.
//!
//! The decoder applies the defaults of the API, so that a rule reads one form.

pub mod affinity;
pub mod api_values;
pub mod cluster;
pub mod kind;
pub mod labels;
pub mod node;
pub mod object;
pub mod pod;
pub mod quantity;
pub mod resources;
pub mod selector;
pub mod storage;
pub mod volume;

pub use affinity::{Affinity, NodeSelector, NodeSelectorTerm, PodAffinityTerm, SpreadConstraint};
pub use api_values::{ApiPaths, ApiValues};
pub use cluster::{Controller, ControllerKind, DisruptionBudget, Namespace, Service};
pub use kind::Kind;
pub use labels::Labels;
pub use node::{Effect, Image, Node, Taint};
pub use object::{Event, Object};
pub use pod::{
    Container, HostPort, OwnerReference, Phase, Pod, StatusResources, Toleration,
    TolerationOperator,
};
pub use quantity::Quantity;
pub use resources::ResourceList;
pub use selector::{Requirement, Selector, SelectorOperator};
pub use storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
    VolumeAttachment,
};
pub use volume::{Volume, VolumeSource};

/// Identity of an object: what the API server says of any of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Empty for cluster-scoped objects.
    pub namespace: Box<str>,
    pub name: Box<str>,
    /// Where an object has none (a file written by hand), the decoder puts `namespace/name`.
    pub uid: Box<str>,
    pub resource_version: Box<str>,
    pub labels: Labels,
    pub annotations: Labels,
    /// Seconds since the epoch; `None` where absent.
    pub creation_seconds: Option<i64>,
    pub deletion_seconds: Option<i64>,
}
