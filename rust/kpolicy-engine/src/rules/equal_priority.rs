//! `EqualPriority`: one point for every node.
//!
//! Specification: kube-scheduler up to 1.16; later releases read the name and skip it, for it moves
//! no node before another.

use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{HeldBytes, Key, PreparedScore, Reads, Score};

pub(crate) const NAME: &str = "EqualPriority";

#[derive(Debug)]
pub(crate) struct EqualPriority;

#[derive(Debug)]
struct PreparedEqualPriority;

impl Score for EqualPriority {
    fn key(&self, _: &Pod, _: &mut Key) {}

    fn prepare(&self, _: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        Some(Box::new(PreparedEqualPriority))
    }

    /// One point on every scale.
    fn score_as(&mut self, _: i64) -> bool {
        true
    }
}

impl PreparedScore for PreparedEqualPriority {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE)
    }

    fn raw(&self, _: &Cluster, _: NodeView<'_>) -> f64 {
        1.0
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests {
    use super::EqualPriority;
    use crate::rules::Score;
    use crate::rules::pod_topology_spread::testing::{cluster, pod, row, scores};

    #[test]
    fn every_node_has_one_point() {
        let mut cluster = cluster(&[("n1", "a=b"), ("n2", "")], &[("", "n1")]);
        let new = row(&mut cluster, pod("new", "", ""));
        let mut prepared = EqualPriority.prepare(&new, &cluster).unwrap();
        assert_eq!(scores(prepared.as_mut(), &cluster, |_| true), [(1.0, 1), (1.0, 1)]);
    }
}
