//! The score: constraints that should hold.
//!
//! Clause: a node's raw score is, over the constraints whose key it has, the pods of its domain
//! times `ln(domains + 2)` plus `maxSkew - 1`, rounded half away from zero; domains are those of the
//! feasible nodes. For the host name the node's own pods count, whoever takes part, and all scored
//! nodes are its domains. A node that lacks a key gets nothing, except under the system's defaults,
//! where a missing label is one more domain.

use std::sync::Arc;

use crate::intern::Name;
use crate::model::Kind;
use crate::rules::{Feasible, IGNORED, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Change, Changes, Cluster, Domains, NodeParts, NodeSlot, NodeView, Pod};

use super::PodTopologySpread;
use super::constraints::{Constraint, Constraints, Force, can_have, key};
use super::standing::Standings;

const HOST_NAME: &str = "kubernetes.io/hostname";

#[derive(Debug)]
struct Prepared {
    namespace: Name,
    constraints: Constraints,
    standings: Standings,
    needs_keys: bool,
    /// By position in `constraints`.
    sums: Vec<Sum>,
}

/// Pods by place, for one constraint.
#[derive(Debug)]
struct Sum {
    version: u64,
    by_node: bool,
    /// By slot, or by id of domain. Whole numbers.
    pods: Vec<f64>,
    /// The id of a label with an empty value, which a missing one is equal to.
    empty: u32,
    /// How many domains all nodes together are in.
    domains: usize,
    /// No node lacks the key.
    is_everywhere: bool,
    weight: f64,
    /// `maxSkew - 1`.
    grace: f64,
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
        Some(Box::new(Prepared::of(constraints, needs_keys, pod, cluster)))
    }

    fn kinds(&self) -> &'static [Kind] {
        self.source_kinds()
    }
}

impl Sum {
    fn of(constraint: &Constraint, domains: &Domains, cluster: &Cluster) -> Self {
        let by_node = constraint.topology_key.as_ref() == HOST_NAME;
        let places = if by_node { cluster.nodes().slots() } else { domains.len() };
        let mut sum = Self {
            version: domains.version(),
            by_node,
            pods: vec![0.0; places],
            empty: domains.find("").unwrap_or(ABSENT),
            domains: usize::MAX,
            is_everywhere: cluster.nodes().iter().all(|view| domains.id(view.slot) != ABSENT),
            weight: 0.0,
            grace: whole(constraint.max_skew.saturating_sub(1)),
        };
        let live = &cluster.nodes().columns().live;
        sum.domains = sum.domains_of(domains, |index| live.get(index) == Some(&true));
        sum
    }

    fn add(&mut self, domains: &Domains, slot: NodeSlot, pods: f64) {
        let place = match (self.by_node, domains.id(slot)) {
            (true, _) => slot.index(),
            (false, ABSENT) => self.empty as usize,
            (false, id) => id as usize,
        };
        if let Some(cell) = self.pods.get_mut(place) {
            *cell += pods;
        }
    }

    fn worth(&self, pods: f64) -> f64 {
        pods * self.weight + self.grace
    }

    fn of_node(&self, id: u32, slot: usize) -> f64 {
        let place = if self.by_node { slot } else { id as usize };
        if id == ABSENT { 0.0 } else { self.worth(self.pods.get(place).copied().unwrap_or(0.0)) }
    }

    /// Slots without a node may get anything.
    fn add_all(&self, domains: &Domains, raw: &mut [f64]) {
        if self.by_node && self.is_everywhere {
            for (cell, pods) in raw.iter_mut().zip(&self.pods) {
                *cell += self.worth(*pods);
            }
            return;
        }
        if self.by_node {
            for ((cell, id), pods) in raw.iter_mut().zip(domains.ids()).zip(&self.pods) {
                *cell += if *id == ABSENT { 0.0 } else { self.worth(*pods) };
            }
            return;
        }
        let mut worth: Vec<f64> = self.pods.iter().map(|pods| self.worth(*pods)).collect();
        if let Some(absent) = worth.first_mut() {
            *absent = 0.0;
        }
        for (cell, id) in raw.iter_mut().zip(domains.ids()) {
            *cell += worth.get(*id as usize).copied().unwrap_or(0.0);
        }
    }

    /// How many domains some nodes are in; `is_one` is by slot.
    fn domains_of(&self, domains: &Domains, is_one: impl Fn(usize) -> bool) -> usize {
        let mut is_seen = vec![false; domains.len()];
        let mut seen = 0;
        for (index, id) in domains.ids().iter().enumerate() {
            let id = if *id == ABSENT { self.empty } else { *id };
            let Some(cell) = is_seen.get_mut(id as usize).filter(|seen| !**seen) else { continue };
            if is_one(index) {
                *cell = true;
                seen += 1;
                if seen == self.domains {
                    break;
                }
            }
        }
        seen
    }
}

impl Prepared {
    fn of(constraints: Constraints, needs_keys: bool, pod: &Pod, cluster: &Cluster) -> Self {
        let list = &constraints.list;
        let columns = columns(list, cluster);
        let standings = Standings::of(pod, list, &columns, needs_keys, cluster);
        let sums = list.iter().zip(&columns);
        let sums = sums.map(|(one, domains)| Sum::of(one, domains, cluster)).collect();
        let namespace = pod.namespace().clone();
        let mut prepared = Self { namespace, constraints, standings, needs_keys, sums };
        for row in cluster.census().identities() {
            if row.what.namespace == prepared.namespace {
                prepared.count_row(row, &columns);
            }
        }
        prepared
    }

    fn count_row(
        &mut self,
        row: &crate::snapshot::census::Row<crate::intern::Shared<crate::snapshot::pod::Identity>>,
        columns: &[Arc<Domains>],
    ) {
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

impl PreparedScore for Prepared {
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
                Change::Node(..) | Change::Object(_) => {}
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
        let hosts = || match all_count {
            true => feasible.count,
            false => (0..feasible.mask.len()).filter(|index| is_scored(*index)).count(),
        };
        let size = |(one, sum): (&Constraint, &Sum)| match sum.by_node {
            true => hosts(),
            false => sum.domains_of(&cluster.nodes().domains(&one.topology_key), is_scored),
        };
        let sizes: Vec<usize> = self.constraints.list.iter().zip(&self.sums).map(size).collect();
        for (sum, size) in self.sums.iter_mut().zip(sizes) {
            sum.weight = weight(size);
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
}

fn columns(constraints: &[Constraint], cluster: &Cluster) -> Vec<Arc<Domains>> {
    constraints.iter().map(|one| cluster.nodes().domains(&one.topology_key)).collect()
}

/// Small topologies are not watered down by large ones.
fn weight(size: usize) -> f64 {
    f64::from(u32::try_from(size).unwrap_or(u32::MAX).saturating_add(2)).ln()
}

/// Exact for what 32 bits hold.
fn whole(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap_or(i32::MAX))
}

/// Half away from zero, for what is below 2⁵¹; `f64::round` is a call for each node.
fn rounded(value: f64) -> f64 {
    // Beyond it, an `f64` has no room for a fraction, so adding it rounds, halves to even.
    const NO_FRACTION: f64 = 6_755_399_441_055_744.0;
    let nearest = (value + NO_FRACTION) - NO_FRACTION;
    let rest = value - nearest;
    let up = if value >= 0.0 && rest >= 0.5 { 1.0 } else { 0.0 };
    let down = if value < 0.0 && rest <= -0.5 { 1.0 } else { 0.0 };
    nearest + up - down
}

#[cfg(test)]
mod tests {
    use super::{rounded, weight};

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for value in [0.0, 0.49999999999999994, 0.5, 1.5, 2.5, 2.4999, -0.5, -1.4, -1.5, 7e9 + 0.5]
        {
            assert_eq!(rounded(value).to_bits(), (value + 0.0).round().to_bits(), "{value}");
        }
    }

    #[test]
    fn ten_domains_weigh_more_than_two() {
        assert!((weight(2) - 1.386_294_361_119_890_6).abs() < 1e-15);
        assert!((weight(10) - 2.484_906_649_788_000_4).abs() < 1e-15);
    }
}
