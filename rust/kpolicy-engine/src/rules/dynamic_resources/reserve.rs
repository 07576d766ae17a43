//! What a placed pod holds: its claims, allocated and reserved for it (Reserve and PreBind).

use std::sync::Arc;

use crate::api::{ClaimWork, PreBindWrite};
use crate::model::{Allocation, Consumer, Kind, Meta, Object, OwnerReference, ResourceClaim};
use crate::release::Followed;
use crate::rules::Reservation;
use crate::rules::devices::extended::Mapping;
use crate::rules::devices::{Work, key_of};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::DynamicResources;
use super::filter::is_concerned;
use super::judging::Given;
use super::shown::{allocation_text, mappings_text, requests_text};
use super::state::State;
use super::supposed::Supposed;

/// Keeps a claim from going away while it is allocated.
pub(super) const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// A claim of a placed pod: as it is, and as it will be.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) claim: Arc<ResourceClaim>,
    pub(super) after: ResourceClaim,
    /// It gets its allocation now.
    pub(super) is_allocated_now: bool,
    /// The claim for extended resources.
    pub(super) special: Option<Vec<Mapping>>,
}

impl Bound {
    pub(super) fn changes(&self) -> bool {
        self.special.is_some() || *self.claim != self.after
    }

    /// Whether drivers have a say before the pod is bound.
    pub(super) fn is_to_wait(&self, followed: Followed) -> bool {
        let allocation = self.after.allocation.as_deref();
        followed.has_binding_conditions()
            && allocation.is_some_and(Allocation::has_binding_conditions)
    }
}

/// The claims of a pod on a node that would have it.
pub(super) fn bound(state: &State, pod: &Pod, cluster: &Cluster, node: NodeView<'_>) -> Vec<Bound> {
    let mut work = Work::of(state.units_a_node);
    let given = state.given(&mut work, cluster, node);
    cluster.objects().add_units_of_devices(state.units_a_node - work.left());
    let Some(given) = given else { return Vec::new() };
    let mut given = given.into_iter();
    let mut all = Vec::with_capacity(state.claims.len() + 1);
    for claim in &state.claims {
        let allocation = match &claim.allocation {
            Some(allocation) => Arc::clone(allocation),
            None => match given.next() {
                Some(Given { allocation, .. }) => allocation.into(),
                None => return Vec::new(),
            },
        };
        all.push(Bound {
            after: held(claim, pod, allocation),
            is_allocated_now: claim.allocation.is_none(),
            claim: Arc::clone(claim),
            special: None,
        });
    }
    for Given { claim, allocation, special } in given {
        all.push(Bound {
            after: held(&claim, pod, allocation.into()),
            is_allocated_now: true,
            claim,
            special,
        });
    }
    last_of_each(all)
}

/// A pod may use a claim twice, and then allocates it twice. What is written last stays.
fn last_of_each(mut all: Vec<Bound>) -> Vec<Bound> {
    let mut kept: Vec<Bound> = Vec::with_capacity(all.len());
    while let Some(bound) = all.pop() {
        let is_same = |later: &Bound| later.claim.meta.name == bound.claim.meta.name;
        if !kept.iter().any(is_same) {
            kept.push(bound);
        }
    }
    kept.reverse();
    kept
}

/// Allocated and reserved for the pod.
fn held(claim: &ResourceClaim, pod: &Pod, allocation: Arc<Allocation>) -> ResourceClaim {
    let mut after = claim.clone();
    if claim.allocation.is_none() && !claim.finalizers.iter().any(|have| **have == *FINALIZER) {
        let mut finalizers = claim.finalizers.to_vec();
        finalizers.push(FINALIZER.into());
        after.finalizers = finalizers.into();
    }
    if !claim.reserved_for.iter().any(|consumer| *consumer.uid == *pod.uid) {
        let mut consumers = claim.reserved_for.to_vec();
        consumers.push(Consumer {
            group: Box::default(),
            resource: "pods".into(),
            name: (&*pod.name).into(),
            uid: (&*pod.uid).into(),
        });
        after.reserved_for = consumers.into();
    }
    after.allocation = Some(allocation);
    after
}

impl DynamicResources {
    pub(super) fn reservation(
        &self,
        pod: &Pod,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<Reservation> {
        if !is_concerned(pod) {
            return None;
        }
        let mut state = State::of(self, pod, cluster).ok()??;
        let mut found = Vec::new();
        if self.policy.frees_devices {
            // The pods that devices are freed for find theirs.
            let nominated = cluster
                .nominations()
                .on(&node.node.name)
                .filter(|other| other.priority() >= pod.priority() && other.uid != pod.uid);
            state.supposed = Supposed::with_ahead(nominated, self, cluster);
            if !state.supposed.is_nothing() {
                found = bound(&state, pod, cluster, node);
                state.supposed = Supposed::default();
            }
        }
        let bound = if found.is_empty() { bound(&state, pod, cluster, node) } else { found };
        if bound.is_empty() {
            return None;
        }
        let mut reservation = Reservation::default();
        for claim in bound {
            reservation.writes.push(PreBindWrite::Claim(self.work(&claim)));
            let before = &claim.claim;
            if !claim.is_allocated_now {
                reservation.relied_on.push((Kind::ResourceClaim, before.meta.clone()));
            }
            let after = match &claim.special {
                Some(_) => stand_in(claim.after, pod),
                None => claim.after,
            };
            reservation.promised.push(Object::ResourceClaim(after.into()));
        }
        Some(reservation)
    }

    fn work(&self, bound: &Bound) -> ClaimWork {
        let is_special = bound.special.is_some();
        let own = |text: &str| if is_special { "".into() } else { Box::from(text) };
        let allocation = bound.after.allocation.as_deref().filter(|_| bound.is_allocated_now);
        ClaimWork {
            claim: own(&bound.claim.meta.name),
            claim_uid: own(&bound.claim.meta.uid),
            allocation: allocation.map(allocation_text).unwrap_or_default(),
            requests: if is_special { requests_text(&bound.claim) } else { "".into() },
            mappings: bound.special.as_deref().map(mappings_text).unwrap_or_default(),
            is_to_write: bound.changes(),
            is_to_wait: bound.is_to_wait(self.followed),
            seconds_max: self.binding_timeout_seconds,
        }
    }
}

/// The claim for extended resources before it is written: under a name that no claim has.
fn stand_in(claim: ResourceClaim, pod: &Pod) -> ResourceClaim {
    let name = ResourceClaim::stand_in_name(&pod.uid);
    let owner = OwnerReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        name: (&*pod.name).into(),
        uid: (&*pod.uid).into(),
    };
    let uid = key_of(&claim).into();
    let meta = Meta { name: name.into(), uid, ..claim.meta };
    ResourceClaim { meta, owner: Some(owner), ..claim }
}
