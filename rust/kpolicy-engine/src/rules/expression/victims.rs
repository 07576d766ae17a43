//! The pods that a policy allows to be evicted (`preemption.victims`): judges one pod on its node.
//! If the expression errs for a pod, the pod stays.

use std::sync::Arc;

use kpolicy_cel::{Answer, Budget, Expression, Facts, Fault, Moments, Read, Value};

use crate::model::{ApiPaths, Kind};
use crate::rules::Key;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::domain_sums::DomainSums;
use super::facts::{self, Root, Row, Source};
use super::world::{ClusterWorld, NodeWorld, PodWorld};
use super::{EvaluationCounts, Written, fault_of, wrong_type};

#[derive(Debug)]
pub(crate) struct VictimRule(pub(super) Written);

impl VictimRule {
    pub(crate) fn key(&self, pod: &Pod, key: &mut Key) {
        self.0.needs.key(pod, key);
    }

    /// Whether what it says of the pods of a node rests on no other node.
    pub(crate) fn is_local(&self) -> bool {
        self.0.is_local()
    }

    /// What it reads of the moment of the decision.
    pub(crate) fn moments(&self) -> &Moments {
        &self.0.moments
    }

    /// Kinds of objects besides pods and nodes that it reads.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.0.kinds
    }

    pub(crate) fn paths(&self) -> ApiPaths {
        self.0.paths()
    }

    pub(crate) fn counts(&self) -> (Arc<str>, Arc<EvaluationCounts>) {
        self.0.counts()
    }

    /// For a pod that needs room.
    pub(crate) fn prepared<'a>(
        &'a self,
        pod: &'a Pod,
        cluster: &'a Cluster,
    ) -> PreparedVictims<'a> {
        let (residual, sums) = (self.0.folded(pod, cluster), DomainSums::default());
        PreparedVictims { rule: &self.0, residual, pod, cluster, sums }
    }
}

#[derive(Debug)]
pub(crate) struct PreparedVictims<'a> {
    rule: &'a Written,
    residual: Expression,
    pod: &'a Pod,
    cluster: &'a Cluster,
    sums: DomainSums,
}

impl PreparedVictims<'_> {
    /// Whether this pod of the node may go; the node is seen as it is, with all of its pods.
    pub(crate) fn allows(&self, victim: &Pod, node: NodeView<'_>) -> bool {
        self.judged(victim, node).0
    }

    /// As [`PreparedVictims::allows`], and the units that it took.
    pub(crate) fn judged(&self, victim: &Pod, node: NodeView<'_>) -> (bool, u64) {
        let mut budget = Budget::new(self.rule.allowance.per_node());
        let allows = self.evaluated(victim, node, &mut budget);
        (allows, budget.spent())
    }

    fn evaluated(&self, victim: &Pod, node: NodeView<'_>, budget: &mut Budget) -> bool {
        let pod = PodWorld { pod: self.pod, cluster: self.cluster };
        let world = ClusterWorld { pod, sums: &self.sums };
        let world = VictimWorld { world: NodeWorld { world, node }, victim };
        let fault = match self.residual.evaluate(&world, budget) {
            Ok(Value::Bool(allows)) => return allows,
            Ok(other) => wrong_type(&other),
            Err(error) => fault_of(error),
        };
        self.rule.counts.count_fault(&fault);
        false
    }
}

/// A node, and one of its pods.
struct VictimWorld<'a> {
    world: NodeWorld<'a>,
    victim: &'a Pod,
}

impl Facts for VictimWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match facts::row(&read.fact) {
            Some((Root::Victim, Row { source: Source::Pod(answer), .. })) => {
                answer(self.victim, &read.args)
            }
            Some((Root::Victim, Row { source: Source::PodInCluster(answer), .. })) => {
                answer(self.victim, self.world.world.pod.cluster)
            }
            _ => self.world.read(read),
        }
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        match facts::row(&read.fact) {
            Some((Root::Victim, _)) => Ok(self.read(read)),
            _ => self.world.read_charged(read, budget),
        }
    }

    fn is_made(&self, read: &Read) -> bool {
        match facts::row(&read.fact) {
            Some((Root::Victim, _)) => facts::is_made(&read.fact),
            _ => self.world.is_made(read),
        }
    }
}
