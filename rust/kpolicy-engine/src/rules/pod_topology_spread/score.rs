//! The score: constraints that should hold.
//!
//! Specification: a node's raw score is, over the constraints whose key it has, the pods of its
//! domain times `ln(domains + 2)` plus `maxSkew - 1`, rounded half away from zero; domains are
//! those of the feasible nodes. For the host name the node's own pods count, whoever takes part,
//! and all scored nodes are its domains. A node that lacks a key gets nothing, except under the
//! system's defaults, where a missing label is one more domain.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::intern::{Name, Shared};
use crate::model::Kind;
use crate::rules::tolerations::Operators;
use crate::rules::{
    Feasible, HeldBytes, IGNORED, Key, Normalization, PreparedScore, Reads, Refresh, Score,
};
use crate::snapshot::census::Row;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Change, Changes, Cluster, Domains, NodeParts, NodeSlot, NodeView, Pod};

use super::PodTopologySpread;
use super::constraints::{Constraint, Constraints, Force, can_have, key};
use super::standing::Standings;
use super::sums::{Sum, rounded};

#[derive(Debug)]
struct PreparedSpreadScore {
    namespace: Name,
    constraints: Constraints,
    standings: Standings,
    needs_keys: bool,
    /// By position in `constraints`.
    sums: Vec<Sum>,
}

impl Score for PodTopologySpread {
    fn key(&self, pod: &Pod, parts: &mut Key) {
        key(self, pod, Force::Soft, parts);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        if !can_have(self, pod, Force::Soft) {
            return None;
        }
        let constraints = Constraints::of(self, pod, Force::Soft, cluster);
        let needs_keys = !self.is_system || !pod.template.spread.is_empty();
        Some(Box::new(PreparedSpreadScore::of(
            constraints,
            needs_keys,
            (pod, self.operators),
            cluster,
        )))
    }

    fn kinds(&self) -> &[Kind] {
        self.source_kinds()
    }
}

impl PreparedSpreadScore {
    fn of(
        constraints: Constraints,
        needs_keys: bool,
        (pod, operators): (&Pod, Operators),
        cluster: &Cluster,
    ) -> Self {
        let list = &constraints.list;
        let columns = columns(list, cluster);
        let standings = Standings::of((pod, operators), list, &columns, needs_keys, cluster);
        let sums = list.iter().zip(&columns);
        let sums = sums.map(|(one, domains)| Sum::of(one, domains, cluster)).collect();
        let namespace = pod.namespace().clone();
        let mut prepared = Self { namespace, constraints, standings, needs_keys, sums };
        for row in cluster.census().identities_in(&prepared.namespace) {
            prepared.count_row(row, &columns);
        }
        prepared
    }

    fn count_row(&mut self, row: &Row<Shared<Identity>>, columns: &[Arc<Domains>]) {
        let constraints = self.constraints.list.iter().zip(columns);
        for ((one, domains), sum) in constraints.zip(&mut self.sums) {
            if one.counts(&row.what.labels) {
                for (slot, tally) in &row.by_node {
                    if sum.by_node || self.standings.takes_part(*slot, one) {
                        let pods = tally.pods - tally.terminating;
                        sum.add(domains, *slot, f64::from(pods));
                    }
                }
            }
        }
    }

    fn is_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        let is_current = |(one, sum): (&Constraint, &Sum)| {
            cluster.nodes().domains(&one.topology_key).version() == sum.version
        };
        self.standings.are_current(changes)
            && self.constraints.are_current(changes, cluster)
            && self.constraints.list.iter().zip(&self.sums).all(is_current)
    }

    /// Whether more than this node's score moved.
    fn count(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: f64) -> bool {
        if pod.is_terminating || *pod.namespace() != self.namespace {
            return false;
        }
        let mut moved = false;
        for (one, sum) in self.constraints.list.iter().zip(&mut self.sums) {
            if one.counts(pod.labels()) && (sum.by_node || self.standings.takes_part(slot, one)) {
                sum.add(&cluster.nodes().domains(&one.topology_key), slot, pods);
                moved |= !sum.by_node;
            }
        }
        moved
    }

    fn is_ignored(&self, index: usize) -> bool {
        self.needs_keys && !self.standings.has_keys(index)
    }
}

impl PreparedScore for PreparedSpreadScore {
    fn reads(&self) -> Reads {
        Reads { node: NodeParts::LABELS, load: self.sums.iter().any(|sum| sum.by_node) }
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if !self.is_current(changes, cluster) {
            return Refresh::Again;
        }
        let mut moved = false;
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => moved |= self.count(cluster, *slot, pod, 1.0),
                Change::PodTaken(slot, pod) => moved |= self.count(cluster, *slot, pod, -1.0),
                Change::Node(..) | Change::Object(_) | Change::Time(..) => {}
            }
        }
        if moved { Refresh::All } else { Refresh::Nodes }
    }

    fn reads_feasible(&self) -> bool {
        !self.is_skipped()
    }

    fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        let is_scored =
            |index: usize| feasible.mask.get(index) == Some(&true) && !self.is_ignored(index);
        let all_count = !self.needs_keys || self.standings.all_have_keys();
        let hosts = || {
            let each = || (0..feasible.mask.len()).filter(|index| is_scored(*index));
            if all_count { feasible.count } else { each().count() }
        };
        let size = |(one, sum): (&Constraint, &Sum)| {
            let domains = cluster.nodes().domains(&one.topology_key);
            if sum.by_node { hosts() } else { sum.domains_of(&domains, is_scored) }
        };
        let sizes: Vec<usize> = self.constraints.list.iter().zip(&self.sums).map(size).collect();
        for (sum, size) in self.sums.iter_mut().zip(sizes) {
            sum.weigh(size);
        }
    }

    fn is_skipped(&self) -> bool {
        self.sums.is_empty()
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let index = node.slot.index();
        if self.is_ignored(index) {
            return IGNORED;
        }
        let each = self.constraints.list.iter().zip(&self.sums);
        let worth = each.map(|(one, sum)| {
            sum.of_node(cluster.nodes().domains(&one.topology_key).id(node.slot), index)
        });
        rounded(worth.fold(0.0, |sum, worth| sum + worth))
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        raw.fill(0.0);
        for (sum, domains) in self.sums.iter().zip(columns(&self.constraints.list, cluster)) {
            sum.add_all(&domains, raw);
        }
        for cell in raw.iter_mut() {
            *cell = rounded(*cell);
        }
        if self.needs_keys && !self.standings.all_have_keys() {
            for (index, cell) in raw.iter_mut().enumerate() {
                *cell = if self.is_ignored(index) { IGNORED } else { *cell };
            }
        }
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Spread
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(
            size_of_val(self)
                + self.constraints.heap_bytes()
                + self.standings.heap_bytes()
                + self.sums.heap_bytes(),
        )
    }
}

fn columns(constraints: &[Constraint], cluster: &Cluster) -> Vec<Arc<Domains>> {
    constraints.iter().map(|one| cluster.nodes().domains(&one.topology_key)).collect()
}
