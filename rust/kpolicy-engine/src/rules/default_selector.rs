//! The selector that a pod's services and controller agree on.
//!
//! Owns which services mean a pod, what its controller selects, and both as one selector. Spreading
//! falls back on it where a pod has no constraints of its own. Clause: every service of the pod's
//! namespace that selects it, and the controlling `ReplicationController`, `ReplicaSet` or
//! `StatefulSet`; all of them together. Must not know what is done with the selector.

use std::sync::Arc;

use crate::intern::Shared;
use crate::model::{
    Controller, Kind, Labels, OwnerReference, Requirement, Selector, SelectorOperator, Service,
};
use crate::snapshot::objects::Store;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Change, Changes, Cluster, Pod};

/// Kinds that the selector is made from.
pub const KINDS: &[Kind] =
    &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet];

/// Which of [`KINDS`] count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each kind")]
pub struct Sources {
    pub services: bool,
    pub replication_controllers: bool,
    pub replica_sets: bool,
    pub stateful_sets: bool,
}

impl Sources {
    pub const ALL: Self = Self {
        services: true,
        replication_controllers: true,
        replica_sets: true,
        stateful_sets: true,
    };
    pub const NONE: Self = Self {
        services: false,
        replication_controllers: false,
        replica_sets: false,
        stateful_sets: false,
    };
}

/// The selector of one pod, as of when it was made.
#[derive(Debug, Clone)]
pub struct DefaultSelector {
    identity: Shared<Identity>,
    owner: Option<Shared<OwnerReference>>,
    sources: Sources,
    selector: Selector,
}

impl DefaultSelector {
    pub fn of(pod: &Pod, sources: Sources, cluster: &Cluster) -> Self {
        let (identity, owner) = (pod.identity.clone(), pod.template.owner.clone());
        let selector = selector(&identity, owner.as_deref(), sources, cluster);
        Self { identity, owner, sources, selector }
    }

    /// `None` where nothing selects the pod.
    pub fn selector(&self) -> Option<&Selector> {
        (!self.selector.is_everything()).then_some(&self.selector)
    }

    /// Whether it would be the same if made now.
    pub fn is_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        let is_source =
            |change: &Change| matches!(change, Change::Object(kind) if KINDS.contains(kind));
        !changes.iter().any(is_source) || self.selector == self.made_now(cluster)
    }

    fn made_now(&self, cluster: &Cluster) -> Selector {
        selector(&self.identity, self.owner.as_deref(), self.sources, cluster)
    }
}

/// Puts into a rule's key what [`DefaultSelector::of`] reads of a pod.
pub fn key(pod: &Pod, key: &mut super::Key) {
    key.push(pod.identity.id());
    key.push(pod.template.owner.as_ref().map_or(u64::MAX, Shared::id));
}

/// Services that select the pod, in order of name.
pub fn services<'a>(
    identity: &'a Identity,
    cluster: &'a Cluster,
) -> impl Iterator<Item = &'a Arc<Service>> {
    let has = |(key, value): (&str, &str)| identity.labels.get(key) == Some(value);
    let selects = move |service: &&Arc<Service>| {
        !service.selector.is_empty() && service.selector.iter().all(has)
    };
    cluster.objects().services.in_namespace(&identity.namespace).filter(selects)
}

/// Every pair as a requirement of its own.
pub fn of_labels(labels: &Labels) -> Selector {
    let equals = |(key, value): (&str, &str)| Requirement {
        key: key.into(),
        operator: SelectorOperator::In,
        values: [value.into()].into(),
    };
    Selector { requirements: labels.iter().map(equals).collect() }
}

/// Clause: where a replication controller and a service differ in a label, the controller's counts.
fn selector(
    identity: &Identity,
    owner: Option<&OwnerReference>,
    sources: Sources,
    cluster: &Cluster,
) -> Selector {
    let services: Vec<&Arc<Service>> =
        if sources.services { services(identity, cluster).collect() } else { Vec::new() };
    let controller = owner.and_then(|owner| controller(owner, sources, cluster, identity));
    let asked =
        controller.and_then(|(kind, controller)| Some((kind, controller.selector.as_ref()?)));
    let pairs = services.iter().flat_map(|service| service.selector.iter());
    match asked {
        Some((Kind::ReplicationController, own)) => {
            let own = own.requirements.iter().filter_map(|requirement| {
                Some((requirement.key.as_ref(), requirement.values.first()?.as_ref()))
            });
            of_labels(&pairs.chain(own).collect())
        }
        Some((_, own)) => {
            let together = of_labels(&pairs.collect());
            let requirements = together.requirements.into_iter();
            Selector {
                requirements: requirements.chain(own.requirements.iter().cloned()).collect(),
            }
        }
        None => of_labels(&pairs.collect()),
    }
}

fn controller<'a>(
    owner: &OwnerReference,
    sources: Sources,
    cluster: &'a Cluster,
    identity: &Identity,
) -> Option<(Kind, &'a Arc<Controller>)> {
    let objects = cluster.objects();
    let (kind, store, counts): (Kind, &Store<Controller>, bool) =
        match (owner.api_version.as_ref(), owner.kind.as_ref()) {
            ("v1", "ReplicationController") => (
                Kind::ReplicationController,
                &objects.replication_controllers,
                sources.replication_controllers,
            ),
            ("apps/v1", "ReplicaSet") => {
                (Kind::ReplicaSet, &objects.replica_sets, sources.replica_sets)
            }
            ("apps/v1", "StatefulSet") => {
                (Kind::StatefulSet, &objects.stateful_sets, sources.stateful_sets)
            }
            _ => return None,
        };
    let found = store.get(&identity.namespace, &owner.name).filter(|_| counts)?;
    Some((kind, found))
}
