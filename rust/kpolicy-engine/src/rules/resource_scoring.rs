//! Scoring by how much of a node's resources would be asked for.
//!
//! Contains the strategies of `NodeResourcesFit`, which were priorities of their own in older
//! releases: for each resource a score from what the node would carry and what it has, then their
//! weighted mean. Specification: CPU and memory count with defaults; a scalar that the pod does not
//! ask for and a resource that the node lacks take no part; every step truncates, but for the
//! rounded mean of `RequestedToCapacityRatio`.

use multiversion::multiversion;

use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::resources::{Amounts, names};
use crate::snapshot::columns::{self, CPU, Columns, EPHEMERAL_STORAGE, MEMORY};
use crate::snapshot::hundredths::rounded;
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::dynamic_resources::DevicePolicy;
use super::lanes::integer_part;
use super::score::one_by_one;
use super::scored_scalar::{self, Counting, ScoredScalar};
use super::sure_lanes::Percentages;
use super::{HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score, sure_lanes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WeightedResource {
    pub(crate) name: Box<str>,
    pub(crate) weight: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The more is left, the better.
    LeastAllocated,
    /// The less is left, the better.
    MostAllocated,
    /// By a shape: points of (utilization 0–100, score 0–100), utilization rising.
    RequestedToCapacityRatio(Box<[(i64, i64)]>),
}

#[derive(Debug, Clone)]
pub(crate) struct ResourceScoring {
    pub(crate) strategy: Strategy,
    pub(crate) resources: Box<[WeightedResource]>,
    pub(crate) counting: Counting,
}

pub(super) fn names_of(resources: &[WeightedResource]) -> impl Iterator<Item = &str> {
    resources.iter().map(|resource| &*resource.name)
}

/// Which column or scalar a resource is.
#[derive(Debug)]
enum Which {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar(ScoredScalar),
}

#[derive(Debug)]
struct Part {
    which: Which,
    asked: i64,
    weight: i64,
}

#[derive(Debug)]
struct PreparedResourceScoring {
    strategy: Strategy,
    parts: Vec<Part>,
}

impl Score for ResourceScoring {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.requests.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let asked = &pod.requests().scored;
        let part = |resource| part(resource, asked, self.counting, cluster);
        let parts = self.resources.iter().filter_map(part).collect();
        Some(Box::new(PreparedResourceScoring { strategy: self.strategy.clone(), parts }))
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
}

/// `None` where the resource takes no part for this pod.
fn part(
    resource: &WeightedResource,
    asked: &Amounts,
    counting: Counting,
    cluster: &Cluster,
) -> Option<Part> {
    let weight = resource.weight;
    Some(match resource.name.as_ref() {
        names::CPU => Part { which: Which::Cpu, asked: asked.cpu_milli, weight },
        names::MEMORY => Part { which: Which::Memory, asked: asked.memory, weight },
        names::EPHEMERAL_STORAGE => {
            Part { which: Which::EphemeralStorage, asked: asked.ephemeral_storage, weight }
        }
        name => {
            let (name, asked) =
                asked.scalars.iter().find(|(have, asked)| have.as_ref() == name && *asked != 0)?;
            let scalar = ScoredScalar::new(name, counting, cluster);
            Part { which: Which::Scalar(scalar), asked: *asked, weight }
        }
    })
}

impl Part {
    /// What the node has, and what it would carry.
    fn read(&self, cluster: &Cluster, node: NodeView<'_>) -> (i64, i64) {
        let (has, load) = (&node.node.allocatable.amounts, node.load);
        let (has, carries) = match &self.which {
            Which::Cpu => (has.cpu_milli, load.requested_nonzero.cpu_milli),
            Which::Memory => (has.memory, load.requested_nonzero.memory),
            Which::EphemeralStorage => (has.ephemeral_storage, load.requested.ephemeral_storage),
            Which::Scalar(scalar) => scalar.of(cluster, node),
        };
        (has, carries.saturating_add(self.asked))
    }

    fn columns<'a>(&self, columns: &'a Columns) -> Option<(&'a [f64], &'a [f64])> {
        let [cpu, memory, ephemeral] = &columns.allocatable;
        debug_assert_eq!((CPU, MEMORY, EPHEMERAL_STORAGE), (0, 1, 2));
        let [cpu_carried, memory_carried] = &columns.nonzero;
        let [_, _, ephemeral_carried] = &columns.requested;
        match &self.which {
            Which::Cpu => Some((cpu, cpu_carried)),
            Which::Memory => Some((memory, memory_carried)),
            Which::EphemeralStorage => Some((ephemeral, ephemeral_carried)),
            Which::Scalar(_) => None,
        }
    }
}

/// A hundredfold share, truncated.
fn share(of: i64, whole: i64) -> i64 {
    if let Some(hundredfold) = of.checked_mul(100) {
        return hundredfold / whole;
    }
    let share = i128::from(of) * 100 / i128::from(whole);
    i64::try_from(share).unwrap_or(i64::MAX)
}

impl Strategy {
    fn score(&self, has: i64, carries: i64) -> i64 {
        match self {
            Self::LeastAllocated if carries > has => 0,
            Self::LeastAllocated => share(has - carries, has),
            Self::MostAllocated => share(carries.min(has), has),
            Self::RequestedToCapacityRatio(points) => {
                on_shape(points, if carries > has { 100 } else { share(carries, has) })
            }
        }
    }

    fn mean(&self, scores: impl Iterator<Item = (i64, i64)>) -> f64 {
        let is_ratio = matches!(self, Self::RequestedToCapacityRatio(_));
        // kube-scheduler leaves scores of 0 out of the mean of a `RequestedToCapacityRatio`.
        let counted = scores.filter(|(score, _)| !is_ratio || *score > 0);
        let (sum, weights) = counted.fold((0, 0), |(sum, weights), (score, weight)| {
            (sum + score * weight, weights + weight)
        });
        if weights == 0 {
            0.0
        } else if is_ratio {
            (columns::approximate(sum) / columns::approximate(weights)).round()
        } else {
            columns::approximate(sum / weights)
        }
    }
}

/// The score at a utilization; level beyond the ends.
pub(super) fn on_shape(points: &[(i64, i64)], at: i64) -> i64 {
    let after = points.partition_point(|(x, _)| *x < at);
    match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
        (Some((x, y)), Some((next_x, next_y))) => y + (next_y - y) * (at - x) / (next_x - x),
        (None, Some((_, y))) | (Some((_, y)), None) => *y,
        (None, None) => 0,
    }
}

impl PreparedScore for PreparedResourceScoring {
    fn reads(&self) -> Reads {
        scored_scalar::reads(self.scalars())
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        scored_scalar::refresh(self.scalars(), changes, cluster)
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let scores = self.parts.iter().filter_map(|part| {
            let (has, carries) = part.read(cluster, node);
            (has != 0).then(|| (self.strategy.score(has, carries), part.weight))
        });
        self.strategy.mean(scores)
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
        let parts = self.parts.capacity() * size_of::<Part>();
        let scalars: usize = self.scalars().map(ScoredScalar::heap_bytes).sum();
        HeldBytes::Fixed(size_of_val(self) + parts + scalars + self.strategy.heap_bytes())
    }
}

impl PreparedResourceScoring {
    fn scalars(&self) -> impl Iterator<Item = &ScoredScalar> {
        self.parts.iter().filter_map(|part| match &part.which {
            Which::Scalar(scalar) => Some(scalar),
            Which::Cpu | Which::Memory | Which::EphemeralStorage => None,
        })
    }

    /// The kernel for the two common strategies; false where it does not apply.
    fn set_all(&self, columns: &Columns, first: usize, scores: Percentages<'_>) -> bool {
        let is_least = match &self.strategy {
            Strategy::LeastAllocated => true,
            Strategy::MostAllocated => false,
            Strategy::RequestedToCapacityRatio(_) => return false,
        };
        let is_exact =
            columns.is_exact() && self.parts.iter().all(|part| columns::is_exact(part.asked));
        let [left, right] = self.parts.as_slice() else { return false };
        let (true, Some(one), Some(two)) =
            (is_exact, left.columns(columns), right.columns(columns))
        else {
            return false;
        };
        let asked = [left.asked, right.asked].map(columns::approximate);
        let weights = [left.weight, right.weight].map(columns::approximate);
        let exact = |first: usize, raw: &mut [f64]| {
            let lanes = [one, two].map(|(has, carries)| {
                (columns::behind(has, first), columns::behind(carries, first))
            });
            mean_of_two(is_least, lanes, asked, weights, raw);
        };
        let hundredths = &columns.hundredths;
        match self.cpu_and_memory().filter(|_| hundredths.are_of_all()) {
            None => scores.set(first, exact),
            Some(parts) => {
                let asked = parts.map(|part| rounded(columns::approximate(part.asked)));
                let weights = parts.map(|part| rounded(columns::approximate(part.weight)));
                let quick = |first: usize, scores: &mut [u8]| {
                    sure_lanes::mean(is_least, hundredths, first, asked, weights, scores)
                };
                scores.set_quickly(first, quick, exact);
            }
        }
        true
    }

    /// Both parts, if these are CPU and memory, in this order, and their weights are usual.
    fn cpu_and_memory(&self) -> Option<[&Part; 2]> {
        let [left, right] = self.parts.as_slice() else { return None };
        let are_usual = |part: &Part| (1..=sure_lanes::WEIGHT_MAX).contains(&part.weight);
        if !are_usual(left) || !are_usual(right) {
            return None;
        }
        match (&left.which, &right.which) {
            (Which::Cpu, Which::Memory) => Some([left, right]),
            (Which::Memory, Which::Cpu) => Some([right, left]),
            _ => None,
        }
    }
}

/// What nodes have of a resource, and what they carry.
type Lanes<'a> = (&'a [f64], &'a [f64]);

/// The weighted mean of two resources, for every node.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mean_of_two(
    is_least: bool,
    [one, two]: [Lanes<'_>; 2],
    asked: [f64; 2],
    weights: [f64; 2],
    raw: &mut [f64],
) {
    let mean_of_two = 1.0 / (weights[0] + weights[1]);
    let cells = raw.iter_mut().zip(one.0.iter().zip(one.1)).zip(two.0.iter().zip(two.1));
    for ((cell, one), two) in cells {
        let first = hundredfold(is_least, *one.0, one.1 + asked[0]);
        let second = hundredfold(is_least, *two.0, two.1 + asked[1]);
        // Half a unit more keeps the reciprocal's error from taking an integer down by one.
        let sum = first * weights[0] + second * weights[1];
        let both = integer_part((sum + 0.5) * mean_of_two);
        // A resource that the node lacks has 0 here and no weight.
        let is_both = *one.0 > 0.0 && *two.0 > 0.0;
        *cell = if is_both { both } else { first + second };
    }
}

/// The share that is left or carried, in hundredths; 0 of a resource that the node lacks.
#[inline]
fn hundredfold(is_least: bool, has: f64, carries: f64) -> f64 {
    let capped = if carries > has { has } else { carries };
    let wanted = if is_least { has - capped } else { capped };
    let share = integer_part(wanted * 100.0 / has);
    if has > 0.0 { share } else { 0.0 }
}

impl HeapBytes for WeightedResource {
    fn heap_bytes(&self) -> usize {
        self.name.heap_bytes()
    }
}

impl HeapBytes for Strategy {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::LeastAllocated | Self::MostAllocated => 0,
            Self::RequestedToCapacityRatio(points) => points.heap_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Strategy, on_shape};

    #[test]
    fn worked_numbers_of_kube_scheduler() {
        let gib = 1 << 30;
        let least = |has, carries| Strategy::LeastAllocated.score(has, carries);
        assert_eq!(least(4000, 1500), 62);
        assert_eq!(least(8 * gib, 3 * gib), 62);
        assert_eq!(least(4000, 1100), 72);
        assert_eq!(least(8 * gib, 2 * gib + 200 * (1 << 20)), 72);
        assert_eq!(least(100, 101), 0);
        assert_eq!(Strategy::MostAllocated.score(100, 200), 100);
        assert_eq!(on_shape(&[(0, 0), (100, 100)], 33), 33);
        assert_eq!(on_shape(&[(0, 20), (40, 100), (80, 70)], 41), 100);
        assert_eq!(on_shape(&[(0, 20), (40, 100), (80, 70)], 99), 70);
    }
}
