//! How the API knows the kinds of the table: names, group, version, scope, labels of events.

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
    version: &'static str,
    scope: Scope,
    event_labels: [&'static str; 3],
}

macro_rules! kinds {
    ($(
        $kind:ident($name:literal, $resource:literal, [$($group:literal)?], $version:literal, $scope:ident):
            $model:ident $(in $store:ident)?, decoder $decoder:ident;
    )*) => {
        /// A kind of objects.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $(
                #[doc = concat!("Kind `", $name, "`.")]
                $kind,
            )*
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$kind => &Row {
                        name: $name,
                        resource: $resource,
                        group: concat!($($group)?),
                        version: $version,
                        scope: Scope::$scope,
                        event_labels: [
                            concat!($($group, "/",)? $name, "Add"),
                            concat!($($group, "/",)? $name, "Update"),
                            concat!($($group, "/",)? $name, "Delete"),
                        ],
                    },)*
                }
            }
        }
    };
}

crate::object_kinds!(kinds);

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

    /// The version of the group that is listed and watched.
    pub fn version(self) -> &'static str {
        self.row().version
    }

    /// Older versions with the same fields, newest first: servers that do not have `version` may
    /// serve one of these.
    pub fn older_versions(self) -> &'static [&'static str] {
        match self {
            Self::DeviceTaintRule => &["v1beta2", "v1alpha3"],
            _ => &[],
        }
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(self) -> bool {
        self.row().scope == Scope::Namespaced
    }

    /// As in kube-scheduler's metrics: an object is added, changes, is deleted.
    pub fn event_labels(self) -> [&'static str; 3] {
        self.row().event_labels
    }

    /// The kind with this plural; `None` for kinds that no rule reads.
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

    #[test]
    fn events_are_labelled_by_group_and_name() {
        assert_eq!(Kind::Service.event_labels(), ["ServiceAdd", "ServiceUpdate", "ServiceDelete"]);
        assert_eq!(Kind::CsiNode.event_labels()[1], "storage.k8s.io/CSINodeUpdate");
    }
}
