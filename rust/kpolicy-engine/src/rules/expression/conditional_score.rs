//! Scores that hold only for some pods. Where a condition errs, the rule scores nothing.

use std::sync::Arc;

use crate::model::Kind;
use crate::rules::{Fault, Feasible, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::conditions::{Conditions, Holds};

#[derive(Debug)]
pub struct ConditionalScore {
    pub conditions: Arc<Conditions>,
    pub rule: Box<dyn Score>,
}

#[derive(Debug)]
struct PreparedConditionalScore {
    conditions: Arc<Conditions>,
    rule: Option<Box<dyn PreparedScore>>,
}

impl Score for ConditionalScore {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self.conditions.needs.key(pod, key);
        self.rule.key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let holds = matches!(self.conditions.hold(pod, cluster), Holds::Yes);
        let rule = if holds { self.rule.prepare(pod, cluster) } else { None };
        if self.conditions.needs.is_of_cluster() {
            let conditions = Arc::clone(&self.conditions);
            return Some(Box::new(PreparedConditionalScore { conditions, rule }));
        }
        rule
    }

    fn kinds(&self) -> &'static [Kind] {
        self.rule.kinds()
    }
}

impl PreparedScore for PreparedConditionalScore {
    fn reads(&self) -> Reads {
        self.rule.as_deref().map_or(Reads::parts(NodeParts::NONE), PreparedScore::reads)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        match &mut self.rule {
            _ if self.conditions.watches(changes) => Refresh::Again,
            Some(rule) => rule.refresh(changes, cluster),
            None => Refresh::Nodes,
        }
    }

    fn reads_feasible(&self) -> bool {
        self.rule.as_deref().is_some_and(PreparedScore::reads_feasible)
    }

    fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        if let Some(rule) = &mut self.rule {
            rule.see_feasible(cluster, feasible);
        }
    }

    fn is_skipped(&self) -> bool {
        self.rule.as_deref().is_none_or(PreparedScore::is_skipped)
    }

    fn problem(&self) -> Option<&str> {
        self.rule.as_deref().and_then(PreparedScore::problem)
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        self.rule.as_deref().map_or(0.0, |rule| rule.raw(cluster, node))
    }

    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        self.rule.as_deref()?.fault(cluster, node)
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        if let Some(rule) = &self.rule {
            rule.raw_all(cluster, raw);
        }
    }

    fn normalization(&self) -> &Normalization {
        self.rule.as_deref().map_or(&Normalization::AsIs, PreparedScore::normalization)
    }

    fn normalize_all(
        &self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        if let Some(rule) = &self.rule {
            rule.normalize_all(cluster, feasible, raw, normalized);
        }
    }
}
