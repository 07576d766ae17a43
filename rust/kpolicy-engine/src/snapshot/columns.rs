//! Numbers of all nodes side by side, for kernels that run over every node.
//!
//! Copies of what [`super::node`] holds, changed together with it and read only for speed. Values
//! are `f64`, which is exact up to 2⁵³; `is_exact` says that all are small enough for a hundredfold
//! to be exact too and for a quotient's integer part to be right. Slots without a node hold zeros,
//! and `live` marks them.

use super::hundredths::Hundredths;
use super::node::{Load, Node};

/// Positions in `allocatable` and `requested`.
pub(crate) const CPU: usize = 0;
pub(crate) const MEMORY: usize = 1;
pub(crate) const EPHEMERAL_STORAGE: usize = 2;

/// Beyond it, kernels must use integers: 100·2⁴⁵ < 2⁵³, and a quotient up to 100 of two such numbers
/// that is not an integer is further than its rounding error from the next one.
const EXACT_MAX: i64 = 1 << 45;

#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) live: Vec<bool>,
    pub(crate) allocatable: [Vec<f64>; 3],
    pub(crate) requested: [Vec<f64>; 3],
    /// What is allocatable and not requested; negative where pods hold more than the node has.
    pub(crate) free: [Vec<f64>; 3],
    /// CPU and memory with defaults.
    pub(crate) nonzero: [Vec<f64>; 2],
    pub(crate) pods_allowed: Vec<f64>,
    pub(crate) pods: Vec<f64>,
    /// Which share of CPU and memory is requested, at most 1; 0 where the node has none.
    pub(crate) used_share: [Vec<f64>; 2],
    pub(crate) hundredths: Hundredths,
    /// No pod more is allowed.
    pub(crate) is_full: Vec<bool>,
    inexact: Vec<bool>,
    inexact_count: usize,
}

impl Columns {
    pub(crate) fn is_exact(&self) -> bool {
        self.inexact_count == 0
    }

    pub(super) fn grow(&mut self) {
        self.live.push(false);
        self.inexact.push(false);
        self.is_full.push(false);
        self.hundredths.grow();
        for column in self.numbers() {
            column.push(0.0);
        }
        self.derived().into_iter().for_each(|column| column.push(0.0));
    }

    pub(super) fn clear(&mut self, index: usize) {
        self.mark(index, false, false, false);
        self.hundredths.clear(index);
        let empty = |column: &mut Vec<f64>| {
            if let Some(cell) = column.get_mut(index) {
                *cell = 0.0;
            }
        };
        self.numbers().into_iter().for_each(empty);
        self.derived().into_iter().for_each(empty);
    }

    pub(super) fn set(&mut self, index: usize, node: &Node, load: &Load) {
        let (offered, held, nonzero) =
            (&node.allocatable.amounts, &load.requested, &load.requested_nonzero);
        let pods = i64::try_from(load.pods.len()).unwrap_or(i64::MAX);
        // In the order of `numbers`.
        let values = [
            offered.cpu_milli,
            offered.memory,
            offered.ephemeral_storage,
            held.cpu_milli,
            held.memory,
            held.ephemeral_storage,
            nonzero.cpu_milli,
            nonzero.memory,
            node.allocatable.pods,
            pods,
        ];
        let mut is_exact = true;
        for (column, value) in self.numbers().into_iter().zip(values) {
            is_exact &= (0..=EXACT_MAX).contains(&value);
            if let Some(cell) = column.get_mut(index) {
                *cell = approximate(value);
            }
        }
        let share = |held: i64, has: i64| {
            if has == 0 { 0.0 } else { (approximate(held) / approximate(has)).min(1.0) }
        };
        let free = |held: i64, has: i64| approximate(has) - approximate(held);
        // In the order of `derived`.
        let values = [
            free(held.cpu_milli, offered.cpu_milli),
            free(held.memory, offered.memory),
            free(held.ephemeral_storage, offered.ephemeral_storage),
            share(held.cpu_milli, offered.cpu_milli),
            share(held.memory, offered.memory),
        ];
        for (column, value) in self.derived().into_iter().zip(values) {
            if let Some(cell) = column.get_mut(index) {
                *cell = value;
            }
        }
        self.mark(index, true, !is_exact, pods >= node.allocatable.pods);
        self.hundredths.set(index, node, load);
    }

    fn numbers(&mut self) -> [&mut Vec<f64>; 10] {
        let [cpu, memory, ephemeral] = &mut self.allocatable;
        let [cpu_held, memory_held, ephemeral_held] = &mut self.requested;
        let [cpu_nonzero, memory_nonzero] = &mut self.nonzero;
        [
            cpu,
            memory,
            ephemeral,
            cpu_held,
            memory_held,
            ephemeral_held,
            cpu_nonzero,
            memory_nonzero,
            &mut self.pods_allowed,
            &mut self.pods,
        ]
    }

    /// Those that follow from other numbers.
    fn derived(&mut self) -> [&mut Vec<f64>; 5] {
        let [cpu, memory, ephemeral] = &mut self.free;
        let [cpu_share, memory_share] = &mut self.used_share;
        [cpu, memory, ephemeral, cpu_share, memory_share]
    }

    fn mark(&mut self, index: usize, is_live: bool, is_inexact: bool, is_full: bool) {
        if let Some(cell) = self.is_full.get_mut(index) {
            *cell = is_full;
        }
        if let Some(live) = self.live.get_mut(index) {
            *live = is_live;
        }
        if let Some(inexact) = self.inexact.get_mut(index) {
            self.inexact_count -= usize::from(*inexact);
            self.inexact_count += usize::from(is_inexact);
            *inexact = is_inexact;
        }
    }
}

/// A column from one slot on.
pub(crate) fn behind<T>(column: &[T], first: usize) -> &[T] {
    column.get(first..).unwrap_or_default()
}

/// Whether a request may take part in an exact kernel.
pub(crate) fn is_exact(value: i64) -> bool {
    (0..=EXACT_MAX).contains(&value)
}

/// The nearest `f64`; exact where [`is_exact`].
#[allow(clippy::cast_precision_loss)]
pub(crate) fn approximate(value: i64) -> f64 {
    value as f64
}
