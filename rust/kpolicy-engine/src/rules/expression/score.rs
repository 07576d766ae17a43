//! A score written as an expression.

use std::sync::Arc;

use kpolicy_cel::{Budget, Expression, Moments, ScoreValues, Value};

use crate::model::Kind;
use crate::rules::normalization::SCORE_MAX_F;
use crate::rules::{
    Fault, HeldBytes, IGNORED, Key, Normalization, PreparedScore, Reads, Refresh, Score,
};
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::columns::{NodeColumns, live};
use super::domain_sums::DomainSums;
use super::single_nodes::SingleNodes;
use super::world::{ClusterWorld, NodeWorld, PodWorld};
use super::{Written, explained, fault_of, wrong_type};

#[derive(Debug)]
pub(super) struct Spec {
    pub(crate) written: Written,
    pub(crate) normalization: Normalization,
}

#[derive(Debug, Clone)]
pub(crate) struct ExpressionScore(pub(super) Arc<Spec>);

#[derive(Debug)]
struct PreparedExpressionScore {
    spec: Arc<Spec>,
    pod: Pod,
    residual: Expression,
    /// What it may spend on each node; `None` where there are more nodes than it may be evaluated on.
    limit: Option<u64>,
    sums: DomainSums,
    /// `None` where nodes are always evaluated by themselves.
    single: Option<SingleNodes<f64>>,
    /// What it holds besides the sums and the answers.
    own_bytes: usize,
}

impl Score for ExpressionScore {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self.0.written.needs.key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let residual = self.0.written.folded(pod, cluster);
        let limit = self.0.written.limit(cluster);
        let spec = Arc::clone(&self.0);
        let own_bytes = size_of::<PreparedExpressionScore>() + residual.heap_bytes();
        let (pod, sums) = (pod.clone(), DomainSums::default());
        let single = residual.is_side_by_side().then(SingleNodes::default);
        let prepared =
            PreparedExpressionScore { spec, pod, residual, limit, sums, single, own_bytes };
        Some(Box::new(prepared))
    }

    fn moments(&self) -> &Moments {
        &self.0.written.moments
    }

    fn kinds(&self) -> &[Kind] {
        &self.0.written.kinds
    }
}

impl PreparedExpressionScore {
    fn world<'a>(&'a self, cluster: &'a Cluster) -> ClusterWorld<'a> {
        ClusterWorld { pod: PodWorld { pod: &self.pod, cluster }, sums: &self.sums }
    }

    fn count_clamped(&self, nodes: usize) {
        if nodes > 0 && self.spec.normalization == Normalization::AsIs {
            self.spec.written.counts.count_clamped(nodes);
        }
    }

    fn not_covered(&self, cluster: &Cluster) -> Fault {
        self.spec.written.allowance.fault(cluster.nodes().len())
    }

    fn raw_by_itself(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        match self.judge(cluster, node) {
            Ok(score) => {
                self.count_clamped(usize::from(is_clamped(score)));
                score
            }
            Err(fault) => {
                self.spec.written.counts.count_fault(&fault);
                IGNORED
            }
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn judge(&self, cluster: &Cluster, node: NodeView<'_>) -> Result<f64, Fault> {
        let Some(limit) = self.limit else { return Err(self.not_covered(cluster)) };
        let world = NodeWorld { world: self.world(cluster), node };
        match self.residual.evaluate(&world, &mut Budget::new(limit)) {
            Ok(Value::Int(score)) => Ok(score as f64),
            Ok(Value::Uint(score)) => Ok(score as f64),
            Ok(Value::Double(score)) => Ok(counted_score(score)),
            Ok(other) => Err(wrong_type(&other)),
            Err(error) => Err(fault_of(error)),
        }
    }
}

/// Whether a score that is taken as it is will be held within 0–100.
fn is_clamped(score: f64) -> bool {
    score != IGNORED && !(0.0..=SCORE_MAX_F).contains(&score)
}

/// A score that could not be evaluated counts 0 and changes neither minimum nor maximum; a score
/// that is not a number is treated alike.
fn counted_score(score: f64) -> f64 {
    if score.is_nan() { IGNORED } else { score }
}

impl PreparedScore for PreparedExpressionScore {
    fn reads(&self) -> Reads {
        self.spec.written.reads()
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if self.limit != self.spec.written.limit(cluster) {
            return Refresh::Again;
        }
        self.single = self.single.take().map(|_| SingleNodes::default());
        self.spec.written.refresh(changes)
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let one = || self.raw_by_itself(cluster, node);
        match &self.single {
            None => one(),
            Some(single) => {
                single.answer(node.slot, cluster, one, |raw| self.raw_all(cluster, raw))
            }
        }
    }

    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        let Some(limit) = self.limit else { return Some(self.not_covered(cluster)) };
        let world = NodeWorld { world: self.world(cluster), node };
        match explained(&self.residual, &self.spec.written.source, &world, limit) {
            Ok(Value::Int(_) | Value::Uint(_) | Value::Double(_)) => None,
            Ok(other) => Some(wrong_type(&other)),
            Err(fault) => Some(fault),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        let Some(limit) = self.limit else {
            let nodes = cluster.nodes().len();
            self.spec.written.counts.count_errors(nodes, nodes);
            raw.fill(IGNORED);
            return;
        };
        let columns = NodeColumns::of(&self.residual, self.world(cluster));
        let selected = live(cluster);
        let mut budget = Budget::of_each_lane(limit);
        let score = self.residual.score(&columns, &selected, &mut budget);
        self.spec.written.counts.count_units(&budget);
        self.spec.written.counts.count_errors(score.error.count(), budget.lanes_exceeded());
        match score.values {
            ScoreValues::Int(values) => {
                raw.iter_mut().zip(values).for_each(|(cell, value)| *cell = value as f64);
            }
            ScoreValues::Double(values) => {
                raw.iter_mut().zip(values).for_each(|(cell, value)| *cell = counted_score(value));
            }
        }
        for lane in score.error.iter() {
            if let Some(cell) = raw.get_mut(lane) {
                *cell = IGNORED;
            }
        }
        self.count_clamped(raw.iter().filter(|score| is_clamped(**score)).count());
    }

    fn worth_asking_all(&self, nodes: usize) -> usize {
        Written::worth_asking_all(nodes)
    }

    fn normalization(&self) -> &Normalization {
        &self.spec.normalization
    }

    fn held_bytes(&self) -> HeldBytes {
        let answers = self.single.as_ref().map_or(0, SingleNodes::heap_bytes);
        HeldBytes::Changing(self.own_bytes + self.sums.bytes() + answers)
    }
}
