//! What is given up for a pod that fits nowhere (PostFilter): an allocation that keeps it from its nodes,
//! if nobody else uses it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::api::ClaimRelease;
use crate::model::ResourceClaim;
use crate::rules::Rejection;
use crate::rules::devices::key_of;
use crate::snapshot::{Cluster, NodeSlot, Pod};

use super::shown::status_json;
use super::state::State;
use super::{DynamicResources, NAME};

/// What to do for a pod that fits nowhere.
#[derive(Debug)]
pub(crate) struct PostFilter {
    /// In kube-scheduler's words; empty where it says nothing.
    reason: &'static str,
    /// Claims that kept the pod from a node.
    unavailable: Vec<Arc<ResourceClaim>>,
    /// Those of them that nobody else uses.
    deallocatable: Vec<Arc<ResourceClaim>>,
    /// The claim of an earlier attempt for extended resources, which is to be deleted.
    leftover: Option<Arc<ResourceClaim>>,
}

const DEALLOCATED: &str = "deallocation of ResourceClaim completed";
const DELETED: &str = "deletion of ResourceClaim completed";

impl PostFilter {
    /// `reached`: the nodes on which the rule was asked.
    pub(crate) fn of(
        rule: &DynamicResources,
        pod: &Pod,
        cluster: &Cluster,
        reached: impl Iterator<Item = NodeSlot>,
    ) -> Self {
        let state = State::of(rule, pod, cluster).ok().flatten();
        let mut found = Self {
            reason: rule.followed.traits().nothing_to_deallocate,
            unavailable: Vec::new(),
            deallocatable: Vec::new(),
            leftover: None,
        };
        let Some(state) = state else { return found };
        let mut places: Vec<usize> = Vec::new();
        let may_be = state.claims.iter().any(|claim| claim.allocation.is_some());
        for view in reached.filter(|_| may_be).filter_map(|slot| cluster.nodes().view(slot)) {
            let own = state.unavailable(cluster, view);
            if !own.is_empty() && state.answer(cluster, view).fits() {
                places.extend(own);
            }
        }
        places.sort_unstable();
        places.dedup();
        let claim = |place: &usize| state.claims.get(*place).map(Arc::clone);
        found.unavailable = places.iter().filter_map(claim).collect();
        let is_free = |claim: &&Arc<ResourceClaim>| match &*claim.reserved_for {
            [] => true,
            [only] => *only.uid == *pod.uid,
            _ => false,
        };
        found.deallocatable = found.unavailable.iter().filter(is_free).cloned().collect();
        found.leftover = state.extended.and_then(|extended| extended.left);
        found.reason = if !found.deallocatable.is_empty() {
            DEALLOCATED
        } else if found.leftover.is_some() {
            DELETED
        } else {
            rule.followed.traits().nothing_deallocated
        };
        found
    }

    /// One of them; kube-scheduler takes a random one.
    pub(crate) fn gives_up(&self) -> Option<ClaimRelease> {
        let is_to_delete = self.deallocatable.is_empty();
        let claim = self.deallocatable.first().or(self.leftover.as_ref())?;
        Some(ClaimRelease {
            claim: claim.meta.name.clone(),
            claim_uid: claim.meta.uid.clone(),
            is_to_delete,
        })
    }

    /// In kube-scheduler's words.
    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    /// As `explain` shows it.
    pub(crate) fn to_json(&self) -> Value {
        let mut shown = Map::new();
        let mut status = json!({"plugin": NAME, "code": Rejection::Unschedulable.name()});
        if let (false, Some(status)) = (self.reason.is_empty(), status.as_object_mut()) {
            status.insert("reasons".into(), vec![self.reason].into());
        }
        shown.insert("postFilter".into(), status);
        let keys = |claims: &[Arc<ResourceClaim>]| {
            let mut keys: Vec<String> = claims.iter().map(|claim| key_of(claim)).collect();
            keys.sort();
            Value::from(keys)
        };
        if !self.unavailable.is_empty() {
            shown.insert("unavailable".into(), keys(&self.unavailable));
        }
        if !self.deallocatable.is_empty() {
            shown.insert("deallocatable".into(), keys(&self.deallocatable));
        }
        let changed = match (self.deallocatable.first(), &self.leftover) {
            (Some(claim), _) => {
                let after = ResourceClaim {
                    allocation: None,
                    reserved_for: Box::default(),
                    device_statuses: Box::default(),
                    device_statuses_text: None,
                    ..ResourceClaim::clone(claim)
                };
                let mut shown = Map::new();
                shown.insert("claim".into(), key_of(claim).into());
                if !claim.finalizers.is_empty() {
                    let finalizers = claim.finalizers.iter().map(|text| Value::from(&**text));
                    shown.insert("finalizers".into(), finalizers.collect());
                }
                shown.insert("status".into(), status_json(&after));
                Some(Value::from(shown))
            }
            (None, Some(claim)) => Some(json!({"claim": key_of(claim), "deleted": true})),
            (None, None) => None,
        };
        if let Some(changed) = changed {
            shown.insert("claims".into(), vec![changed].into());
        }
        shown.into()
    }
}
