//! Object metadata. A file written by hand may leave out two fields: the namespace is then
//! `default`, and the uid is made of the names.

use kpolicy_engine::model::{Kind, Meta, OwnerReference};

use super::map::{AnnotationMap, TextMap};
use super::scalar::{Text, Time};
use super::sequence::{Element, Models};
use super::wire;

wire! {
    pub(crate) struct MetaWire<'a> {
        "name" => name: Text<'a>,
        "namespace" => namespace: Text<'a>,
        "uid" => uid: Text<'a>,
        "generation" => generation: i64,
        "resourceVersion" => resource_version: Text<'a>,
        "labels" => labels: TextMap,
        "annotations" => annotations: AnnotationMap,
        "creationTimestamp" => created: Time,
        "deletionTimestamp" => deleted: Time,
        "ownerReferences" => owners: Models<OwnerReference>,
    }
}

wire! {
    pub(crate) struct OwnerWire<'a> {
        "apiVersion" => api_version: Text<'a>,
        "kind" => kind: Text<'a>,
        "name" => name: Text<'a>,
        "uid" => uid: Text<'a>,
        "controller" => controller: bool,
    }
}

wire! {
    /// An object of which only the metadata is read.
    pub(crate) struct BareWire<'a> {
        "metadata" => meta: MetaWire<'a>,
    }
}

/// What `kubectl` puts where a manifest names none.
const NAMESPACE_DEFAULT: &str = "default";

impl MetaWire<'_> {
    pub(crate) fn into_meta(self, kind: Kind) -> (Meta, Option<OwnerReference>) {
        let namespace = match (kind.is_namespaced(), self.namespace) {
            (true, namespace) => namespace.boxed_or(NAMESPACE_DEFAULT),
            (false, _) => Box::default(),
        };
        let name = self.name.boxed();
        let uid = match self.uid.boxed() {
            uid if !uid.is_empty() => uid,
            _ if namespace.is_empty() => name.clone(),
            _ => format!("{namespace}/{name}").into_boxed_str(),
        };
        let controller = self.owners.0.into_iter().next();
        let meta = Meta {
            namespace,
            name,
            uid,
            resource_version: self.resource_version.boxed(),
            labels: self.labels.0,
            annotations: self.annotations.0,
            creation_seconds: self.created.0,
            deletion_seconds: self.deleted.0,
        };
        (meta, controller)
    }
}

impl<'de> Element<'de> for OwnerReference {
    type Wire = OwnerWire<'de>;

    /// Only the controlling owner is kept.
    fn from_wire(wire: OwnerWire<'de>) -> Option<Self> {
        wire.controller.then(|| Self {
            api_version: wire.api_version.boxed(),
            kind: wire.kind.boxed(),
            name: wire.name.boxed(),
            uid: wire.uid.boxed(),
        })
    }
}
