//! `SelectorSpread`: few pods of the same services and controller on a node, and in its zone.
//!
//! Specification: kube-scheduler up to 1.20, scale 0–100. A node scores by how far its pods are
//! below the most on any feasible node; in a zone that counts a third, and the zone's pods two
//! thirds. A pod with topology spread constraints of its own is left to them.

use crate::fields::{Fields, OUT_OF_RANGE, Refusals};
use crate::heap::HeapBytes;
use crate::model::{Kind, Selector};
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::default_selector::{self, DefaultSelector, Sources};
use super::node_zones::{NOWHERE, NodeZones};
use super::selected_pods::{SelectedPods, moves_nodes, share_left};
use super::{Feasible, HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score};

pub(crate) const NAME: &str = "SelectorSpread";

const ZONE_WEIGHT: f64 = 2.0 / 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectorSpread {
    sources: Sources,
}

#[derive(Debug)]
struct PreparedSelectorSpread {
    source: DefaultSelector,
    pods: SelectedPods,
    zones: NodeZones,
}

/// `selectors` names the kinds that count; all where absent.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<SelectorSpread> {
    if args.optional("selectors").is_none() {
        return Some(SelectorSpread { sources: Sources::ALL });
    }
    let place = args.place_of("selectors");
    let mut sources = Sources::NONE;
    for name in args.texts("selectors", refusals)? {
        match name {
            "Service" => sources.services = true,
            "ReplicationController" => sources.replication_controllers = true,
            "ReplicaSet" => sources.replica_sets = true,
            "StatefulSet" => sources.stateful_sets = true,
            _ => {
                let hint = "Service, ReplicationController, ReplicaSet or StatefulSet";
                refusals.add(OUT_OF_RANGE, &place, format!("no selector of {name:?}"), hint);
                return None;
            }
        }
    }
    Some(SelectorSpread { sources })
}

impl Score for SelectorSpread {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if pod.template.spread.is_empty() {
            default_selector::key(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        if !pod.template.spread.is_empty() {
            return None;
        }
        let source = DefaultSelector::of(pod, self.sources, cluster);
        let selector: Selector = source.selector().cloned().unwrap_or_default();
        let pods = SelectedPods::of(pod.namespace(), selector, cluster);
        Some(Box::new(PreparedSelectorSpread { source, pods, zones: NodeZones::of(cluster) }))
    }

    fn kinds(&self) -> &[Kind] {
        let only_services = Sources { services: self.sources.services, ..Sources::NONE };
        if self.sources == only_services { &[Kind::Service] } else { default_selector::KINDS }
    }
}

impl PreparedScore for PreparedSelectorSpread {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if moves_nodes(changes) || !self.source.is_current(changes, cluster) {
            return Refresh::Again;
        }
        self.pods.follow(changes);
        Refresh::Nodes
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        self.pods.at(node.slot.index())
    }

    fn raw_all(&self, _: &Cluster, raw: &mut [f64]) {
        for (cell, pods) in raw.iter_mut().zip(self.pods.by_slot()) {
            *cell = *pods;
        }
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Whole
    }

    fn normalize_all(
        &self,
        _: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let mut by_zone = vec![0.0_f64; self.zones.zones()];
        let mut most = 0.0_f64;
        let nodes = || raw.iter().zip(self.zones.by_slot()).zip(feasible.mask);
        for ((pods, zone), _) in nodes().filter(|(_, is_feasible)| **is_feasible) {
            most = most.max(*pods);
            if let Some(cell) = by_zone.get_mut(*zone as usize).filter(|_| *zone != NOWHERE) {
                *cell += *pods;
            }
        }
        let most_in_zone = by_zone.iter().copied().fold(0.0, f64::max);
        for (cell, ((pods, zone), _)) in normalized.iter_mut().zip(nodes()) {
            let in_zone = by_zone.get(*zone as usize).copied().unwrap_or(0.0);
            let zone = (*zone != NOWHERE).then(|| share_left(in_zone, most_in_zone));
            *cell = score(share_left(*pods, most), zone);
        }
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(
            size_of_val(self)
                + self.source.heap_bytes()
                + self.pods.heap_bytes()
                + self.zones.heap_bytes(),
        )
    }
}

#[allow(clippy::cast_possible_truncation)]
fn score(of_node: f64, of_zone: Option<f64>) -> i64 {
    match of_zone {
        None => of_node as i64,
        Some(of_zone) => (of_node * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * of_zone) as i64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SelectorSpread, Sources, from_args, score, share_left};
    use crate::fields::{Fields, Refusals};
    use crate::rules::Score;
    use crate::rules::pod_topology_spread::testing::{
        cluster, constraint, follows_score, pod, row, scores, service, spread_pod,
    };

    #[test]
    fn a_zone_counts_two_thirds() {
        assert_eq!(score(share_left(1.0, 4.0), None), 75);
        assert_eq!(score(share_left(0.0, 4.0), Some(share_left(3.0, 3.0))), 33);
        assert_eq!(score(share_left(4.0, 4.0), Some(share_left(0.0, 3.0))), 66);
        assert_eq!(score(share_left(0.0, 0.0), Some(share_left(0.0, 0.0))), 100);
        assert_eq!(score(share_left(1.0, 3.0), Some(share_left(2.0, 5.0))), 62);
    }

    fn scores_of(spread: SelectorSpread, zones: [&str; 4], without: &str) -> Vec<(f64, i64)> {
        let names = ["n1", "n2", "n3", "n4"];
        let labels = zones.map(|zone| format!("topology.kubernetes.io/zone={zone}"));
        let nodes: Vec<(&str, &str)> =
            names.into_iter().zip(&labels).map(|(name, labels)| (name, labels.as_str())).collect();
        let pods = [
            ("app=web", "n1"),
            ("app=web", "n1"),
            ("app=web", "n2"),
            ("app=web", "n3"),
            ("app=db", "n4"),
        ];
        let mut cluster = cluster(&nodes, &pods);
        let mut gone = pod("gone", "app=web", "n4");
        gone.meta.deletion_seconds = Some(1);
        cluster.set_pod(gone);
        cluster.set_object(service("s", "app=web"));
        let new = row(&mut cluster, pod("new", "app=web", ""));
        let mut prepared = spread.prepare(&new, &cluster).unwrap();
        scores(prepared.as_mut(), &cluster, |name| name != without)
    }

    #[test]
    fn nodes_and_zones_with_fewer_pods_are_better() {
        let all = SelectorSpread { sources: Sources::ALL };
        let found = scores_of(all, ["", "", "", ""], "");
        assert_eq!(found, [(2.0, 0), (1.0, 50), (1.0, 50), (0.0, 100)]);
        // Zones: a 3, b 1. n1: 0/3 + 0; n2: 50/3 + 0; n3: 50/3 + 66.7·2/3; n4 is in none.
        let found = scores_of(all, ["a", "a", "b", ""], "");
        assert_eq!(found, [(2.0, 0), (1.0, 16), (1.0, 61), (0.0, 100)]);
        // Without n1 a node has at most 1, and both zones have 1.
        let found = scores_of(all, ["a", "a", "b", ""], "n1");
        assert_eq!(found, [(1.0, 0), (1.0, 0), (0.0, 100)]);
        let none = SelectorSpread { sources: Sources { services: false, ..Sources::ALL } };
        assert_eq!(scores_of(none, ["a", "a", "b", ""], ""), [(0.0, 100); 4], "nothing selects it");
    }

    #[test]
    fn changes_are_followed() {
        follows_score(&SelectorSpread { sources: Sources::ALL }, pod("new", "app=web", ""));
    }

    #[test]
    fn own_constraints_are_left_to_their_rule() {
        let mut cluster = cluster(&[("n1", "")], &[]);
        let own = spread_pod("app=web", &[constraint("zone", false, 1, "app=web")]);
        let own = row(&mut cluster, own);
        let all = SelectorSpread { sources: Sources::ALL };
        assert!(all.prepare(&own, &cluster).is_none());
    }

    #[test]
    fn arguments_name_the_kinds_that_count() {
        let read = |args| {
            let mut refusals = Refusals::default();
            let mut fields = Fields::of(&args, "$", &mut refusals).unwrap();
            let made = from_args(&mut fields, &mut refusals);
            fields.finish(&mut refusals);
            made.filter(|_| refusals.is_empty())
        };
        assert_eq!(read(json!({})), Some(SelectorSpread { sources: Sources::ALL }));
        let services = Sources { services: true, ..Sources::NONE };
        let made = read(json!({"selectors": ["Service"]}));
        assert_eq!(made, Some(SelectorSpread { sources: services }));
        assert_eq!(read(json!({"selectors": ["Pod"]})), None);
        assert_eq!(read(json!({"selector": []})), None);
    }
}
