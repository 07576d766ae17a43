//! The selector that follows from a pod's services and its controller. Spreading uses it if a pod
//! has no constraints of its own.
//!
//! Specification: every service of the pod's namespace that selects it, and the controlling
//! `ReplicationController`, `ReplicaSet` or `StatefulSet`; all of them combined.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{
    Controller, Kind, Labels, OwnerReference, Requirement, Selector, SelectorOperator, Service,
};
use crate::snapshot::objects::Store;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Change, Changes, Cluster, Pod};

/// Kinds that the selector is made from.
pub(crate) const KINDS: &[Kind] =
    &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet];

/// Which of [`KINDS`] count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each kind")]
pub(crate) struct Sources {
    pub(crate) services: bool,
    pub(crate) replication_controllers: bool,
    pub(crate) replica_sets: bool,
    pub(crate) stateful_sets: bool,
}

impl Sources {
    pub(crate) const ALL: Self = Self {
        services: true,
        replication_controllers: true,
        replica_sets: true,
        stateful_sets: true,
    };
    pub(crate) const NONE: Self = Self {
        services: false,
        replication_controllers: false,
        replica_sets: false,
        stateful_sets: false,
    };
}

/// The selector of one pod, as of when it was made.
#[derive(Debug, Clone)]
pub(crate) struct DefaultSelector {
    identity: Shared<Identity>,
    owner: Option<Shared<OwnerReference>>,
    sources: Sources,
    selector: Selector,
}

impl DefaultSelector {
    pub(crate) fn of(pod: &Pod, sources: Sources, cluster: &Cluster) -> Self {
        let (identity, owner) = (pod.identity.clone(), pod.template.owner.clone());
        let selector = selector(&identity, owner.as_deref(), sources, cluster);
        Self { identity, owner, sources, selector }
    }

    /// `None` where nothing selects the pod.
    pub(crate) fn selector(&self) -> Option<&Selector> {
        (!self.selector.is_everything()).then_some(&self.selector)
    }

    /// Whether it would be the same if made now.
    pub(crate) fn is_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        let is_source =
            |change: &Change| matches!(change, Change::Object(kind) if KINDS.contains(kind));
        !changes.iter().any(is_source) || self.selector == self.made_now(cluster)
    }

    fn made_now(&self, cluster: &Cluster) -> Selector {
        selector(&self.identity, self.owner.as_deref(), self.sources, cluster)
    }
}

/// Puts into a rule's key what [`DefaultSelector::of`] reads of a pod.
pub(crate) fn key(pod: &Pod, key: &mut super::Key) {
    key.push_seen(pod);
    key.push(pod.template.owner.as_ref().map_or(u64::MAX, Shared::id));
}

/// Services that select the pod, in order of name.
pub(crate) fn services<'a>(
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
pub(crate) fn of_labels(labels: &Labels) -> Selector {
    let equals = |(key, value): (&str, &str)| Requirement {
        key: key.into(),
        operator: SelectorOperator::In,
        values: [value.into()].into(),
    };
    Selector { requirements: labels.iter().map(equals).collect() }
}

/// The default selector of a pod. If a replication controller and a service differ in a label,
/// kube-scheduler takes the controller's value.
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

impl HeapBytes for DefaultSelector {
    fn heap_bytes(&self) -> usize {
        self.selector.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{DefaultSelector, Sources};
    use crate::model::{Controller, Meta, Object, OwnerReference};
    use crate::rules::pod_topology_spread::testing::{pod, row, selector, service};
    use crate::snapshot::Cluster;
    use std::sync::Arc;

    fn controller(pairs: &str) -> Arc<Controller> {
        let meta = Meta { namespace: "ns".into(), name: "owner".into(), ..Meta::default() };
        Arc::new(Controller { meta, selector: Some(selector(pairs)), ..Controller::default() })
    }

    fn selected(cluster: &mut Cluster, version: &str, kind: &str, sources: Sources) -> String {
        let mut pod = pod("p", "app=web,tier=front", "");
        pod.owner = Some(OwnerReference {
            api_version: version.into(),
            kind: kind.into(),
            name: "owner".into(),
            uid: "u".into(),
        });
        let pod = row(cluster, pod);
        let made = DefaultSelector::of(&pod, sources, cluster);
        let Some(selector) = made.selector() else { return "-".into() };
        let each = selector.requirements.iter();
        each.map(|one| format!("{}={}", one.key, one.values[0])).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn services_and_the_controller_together() {
        let mut cluster = Cluster::default();
        let of = |cluster: &mut Cluster, kind| selected(cluster, "apps/v1", kind, Sources::ALL);
        assert_eq!(of(&mut cluster, "ReplicaSet"), "-");
        cluster.set_object(service("a", "app=web"));
        cluster.set_object(service("b", "tier=front"));
        cluster.set_object(service("c", "app=db"));
        cluster.set_object(service("d", ""));
        assert_eq!(of(&mut cluster, "ReplicaSet"), "app=web,tier=front");
        cluster.set_object(Object::ReplicaSet(controller("hash=1")));
        assert_eq!(of(&mut cluster, "ReplicaSet"), "app=web,tier=front,hash=1");
        assert_eq!(of(&mut cluster, "StatefulSet"), "app=web,tier=front");
        assert_eq!(of(&mut cluster, "Job"), "app=web,tier=front");
        let none = selected(&mut cluster, "other/v1", "ReplicaSet", Sources::NONE);
        assert_eq!(none, "-");
    }

    #[test]
    fn a_replication_controller_overrules_services() {
        let mut cluster = Cluster::default();
        cluster.set_object(service("a", "app=web,tier=front"));
        cluster.set_object(Object::ReplicationController(controller("app=other")));
        let of = |cluster: &mut Cluster, sources| {
            selected(cluster, "v1", "ReplicationController", sources)
        };
        assert_eq!(of(&mut cluster, Sources::ALL), "app=other,tier=front");
        let services = Sources { services: true, ..Sources::NONE };
        assert_eq!(of(&mut cluster, services), "app=web,tier=front");
    }
}
