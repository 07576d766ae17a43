//! Finds out whether all objects were read with the API paths that the program in force needs. The
//! objects themselves are asked, so the answer is right whatever was loaded or listed in between.

use crate::model::{ApiPaths, ApiValues, Kind};
use crate::snapshot::{Cluster, PodEntry};

/// Kinds of which some object lacks a path that is wanted.
pub(super) fn kinds(cluster: &Cluster, wanted: &ApiPaths) -> Vec<Kind> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let lacks = |kind: Kind, kept: &ApiValues| wanted.of(kind).any(|path| kept.get(path).is_none());
    let of_pod = |entry: &&PodEntry| lacks(Kind::Pod, &entry.pod.api_values);
    let mut stale = Vec::new();
    if wanted.of(Kind::Pod).next().is_some() && cluster.pods().in_order().iter().any(of_pod) {
        stale.push(Kind::Pod);
    }
    if cluster.nodes().iter().any(|view| lacks(Kind::Node, &view.node.object.api_values)) {
        stale.push(Kind::Node);
    }
    let mut namespaces = cluster.objects().namespaces.iter();
    if namespaces.any(|namespace| lacks(Kind::Namespace, &namespace.api_values)) {
        stale.push(Kind::Namespace);
    }
    stale
}
