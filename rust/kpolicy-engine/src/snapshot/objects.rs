//! Objects other than pods and nodes: one typed store for each kind, and when each kind last
//! changed. Iteration is by namespace and name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{
    Controller, ControllerKind, CsiDriver, CsiNode, CsiStorageCapacity, DisruptionBudget, Kind,
    Meta, Namespace, Object, PersistentVolume, PersistentVolumeClaim, Service, StorageClass,
    VolumeAttachment,
};

use super::attached::Attached;
use super::log::Generation;

/// Objects of one kind. The namespace of cluster-scoped ones is empty.
#[derive(Debug)]
pub struct Store<T> {
    by_namespace: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<T>>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { by_namespace: BTreeMap::new() }
    }
}

impl<T> Store<T> {
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.by_namespace.get(namespace)?.get(name)
    }

    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.by_namespace.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_namespace.values().flat_map(BTreeMap::values)
    }

    pub fn len(&self) -> usize {
        self.by_namespace.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.by_namespace.is_empty()
    }

    /// The object it replaced, and itself.
    fn set(&mut self, object: Box<T>) -> (Option<Kept>, Kept)
    where
        T: HasMeta,
        Arc<T>: Into<Kept>,
    {
        let (namespace, name) = (object.meta().namespace.clone(), object.meta().name.clone());
        let object: Arc<T> = object.into();
        let old = self.by_namespace.entry(namespace).or_default().insert(name, Arc::clone(&object));
        (old.map(Into::into), object.into())
    }
}

/// A kept object of any of these kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Namespace(Arc<Namespace>),
    Service(Arc<Service>),
    Controller(Arc<Controller>),
    DisruptionBudget(Arc<DisruptionBudget>),
    PersistentVolume(Arc<PersistentVolume>),
    PersistentVolumeClaim(Arc<PersistentVolumeClaim>),
    StorageClass(Arc<StorageClass>),
    CsiNode(Arc<CsiNode>),
    CsiDriver(Arc<CsiDriver>),
    CsiStorageCapacity(Arc<CsiStorageCapacity>),
    VolumeAttachment(Arc<VolumeAttachment>),
}

/// How an object came to be, or ceased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    pub kind: Kind,
    pub old: Option<Kept>,
    pub new: Option<Kept>,
}

#[derive(Debug, Default)]
pub struct Objects {
    pub namespaces: Store<Namespace>,
    pub services: Store<Service>,
    pub replication_controllers: Store<Controller>,
    pub replica_sets: Store<Controller>,
    pub stateful_sets: Store<Controller>,
    pub budgets: Store<DisruptionBudget>,
    pub volumes: Store<PersistentVolume>,
    pub claims: Store<PersistentVolumeClaim>,
    pub classes: Store<StorageClass>,
    pub csi_nodes: Store<CsiNode>,
    pub csi_drivers: Store<CsiDriver>,
    pub csi_capacities: Store<CsiStorageCapacity>,
    pub attachments: Store<VolumeAttachment>,
    /// The attachments by node.
    pub attached: Attached,
    changed_at: BTreeMap<Kind, Generation>,
}

/// Any store, where the kind is only known at run time.
trait AnyStore {
    fn remove(&mut self, namespace: &str, name: &str) -> Option<Kept>;
    fn keys(&self) -> Vec<(Box<str>, Box<str>)>;
}

impl<T> AnyStore for Store<T>
where
    Arc<T>: Into<Kept>,
{
    fn remove(&mut self, namespace: &str, name: &str) -> Option<Kept> {
        let named = self.by_namespace.get_mut(namespace)?;
        let gone = named.remove(name);
        if named.is_empty() {
            self.by_namespace.remove(namespace);
        }
        gone.map(Into::into)
    }

    fn keys(&self) -> Vec<(Box<str>, Box<str>)> {
        let pairs = self.by_namespace.iter().flat_map(|(namespace, named)| {
            named.keys().map(move |name| (namespace.clone(), name.clone()))
        });
        pairs.collect()
    }
}

trait HasMeta {
    fn meta(&self) -> &Meta;
}

macro_rules! kept_as {
    ($($kind:ident),*) => {
        $(impl HasMeta for $kind {
            fn meta(&self) -> &Meta {
                &self.meta
            }
        }

        impl From<Arc<$kind>> for Kept {
            fn from(object: Arc<$kind>) -> Self {
                Self::$kind(object)
            }
        })*

        impl Kept {
            /// As it was decoded.
            pub(super) fn to_object(&self) -> Object {
                match self {
                    $(Self::$kind(object) => Object::$kind(Box::new($kind::clone(object))),)*
                }
            }
        }
    };
}

kept_as!(
    Namespace,
    Service,
    Controller,
    DisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment
);

impl Objects {
    /// The generation at which a kind last changed; the first if never.
    pub fn changed_at(&self, kind: Kind) -> Generation {
        self.changed_at.get(&kind).copied().unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.namespaces.len()
            + self.services.len()
            + self.replication_controllers.len()
            + self.replica_sets.len()
            + self.stateful_sets.len()
            + self.budgets.len()
            + self.volumes.len()
            + self.claims.len()
            + self.classes.len()
            + self.csi_nodes.len()
            + self.csi_drivers.len()
            + self.csi_capacities.len()
            + self.attachments.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn note_change(&mut self, kind: Kind, generation: Generation) {
        self.changed_at.insert(kind, generation);
    }

    /// Keeps an object; `None` for pods and nodes, which are not kept here.
    pub(super) fn set(&mut self, object: Object) -> Option<Replaced> {
        let kind = object.kind();
        let (old, new) = match object {
            Object::Pod(_) | Object::Node(_) => return None,
            Object::Namespace(it) => self.namespaces.set(it),
            Object::Service(it) => self.services.set(it),
            Object::Controller(it) => match it.kind {
                ControllerKind::ReplicationController => self.replication_controllers.set(it),
                ControllerKind::ReplicaSet => self.replica_sets.set(it),
                ControllerKind::StatefulSet => self.stateful_sets.set(it),
            },
            Object::DisruptionBudget(it) => self.budgets.set(it),
            Object::PersistentVolume(it) => self.volumes.set(it),
            Object::PersistentVolumeClaim(it) => self.claims.set(it),
            Object::StorageClass(it) => self.classes.set(it),
            Object::CsiNode(it) => self.csi_nodes.set(it),
            Object::CsiDriver(it) => self.csi_drivers.set(it),
            Object::CsiStorageCapacity(it) => self.csi_capacities.set(it),
            Object::VolumeAttachment(it) => self.attachments.set(it),
        };
        Some(self.followed(Replaced { kind, old, new: Some(new) }))
    }

    fn followed(&mut self, replaced: Replaced) -> Replaced {
        self.attached.follow(&replaced);
        replaced
    }

    pub(super) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) -> Option<Replaced> {
        let old = self.store(kind)?.remove(namespace, name)?;
        Some(self.followed(Replaced { kind, old: Some(old), new: None }))
    }

    /// Namespace and name of every object of a kind.
    pub(super) fn keys(&mut self, kind: Kind) -> Vec<(Box<str>, Box<str>)> {
        self.store(kind).map(|store| store.keys()).unwrap_or_default()
    }

    fn store(&mut self, kind: Kind) -> Option<&mut dyn AnyStore> {
        Some(match kind {
            Kind::Pod | Kind::Node => return None,
            Kind::Namespace => &mut self.namespaces,
            Kind::Service => &mut self.services,
            Kind::ReplicationController => &mut self.replication_controllers,
            Kind::ReplicaSet => &mut self.replica_sets,
            Kind::StatefulSet => &mut self.stateful_sets,
            Kind::PodDisruptionBudget => &mut self.budgets,
            Kind::PersistentVolume => &mut self.volumes,
            Kind::PersistentVolumeClaim => &mut self.claims,
            Kind::StorageClass => &mut self.classes,
            Kind::CsiNode => &mut self.csi_nodes,
            Kind::CsiDriver => &mut self.csi_drivers,
            Kind::CsiStorageCapacity => &mut self.csi_capacities,
            Kind::VolumeAttachment => &mut self.attachments,
        })
    }
}
