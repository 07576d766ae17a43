//! From a pod to its claims.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{ClaimSource, ResourceClaim};
use crate::release::Followed;
use crate::rules::Status;
use crate::snapshot::{Cluster, Pod};

use super::DynamicResources;

/// The claims that a pod uses, in its order. The first problem ends the walk.
pub(super) fn walk(
    pod: &Pod,
    cluster: &Cluster,
    followed: Followed,
) -> Result<Vec<Arc<ResourceClaim>>, String> {
    let namespace = pod.namespace();
    let mut claims = Vec::with_capacity(pod.template.resource_claims.len());
    let statuses = pod.claim_statuses.iter().flat_map(|statuses| statuses.iter());
    let mut made: FxHashMap<&str, Option<&str>> = FxHashMap::default();
    for (name, claim) in statuses {
        made.entry(name).or_insert(claim.as_deref());
    }
    for entry in &pod.template.resource_claims {
        let (name, is_made_for_pod): (&str, bool) = match &entry.source {
            ClaimSource::Claim(name) => (name, false),
            ClaimSource::Template => {
                match made.get(&*entry.name) {
                    Some(Some(name)) => (name, true),
                    // None is needed.
                    Some(None) => continue,
                    None => {
                        return Err(format!(
                            "pod \"{}\": ResourceClaim not created yet",
                            pod.key()
                        ));
                    }
                }
            }
            ClaimSource::Unknown => {
                return Err(format!(
                    "pod \"{}\", spec.resourceClaim {:?}: none of the supported fields are set",
                    pod.key(),
                    entry.name
                ));
            }
        };
        let Some(claim) = cluster.objects().resource_claims.get(namespace, name) else {
            return Err(format!("could not find ResourceClaim \"{}/{name}\"", &**namespace));
        };
        if claim.meta.deletion_seconds.is_some() {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        let is_owner = claim.owner.as_ref().is_some_and(|owner| *owner.uid == *pod.uid);
        if is_made_for_pod && !is_owner {
            let word = followed.traits().word_for_owner;
            return Err(format!(
                "ResourceClaim {}/{name} was not created for {word} {} ({word} is not owner)",
                &**namespace,
                pod.key()
            ));
        }
        claims.push(Arc::clone(claim));
    }
    Ok(claims)
}

/// Why a pod is not tried at all: its claims are not ready.
pub(crate) fn pre_enqueue(rule: &DynamicResources, pod: &Pod, cluster: &Cluster) -> Option<Status> {
    if pod.template.resource_claims.is_empty() {
        return None;
    }
    walk(pod, cluster, rule.followed).err().map(Status::unresolvable)
}

/// Whether a claim is the one that a scheduler made for the extended resources of this pod.
pub(super) fn is_special_of(claim: &ResourceClaim, pod: &Pod) -> bool {
    claim.is_for_extended_resources()
        && claim
            .owner
            .as_ref()
            .is_some_and(|owner| *owner.uid == *pod.uid && *owner.name == *pod.name)
}
