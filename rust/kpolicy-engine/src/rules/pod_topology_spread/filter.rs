//! The filter: constraints that must hold.
//!
//! Specification: on a node, for each constraint in order: the node has its key; and the pods of
//! the node's domain, with this one if the constraint means it, are at most `maxSkew` more than the
//! least over all domains. A domain without any node that takes part has no pods.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::{HeapBytes, arc_bytes};
use crate::intern::Name;
use crate::model::Kind;
use crate::part::{Part, Parts};
use crate::rules::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Stage, Status};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Change, Changes, Cluster, Domains, NodeParts, NodeSlot, NodeView, Pod};

use super::constraints::{Constraint, Constraints, Force, can_have, key};
use super::counts::DomainCounts;
use super::standing::Standings;
use super::{PodTopologySpread, hints};

const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";
const REASON_KEY: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";

const SKEW: Code = Code::reject(1);
const KEY: Code = Code::reject(2);

#[derive(Debug, Clone)]
struct PreparedSpreadFilter {
    namespace: Name,
    constraints: Arc<Constraints>,
    standings: Standings,
    /// By position in `constraints`.
    limits: Vec<Limit>,
}

/// How many pods a domain may have.
#[derive(Debug, Clone)]
struct Limit {
    counts: DomainCounts,
    /// 1 if the constraint means the pod itself.
    own: i64,
    pods_max: i64,
}

impl Filter for PodTopologySpread {
    fn key(&self, pod: &Pod, parts: &mut Key) {
        key(self, pod, Force::Hard, parts);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        if !can_have(self, pod, Force::Hard) {
            return None;
        }
        Some(Box::new(PreparedSpreadFilter::of(self, pod, cluster)))
    }

    fn events(&self) -> Events {
        Events::of(&[
            Event::PodAdd,
            Event::PodLabel,
            Event::PodDelete,
            Event::PodToleration,
            Event::NodeAdd,
            Event::NodeDelete,
            Event::NodeLabel,
            Event::NodeTaint,
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[
            Part::NodeExistence,
            Part::NodeLabels,
            Part::NodeTaints,
            Part::Load,
            Part::OtherPods,
            Part::Terminations,
            Part::OtherNodes,
        ])
    }

    /// Constraints name labels of pods and nodes, and no resources.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodScaleDown, Event::NodeAllocatable])
    }

    /// The hint does not look at nodes that take part for other labels than their topology.
    fn narrow_events(&self) -> Events {
        Events::of(&[Event::NodeLabel])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        hints::wakes(self, pod, occurrence, cluster)
    }

    fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        hints::wakes_more(self, pod, occurrence, cluster)
    }

    fn kinds(&self) -> &[Kind] {
        self.source_kinds()
    }
}

impl Limit {
    fn of(
        constraint: &Constraint,
        pod: &Pod,
        domains: &Domains,
        standings: &Standings,
        cluster: &Cluster,
    ) -> Self {
        let taking_part = standings.taking_part(constraint, domains);
        let rows = cluster.census().identities_in(pod.namespace()).iter();
        let pods = rows
            .filter(|row| constraint.counts(&row.what.labels))
            .flat_map(|row| &row.by_node)
            .filter(|(slot, _)| standings.takes_part(**slot, constraint))
            .map(|(slot, tally)| (domains.id(*slot), i64::from(tally.pods - tally.terminating)));
        let counts = DomainCounts::of(domains, taking_part, pods);
        let own = i64::from(constraint.means(pod.labels()));
        let mut limit = Self { counts, own, pods_max: 0 };
        limit.settle(constraint);
        limit
    }

    fn settle(&mut self, constraint: &Constraint) {
        let least = self.counts.least(constraint.min_domains);
        self.pods_max = constraint.max_skew.saturating_add(least).saturating_sub(self.own);
    }

    fn code(&self, id: u32) -> Code {
        match id {
            ABSENT => KEY,
            id if self.counts.at(id) > self.pods_max => SKEW,
            _ => Code::PASS,
        }
    }
}

impl PreparedSpreadFilter {
    fn of(rule: &PodTopologySpread, pod: &Pod, cluster: &Cluster) -> Self {
        let constraints = Constraints::of(rule, pod, Force::Hard, cluster);
        let list = &constraints.list;
        let column = |one: &Constraint| cluster.nodes().domains(&one.topology_key);
        let columns: Vec<Arc<Domains>> = list.iter().map(column).collect();
        let standings = Standings::of((pod, rule.operators), list, &columns, true, cluster);
        let limits = list
            .iter()
            .zip(&columns)
            .map(|(one, domains)| Limit::of(one, pod, domains, &standings, cluster))
            .collect();
        let namespace = pod.namespace().clone();
        Self { namespace, constraints: Arc::new(constraints), standings, limits }
    }

    fn each(&self) -> impl Iterator<Item = (&Constraint, &Limit)> {
        self.constraints.list.iter().zip(&self.limits)
    }

    fn is_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        self.standings.are_current(changes)
            && self.constraints.are_current(changes, cluster)
            && self.each().all(|(one, limit)| limit.counts.is_current(cluster, &one.topology_key))
    }

    /// A pod came or left. Whether a domain's verdict may have changed.
    fn count(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: i64) -> bool {
        if pod.is_terminating || *pod.namespace() != self.namespace {
            return false;
        }
        let mut flips = false;
        for (one, limit) in self.constraints.list.iter().zip(&mut self.limits) {
            if one.counts(pod.labels()) && self.standings.takes_part(slot, one) {
                let id = cluster.nodes().domains(&one.topology_key).id(slot);
                let before = (limit.pods_max, limit.code(id));
                limit.counts.add(id, pods);
                limit.settle(one);
                flips |= before != (limit.pods_max, limit.code(id));
            }
        }
        flips
    }

    /// Adds hypothetical pods. kube-scheduler counts them also if they terminate, and if the
    /// selector is empty.
    fn argue(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: i64) {
        if *pod.namespace() != self.namespace {
            return;
        }
        for (one, limit) in self.constraints.list.iter().zip(&mut self.limits) {
            if one.means(pod.labels()) && self.standings.takes_part(slot, one) {
                let id = cluster.nodes().domains(&one.topology_key).id(slot);
                limit.counts.argue(id, pods);
                limit.settle(one);
            }
        }
    }
}

impl PreparedFilter for PreparedSpreadFilter {
    /// Labels; but whenever they change, it is prepared anew.
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if !self.is_current(changes, cluster) {
            return Refresh::Again;
        }
        let mut flips = false;
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => flips |= self.count(cluster, *slot, pod, 1),
                Change::PodTaken(slot, pod) => flips |= self.count(cluster, *slot, pod, -1),
                Change::Node(..) | Change::Object(_) | Change::Time(..) => {}
            }
        }
        if flips { Refresh::All } else { Refresh::Nodes }
    }

    fn stage(&self) -> Stage<'_> {
        if self.limits.is_empty() { Stage::Skip } else { Stage::Check }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let codes = self.each().map(|(one, limit)| {
            limit.code(cluster.nodes().domains(&one.topology_key).id(node.slot))
        });
        codes.into_iter().find(|code| !code.passes()).unwrap_or(Code::PASS)
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        codes.fill(Code::PASS);
        for (one, limit) in self.each() {
            let domains = cluster.nodes().domains(&one.topology_key);
            let verdicts: Vec<Code> = (0..).take(domains.len()).map(|id| limit.code(id)).collect();
            for (code, id) in codes.iter_mut().zip(domains.ids()) {
                if code.passes() {
                    *code = verdicts.get(*id as usize).copied().unwrap_or(KEY);
                }
            }
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        if code == KEY {
            Status::unresolvable(REASON_KEY)
        } else {
            Status::unschedulable(REASON_SKEW)
        }
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.argue(cluster, node.slot, pod, 1);
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.argue(cluster, node.slot, pod, -1);
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        let list = self.limits.capacity() * size_of::<Limit>();
        let counts: usize = self.limits.iter().map(|limit| limit.counts.heap_bytes()).sum();
        let tables = list + counts + self.standings.heap_bytes() + arc_bytes(&self.constraints);
        HeldBytes::Changing(size_of_val(self) + tables)
    }
}
