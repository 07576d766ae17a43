//! Facts of a pending pod that other objects tell: its disruption budgets, and what its controller wants.

use kpolicy_cel::{Answer, ErrorKind, Fault, Value};

use crate::model::{ClaimSource, Controller, DisruptionBudget, Object, PodClaim, Wanted};
use crate::snapshot::objects::{Replaced, Store};
use crate::snapshot::{Cluster, Pod};

use super::pod_facts::record;

/// The budgets that cover the pod, in order of their names, as the API says: an empty selector covers
/// every pod of the namespace, an absent one none.
pub(super) fn disruption_budgets(pod: &Pod, cluster: &Cluster) -> Answer {
    match cluster.objects().covering.of(pod, &cluster.objects().budgets) {
        Ok(budgets) => {
            let tell = |budget: &DisruptionBudget| {
                record([
                    ("name", budget.meta.name.as_ref().into()),
                    ("disruptionsAllowed", i64::from(budget.disruptions_allowed).into()),
                ])
            };
            Answer::Known(Value::list(budgets.iter().map(|budget| tell(budget)).collect()))
        }
        Err(most) => {
            let message = format!(
                "the namespace has more disruption budgets than can be compared with a pod ({most} units)"
            );
            Answer::Failed(Fault::new(ErrorKind::CostExceeded, message))
        }
    }
}

/// `spec.replicas` of the pod's controller; absent where it is not an object that is watched.
pub(super) fn controller_replicas(pod: &Pod, cluster: &Cluster) -> Answer {
    let objects = cluster.objects();
    let found = pod.template.owner.as_ref().and_then(|owner| {
        let store: &Store<Controller> = match (owner.api_version.as_ref(), owner.kind.as_ref()) {
            ("v1", "ReplicationController") => &objects.replication_controllers,
            ("apps/v1", "ReplicaSet") => &objects.replica_sets,
            ("apps/v1", "StatefulSet") => &objects.stateful_sets,
            _ => return None,
        };
        store.get(pod.namespace(), &owner.name)
    });
    found.map_or(Answer::Absent, |controller| i64::from(controller.replicas).into())
}

/// The pod's claims on devices, in the order of its spec; one that is not made yet asks for nothing.
pub(super) fn resource_claims(pod: &Pod, cluster: &Cluster) -> Answer {
    let made = |entry: &str| {
        let mut statuses = pod.claim_statuses.iter().flat_map(|statuses| statuses.iter());
        statuses.find(|(name, _)| **name == *entry).and_then(|(_, made)| made.as_deref())
    };
    let tell = |entry: &PodClaim| {
        let name = match &entry.source {
            ClaimSource::Claim(name) => Some(&**name),
            ClaimSource::Template => made(&entry.name),
            ClaimSource::Unknown => None,
        };
        let claims = &cluster.objects().resource_claims;
        let claim = name.and_then(|name| claims.get(pod.namespace(), name));
        let requests = claim.iter().flat_map(|claim| claim.requests.iter());
        let asks = requests.flat_map(|request| match &request.wanted {
            Wanted::Exactly(ask) => std::slice::from_ref(ask),
            Wanted::FirstAvailable(asks) => asks,
            Wanted::Unknown => &[],
        });
        let classes = asks.map(|ask| ask.class.as_ref().into()).collect();
        record([
            ("name", entry.name.as_ref().into()),
            ("claim", name.unwrap_or_default().into()),
            ("deviceClasses", Value::list(classes)),
            ("allocated", claim.is_some_and(|claim| claim.allocation.is_some()).into()),
        ])
    };
    Answer::Known(Value::list(pod.template.resource_claims.iter().map(tell).collect()))
}

/// Whether the change of an object may change what is read of a pending pod.
pub(super) fn concerns(pod: &Pod, replaced: &Replaced) -> bool {
    let Replaced { old, new, .. } = replaced;
    let Some(meta) = new.as_ref().or(old.as_ref()).map(Object::meta) else { return true };
    let is_near = || *meta.namespace == ***pod.namespace();
    let differs = match (old, new) {
        (Some(Object::PodDisruptionBudget(old)), Some(Object::PodDisruptionBudget(new))) => {
            old.disruptions_allowed != new.disruptions_allowed || old.selector != new.selector
        }
        (Some(Object::ReplicaSet(old)), Some(Object::ReplicaSet(new)))
        | (Some(Object::StatefulSet(old)), Some(Object::StatefulSet(new)))
        | (Some(Object::ReplicationController(old)), Some(Object::ReplicationController(new))) => {
            old.replicas != new.replicas
        }
        _ => true,
    };
    let is_own = match new.as_ref().or(old.as_ref()) {
        Some(Object::PodDisruptionBudget(_)) => is_near(),
        Some(Object::ReplicaSet(_) | Object::StatefulSet(_) | Object::ReplicationController(_)) => {
            let owner = pod.template.owner.as_ref();
            is_near() && owner.is_some_and(|owner| owner.name == meta.name)
        }
        _ => true,
    };
    differs && is_own
}
