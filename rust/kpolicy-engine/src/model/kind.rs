//! The kinds of objects that the engine reads, as one table: names, group and scope in the API.
//! Groups are the stable ones.

/// Where objects of a kind live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

/// How the API knows a kind.
struct Row {
    name: &'static str,
    resource: &'static str,
    group: &'static str,
    scope: Scope,
}

macro_rules! kinds {
    ($($kind:ident: $name:literal, $resource:literal, $group:literal, $scope:ident;)*) => {
        /// A kind of objects.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => &Row {
                        name: $name,
                        resource: $resource,
                        group: $group,
                        scope: Scope::$scope,
                    },)*
                }
            }
        }
    };
}

kinds! {
    Pod: "Pod", "pods", "", Namespaced;
    Node: "Node", "nodes", "", Cluster;
    Namespace: "Namespace", "namespaces", "", Cluster;
    Service: "Service", "services", "", Namespaced;
    ReplicationController: "ReplicationController", "replicationcontrollers", "", Namespaced;
    ReplicaSet: "ReplicaSet", "replicasets", "apps", Namespaced;
    StatefulSet: "StatefulSet", "statefulsets", "apps", Namespaced;
    PersistentVolume: "PersistentVolume", "persistentvolumes", "", Cluster;
    PersistentVolumeClaim: "PersistentVolumeClaim", "persistentvolumeclaims", "", Namespaced;
    StorageClass: "StorageClass", "storageclasses", "storage.k8s.io", Cluster;
    CsiNode: "CSINode", "csinodes", "storage.k8s.io", Cluster;
    CsiDriver: "CSIDriver", "csidrivers", "storage.k8s.io", Cluster;
    CsiStorageCapacity: "CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io", Namespaced;
    VolumeAttachment: "VolumeAttachment", "volumeattachments", "storage.k8s.io", Cluster;
    PodDisruptionBudget: "PodDisruptionBudget", "poddisruptionbudgets", "policy", Namespaced;
}

impl Kind {
    /// The plural in API paths, for example `pods`.
    pub fn resource(self) -> &'static str {
        self.row().resource
    }

    /// The `kind` field, for example `Pod`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The API group; empty for the core group.
    pub fn group(self) -> &'static str {
        self.row().group
    }

    pub fn is_namespaced(self) -> bool {
        self.row().scope == Scope::Namespaced
    }

    pub fn of_resource(resource: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.resource() == resource)
    }

    /// The kind of an object by its group and `kind`; `None` for kinds that no rule reads.
    pub fn of_name(group: &str, name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name && kind.group() == group)
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_found_by_its_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_resource(kind.resource()), Some(kind));
            assert_eq!(Kind::of_name(kind.group(), kind.name()), Some(kind));
        }
        assert_eq!(Kind::of_name("serving.knative.dev", "Service"), None);
        assert_eq!(Kind::of_resource("secrets"), None);
    }
}
