//! Numbers of all nodes side by side, for kernels that run over every node.
//!
//! Copies of what [`super::node`] holds, changed together with it and read only for speed. Values
//! are `f64`, which is exact up to 2⁵³; `is_exact` says that all are small enough for a hundredfold
//! to be exact too and for a quotient's integer part to be right. Slots without a node hold zeros,
//! and `live` marks them.

use super::headroom::{Headroom, Room};
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
    pub(crate) headroom: Headroom,
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
        self.offered().into_iter().for_each(|column| column.push(0.0));
        self.carried().into_iter().for_each(|column| column.push(0.0));
        self.derived().into_iter().for_each(|column| column.push(0.0));
    }

    pub(super) fn clear(&mut self, index: usize) {
        let before = self.room(index);
        self.mark(index, false, false, false);
        self.hundredths.clear(index);
        put(self.offered(), index, [0.0; 4]);
        put(self.carried(), index, [0.0; 6]);
        put(self.derived(), index, [0.0; 5]);
        self.follow_headroom(index, before);
    }

    /// A node came or changed.
    pub(super) fn set(&mut self, index: usize, node: &Node, load: &Load) {
        put(self.offered(), index, offered(node).map(approximate));
        self.hundredths.set(index, node, load);
        self.set_carried(index, node, load);
    }

    /// A pod came to a node or left it.
    pub(super) fn set_load(&mut self, index: usize, node: &Node, load: &Load) {
        self.hundredths.set_load(index, node, load);
        self.set_carried(index, node, load);
    }

    fn set_carried(&mut self, index: usize, node: &Node, load: &Load) {
        let before = self.room(index);
        let (has, held) = (&node.allocatable.amounts, &load.requested);
        let pods = i64::try_from(load.pods.len()).unwrap_or(i64::MAX);
        // In the order of `carried`.
        let carried = [
            held.cpu_milli,
            held.memory,
            held.ephemeral_storage,
            load.requested_nonzero.cpu_milli,
            load.requested_nonzero.memory,
            pods,
        ];
        let is_exact = offered(node).into_iter().chain(carried).all(is_exact);
        put(self.carried(), index, carried.map(approximate));
        let share = |held: i64, has: i64| {
            if has == 0 { 0.0 } else { (approximate(held) / approximate(has)).min(1.0) }
        };
        let free = |held: i64, has: i64| approximate(has) - approximate(held);
        // In the order of `derived`.
        let derived = [
            free(held.cpu_milli, has.cpu_milli),
            free(held.memory, has.memory),
            free(held.ephemeral_storage, has.ephemeral_storage),
            share(held.cpu_milli, has.cpu_milli),
            share(held.memory, has.memory),
        ];
        put(self.derived(), index, derived);
        self.mark(index, true, !is_exact, pods >= node.allocatable.pods);
        self.follow_headroom(index, before);
    }

    fn room(&self, index: usize) -> Room {
        let [cpu, memory, _] = &self.free;
        match (self.live.get(index), cpu.get(index), memory.get(index), self.is_full.get(index)) {
            (Some(true), Some(cpu), Some(memory), Some(is_full)) => {
                Room { cpu: *cpu, memory: *memory, is_full: *is_full }
            }
            _ => Room::NOBODY,
        }
    }

    fn follow_headroom(&mut self, index: usize, before: Room) {
        let mut headroom = std::mem::take(&mut self.headroom);
        headroom.follow(index, [before, self.room(index)], |index| self.room(index));
        self.headroom = headroom;
    }

    /// What only updates of a node change.
    fn offered(&mut self) -> [&mut Vec<f64>; 4] {
        let [cpu, memory, ephemeral] = &mut self.allocatable;
        [cpu, memory, ephemeral, &mut self.pods_allowed]
    }

    /// What pods hold.
    fn carried(&mut self) -> [&mut Vec<f64>; 6] {
        let [cpu, memory, ephemeral] = &mut self.requested;
        let [cpu_nonzero, memory_nonzero] = &mut self.nonzero;
        [cpu, memory, ephemeral, cpu_nonzero, memory_nonzero, &mut self.pods]
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

/// In the order of `offered`.
fn offered(node: &Node) -> [i64; 4] {
    let has = &node.allocatable.amounts;
    [has.cpu_milli, has.memory, has.ephemeral_storage, node.allocatable.pods]
}

fn put<const N: usize>(columns: [&mut Vec<f64>; N], index: usize, values: [f64; N]) {
    for (column, value) in columns.into_iter().zip(values) {
        if let Some(cell) = column.get_mut(index) {
            *cell = value;
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
