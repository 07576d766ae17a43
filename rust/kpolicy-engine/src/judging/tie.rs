//! Chooses among the best nodes.
//!
//! The choice is a function of the seed and the number of the decision, over nodes in order of
//! names. So neither hashing nor the order of arrival has an effect.

use crate::program::TieBreak;
use crate::snapshot::{Cluster, NodeSlot, Nodes};

/// How often a node is drawn among all before the tied ones are counted.
const DRAWS_MAX: u32 = 32;

/// What decides a tie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tie {
    pub(crate) rule: TieBreak,
    pub(crate) seed: u64,
    /// The number of the decision.
    pub(crate) decision: u64,
    /// Wins whenever it is among the best: whoever chose it could have chosen no better.
    pub(crate) preferred: Option<NodeSlot>,
}

impl Tie {
    /// One of the tied nodes. `is_tied` tells for any node, `all_tied` lists them in any order.
    pub(crate) fn break_among(
        self,
        nodes: &Nodes,
        is_tied: impl Fn(NodeSlot) -> bool,
        all_tied: impl FnOnce() -> Vec<NodeSlot>,
    ) -> Option<NodeSlot> {
        if let Some(slot) = self.preferred.filter(|slot| is_tied(*slot)) {
            return Some(slot);
        }
        match self.rule {
            TieBreak::Random => self.draw(nodes, is_tied, all_tied),
            TieBreak::Name => all_tied().into_iter().min_by_key(|slot| nodes.rank_of(*slot)),
            TieBreak::LeastPods => all_tied().into_iter().min_by_key(|slot| {
                let pods = nodes.view(*slot).map_or(usize::MAX, |view| view.load.pods.len());
                (pods, nodes.rank_of(*slot))
            }),
        }
    }

    /// Every tied node is as likely as any other: a draw among all nodes counts if it hits a tied
    /// one; after some misses one of the tied is drawn by its rank among them.
    fn draw(
        self,
        nodes: &Nodes,
        is_tied: impl Fn(NodeSlot) -> bool,
        all_tied: impl FnOnce() -> Vec<NodeSlot>,
    ) -> Option<NodeSlot> {
        let ranked = nodes.by_rank();
        for draw in 0..DRAWS_MAX {
            let slot = *ranked.get(self.below(draw, ranked.len()))?;
            if is_tied(slot) {
                return Some(slot);
            }
        }
        let mut tied = all_tied();
        let position = self.below(DRAWS_MAX, tied.len());
        if position >= tied.len() {
            return None;
        }
        let (_, slot, _) = tied.select_nth_unstable_by_key(position, |slot| nodes.rank_of(*slot));
        Some(*slot)
    }

    /// Where a search that goes around begins: any position below `count`.
    pub(crate) fn start_among(self, count: usize) -> usize {
        self.below(DRAWS_MAX + 1, count)
    }

    /// A number from 0 up to `end`.
    fn below(self, draw: u32, end: usize) -> usize {
        let draw_number = mix(self.seed ^ mix(self.decision ^ mix(u64::from(draw))));
        let scaled = (u128::from(draw_number) * end as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }
}

/// The best of some nodes.
pub(crate) fn choose(
    slots: &[NodeSlot],
    totals: &[i64],
    tie: Tie,
    cluster: &Cluster,
) -> Option<(NodeSlot, i64)> {
    let best = *totals.iter().max()?;
    let tied: Vec<NodeSlot> = slots
        .iter()
        .zip(totals)
        .filter(|(_, total)| **total == best)
        .map(|(slot, _)| *slot)
        .collect();
    let mut sorted = tied.clone();
    sorted.sort_unstable();
    let is_tied = |slot: NodeSlot| sorted.binary_search(&slot).is_ok();
    let slot = tie.break_among(cluster.nodes(), is_tied, || tied)?;
    Some((slot, best))
}

/// The finalizer of `SplitMix64`, after one step of its sequence.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
