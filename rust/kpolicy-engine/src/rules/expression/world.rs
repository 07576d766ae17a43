//! The world that an expression sees, one node at a time: the pod, the node, its domain, the cluster.
//!
//! `columns` gives the same answers for all nodes at once.

use kpolicy_cel::{Answer, Budget, Facts, Fault, Read, Value};

use crate::rules::prices::{IDENTITIES_A_UNIT, NODES_A_UNIT};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::allowance::COST_PER_NODE_MAX;
use super::api_path;
use super::domain_sums::DomainSums;
use super::facts::{self, Root, Source};
use super::pod_facts::no_such_overload;

/// What is known before any node: the pod and its namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PodWorld<'a> {
    pub pod: &'a Pod,
    pub cluster: &'a Cluster,
}

impl Facts for PodWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        let namespace =
            || self.cluster.objects().namespaces.get("", self.pod.namespace()).map(AsRef::as_ref);
        match facts::row(&read.fact) {
            Some((Root::Victim, _)) | None => Answer::Unknown,
            Some((_, row)) => match row.source {
                Source::Pod(answer) => answer(self.pod, &read.args),
                Source::PodInCluster(answer) => answer(self.pod, self.cluster),
                Source::Moment => Answer::Known(Value::Timestamp(self.cluster.moment())),
                Source::PodPath => at_path(&self.pod.api_values, read),
                Source::Namespace(answer) => answer(namespace(), &read.args),
                Source::NamespacePath => namespace()
                    .map_or(Answer::Absent, |namespace| at_path(&namespace.api_values, read)),
                Source::Tenant(_)
                | Source::Waited(_)
                | Source::Cluster(_)
                | Source::ClusterSum(_)
                | Source::Node(_)
                | Source::NodeWalk(..)
                | Source::NodeInCluster(_)
                | Source::NodeInClusterWalk(..)
                | Source::PodOnNode(_)
                | Source::PodOnNodeWalk(..)
                | Source::DomainName
                | Source::DomainSum(_)
                | Source::Allocation(_)
                | Source::NodePath => Answer::Unknown,
            },
        }
    }
}

fn at_path(kept: &crate::model::ApiValues, read: &Read) -> Answer {
    facts::api_path(&read.fact)
        .map_or(Answer::Unknown, |(_, path)| api_path::answer(kept, path, &read.args))
}

/// As [`PodWorld`], with what holds for the cluster as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterWorld<'a> {
    pub pod: PodWorld<'a>,
    pub sums: &'a DomainSums,
}

impl Facts for ClusterWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        let cluster = self.pod.cluster;
        match facts::source(&read.fact) {
            Some(Source::Cluster(answer)) => {
                self.sums.of_cluster(cluster, read, || answer(cluster, &read.args))
            }
            Some(Source::ClusterSum(addend)) => self.sums.of_cluster(cluster, read, || {
                match (addend.by_slot)(self.pod.pod, cluster, &read.args) {
                    Ok(values) => values.into_iter().fold(0, i64::saturating_add).into(),
                    Err(answer) => answer,
                }
            }),
            // A list or map of the pod is made once, and not for each node again.
            _ if facts::is_made(&read.fact) => {
                self.sums.of_cluster(cluster, read, || self.pod.read(read))
            }
            _ => self.pod.read(read),
        }
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        budget.charge(self.summing(read))?;
        Ok(self.read(read))
    }
}

impl ClusterWorld<'_> {
    /// Sums over a domain or the cluster walk all nodes, and match a selector with all kinds of pods.
    /// Where the arguments are constant, this is done once for all nodes.
    pub(super) fn summing(&self, read: &Read) -> u64 {
        if !read.is_dynamic() {
            return 0;
        }
        let cluster = self.pod.cluster;
        let matches_pods = match facts::source(&read.fact) {
            Some(Source::ClusterSum(addend) | Source::DomainSum(addend)) => addend.matches_pods,
            Some(Source::Cluster(_)) => false,
            _ => return 0,
        };
        let identities =
            if matches_pods { cluster.census().identities_count() / IDENTITIES_A_UNIT } else { 0 };
        (cluster.nodes().len() / NODES_A_UNIT + identities) as u64
    }
}

/// As [`ClusterWorld`], with one node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeWorld<'a> {
    pub world: ClusterWorld<'a>,
    pub node: NodeView<'a>,
}

impl Facts for NodeWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        let ClusterWorld { pod: PodWorld { pod, cluster }, sums } = self.world;
        match facts::source(&read.fact) {
            Some(Source::Node(answer) | Source::NodeWalk(answer, _)) => {
                answer(self.node, &read.args)
            }
            Some(Source::NodeInCluster(answer)) => answer(cluster, self.node, &read.args),
            Some(Source::NodeInClusterWalk(answer)) => {
                let mut budget = Budget::new(COST_PER_NODE_MAX);
                let answer = answer(cluster, self.node, &read.args, &mut budget);
                answer.unwrap_or_else(Answer::Failed)
            }
            Some(Source::PodOnNode(answer) | Source::PodOnNodeWalk(answer, _)) => {
                answer(pod, self.node)
            }
            Some(Source::NodePath) => at_path(&self.node.node.object.api_values, read),
            Some(Source::DomainName) => domain_name(cluster, self.node, &read.args),
            Some(Source::DomainSum(addend)) => {
                sums.on_node(pod, cluster, addend, read, self.node.slot)
            }
            _ => self.world.read(read),
        }
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        match facts::source(&read.fact) {
            Some(Source::NodeWalk(_, walking) | Source::PodOnNodeWalk(_, walking))
                if read.is_dynamic() =>
            {
                budget.charge(walking(self.node))?;
            }
            // Each node is asked by itself, also where the arguments are constant.
            Some(Source::NodeInClusterWalk(answer)) => {
                return answer(self.world.pod.cluster, self.node, &read.args, budget);
            }
            _ => budget.charge(self.world.summing(read))?,
        }
        Ok(self.read(read))
    }

    fn is_made(&self, read: &Read) -> bool {
        facts::is_made_by_node(&read.fact)
    }
}

/// The domain that a node is in; the argument is the topology key.
fn domain_name(cluster: &Cluster, view: NodeView<'_>, args: &[Value]) -> Answer {
    let Some(Value::String(key)) = args.first() else { return no_such_overload() };
    let domains = cluster.nodes().domains(key);
    domains.value(domains.id(view.slot)).map_or(Answer::Absent, Into::into)
}
