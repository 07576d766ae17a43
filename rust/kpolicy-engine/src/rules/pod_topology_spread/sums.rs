//! Pods by domain, or by node, of one soft constraint, and what they are worth.
//!
//! Specification: for the host name each node counts by itself. Ids of domains hold for one
//! `version`.

use crate::heap::{HeapBytes, flat_bytes};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains, NodeSlot};

use super::constraints::Constraint;

const HOST_NAME: &str = "kubernetes.io/hostname";

/// Pods by place, for one constraint.
#[derive(Debug)]
pub(super) struct Sum {
    pub(crate) version: u64,
    /// By node and not by domain.
    pub(crate) by_node: bool,
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

impl Sum {
    pub(super) fn of(constraint: &Constraint, domains: &Domains, cluster: &Cluster) -> Self {
        let by_node = constraint.topology_key.as_ref() == HOST_NAME;
        let places = if by_node { cluster.nodes().slots() } else { domains.len() };
        let live = &cluster.nodes().columns().live;
        let has_key = domains.ids().iter().map(|id| *id != ABSENT);
        let mut sum = Self {
            version: domains.version(),
            by_node,
            pods: vec![0.0; places],
            empty: domains.find("").unwrap_or(ABSENT),
            domains: usize::MAX,
            is_everywhere: live.iter().zip(has_key).all(|(is_live, has_key)| has_key || !is_live),
            weight: 0.0,
            grace: whole(constraint.max_skew.saturating_sub(1)),
        };
        sum.domains = sum.domains_of(domains, |index| live.get(index) == Some(&true));
        sum
    }

    pub(super) fn add(&mut self, domains: &Domains, slot: NodeSlot, pods: f64) {
        let place = match (self.by_node, domains.id(slot)) {
            (true, _) => slot.index(),
            (false, ABSENT) => self.empty as usize,
            (false, id) => id as usize,
        };
        if let Some(cell) = self.pods.get_mut(place) {
            *cell += pods;
        }
    }

    /// Sets the weight for a number of domains: small topologies are not watered down by large ones.
    pub(super) fn weigh(&mut self, domains: usize) {
        self.weight = weight(domains);
    }

    fn worth(&self, pods: f64) -> f64 {
        pods * self.weight + self.grace
    }

    pub(super) fn of_node(&self, id: u32, slot: usize) -> f64 {
        let place = if self.by_node { slot } else { id as usize };
        if id == ABSENT { 0.0 } else { self.worth(self.pods.get(place).copied().unwrap_or(0.0)) }
    }

    /// Slots without a node may get anything.
    pub(super) fn add_all(&self, domains: &Domains, raw: &mut [f64]) {
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
    pub(super) fn domains_of(&self, domains: &Domains, is_one: impl Fn(usize) -> bool) -> usize {
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

fn weight(size: usize) -> f64 {
    f64::from(u32::try_from(size).unwrap_or(u32::MAX).saturating_add(2)).ln()
}

/// Exact for what 32 bits hold.
fn whole(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap_or(i32::MAX))
}

/// Half away from zero, for what is below 2⁵¹; `f64::round` is a call for each node.
pub(super) fn rounded(value: f64) -> f64 {
    // Beyond it, an `f64` has no room for a fraction, so adding it rounds, halves to even.
    const NO_FRACTION: f64 = 6_755_399_441_055_744.0;
    let nearest = (value + NO_FRACTION) - NO_FRACTION;
    let rest = value - nearest;
    let up = if value >= 0.0 && rest >= 0.5 { 1.0 } else { 0.0 };
    let down = if value < 0.0 && rest <= -0.5 { 1.0 } else { 0.0 };
    nearest + up - down
}

impl HeapBytes for Sum {
    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.pods)
    }
}

#[cfg(test)]
mod tests {
    use super::{rounded, weight};

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let below_half = 0.5_f64.next_down();
        for value in [0.0, below_half, 0.5, 1.5, 2.5, 3.5, 2.4999, 7e9 + 0.5, 1.0 - below_half] {
            for value in [value, -value, value + 1.0, value - 5.0] {
                assert!((rounded(value) - value.round()).abs() < f64::EPSILON, "{value}");
            }
        }
    }

    #[test]
    fn ten_domains_weigh_more_than_two() {
        assert!((weight(2) - 1.386_294_361_119_890_6).abs() < 1e-15);
        assert!((weight(10) - 2.484_906_649_788_000_4).abs() < 1e-15);
    }
}
