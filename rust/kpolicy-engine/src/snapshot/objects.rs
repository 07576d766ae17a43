//! Objects other than pods and nodes: one typed store for each kind of the table, and when each kind
//! last changed. Iteration is by namespace and name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{Kind, Meta, Object};

use super::attached::Attached;
use super::covering::Covering;
use super::device_groups::{Groups, Looked};
use super::device_kinds::DeviceKinds;
use super::device_selectors::Selectors;
use super::device_slices::DeviceSlices;
use super::device_taint_rules::DeviceTaintRules;
use super::devices_in_use::DevicesInUse;
use super::extended_resources::ExtendedResources;

/// Objects of one kind. The namespace of cluster-scoped ones is empty.
#[derive(Debug)]
pub(crate) struct Store<T> {
    by_namespace: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<T>>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { by_namespace: BTreeMap::new() }
    }
}

impl<T> Store<T> {
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.by_namespace.get(namespace)?.get(name)
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.by_namespace.get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_namespace.values().flat_map(BTreeMap::values)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_namespace.values().map(BTreeMap::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_namespace.is_empty()
    }

    /// The object that it replaced.
    fn set(&mut self, meta: &Meta, object: Arc<T>) -> Option<Arc<T>> {
        self.by_namespace
            .entry(meta.namespace.clone())
            .or_default()
            .insert(meta.name.clone(), object)
    }

    fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let named = self.by_namespace.get_mut(namespace)?;
        let gone = named.remove(name);
        if named.is_empty() {
            self.by_namespace.remove(namespace);
        }
        gone
    }

    fn keys(&self) -> Vec<(Box<str>, Box<str>)> {
        let pairs = self.by_namespace.iter().flat_map(|(namespace, named)| {
            named.keys().map(move |name| (namespace.clone(), name.clone()))
        });
        pairs.collect()
    }
}

/// How an object came to be, or ceased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    pub(crate) kind: Kind,
    pub(crate) old: Option<Object>,
    pub(crate) new: Option<Object>,
}

/// A field of [`Objects`] for each kind that names one. Pods and nodes are the only kinds without:
/// any other one does not compile.
macro_rules! stores {
    ($(
        $kind:ident $api:tt: $model:ident $(in $store:ident)?, decoder $decoder:ident;
    )*) => {
        /// Objects of all kinds but pods and nodes, by namespace and name.
        #[derive(Debug, Default)]
        pub struct Objects {
            $($(
                #[doc = concat!("Objects of kind ", stringify!($kind), ".")]
                pub(crate) $store: Store<crate::model::$model>,
            )?)*
            /// The attachments by node.
            pub(crate) attached: Attached,
            /// Slices of devices by node and pool.
            pub(crate) device_slices: DeviceSlices,
            /// Rules that taint devices by pool.
            pub(crate) rules_of_taints: DeviceTaintRules,
            /// The devices that claims hold.
            pub(crate) devices_in_use: DevicesInUse,
            /// What each node has of devices, apart from names.
            device_kinds: DeviceKinds,
            /// Classes of devices by the resource that each stands behind.
            extended_resources: ExtendedResources,
            /// Compiled selectors of devices.
            pub(crate) selectors: Selectors,
            /// The disruption budgets by pod.
            pub(crate) covering: Covering,
            /// What finding devices has taken so far, in units.
            units_of_devices: AtomicU64,
        }

        impl Objects {
            /// What finding devices has taken so far, in units.
            pub(crate) fn units_of_devices(&self) -> u64 {
                self.units_of_devices.load(Ordering::Relaxed)
            }

            /// Adds to what finding devices has taken.
            pub(crate) fn add_units_of_devices(&self, units: u64) {
                self.units_of_devices.fetch_add(units, Ordering::Relaxed);
            }

            pub(crate) fn len(&self) -> usize {
                0 $($(+ self.$store.len())?)*
            }

            /// Keeps an object; `None` for pods and nodes, which are not kept here.
            pub(super) fn set(&mut self, object: Object) -> Option<Replaced> {
                let (kind, new) = (object.kind(), object.clone());
                let old = match object {
                    Object::Pod(_) | Object::Node(_) => return None,
                    $($(Object::$kind(it) => {
                        self.$store.set(new.meta(), it).map(Object::$kind)
                    })?)*
                };
                Some(self.followed(Replaced { kind, old, new: Some(new) }))
            }

            pub(super) fn remove(
                &mut self,
                kind: Kind,
                namespace: &str,
                name: &str,
            ) -> Option<Replaced> {
                let old = match kind {
                    Kind::Pod | Kind::Node => return None,
                    $($(Kind::$kind => self.$store.remove(namespace, name).map(Object::$kind),)?)*
                };
                Some(self.followed(Replaced { kind, old: Some(old?), new: None }))
            }

            /// Namespace and name of every object of a kind; none of pods and nodes.
            pub(super) fn keys(&self, kind: Kind) -> Vec<(Box<str>, Box<str>)> {
                match kind {
                    Kind::Pod | Kind::Node => Vec::new(),
                    $($(Kind::$kind => self.$store.keys(),)?)*
                }
            }
        }
    };
}

crate::object_kinds!(stores);

impl Objects {
    /// The name of the class of devices that stands behind a resource.
    pub(crate) fn class_behind(&self, resource: &str) -> Option<&str> {
        self.extended_resources.class_of(resource, &self.device_classes)
    }

    /// Groups of nodes that have the same of what is looked at of devices; `None`: no two nodes are
    /// known to be alike.
    pub(crate) fn device_groups(&self, looked: &Looked) -> Option<Arc<Groups>> {
        self.device_kinds.groups(looked, &self.device_slices, &self.rules_of_taints)
    }

    /// Which of these groups a node is in; `None`: it is alone.
    pub(crate) fn device_group(&self, groups: &Groups, node: &str) -> Option<usize> {
        self.device_kinds.group(groups, node)
    }

    fn followed(&mut self, replaced: Replaced) -> Replaced {
        self.attached.follow(&replaced);
        self.rules_of_taints.follow(&replaced);
        self.devices_in_use.follow(&replaced);
        self.device_slices.follow(&replaced, &self.devices_in_use);
        self.device_kinds.follow(&replaced, &self.device_slices, &self.devices_in_use);
        self.extended_resources.follow(&replaced);
        self.selectors.follow(&replaced);
        self.covering.follow(&replaced);
        replaced
    }
}
