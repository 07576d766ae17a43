//! `ResourceLimits`: one point for nodes that can give the pod all it may use of CPU, or of memory.
//!
//! Specification: kube-scheduler 1.9 to 1.18; a limit that is not set earns nothing.

use crate::resources::names;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::container_limits::limit;
use super::{HeldBytes, Key, PreparedScore, Reads, Score};

pub(crate) const NAME: &str = "ResourceLimits";

#[derive(Debug)]
pub(crate) struct ResourceLimits;

#[derive(Debug)]
struct PreparedResourceLimits {
    cpu_milli: i64,
    memory: i64,
}

impl Score for ResourceLimits {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.containers.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let (cpu_milli, memory) = (limit(pod, names::CPU), limit(pod, names::MEMORY));
        Some(Box::new(PreparedResourceLimits { cpu_milli, memory }))
    }

    /// One point on every scale.
    fn score_as(&mut self, _: i64) -> bool {
        true
    }
}

impl PreparedScore for PreparedResourceLimits {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::ALLOCATABLE)
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let has = &node.node.allocatable.amounts;
        let can_give = |limit: i64, has: i64| limit > 0 && limit <= has;
        let is_met = can_give(self.cpu_milli, has.cpu_milli) || can_give(self.memory, has.memory);
        f64::from(u8::from(is_met))
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests {
    use super::ResourceLimits;
    use crate::model::{self, Container, Quantity, ResourceList};
    use crate::rules::Score;
    use crate::rules::pod_topology_spread::testing::{node, pod, row, scores};
    use crate::snapshot::Cluster;

    fn list(pairs: &[(&str, i64)]) -> ResourceList {
        pairs.iter().map(|(name, units)| (*name, Quantity::from_units(*units))).collect()
    }

    fn of(limits: &[&[(&str, i64)]], starting: &[(&str, i64)]) -> Vec<f64> {
        let mut cluster = Cluster::default();
        for (name, cpu, memory) in [("n1", 2, 100), ("n2", 4, 100), ("n3", 1, 1000)] {
            let allocatable = list(&[("cpu", cpu), ("memory", memory)]);
            cluster.set_node(model::Node { allocatable, ..node(name, "") });
        }
        cluster.settle_order();
        let container =
            |limits: &[(&str, i64)]| Container { limits: list(limits), ..Container::default() };
        let new = model::Pod {
            containers: limits.iter().map(|limits| container(limits)).collect(),
            init_containers: [container(starting)].into(),
            ..pod("new", "", "")
        };
        let new = row(&mut cluster, new);
        let mut prepared = ResourceLimits.prepare(&new, &cluster).unwrap();
        scores(prepared.as_mut(), &cluster, |_| true).into_iter().map(|(raw, _)| raw).collect()
    }

    #[test]
    fn one_of_the_two_limits_is_enough() {
        assert_eq!(of(&[&[]], &[]), [0.0, 0.0, 0.0]);
        assert_eq!(of(&[&[("cpu", 2)]], &[]), [1.0, 1.0, 0.0]);
        assert_eq!(of(&[&[("cpu", 2), ("memory", 500)]], &[]), [1.0, 1.0, 1.0]);
        assert_eq!(of(&[&[("cpu", 2)], &[("cpu", 2)]], &[]), [0.0, 1.0, 0.0], "they are summed");
        assert_eq!(of(&[&[("cpu", 1)]], &[("cpu", 3)]), [0.0, 1.0, 0.0], "the larger counts");
    }
}
