//! The model: the parts of Kubernetes objects that rules may read, decoded and normalized. Plain
//! values, and the one table of kinds.
//!
//! The decoder applies the defaults of the API, so that a rule reads one form.
//! `docs/internals/adding-an-api-kind.md` shows how to add a kind.

pub(crate) mod affinity;
pub mod api_values;
pub(crate) mod claim;
pub(crate) mod cluster;
pub(crate) mod device;
pub(crate) mod kind;
pub(crate) mod labels;
pub(crate) mod node;
pub(crate) mod object;
pub(crate) mod pod;
pub(crate) mod quantity;
pub(crate) mod resources;
pub(crate) mod selector;
pub(crate) mod storage;
pub(crate) mod volume;

pub use affinity::{Affinity, NodeSelector, NodeSelectorTerm, PodAffinityTerm, SpreadConstraint};
pub use api_values::{ApiPaths, ApiValues};
pub use claim::{
    AllocatedConfig, AllocatedDevice, Allocation, Ask, ClaimConfig, ClaimConstraint, ClaimTemplate,
    ConstraintKind, Consumer, DeviceClass, DeviceRequest, DeviceStatus, DeviceToleration, Mode,
    ResourceClaim, Wanted,
};
pub use cluster::{Controller, DisruptionBudget, Namespace, Service};
pub use device::{
    Attribute, CounterSet, Device, DeviceCapacity, DeviceTaint, DeviceTaintRule, RequestPolicy,
    ResourceSlice, SlicePlace, ValidRange, WrittenSelector,
};
pub use kind::Kind;
pub use labels::Labels;
pub use node::{Effect, Image, Node, Taint};
pub use object::{Event, Object};
pub use pod::{
    ClaimSource, Container, HostPort, OwnerReference, Phase, Pod, PodClaim, StatusResources,
    Toleration, TolerationOperator,
};
pub use quantity::{Quantity, QuantityFormat, WrittenQuantity};
pub use resources::ResourceList;
pub use selector::{Requirement, Selector, SelectorOperator};
pub use storage::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
    VolumeAttachment,
};
pub use volume::{Volume, VolumeSource};

/// The kinds of API objects that the engine reads, as one table; `$rows!` is called with all rows.
///
/// A row has the kind, and how the API knows it: its name, plural, group (none for the core group),
/// version and scope. Then the type in this module, and the field of `Objects` that stores it. Pods
/// and nodes have none: the snapshot keeps them apart. The decoder is a module of `kpolicy-codec`.
#[macro_export]
macro_rules! object_kinds {
    ($rows:ident) => {
        $rows! {
            Pod("Pod", "pods", [], "v1", Namespaced): Pod, decoder pod;
            Node("Node", "nodes", [], "v1", Cluster): Node, decoder node;
            Namespace("Namespace", "namespaces", [], "v1", Cluster):
                Namespace in namespaces, decoder namespace;
            Service("Service", "services", [], "v1", Namespaced):
                Service in services, decoder service;
            ReplicationController(
                "ReplicationController", "replicationcontrollers", [], "v1", Namespaced
            ): Controller in replication_controllers, decoder replication_controller;
            ReplicaSet("ReplicaSet", "replicasets", ["apps"], "v1", Namespaced):
                Controller in replica_sets, decoder replica_set;
            StatefulSet("StatefulSet", "statefulsets", ["apps"], "v1", Namespaced):
                Controller in stateful_sets, decoder stateful_set;
            PersistentVolume("PersistentVolume", "persistentvolumes", [], "v1", Cluster):
                PersistentVolume in volumes, decoder persistent_volume;
            PersistentVolumeClaim(
                "PersistentVolumeClaim", "persistentvolumeclaims", [], "v1", Namespaced
            ): PersistentVolumeClaim in claims, decoder persistent_volume_claim;
            StorageClass("StorageClass", "storageclasses", ["storage.k8s.io"], "v1", Cluster):
                StorageClass in classes, decoder storage_class;
            CsiNode("CSINode", "csinodes", ["storage.k8s.io"], "v1", Cluster):
                CsiNode in csi_nodes, decoder csi_node;
            CsiDriver("CSIDriver", "csidrivers", ["storage.k8s.io"], "v1", Cluster):
                CsiDriver in csi_drivers, decoder csi_driver;
            CsiStorageCapacity(
                "CSIStorageCapacity", "csistoragecapacities", ["storage.k8s.io"], "v1", Namespaced
            ): CsiStorageCapacity in csi_capacities, decoder csi_storage_capacity;
            VolumeAttachment(
                "VolumeAttachment", "volumeattachments", ["storage.k8s.io"], "v1", Cluster
            ): VolumeAttachment in attachments, decoder volume_attachment;
            PodDisruptionBudget(
                "PodDisruptionBudget", "poddisruptionbudgets", ["policy"], "v1", Namespaced
            ): DisruptionBudget in budgets, decoder pod_disruption_budget;
            DeviceClass("DeviceClass", "deviceclasses", ["resource.k8s.io"], "v1", Cluster):
                DeviceClass in device_classes, decoder device_class;
            ResourceSlice("ResourceSlice", "resourceslices", ["resource.k8s.io"], "v1", Cluster):
                ResourceSlice in resource_slices, decoder resource_slice;
            ResourceClaim("ResourceClaim", "resourceclaims", ["resource.k8s.io"], "v1", Namespaced):
                ResourceClaim in resource_claims, decoder resource_claim;
            ResourceClaimTemplate(
                "ResourceClaimTemplate", "resourceclaimtemplates", ["resource.k8s.io"], "v1", Namespaced
            ): ClaimTemplate in claim_templates, decoder resource_claim_template;
            DeviceTaintRule("DeviceTaintRule", "devicetaintrules", ["resource.k8s.io"], "v1", Cluster):
                DeviceTaintRule in device_taint_rules, decoder device_taint_rule;
        }
    };
}

/// Identity of an object: what the API server says of any of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Empty for cluster-scoped objects.
    pub namespace: Box<str>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// Where an object has none (a file written by hand), the decoder puts `namespace/name`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`, or empty.
    pub resource_version: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// Seconds since the epoch; `None` where absent.
    pub creation_seconds: Option<i64>,
    /// `metadata.deletionTimestamp`, in seconds since the epoch.
    pub deletion_seconds: Option<i64>,
}
