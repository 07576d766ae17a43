//! Match conditions: the pods to which a rule applies.
//!
//! Specification, as in admission policies: a false condition takes the rule out of the cycle;
//! otherwise a condition that errs fails or is ignored, as the policy says.

use std::sync::Arc;

use kpolicy_cel::{Budget, ErrorKind, Expression, Moments, Value};

use crate::model::{ApiPaths, Kind};
use crate::rules::Fault;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, Pod};

use super::allowance::COST_PER_NODE_MAX;
use super::api_path::paths_of;
use super::domain_sums::DomainSums;
use super::needs::Needs;
use super::source::Source;
use super::world::{ClusterWorld, PodWorld};
use super::{explained, fault_of, wrong_type};

#[derive(Debug)]
pub(crate) struct Conditions {
    pub(crate) expressions: Vec<Expression>,
    /// The texts of the expressions, in their order.
    pub(super) sources: Vec<Source>,
    pub(crate) needs: Needs,
    /// What they read of the moment of the decision.
    pub(crate) moments: Moments,
    pub(crate) fails_on_errors: bool,
    pub(crate) rule: Arc<str>,
}

pub(crate) enum Holds {
    Yes,
    No,
    Unknown(Fault),
}

impl Conditions {
    /// Kinds of objects besides pods and nodes that they read.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.needs.kinds()
    }

    pub(crate) fn paths(&self) -> ApiPaths {
        let mut paths = ApiPaths::default();
        self.expressions.iter().for_each(|expression| paths_of(expression, &mut paths));
        paths
    }

    pub(crate) fn hold(&self, pod: &Pod, cluster: &Cluster) -> Holds {
        let sums = DomainSums::default();
        let world = ClusterWorld { pod: PodWorld { pod, cluster }, sums: &sums };
        let mut unknown = None;
        for (expression, source) in self.expressions.iter().zip(&self.sources) {
            match expression.evaluate(&world, &mut Budget::new(COST_PER_NODE_MAX)) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Holds::No,
                Ok(other) => unknown = Some(wrong_type(&other)),
                Err(error) if error.kind == ErrorKind::CostExceeded => {
                    // Evaluated again: only that shows which part needed most.
                    let explained = explained(expression, source, &world, COST_PER_NODE_MAX);
                    unknown = Some(explained.err().unwrap_or_else(|| fault_of(error)));
                }
                Err(error) => unknown = Some(fault_of(error)),
            }
        }
        unknown.map_or(Holds::Yes, Holds::Unknown)
    }

    /// Whether they may come to hold, or cease to, while the pod stays as it is.
    pub(crate) fn may_change(&self) -> bool {
        self.needs.is_of_cluster() || self.moments != Moments::None
    }

    pub(crate) fn watches(&self, changes: Changes<'_>) -> bool {
        changes.iter().any(|change| match change {
            Change::Object(kind) => self.needs.kinds().contains(kind),
            Change::Time(from, to) => self.moments.differ(*from, *to),
            Change::Node(_, parts) => {
                let read = NodeParts::EXISTENCE.with(NodeParts::LABELS);
                self.needs.other_nodes() && parts.meets(read.with(NodeParts::ALLOCATABLE))
            }
            Change::PodPut(..) | Change::PodTaken(..) => self.needs.other_pods(),
        })
    }
}
