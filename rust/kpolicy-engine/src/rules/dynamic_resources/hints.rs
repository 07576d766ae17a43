//! What may let a pod through that was rejected because of its claims.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::model::{Kind, Object, ResourceClaim};
use crate::release::Followed;
use crate::snapshot::{Cluster, Pod};

use super::pod_claims::{is_special_of, walk};

pub(super) fn events() -> Events {
    Events::of(&[
        Event::NodeAdd,
        Event::NodeLabel,
        Event::NodeAllocatable,
        Event::PodUpdate,
        Event::PodGeneratedClaim,
        Event::ObjectAdd(Kind::DeviceClass),
        Event::ObjectUpdate(Kind::DeviceClass),
        Event::ObjectAdd(Kind::ResourceSlice),
        Event::ObjectUpdate(Kind::ResourceSlice),
        Event::ObjectAdd(Kind::ResourceClaim),
        Event::ObjectUpdate(Kind::ResourceClaim),
    ])
}

pub(super) fn wakes(
    pod: &Pod,
    occurrence: &Occurrence,
    cluster: &Cluster,
    followed: Followed,
) -> bool {
    let Occurrence::Object(replaced) = occurrence else {
        return match occurrence {
            // Its claims were made.
            Occurrence::Pod { new: Some(new), .. } => {
                new.uid == pod.uid && walk(new, cluster, followed).is_ok()
            }
            Occurrence::Pod { .. } => false,
            _ => true,
        };
    };
    let claim = |object: &Option<Object>| match object {
        Some(Object::ResourceClaim(claim)) => Some(claim.clone()),
        _ => None,
    };
    match (claim(&replaced.old), claim(&replaced.new)) {
        (old, Some(new)) => walk(pod, cluster, followed)
            .is_ok_and(|own| wakes_by_claim(pod, &own, old.as_deref(), &new)),
        (_, None) => true,
    }
}

fn wakes_by_claim(
    pod: &Pod,
    own: &[Arc<ResourceClaim>],
    old: Option<&ResourceClaim>,
    new: &ResourceClaim,
) -> bool {
    if old.is_some_and(|old| old.allocation.is_some()) && new.allocation.is_none() {
        return true;
    }
    let is_own = own.iter().any(|claim| claim.meta.uid == new.meta.uid) || is_special_of(new, pod);
    let Some(old) = old else { return is_own };
    is_own
        && (old.allocation != new.allocation
            || old.reserved_for != new.reserved_for
            || old.device_statuses_text != new.device_statuses_text)
}
