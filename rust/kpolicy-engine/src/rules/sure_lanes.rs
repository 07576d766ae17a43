//! Kernels of the scores by CPU and memory that work on sixteen nodes side by side.
//!
//! They reckon with [`Hundredths`], which are nearly right. A share that comes closer to an integer than
//! its error may be on the wrong side of it: the block of nodes is then asked with the exact numbers.
//! So the results are those of the exact kernels.

use multiversion::multiversion;

use crate::snapshot::columns::behind;
use crate::snapshot::hundredths::Hundredths;

use super::lanes::low_byte;

/// Nodes that are asked exactly together.
const BLOCK: usize = 64;
/// Blocks that a kernel tells of at once, a bit for each.
const BLOCKS: usize = 64;

/// More than a share of at most 100 can be off: it is rounded five times by at most 2⁻²⁴ of it, and once
/// more when it is taken from 100, which makes less than 2⁻¹⁵.
const ERROR_MAX: f32 = 1.0 / 16_384.0;
/// Beyond it a share is certainly more than 100.
const OVERFULL: f32 = 100.5;

/// The greatest weight for which a mean in 32 bits has the right integer part.
pub(super) const WEIGHT_MAX: i64 = 100;

/// Adding it to a number from 0 up to 2²² rounds that number to an integer.
const TO_INTEGER: f32 = 8_388_608.0;

/// Where the scores of nodes go, which are whole numbers from 0 to 100.
pub(super) enum Percentages<'a> {
    Raw(&'a mut [f64]),
    Finished(&'a mut [u8]),
}

impl Percentages<'_> {
    /// Works out the nodes of the slots from `first` on.
    pub(super) fn set(self, first: usize, exact: impl Fn(usize, &mut [f64])) {
        match self {
            Self::Raw(raw) => exact(first, raw),
            Self::Finished(scores) => finish(first, scores, exact),
        }
    }

    /// As [`Percentages::set`], with `quick`, which tells by block where it is not sure.
    pub(super) fn set_quickly(
        self,
        first: usize,
        quick: impl Fn(usize, &mut [u8]) -> u64,
        exact: impl Fn(usize, &mut [f64]),
    ) {
        match self {
            Self::Raw(raw) => {
                let quick = |first: usize, raw: &mut [f64]| {
                    let mut scores = [0; BLOCK * BLOCKS];
                    let scores = scores.get_mut(..raw.len()).unwrap_or_default();
                    let unsure = quick(first, scores);
                    raw.iter_mut().zip(scores).for_each(|(raw, score)| *raw = f64::from(*score));
                    unsure
                };
                in_blocks(first, raw, quick, exact);
            }
            Self::Finished(scores) => {
                in_blocks(first, scores, quick, |first, scores| finish(first, scores, &exact));
            }
        }
    }
}

fn finish(first: usize, scores: &mut [u8], exact: impl Fn(usize, &mut [f64])) {
    let starts = (first..).step_by(BLOCK);
    for (start, scores) in starts.zip(scores.chunks_mut(BLOCK)) {
        let mut raw = [0.0; BLOCK];
        let raw = raw.get_mut(..scores.len()).unwrap_or_default();
        exact(start, raw);
        scores.iter_mut().zip(raw).for_each(|(score, raw)| *score = low_byte(*raw));
    }
}

/// Works out the nodes of the slots from `first` on: with `quick`, which tells by block where it is not
/// sure, and there with `exact`.
fn in_blocks<T>(
    first: usize,
    cells: &mut [T],
    quick: impl Fn(usize, &mut [T]) -> u64,
    exact: impl Fn(usize, &mut [T]),
) {
    let starts = (first..).step_by(BLOCK * BLOCKS);
    for (start, cells) in starts.zip(cells.chunks_mut(BLOCK * BLOCKS)) {
        let unsure = quick(start, cells);
        let is_left = cells.len() % BLOCK != 0;
        if unsure == 0 && !is_left {
            continue;
        }
        let starts = (start..).step_by(BLOCK);
        for (block, (start, cells)) in starts.zip(cells.chunks_mut(BLOCK)).enumerate() {
            if cells.len() < BLOCK || unsure >> block & 1 == 1 {
                exact(start, cells);
            }
        }
    }
}

/// Whole blocks of a lane, from a slot on.
fn blocks(lane: &[f32], first: usize) -> &[[f32; BLOCK]] {
    behind(lane, first).as_chunks().0
}

/// The weighted mean of what is left or carried of CPU and memory.
#[allow(clippy::needless_range_loop, reason = "seven arrays are walked side by side")]
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn mean(
    is_least: bool,
    lanes: &Hundredths,
    first: usize,
    asked: [f32; 2],
    weights: [f32; 2],
    scores: &mut [u8],
) -> u64 {
    let of_one = 1.0 / (weights[0] + weights[1]);
    let cpu = blocks(&lanes.cpu_has, first).iter().zip(blocks(&lanes.cpu_nonzero, first));
    let [_, memory_of_one] = &lanes.of_one;
    let memory = blocks(memory_of_one, first).iter().zip(blocks(&lanes.memory_nonzero, first));
    let (cells, _) = scores.as_chunks_mut::<BLOCK>();
    let mut unsure_blocks = 0;
    for (block, (cells, (cpu, memory))) in cells.iter_mut().zip(cpu.zip(memory)).enumerate() {
        let mut is_unsure = 0_u32;
        let mut scores = [0.0; BLOCK];
        for lane in 0..BLOCK {
            let has = cpu.0[lane];
            let carries = cpu.1[lane] + asked[0];
            let capped = if carries > has { has } else { carries };
            let wanted = if is_least { has - capped } else { capped };
            let of_cpu = integer_part(wanted * 100.0 / has);
            let share = memory.1[lane] + asked[1] * memory.0[lane];
            is_unsure |= u32::from(is_close(share));
            let whole = integer_part(share);
            let of_memory = if is_least { 99.0 - whole } else { whole };
            let of_memory = if of_memory > 0.0 { of_memory } else { 0.0 };
            let of_memory = if of_memory < 100.0 { of_memory } else { 100.0 };
            // Half a unit more keeps the reciprocal's error from taking an integer down by one.
            let sum = of_cpu * weights[0] + of_memory * weights[1];
            scores[lane] = integer_part((sum + 0.5) * of_one);
        }
        narrow(&scores, cells);
        unsure_blocks |= u64::from(is_unsure) << block;
    }
    unsure_blocks
}

/// How evenly CPU and memory are used with the pod: that, or with `is_change` what it makes of the
/// balance before, as a score.
#[allow(clippy::needless_range_loop, reason = "seven arrays are walked side by side")]
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn balance(
    is_change: bool,
    lanes: &Hundredths,
    first: usize,
    asked: [f32; 2],
    scores: &mut [u8],
) -> u64 {
    let [cpu_of_one, memory_of_one] = &lanes.of_one;
    let [cpu_held, memory_held] = &lanes.requested;
    let cpu = blocks(cpu_of_one, first).iter().zip(blocks(cpu_held, first));
    let memory = blocks(memory_of_one, first).iter().zip(blocks(memory_held, first));
    let before = blocks(&lanes.balance, first);
    let (cells, _) = scores.as_chunks_mut::<BLOCK>();
    let cells = cells.iter_mut().zip(before);
    let mut unsure_blocks = 0;
    for (block, ((cells, before), (cpu, memory))) in cells.zip(cpu.zip(memory)).enumerate() {
        let mut is_unsure = 0_u32;
        let mut scores = [0.0; BLOCK];
        for lane in 0..BLOCK {
            let of_cpu = at_most_hundred(cpu.1[lane] + asked[0] * cpu.0[lane]);
            let of_memory = at_most_hundred(memory.1[lane] + asked[1] * memory.0[lane]);
            let balance = 100.0 - (of_cpu - of_memory).abs() * 0.5;
            is_unsure |= u32::from(is_close(balance));
            let after = integer_part(balance);
            let change = 50.0 + after - before[lane];
            let half = integer_part(change.abs() * 0.5);
            let score = if change < 0.0 { 50.0 - half } else { 50.0 + half };
            scores[lane] = if is_change { score } else { after };
        }
        narrow(&scores, cells);
        unsure_blocks |= u64::from(is_unsure) << block;
    }
    unsure_blocks
}

/// In a loop of its own, so that the one before works on numbers of 32 bits only.
#[allow(clippy::cast_possible_truncation)]
#[inline]
fn narrow(scores: &[f32; BLOCK], cells: &mut [u8; BLOCK]) {
    for (cell, score) in cells.iter_mut().zip(scores) {
        *cell = (*score + TO_INTEGER).to_bits() as u8;
    }
}

#[inline]
fn at_most_hundred(share: f32) -> f32 {
    if share > 100.0 { 100.0 } else { share }
}

/// Whether the integer part may be another than that of what is meant.
#[allow(
    clippy::needless_bitwise_bool,
    reason = "without a branch, so that several are compared at once"
)]
#[inline]
fn is_close(share: f32) -> bool {
    let rounded = (share + TO_INTEGER) - TO_INTEGER;
    ((share - rounded).abs() < ERROR_MAX) & (share < OVERFULL)
}

/// The integer part of a number from 0 up to 2²², in steps that run on several lanes at once.
#[inline]
fn integer_part(value: f32) -> f32 {
    let rounded = (value + TO_INTEGER) - TO_INTEGER;
    if rounded > value { rounded - 1.0 } else { rounded }
}

#[cfg(test)]
mod tests {
    use crate::model::{Container, Meta, Node, Pod, Quantity, ResourceList};
    use crate::release::BalanceScored;
    use crate::rules::Score;
    use crate::rules::node_resources_balanced::NodeResourcesBalancedAllocation;
    use crate::rules::resource_args::default_resources;
    use crate::rules::resource_scoring::{ResourceScoring, Strategy};
    use crate::rules::scored_scalar::Counting;
    use crate::snapshot::Cluster;
    use crate::snapshot::hundredths::rounded;

    const GIB: i64 = 1 << 30;
    /// Three blocks, and nodes that are none.
    const NODES: usize = 3 * super::BLOCK + 17;
    const WORLDS: u64 = 60;

    /// Numbers that look random, the same each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(self.0 >> 33).unwrap() % end
        }

        fn one_of(&mut self, values: &[i64]) -> i64 {
            values[usize::try_from(self.below(i64::try_from(values.len()).unwrap())).unwrap()]
        }
    }

    fn amounts(cpu_milli: i64, memory: i64) -> ResourceList {
        let cpu = Quantity::from_nanos(i128::from(cpu_milli) * 1_000_000);
        [("cpu", cpu), ("memory", Quantity::from_units(memory))].into_iter().collect()
    }

    fn pod(name: &str, cpu_milli: i64, memory: i64) -> Pod {
        let requests = amounts(cpu_milli, memory);
        let container = Container { requests, ..Container::default() };
        let meta = Meta { name: name.into(), uid: name.into(), ..Meta::default() };
        Pod { meta, containers: [container].into(), ..Pod::default() }
    }

    /// Nodes on which a pod that asks for so much makes whole hundredths, nearly whole ones, and others.
    fn world(numbers: &mut Numbers, [cpu_asked, memory_asked]: [i64; 2], is_odd: bool) -> Cluster {
        let mut cluster = Cluster::default();
        for index in 0..NODES {
            let name = format!("n{index}");
            let cpu = numbers.one_of(&[1_930, 4_000, 16_000, 32_000, 96_000, 167_772]);
            let memory = numbers.one_of(&[100 * GIB, 16 * GIB, 131_923_764 * 1_024, 3_999_999_937]);
            let cpu = if is_odd && index == 70 { 192_000 } else { cpu };
            let meta = Meta { name: name.as_str().into(), ..Meta::default() };
            let allocatable = amounts(cpu, memory);
            cluster.set_node(Node { meta, allocatable, ..Node::default() });
            // Few, so that there are blocks without any.
            let is_whole = index < super::BLOCK && numbers.below(9) == 0;
            let memory_held = match is_whole {
                true => memory / 100 * numbers.below(106) + numbers.below(3) - 1 - memory_asked,
                false => numbers.below(memory + memory / 9),
            };
            let cpu_held = match numbers.below(3) {
                0 => cpu / 100 * numbers.below(104) - cpu_asked,
                _ => numbers.below(cpu + cpu / 9),
            };
            let mut held = pod(&format!("p{index}"), cpu_held.max(0), memory_held.max(0));
            held.node_name = name.into();
            cluster.set_pod(held);
        }
        cluster.remove_node("n9");
        cluster.settle_order();
        cluster
    }

    fn scores() -> Vec<Box<dyn Score>> {
        let counting = Counting::default();
        let of = |strategy| ResourceScoring { strategy, resources: default_resources(), counting };
        let balance =
            |scored| NodeResourcesBalancedAllocation::new(default_resources(), scored, counting);
        vec![
            Box::new(of(Strategy::LeastAllocated)),
            Box::new(of(Strategy::MostAllocated)),
            Box::new(balance(BalanceScored::WithPod)),
            Box::new(balance(BalanceScored::Change)),
        ]
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "bit for bit")]
    fn scores_of_all_nodes_are_those_of_each() {
        let mut numbers = Numbers(7);
        let (mut looked_at, mut sure, mut unsure) = (0, 0, 0);
        for world_number in 0..WORLDS {
            let asked = [numbers.below(9_000), numbers.below(9 * GIB)];
            let mut cluster = world(&mut numbers, asked, world_number % 10 == 9);
            let row = cluster.row(pod("new", asked[0], asked[1]));
            for score in scores() {
                let prepared = score.prepare(&row, &cluster).unwrap();
                let mut raw = vec![-1.0; cluster.nodes().slots()];
                prepared.raw_all(&cluster, &mut raw);
                let mut finished = vec![101; cluster.nodes().slots()];
                assert!(prepared.finish_range(&cluster, 0, &mut finished));
                for view in cluster.nodes().iter() {
                    let want = prepared.raw(&cluster, view);
                    let (name, index) = (&view.node.name, view.slot.index());
                    assert_eq!(raw[index], want, "{prepared:?} of {name}, {asked:?}");
                    assert_eq!(f64::from(finished[index]), want, "{prepared:?} of {name}");
                    looked_at += 1;
                }
            }
            let hundredths = &cluster.nodes().columns().hundredths;
            if hundredths.are_of_all() {
                let asked = asked.map(crate::snapshot::columns::approximate).map(rounded);
                let mut scores = vec![0; 3 * super::BLOCK];
                let bits = super::mean(true, hundredths, 0, asked, [1.0, 1.0], &mut scores);
                unsure += bits.count_ones();
                sure += 3 - bits.count_ones();
            }
        }
        assert_eq!(looked_at, usize::try_from(WORLDS).unwrap() * 4 * (NODES - 1));
        assert!(sure > 50 && unsure > 20, "{sure} blocks sure, {unsure} not");
    }
}
