//! The order in which kube-scheduler looks at nodes: one of each zone in turn.
//!
//! Specification: zones are in the order in which they first had a node, and the nodes of a zone in the
//! order in which they came. A node that moves to another zone is the last one there. A zone without
//! nodes is forgotten. The order is worked out again when nodes came or went, not when one only moved.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::model::Labels;

use super::node::NodeSlot;

const REGION: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];
const ZONE: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];

/// Region and zone of a node. Each is the beta label if the node has it, even if empty, and otherwise the
/// label of today.
pub(crate) fn zone_of(labels: &Labels) -> (&str, &str) {
    let of = |keys: [&str; 2]| keys.iter().find_map(|key| labels.get(key)).unwrap_or("");
    (of(REGION), of(ZONE))
}

#[derive(Debug)]
struct Zone {
    name: (Box<str>, Box<str>),
    /// By arrival.
    nodes: BTreeMap<u64, NodeSlot>,
}

#[derive(Debug, Default)]
pub(super) struct NodeTree {
    zones: Vec<Zone>,
    /// By slot, the number under which its node came to its zone.
    arrivals: Vec<u64>,
    arrivals_total: u64,
    /// Where a zone is in `zones`, by region and name.
    positions: FxHashMap<(Box<str>, Box<str>), usize>,
    order: Vec<NodeSlot>,
    is_listed: bool,
}

impl NodeTree {
    /// Follows a node that came, changed or went.
    pub(super) fn follow(&mut self, slot: NodeSlot, old: Option<&Labels>, new: Option<&Labels>) {
        let (old_zone, new_zone) = (old.map(zone_of), new.map(zone_of));
        if old_zone == new_zone {
            return;
        }
        if let Some(zone) = old_zone {
            self.remove(slot, zone);
        }
        if let Some((region, name)) = new_zone {
            let name: (Box<str>, Box<str>) = (region.into(), name.into());
            let next = self.zones.len();
            let position = *self.positions.entry(name.clone()).or_insert(next);
            if position == next {
                self.zones.push(Zone { name, nodes: BTreeMap::new() });
            }
            if let Some(zone) = self.zones.get_mut(position) {
                zone.nodes.insert(self.arrivals_total, slot);
                self.arrivals.resize(self.arrivals.len().max(slot.index() + 1), 0);
                if let Some(arrival) = self.arrivals.get_mut(slot.index()) {
                    *arrival = self.arrivals_total;
                }
                self.arrivals_total += 1;
            }
        }
        if old.is_none() || new.is_none() {
            self.is_listed = false;
        }
    }

    fn remove(&mut self, slot: NodeSlot, (region, name): (&str, &str)) {
        let name = (region.into(), name.into());
        let Some(&position) = self.positions.get(&name) else { return };
        let Some(zone) = self.zones.get_mut(position) else { return };
        self.arrivals.get(slot.index()).and_then(|arrival| zone.nodes.remove(arrival));
        if zone.nodes.is_empty() {
            self.zones.remove(position);
            self.positions.remove(&name);
            for (position, zone) in self.zones.iter().enumerate().skip(position) {
                if let Some(known) = self.positions.get_mut(&zone.name) {
                    *known = position;
                }
            }
        }
    }

    /// What [`NodeTree::list`] would make of it now, with nothing kept.
    pub(super) fn order(&self) -> Cow<'_, [NodeSlot]> {
        if self.is_listed { Cow::Borrowed(&self.order) } else { Cow::Owned(self.by_turns()) }
    }

    /// Works the order out, if nodes came or went. Only a cycle does this, as in kube-scheduler: a node that
    /// changes its zone after others came, and before the next cycle, is in its new zone then.
    pub(super) fn list(&mut self) {
        if !self.is_listed {
            self.order = self.by_turns();
            self.is_listed = true;
        }
    }

    /// One node of each zone in turn.
    fn by_turns(&self) -> Vec<NodeSlot> {
        let mut order = Vec::with_capacity(self.order.len());
        let mut zones: Vec<_> = self.zones.iter().map(|zone| zone.nodes.values()).collect();
        while !zones.is_empty() {
            zones.retain_mut(|zone| match zone.next() {
                Some(slot) => {
                    order.push(*slot);
                    true
                }
                None => false,
            });
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Labels, Meta, Node};
    use crate::snapshot::Cluster;

    fn node(name: &str, zone: &str) -> Node {
        let labels: Labels = [("topology.kubernetes.io/zone", zone)].into_iter().collect();
        Node { meta: Meta { name: name.into(), labels, ..Meta::default() }, ..Node::default() }
    }

    fn order(cluster: &mut Cluster) -> Vec<String> {
        cluster.settle_order();
        let slots = cluster.nodes().in_zones();
        let views = slots.iter().filter_map(|slot| cluster.nodes().view(*slot));
        views.map(|view| view.node.name.to_string()).collect()
    }

    #[test]
    fn zones_take_turns_in_the_order_in_which_they_came() {
        let mut cluster = Cluster::default();
        for (name, zone) in [("e", "b"), ("d", "b"), ("c", "a"), ("b", "b"), ("a", "c")] {
            cluster.set_node(node(name, zone));
        }
        assert_eq!(order(&mut cluster), ["e", "c", "a", "d", "b"]);
        // A node that moves takes the last place there, once nodes come or go.
        cluster.set_node(node("c", "c"));
        assert_eq!(order(&mut cluster), ["e", "c", "a", "d", "b"]);
        cluster.set_node(node("f", "a"));
        assert_eq!(order(&mut cluster), ["e", "a", "f", "d", "c", "b"]);
        // A zone that was empty is the last one when it has nodes again.
        cluster.remove_node("e");
        cluster.remove_node("d");
        cluster.remove_node("b");
        assert_eq!(order(&mut cluster), ["a", "f", "c"]);
        cluster.set_node(node("d", "b"));
        cluster.set_node(node("e", ""));
        assert_eq!(order(&mut cluster), ["a", "f", "d", "e", "c"]);
    }

    #[test]
    fn only_a_cycle_keeps_the_order() {
        let [mut looked_at, mut unseen] = [(); 2].map(|()| {
            let mut cluster = Cluster::default();
            cluster.set_node(node("a", ""));
            order(&mut cluster);
            cluster.set_node(node("b", ""));
            cluster
        });
        assert_eq!(looked_at.nodes().in_zones().len(), 2);
        looked_at.settle_names();
        for cluster in [&mut looked_at, &mut unseen] {
            cluster.set_node(node("a", "z"));
            assert_eq!(order(cluster), ["b", "a"]);
        }
    }
}
