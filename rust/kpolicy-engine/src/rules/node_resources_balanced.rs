//! `NodeResourcesBalancedAllocation`: better where the pod makes a node's resources more evenly used.
//!
//! Specification: balance is 100 less a hundredfold standard deviation of the used shares; from 1.36
//! on the score is 50 and half of how it would change, before that the balance with the pod. Requests
//! count without defaults; pods that ask for none of the resources are not scored.

use multiversion::multiversion;

use crate::fields::{Fields, Refusals};
use crate::model::Kind;
use crate::release::{BalanceScored, Followed};
use crate::resources::names;
use crate::snapshot::columns::{self, Columns, approximate};
use crate::snapshot::hundredths::rounded;
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::dynamic_resources::DevicePolicy;
use super::lanes::integer_part;
use super::resource_args::resources;
use super::resource_balance::{self, Balance};
use super::resource_scoring::{WeightedResource, names_of};
use super::score::one_by_one;
use super::scored_scalar::{self, Counting, ScoredScalar};
use super::sure_lanes::Percentages;
use super::{HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score, sure_lanes};

pub(crate) const NAME: &str = "NodeResourcesBalancedAllocation";

const SCORE_MAX: f64 = 100.0;
const HALF: f64 = 50.0;
/// The last release that could be asked by a legacy policy.
const OLD_MINOR_LAST: i64 = 22;

#[derive(Debug)]
pub(crate) struct NodeResourcesBalancedAllocation {
    resources: Box<[WeightedResource]>,
    scored: BalanceScored,
    counting: Counting,
    /// As an old release scored.
    old: Option<Balance>,
}

#[derive(Debug)]
enum Which {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar(ScoredScalar),
}

impl Which {
    /// What a node has, and what pods hold of it.
    fn of(&self, cluster: &Cluster, node: NodeView<'_>) -> (i64, i64) {
        let (has, held) = (&node.node.allocatable.amounts, &node.load.requested);
        match self {
            Self::Cpu => (has.cpu_milli, held.cpu_milli),
            Self::Memory => (has.memory, held.memory),
            Self::EphemeralStorage => (has.ephemeral_storage, held.ephemeral_storage),
            Self::Scalar(scalar) => scalar.of(cluster, node),
        }
    }
}

#[derive(Debug)]
struct PreparedNodeResourcesBalanced {
    parts: Vec<(Which, i64)>,
    scored: BalanceScored,
}

impl NodeResourcesBalancedAllocation {
    pub(super) fn new(
        resources: Box<[WeightedResource]>,
        scored: BalanceScored,
        counting: Counting,
    ) -> Self {
        Self { resources, scored, counting, old: None }
    }
}

impl Score for NodeResourcesBalancedAllocation {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.requests.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        if let Some(balance) = self.old {
            let requests = pod.template.requests.clone();
            return Some(Box::new(resource_balance::PreparedResourceBalance { balance, requests }));
        }
        let asked = &pod.requests().held;
        let is_asked = |resource: &WeightedResource| asked.get(&resource.name) != 0;
        if !self.resources.iter().any(is_asked) {
            return None;
        }
        let part = |resource: &WeightedResource| match resource.name.as_ref() {
            names::CPU => Some((Which::Cpu, asked.cpu_milli)),
            names::MEMORY => Some((Which::Memory, asked.memory)),
            names::EPHEMERAL_STORAGE => Some((Which::EphemeralStorage, asked.ephemeral_storage)),
            name => {
                let (name, amount) =
                    asked.scalars.iter().find(|(have, _)| have.as_ref() == name)?;
                let scalar = || ScoredScalar::new(name, self.counting, cluster);
                (*amount != 0).then(|| (Which::Scalar(scalar()), *amount))
            }
        };
        Some(Box::new(PreparedNodeResourcesBalanced {
            parts: self.resources.iter().filter_map(part).collect(),
            scored: self.scored,
        }))
    }

    fn kinds(&self) -> &[Kind] {
        self.counting.kinds(names_of(&self.resources))
    }

    fn counts_devices(&self) -> bool {
        self.counting.concerns(names_of(&self.resources))
    }

    fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        self.counting.follow(policy);
    }

    fn score_as(&mut self, minor: i64) -> bool {
        let is_old = minor <= OLD_MINOR_LAST;
        self.old = is_old.then(|| Balance::of_release(minor));
        is_old
    }
}

/// The balance of used shares, 0–100.
fn balance(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let mut first = shares.clone();
    let deviation = match (first.next(), first.next(), first.next()) {
        (_, None, _) => 0.0,
        (Some(first), Some(second), None) => ((first - second) / 2.0).abs(),
        _ => {
            let count = shares.clone().fold(0.0, |count, _| count + 1.0);
            let mean = shares.clone().sum::<f64>() / count;
            let squares: f64 = shares.map(|share| (share - mean) * (share - mean)).sum();
            (squares / count).sqrt()
        }
    };
    ((1.0 - deviation) * SCORE_MAX).trunc()
}

fn score(before: f64, after: f64) -> f64 {
    HALF + ((HALF + after - before) / 2.0).trunc()
}

impl PreparedScore for PreparedNodeResourcesBalanced {
    fn reads(&self) -> Reads {
        scored_scalar::reads(self.scalars())
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        scored_scalar::refresh(self.scalars(), changes, cluster)
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let amounts = self.parts.iter().map(|(which, asked)| {
            let (has, held) = which.of(cluster, node);
            (has, held, *asked)
        });
        match self.scalars().next() {
            None => self.of_amounts(amounts),
            // Devices are counted once.
            Some(_) => self.of_amounts(amounts.collect::<Vec<_>>().into_iter()),
        }
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        self.raw_range(cluster, 0, raw);
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn raw_range(&self, cluster: &Cluster, first: usize, raw: &mut [f64]) {
        let columns = cluster.nodes().columns_of(raw.len());
        if !self.set_all(columns, first, Percentages::Raw(raw)) {
            one_by_one(self, cluster, first, raw);
        }
    }

    fn finish_range(&self, cluster: &Cluster, first: usize, scores: &mut [u8]) -> bool {
        let columns = cluster.nodes().columns_of(scores.len());
        self.set_all(columns, first, Percentages::Finished(scores))
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Percentage
    }

    fn held_bytes(&self) -> HeldBytes {
        let scalars: usize = self.scalars().map(ScoredScalar::heap_bytes).sum();
        let parts = self.parts.capacity() * size_of::<(Which, i64)>();
        HeldBytes::Fixed(size_of_val(self) + parts + scalars)
    }
}

impl PreparedNodeResourcesBalanced {
    /// From what the node has, what is held, and what the pod asks for.
    fn of_amounts(&self, amounts: impl Iterator<Item = (i64, i64, i64)> + Clone) -> f64 {
        // Of the resources that the node has.
        let shares = |takes_part: i64| {
            amounts.clone().filter_map(move |(has, held, asked)| {
                let used = held.saturating_add(takes_part * asked);
                (has != 0).then(|| (approximate(used) / approximate(has)).min(1.0))
            })
        };
        match self.scored {
            BalanceScored::WithPod => balance(shares(1)),
            BalanceScored::Change => score(balance(shares(0)), balance(shares(1))),
        }
    }

    fn scalars(&self) -> impl Iterator<Item = &ScoredScalar> {
        self.parts.iter().filter_map(|(which, _)| match which {
            Which::Scalar(scalar) => Some(scalar),
            Which::Cpu | Which::Memory | Which::EphemeralStorage => None,
        })
    }

    /// The kernel for CPU and memory; false where it does not apply.
    fn set_all(&self, columns: &Columns, first: usize, scores: Percentages<'_>) -> bool {
        let [(Which::Cpu, cpu_asked), (Which::Memory, memory_asked)] = self.parts.as_slice() else {
            return false;
        };
        if !columns.is_exact()
            || !columns::is_exact(*cpu_asked)
            || !columns::is_exact(*memory_asked)
        {
            return false;
        }
        let asked = [*cpu_asked, *memory_asked].map(approximate);
        let exact = |first: usize, raw: &mut [f64]| match self.scored {
            BalanceScored::WithPod => balance_with_pod(columns, first, asked, raw),
            BalanceScored::Change => change_of_balance(columns, first, asked, raw),
        };
        let hundredths = &columns.hundredths;
        if hundredths.are_of_all() {
            let is_change = matches!(self.scored, BalanceScored::Change);
            let asked = asked.map(rounded);
            let quick = |first: usize, scores: &mut [u8]| {
                sure_lanes::balance(is_change, hundredths, first, asked, scores)
            };
            scores.set_quickly(first, quick, exact);
        } else {
            scores.set(first, exact);
        }
        true
    }
}

/// The balance of CPU and memory with the pod, for the nodes of the slots from `first` on.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn balance_with_pod(
    columns: &Columns,
    first: usize,
    [cpu_asked, memory_asked]: [f64; 2],
    raw: &mut [f64],
) {
    let [cpu, memory, _] = &columns.allocatable;
    let [cpu_held, memory_held, _] = &columns.requested;
    let columns = [cpu, memory, cpu_held, memory_held];
    let [cpu, memory, cpu_held, memory_held] = columns.map(|column| columns::behind(column, first));
    let has = cpu.iter().zip(memory);
    let held = cpu_held.iter().zip(memory_held);
    for (cell, (has, held)) in raw.iter_mut().zip(has.zip(held)) {
        let cpu_share = at_most_one((held.0 + cpu_asked) / has.0);
        let memory_share = at_most_one((held.1 + memory_asked) / has.1);
        let is_two = *has.0 > 0.0 && *has.1 > 0.0;
        *cell = if is_two { balance_of_two(cpu_share, memory_share) } else { SCORE_MAX };
    }
}

/// How the pod changes the balance of CPU and memory, as a score, for the nodes of the slots from
/// `first` on.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn change_of_balance(
    columns: &Columns,
    first: usize,
    [cpu_asked, memory_asked]: [f64; 2],
    raw: &mut [f64],
) {
    let [cpu, memory, _] = &columns.allocatable;
    let [cpu_held, memory_held, _] = &columns.requested;
    let [cpu_share, memory_share] = &columns.used_share;
    let columns = [cpu, memory, cpu_held, memory_held, cpu_share, memory_share];
    let [cpu, memory, cpu_held, memory_held, cpu_share, memory_share] =
        columns.map(|column| columns::behind(column, first));
    let has = cpu.iter().zip(memory);
    let held = cpu_held.iter().zip(memory_held);
    let shares = cpu_share.iter().zip(memory_share);
    for (cell, ((has, held), shares)) in raw.iter_mut().zip(has.zip(held).zip(shares)) {
        let before = balance_of_two(*shares.0, *shares.1);
        let cpu_share = (held.0 + cpu_asked) / has.0;
        let memory_share = (held.1 + memory_asked) / has.1;
        let after = balance_of_two(at_most_one(cpu_share), at_most_one(memory_share));
        // With one resource or none the balance is perfect before and after.
        let is_two = *has.0 > 0.0 && *has.1 > 0.0;
        let change = if is_two { HALF + after - before } else { HALF };
        let half = integer_part(change.abs() * 0.5);
        *cell = if change < 0.0 { HALF - half } else { HALF + half };
    }
}

#[inline]
fn at_most_one(share: f64) -> f64 {
    if share > 1.0 { 1.0 } else { share }
}

#[inline]
fn balance_of_two(first: f64, second: f64) -> f64 {
    integer_part((1.0 - ((first - second) * 0.5).abs()) * SCORE_MAX)
}

/// From the plugin's args.
pub(crate) fn from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<NodeResourcesBalancedAllocation> {
    let scored = followed.traits().balance;
    let counting = Counting::of(followed);
    Some(NodeResourcesBalancedAllocation::new(resources(args, refusals)?, scored, counting))
}

#[cfg(test)]
mod tests {
    use super::{balance, balance_of_two, score};

    #[test]
    fn worked_numbers_of_kube_scheduler() {
        let same = |left: f64, right: f64| (left - right).abs() < f64::EPSILON;
        assert!(same(balance([0.5, 0.25].into_iter()), 87.0));
        assert!(same(balance_of_two(0.5, 0.25), 87.0));
        assert!(same(score(100.0, 87.0), 68.0));
        assert!(same(score(100.0, 0.0), 25.0));
        assert!(same(balance([].into_iter()), 100.0));
        // The deviation of 0.1, 0.5 and 0.9 is the root of 0.32 / 3.
        assert!(same(balance([0.1, 0.5, 0.9].into_iter()), 67.0));
    }
}
