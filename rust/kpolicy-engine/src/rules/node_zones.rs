//! The zone of every node, as rules of old releases know it: region and zone together.
//!
//! Clause: each of the two is the beta label if the node has it, even if empty, and otherwise the
//! label of today; a node with neither, or with both empty, is in no zone. Holds until labels or
//! nodes change.

use rustc_hash::FxHashMap;

use crate::model::Labels;
use crate::snapshot::Cluster;

/// The zone of nodes that are in none.
pub const NOWHERE: u32 = 0;

const REGION: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
const ZONE: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];

/// Zones by slot, in order of their first node by name.
#[derive(Debug, Clone)]
pub struct NodeZones {
    by_slot: Vec<u32>,
    zones: usize,
}

impl NodeZones {
    pub fn of(cluster: &Cluster) -> Self {
        let mut known: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        known.insert(("", ""), NOWHERE);
        let mut by_slot = vec![NOWHERE; cluster.nodes().slots()];
        for slot in cluster.nodes().by_rank() {
            let Some(view) = cluster.nodes().view(*slot) else { continue };
            let labels = &view.node.object.meta.labels;
            let next = u32::try_from(known.len()).unwrap_or(NOWHERE);
            let zone = *known.entry((of(labels, REGION), of(labels, ZONE))).or_insert(next);
            if let Some(cell) = by_slot.get_mut(slot.index()) {
                *cell = zone;
            }
        }
        Self { by_slot, zones: known.len() }
    }

    pub fn by_slot(&self) -> &[u32] {
        &self.by_slot
    }

    /// One more than the greatest zone.
    pub fn len(&self) -> usize {
        self.zones
    }

    pub fn is_empty(&self) -> bool {
        self.zones <= 1
    }

    /// The position of every node, by slot, if zones take turns. Clause: kube-scheduler lists nodes
    /// so, zones and nodes of a zone in the order they came; here, in the order of names.
    pub fn turns(&self, cluster: &Cluster) -> Vec<u32> {
        let mut of_zone: Vec<u32> = vec![0; self.zones];
        let mut first_of_zone: Vec<usize> = vec![usize::MAX; self.zones];
        let mut in_turn: Vec<(u32, usize, usize)> = Vec::with_capacity(cluster.nodes().len());
        for (rank, slot) in cluster.nodes().by_rank().iter().enumerate() {
            let zone = self.by_slot.get(slot.index()).copied().unwrap_or(NOWHERE) as usize;
            if let (Some(round), Some(first)) = (of_zone.get_mut(zone), first_of_zone.get_mut(zone))
            {
                *first = rank.min(*first);
                in_turn.push((*round, *first, slot.index()));
                *round += 1;
            }
        }
        in_turn.sort_unstable();
        let mut turns = vec![u32::MAX; self.by_slot.len()];
        for (turn, (_, _, index)) in (0..).zip(in_turn) {
            if let Some(cell) = turns.get_mut(index) {
                *cell = turn;
            }
        }
        turns
    }
}

fn of<'a>(labels: &'a Labels, keys: [&str; 2]) -> &'a str {
    keys.iter().find_map(|key| labels.get(key)).unwrap_or("")
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
        cluster.settle_order();
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
        assert_eq!(zones.len(), 3);
    }

    #[test]
    fn zones_take_turns() {
        let cluster = cluster(&[
            ("e", &[(NOW, "x")]),
            ("d", &[(NOW, "y")]),
            ("c", &[]),
            ("b", &[(NOW, "x")]),
            ("a", &[(NOW, "x")]),
        ]);
        // By names x: a b e, nowhere: c, y: d; so a c d, b, e.
        assert_eq!(NodeZones::of(&cluster).turns(&cluster), [4, 2, 1, 3, 0]);
    }
}
