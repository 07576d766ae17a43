//! The highest totals, found without looking at every node.
//!
//! Keeps the highest total of each block of slots. A decision usually changes one node, and then
//! only one block is read again.

use multiversion::multiversion;

use crate::heap::{HeapBytes, flat_bytes};
use crate::snapshot::NodeSlot;

use super::totals::INFEASIBLE;

/// Slots of one block: few enough to be looked through at once, many enough that there are few blocks.
const BLOCK: usize = 128;

/// Slots of a block that are compared at once.
const PART: usize = 16;

/// The highest total of each block of slots.
#[derive(Debug, Default)]
pub struct Best {
    by_block: Vec<i32>,
}

impl Best {
    /// All totals changed.
    pub fn rewrite(&mut self, totals: &[i32]) {
        self.by_block.clear();
        self.by_block.resize(totals.len().div_ceil(BLOCK), INFEASIBLE);
        rewrite(totals, &mut self.by_block);
    }

    /// One total changed, or is new; it was `before`. Its block is read only if it was the highest there.
    pub fn touch(&mut self, slot: NodeSlot, before: i32, totals: &[i32]) {
        self.by_block.resize(totals.len().div_ceil(BLOCK), INFEASIBLE);
        let block = slot.index() / BLOCK;
        let start = block * BLOCK;
        let of_block = totals.get(start..totals.len().min(start + BLOCK)).unwrap_or_default();
        let (Some(cell), Some(now)) = (self.by_block.get_mut(block), totals.get(slot.index()))
        else {
            return;
        };
        if now >= cell {
            *cell = *now;
        } else if before >= *cell {
            *cell = highest_of(of_block);
        }
    }

    /// The highest total of all nodes; `INFEASIBLE` if no node is feasible.
    pub fn highest(&self) -> i32 {
        highest_of(&self.by_block)
    }

    /// Indices of all totals that are as high as the highest.
    pub fn tied<'a>(&'a self, totals: &'a [i32]) -> impl Iterator<Item = usize> + 'a {
        let best = self.highest();
        let blocks = self.by_block.iter().zip(totals.chunks(BLOCK)).enumerate();
        let blocks = blocks.filter(move |(_, (highest, _))| **highest == best);
        let parts = blocks.flat_map(|(block, (_, of_block))| {
            let starts = (block * BLOCK..).step_by(PART);
            starts.zip(of_block.chunks(PART))
        });
        // Most parts of a block have no tied one.
        let parts = parts.filter(move |(_, part)| has(part, best));
        parts.flat_map(move |(start, part)| {
            let tied = (start..).zip(part).filter(move |(_, total)| **total == best);
            tied.map(|(index, _)| index)
        })
    }
}

/// Whether any is as high. Without a branch, so that several are compared at once.
#[allow(clippy::needless_bitwise_bool)]
fn has(totals: &[i32], best: i32) -> bool {
    totals.iter().fold(false, |has, total| has | (*total == best))
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn rewrite(totals: &[i32], by_block: &mut [i32]) {
    for (cell, totals) in by_block.iter_mut().zip(totals.chunks(BLOCK)) {
        *cell = highest(totals);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn highest_of(totals: &[i32]) -> i32 {
    highest(totals)
}

/// [`INFEASIBLE`] where there is none.
#[inline]
pub(crate) fn highest(totals: &[i32]) -> i32 {
    totals.iter().fold(INFEASIBLE, |best, total| if *total > best { *total } else { best })
}

impl HeapBytes for Best {
    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.by_block)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Best, INFEASIBLE, NodeSlot};
    use crate::model::{Meta, Node};
    use crate::snapshot::Cluster;

    fn slots(count: usize) -> Vec<NodeSlot> {
        let mut cluster = Cluster::default();
        for index in 0..count {
            let meta = Meta { name: format!("n{index}").into(), ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        cluster.nodes().iter().map(|view| view.slot).collect()
    }

    #[test]
    fn what_was_touched_is_as_if_all_had_been_looked_at() {
        let slots = slots(3 * BLOCK + 7);
        let mut totals: Vec<i32> = Vec::new();
        let mut best = Best::default();
        assert_eq!((best.highest(), best.tied(&totals).count()), (INFEASIBLE, 0));
        let mut value = 0_i32;
        for step in 0..2_000_usize {
            // Some arrive, then totals go up and down, now and then to not feasible.
            let at = (step * 7_919) % slots.len();
            if totals.len() <= at {
                totals.resize(at + 1, INFEASIBLE);
            }
            value = (value + 31) % 17;
            let before = totals[at];
            totals[at] = if step % 11 == 0 { INFEASIBLE } else { value };
            best.touch(slots[at], before, &totals);
            let mut anew = Best::default();
            anew.rewrite(&totals);
            assert_eq!(best.by_block, anew.by_block, "step {step}");
            let highest = totals.iter().copied().max().unwrap_or(INFEASIBLE);
            let tied: Vec<usize> =
                (0..totals.len()).filter(|index| totals[*index] == highest).collect();
            assert_eq!(best.highest(), highest);
            assert_eq!(best.tied(&totals).collect::<Vec<usize>>(), tied);
        }
    }
}
