//! The zone of every node, as rules of old releases know it: region and zone together.
//!
//! Specification: a node with neither, or with both empty, is in no zone. Holds until labels or nodes
//! change.

use rustc_hash::FxHashMap;

use crate::heap::{HeapBytes, flat_bytes};
use crate::snapshot::Cluster;
use crate::snapshot::node_tree::zone_of;

/// The zone of nodes that are in none.
pub(crate) const NOWHERE: u32 = 0;

#[derive(Debug, Clone)]
pub(crate) struct NodeZones {
    by_slot: Vec<u32>,
    zones: usize,
}

impl NodeZones {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let mut known: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        known.insert(("", ""), NOWHERE);
        let mut by_slot = vec![NOWHERE; cluster.nodes().slots()];
        for view in cluster.nodes().iter() {
            let labels = &view.node.object.meta.labels;
            let next = u32::try_from(known.len()).unwrap_or(NOWHERE);
            let zone = *known.entry(zone_of(labels)).or_insert(next);
            if let Some(cell) = by_slot.get_mut(view.slot.index()) {
                *cell = zone;
            }
        }
        Self { by_slot, zones: known.len() }
    }

    pub(crate) fn by_slot(&self) -> &[u32] {
        &self.by_slot
    }

    /// How many there are, with that of nodes in none.
    pub(crate) fn zones(&self) -> usize {
        self.zones
    }
}

impl HeapBytes for NodeZones {
    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.by_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeZones;
    use crate::model::{Meta, Node};
    use crate::snapshot::Cluster;

    const BETA: &str = "failure-domain.beta.kubernetes.io/zone";
    const NOW: &str = "topology.kubernetes.io/zone";

    fn cluster(nodes: &[(&str, &[(&str, &str)])]) -> Cluster {
        let mut cluster = Cluster::default();
        for (name, labels) in nodes {
            let labels = labels.iter().copied().collect();
            let meta = Meta { name: (*name).into(), labels, ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        cluster
    }

    #[test]
    fn the_beta_label_counts_before_todays_even_if_empty() {
        let cluster = cluster(&[
            ("a", &[(NOW, "z")]),
            ("b", &[(BETA, "z"), (NOW, "y")]),
            ("c", &[(BETA, ""), (NOW, "z")]),
            ("d", &[]),
            ("e", &[(NOW, "y")]),
        ]);
        let zones = NodeZones::of(&cluster);
        assert_eq!(zones.by_slot(), [1, 1, 0, 0, 2]);
        assert_eq!(zones.zones(), 3);
    }
}
