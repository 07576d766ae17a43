//! The events that may help a pod that this rule rejected.

use crate::event::{Event, Events, Occurrence};
use crate::model::{CsiDriver, Kind, Object, VolumeSource};
use crate::rules::volume_claims as claims;
use crate::rules::volume_migration::MIGRATED_ANNOTATION;
use crate::snapshot::Pod;
use crate::snapshot::objects::Replaced;

use super::provisioning::limit_bytes;

/// kube-scheduler tries a rule at every change of taints if the rule registers new nodes without
/// their taints.
pub(super) fn events() -> Events {
    Events::of(&[
        Event::NodeAdd,
        Event::NodeLabel,
        Event::NodeTaint,
        Event::ObjectAdd(Kind::StorageClass),
        Event::ObjectUpdate(Kind::StorageClass),
        Event::ObjectAdd(Kind::PersistentVolumeClaim),
        Event::ObjectUpdate(Kind::PersistentVolumeClaim),
        Event::ObjectAdd(Kind::PersistentVolume),
        Event::ObjectUpdate(Kind::PersistentVolume),
        Event::ObjectAdd(Kind::CsiNode),
        Event::ObjectUpdate(Kind::CsiNode),
        Event::ObjectUpdate(Kind::CsiDriver),
        Event::ObjectAdd(Kind::CsiStorageCapacity),
        Event::ObjectUpdate(Kind::CsiStorageCapacity),
    ])
}

pub(super) fn wakes(pod: &Pod, occurrence: &Occurrence) -> bool {
    match occurrence {
        Occurrence::Node { .. } => true,
        Occurrence::Object(replaced) => object_wakes(pod, replaced),
        Occurrence::Pod { .. } | Occurrence::Time { .. } => false,
    }
}

fn object_wakes(pod: &Pod, replaced: &Replaced) -> bool {
    use Object::{
        CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim,
        StorageClass,
    };
    match (&replaced.old, &replaced.new) {
        (_, Some(PersistentVolume(_)))
        | (None, Some(StorageClass(_) | CsiNode(_) | CsiStorageCapacity(_))) => true,
        (_, Some(PersistentVolumeClaim(claim))) => claims::names(pod, claim),
        (Some(StorageClass(old)), Some(StorageClass(new))) => {
            old.allowed_topologies != new.allowed_topologies
        }
        (Some(CsiNode(old)), Some(CsiNode(new))) => {
            let migrated = |node: &crate::model::CsiNode| {
                node.meta.annotations.get(MIGRATED_ANNOTATION).unwrap_or_default().to_owned()
            };
            migrated(old) != migrated(new)
        }
        (Some(CsiDriver(old)), Some(CsiDriver(new))) => no_longer_counts(pod, old, new),
        (Some(CsiStorageCapacity(old)), Some(CsiStorageCapacity(new))) => {
            limit_bytes(new).is_some_and(|now| limit_bytes(old).is_none_or(|before| now > before))
        }
        _ => false,
    }
}

/// Whether a driver that the pod uses no longer publishes capacities. kube-scheduler looks only at
/// drivers of volumes that are inline in the pod.
fn no_longer_counts(pod: &Pod, old: &CsiDriver, new: &CsiDriver) -> bool {
    let is_used = pod.template.volumes.iter().any(
        |volume| matches!(&volume.source, VolumeSource::Csi { driver } if *driver == new.meta.name),
    );
    is_used && old.storage_capacity && !new.storage_capacity
}
