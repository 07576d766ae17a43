//! Finds out whether all objects were read with the API paths that the program in force needs. The
//! objects themselves are asked, so the answer is right whatever was loaded or listed in between.

use crate::model::{ApiPaths, ApiValues, Kind};
use crate::snapshot::Cluster;

/// Kinds of which some object lacks a path that is wanted.
pub(super) fn kinds(cluster: &Cluster, wanted: &ApiPaths) -> Vec<Kind> {
    let is_stale = |kind: Kind| {
        let paths: Vec<&str> = wanted.of(kind).collect();
        let lacks = |kept: &ApiValues| paths.iter().any(|path| kept.get(path).is_none());
        !paths.is_empty()
            && match kind {
                Kind::Pod => {
                    cluster.pods().in_order().iter().any(|entry| lacks(&entry.pod.api_values))
                }
                Kind::Node => {
                    cluster.nodes().iter().any(|view| lacks(&view.node.object.api_values))
                }
                _ => cluster
                    .objects()
                    .namespaces
                    .iter()
                    .any(|namespace| lacks(&namespace.api_values)),
            }
    };
    [Kind::Pod, Kind::Node, Kind::Namespace].into_iter().filter(|kind| is_stale(*kind)).collect()
}
