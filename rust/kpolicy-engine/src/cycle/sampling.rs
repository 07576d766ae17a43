//! Judges only some of the nodes, if the policy asks for it.
//!
//! Specification: below 100 nodes all are judged; otherwise a share of them, at least 100. The
//! search starts where the last one ended. Nodes are in order of their names.

use crate::judging::NodeRejection;
use crate::snapshot::{NodeSlot, Nodes};

const NODES_MIN: usize = 100;
const PERCENTAGE_MIN: usize = 5;

#[derive(Debug, Clone, Default)]
pub(crate) struct Sampling {
    next_start: usize,
}

/// How many feasible nodes are enough.
fn enough(percentage: i64, nodes: usize) -> usize {
    if nodes < NODES_MIN {
        return nodes;
    }
    let share = match usize::try_from(percentage) {
        Ok(percentage) if percentage > 0 => percentage,
        _ => PERCENTAGE_MIN.max(50_usize.saturating_sub(nodes / 125)),
    };
    (nodes * share / 100).max(NODES_MIN)
}

impl Sampling {
    /// Leaves as many feasible nodes as are enough; `feasible` is in order of names.
    pub(crate) fn sample(
        &mut self,
        percentage: i64,
        feasible: Vec<NodeSlot>,
        rejections: &[NodeRejection],
        nodes: &Nodes,
    ) -> Vec<NodeSlot> {
        let total = nodes.len();
        if percentage >= 100 || total == 0 {
            return feasible;
        }
        let enough = enough(percentage, total);
        let start = self.next_start % total;
        let turn = |slot: &NodeSlot| {
            let rank = nodes.rank_of(*slot) as usize;
            (rank + total - start.min(total)) % total
        };
        let mut turned: Vec<(usize, NodeSlot)> =
            feasible.into_iter().map(|slot| (turn(&slot), slot)).collect();
        turned.sort_unstable();
        // The search ends at the first feasible node that is too many.
        let end = turned.get(enough).map_or(total, |(turn, _)| *turn);
        turned.truncate(enough);
        let rejected = rejections.iter().filter(|rejection| turn(&rejection.slot) < end).count();
        self.next_start = (start + turned.len() + rejected) % total;
        turned.into_iter().map(|(_, slot)| slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::enough;

    #[test]
    fn worked_numbers_of_kube_scheduler() {
        assert_eq!(enough(0, 1000), 420);
        assert_eq!(enough(0, 5000), 500);
        assert_eq!(enough(0, 6250), 312);
        assert_eq!(enough(0, 100), 100);
        assert_eq!(enough(0, 99), 99);
        assert_eq!(enough(1, 5000), 100);
    }
}
