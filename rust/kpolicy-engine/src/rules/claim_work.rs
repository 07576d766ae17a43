//! What the claims of a pod take of a decision before any device is looked at.

use rustc_hash::FxHashMap;

use crate::model::{ClaimSource, PodClaim};
use crate::snapshot::{Cluster, Pod};

use super::devices;
use super::prices::CLAIM;

/// Whether a pod has claims, or asks for resources behind which a class of devices stands.
pub(super) fn asks_for_devices(pod: &Pod, cluster: &Cluster) -> bool {
    let is_backed = |name: &str| cluster.objects().class_behind(name).is_some();
    !pod.template.resource_claims.is_empty()
        || pod.requests().fit.scalars.iter().any(|(name, _)| is_backed(name))
}

/// Each claim is looked at on each node, and where it is allocated, the selector of its nodes.
pub(super) fn of_claims(pod: &Pod, cluster: &Cluster) -> u64 {
    let claims = &cluster.objects().resource_claims;
    let made: FxHashMap<&str, &str> = pod
        .claim_statuses
        .iter()
        .flat_map(|statuses| statuses.iter())
        .filter_map(|(name, made)| Some((&**name, made.as_deref()?)))
        .collect();
    let units = |entry: &PodClaim| {
        let name = match &entry.source {
            ClaimSource::Claim(name) => Some(&**name),
            ClaimSource::Template => made.get(&*entry.name).copied(),
            ClaimSource::Unknown => None,
        };
        let claim = name.and_then(|name| claims.get(pod.namespace(), name));
        let allocation = claim.and_then(|claim| claim.allocation.as_deref());
        let written = allocation.and_then(|own| own.node_selector.as_ref());
        CLAIM + written.map_or(0, |written| devices::of_selector(&written.selector))
    };
    let each = pod.template.resource_claims.iter().map(units);
    each.fold(0, u64::saturating_add).saturating_mul(cluster.nodes().len() as u64)
}
