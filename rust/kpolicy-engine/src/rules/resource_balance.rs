//! How evenly a node's CPU and memory would be used, as releases up to 1.22 scored it.
//!
//! This is `BalancedResourceAllocation`. Specification: requests count with defaults; what a node
//! lacks counts as used up. Up to 1.21 a node that would be full of either gets nothing, and the
//! difference of the used shares counts; 1.22 caps the shares and takes half the difference, their
//! standard deviation.

use crate::intern::Shared;
use crate::resources::Requests;
use crate::snapshot::columns::approximate;
use crate::snapshot::{Cluster, NodeParts, NodeView};

use super::{HeldBytes, PreparedScore, Reads, scale};

/// The first release with the standard deviation.
const DEVIATION_MINOR_FIRST: i64 = 22;

/// Which release's balance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Balance {
    score_max: f64,
    is_deviation: bool,
}

#[derive(Debug)]
pub(crate) struct PreparedResourceBalance {
    pub(crate) balance: Balance,
    pub(crate) requests: Shared<Requests>,
}

impl Balance {
    pub(crate) fn of_release(minor: i64) -> Self {
        Self {
            score_max: if minor <= scale::MINOR_LAST { 10.0 } else { 100.0 },
            is_deviation: minor >= DEVIATION_MINOR_FIRST,
        }
    }

    fn score(self, cpu: f64, memory: f64) -> f64 {
        if self.is_deviation {
            let deviation = ((cpu.min(1.0) - memory.min(1.0)) / 2.0).abs();
            ((1.0 - deviation) * self.score_max).trunc()
        } else if cpu >= 1.0 || memory >= 1.0 {
            0.0
        } else {
            ((1.0 - (cpu - memory).abs()) * self.score_max).trunc()
        }
    }
}

fn share(carries: i64, has: i64) -> f64 {
    if has == 0 { 1.0 } else { approximate(carries) / approximate(has) }
}

impl PreparedScore for PreparedResourceBalance {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::ALLOCATABLE).and_load()
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let (has, carried) = (&node.node.allocatable.amounts, &node.load.requested_nonzero);
        let asked = &self.requests.scored;
        let cpu = share(carried.cpu_milli.saturating_add(asked.cpu_milli), has.cpu_milli);
        let memory = share(carried.memory.saturating_add(asked.memory), has.memory);
        self.balance.score(cpu, memory)
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests {
    use super::{Balance, share};

    #[test]
    fn each_release_has_its_formula() {
        let of = |minor, cpu, memory| Balance::of_release(minor).score(cpu, memory).to_bits();
        assert_eq!(of(20, 0.5, 0.25), 75.0_f64.to_bits());
        assert_eq!(of(20, 1.0, 0.25), 0.0_f64.to_bits(), "it would be full");
        assert_eq!(of(16, 0.5, 0.25), 7.0_f64.to_bits());
        assert_eq!(of(22, 0.5, 0.25), 87.0_f64.to_bits());
        assert_eq!(of(22, 3.0, 0.5), 75.0_f64.to_bits(), "capped");
        assert_eq!(share(1, 0).to_bits(), 1.0_f64.to_bits(), "what it lacks is used up");
    }
}
