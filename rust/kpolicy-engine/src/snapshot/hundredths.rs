//! What nodes carry in hundredths of what they have, in 32 bits: sixteen nodes side by side where the
//! numbers of [`super::columns`] are eight, and half the memory to read.
//!
//! Copies that are nearly right, for kernels that tell where they are not sure of an integer part and
//! ask the exact numbers there. CPU is exact, as the hundredfold of it is small.

use super::columns::approximate;
use super::node::{Load, Node};

/// What a rounding of 32 bits keeps exact. A quotient up to 100 of two such integers, of which the upper
/// is at most this, has the right integer part: it is further from the next integer than its rounding
/// error.
const INTEGER_MAX: i64 = 1 << 24;
const HUNDRED: i64 = 100;

#[derive(Debug, Default)]
pub(crate) struct Hundredths {
    /// CPU itself: what a node has, and what it carries with defaults.
    pub(crate) cpu_has: Vec<f32>,
    pub(crate) cpu_nonzero: Vec<f32>,
    /// Of memory with defaults.
    pub(crate) memory_nonzero: Vec<f32>,
    /// Of CPU and memory; more than 100 where pods hold more than the node has.
    pub(crate) requested: [Vec<f32>; 2],
    /// What one of a unit of CPU and memory is.
    pub(crate) of_one: [Vec<f32>; 2],
    /// How evenly CPU and memory are used: 100 less half of how far they are apart, truncated.
    pub(crate) balance: Vec<f32>,
    unfit: Vec<bool>,
    unfit_count: usize,
}

/// The numbers of one node, in the order of `lanes`.
type Numbers = [f32; 8];

/// Of a slot without a node: kernels are sure of what they make of them.
const NOBODY: Numbers = [1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0];

/// The first of them are of what the node has.
const OFFERED: usize = 3;

impl Hundredths {
    /// Whether all nodes have both resources, and not too much CPU for what is said above.
    pub(crate) fn are_of_all(&self) -> bool {
        self.unfit_count == 0
    }

    pub(super) fn grow(&mut self) {
        self.unfit.push(false);
        self.lanes().into_iter().zip(NOBODY).for_each(|(lane, number)| lane.push(number));
    }

    pub(super) fn clear(&mut self, index: usize) {
        self.put(index, NOBODY, false);
    }

    /// A node came or changed.
    pub(super) fn set(&mut self, index: usize, node: &Node, load: &Load) {
        match numbers(node, load) {
            Some(numbers) => self.put(index, numbers, false),
            None => self.put(index, NOBODY, true),
        }
    }

    /// A pod came to a node or left it.
    pub(super) fn set_load(&mut self, index: usize, node: &Node, load: &Load) {
        let was_unfit = self.unfit.get(index) == Some(&true);
        match numbers(node, load).filter(|_| !was_unfit) {
            Some(numbers) => put(
                self.lanes().into_iter().skip(OFFERED).zip(numbers.into_iter().skip(OFFERED)),
                index,
            ),
            None => self.set(index, node, load),
        }
    }

    fn put(&mut self, index: usize, numbers: Numbers, is_unfit: bool) {
        put(self.lanes().into_iter().zip(numbers), index);
        if let Some(unfit) = self.unfit.get_mut(index) {
            self.unfit_count -= usize::from(*unfit);
            self.unfit_count += usize::from(is_unfit);
            *unfit = is_unfit;
        }
    }

    fn lanes(&mut self) -> [&mut Vec<f32>; 8] {
        let [cpu_requested, memory_requested] = &mut self.requested;
        let [cpu_of_one, memory_of_one] = &mut self.of_one;
        [
            &mut self.cpu_has,
            cpu_of_one,
            memory_of_one,
            &mut self.cpu_nonzero,
            &mut self.memory_nonzero,
            cpu_requested,
            memory_requested,
            &mut self.balance,
        ]
    }
}

/// `None` if the node has not both resources, or too much CPU.
fn numbers(node: &Node, load: &Load) -> Option<Numbers> {
    let has = &node.allocatable.amounts;
    let (held, nonzero) = (&load.requested, &load.requested_nonzero);
    let is_small = |amount: i64, max: i64| (0..=max).contains(&amount);
    let is_fit = has.cpu_milli > 0
        && has.memory > 0
        && is_small(has.cpu_milli, INTEGER_MAX / HUNDRED)
        && is_small(nonzero.cpu_milli, INTEGER_MAX);
    if !is_fit {
        return None;
    }
    let [cpu, memory] = [has.cpu_milli, has.memory].map(approximate);
    let hundredfold = |amount: i64| approximate(amount) * 100.0;
    let [cpu_share, memory_share] = [
        (approximate(held.cpu_milli) / cpu).min(1.0),
        (approximate(held.memory) / memory).min(1.0),
    ];
    // As a rule that asks this node alone works it out.
    let balance = (1.0 - ((cpu_share - memory_share) / 2.0).abs()) * 100.0;
    let numbers = [
        cpu,
        100.0 / cpu,
        100.0 / memory,
        approximate(nonzero.cpu_milli),
        hundredfold(nonzero.memory) / memory,
        hundredfold(held.cpu_milli) / cpu,
        hundredfold(held.memory) / memory,
        balance.trunc(),
    ];
    Some(numbers.map(rounded))
}

fn put<'a>(numbers: impl Iterator<Item = (&'a mut Vec<f32>, f32)>, index: usize) {
    for (lane, number) in numbers {
        if let Some(cell) = lane.get_mut(index) {
            *cell = number;
        }
    }
}

/// The nearest number of 32 bits.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn rounded(value: f64) -> f32 {
    value as f32
}
