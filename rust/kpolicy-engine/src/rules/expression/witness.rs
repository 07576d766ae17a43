//! The outcomes of the parts of a rule's expressions: which were true, which false, which erred.
//! Test coverage is computed from them.
//!
//! Expressions are evaluated as they are written, not as they are folded, so that every part has
//! its place in the policy.

use std::sync::Arc;

use kpolicy_cel::{Budget, EvaluationError, Expression, Facts, Seen};
use serde_json::{Map, Value, json};

use crate::rules::Fault;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::allowance::COST_PER_NODE_MAX;
use super::conditions::Conditions;
use super::domain_sums::DomainSums;
use super::filter::ExpressionFilter;
use super::score::ExpressionScore;
use super::world::{ClusterWorld, NodeWorld, PodWorld};
use super::{Written, fault_of};

/// Errors that are reported for one rule and pod. More would only repeat them.
const ERRORS_MAX: usize = 100;

#[derive(Debug)]
enum Part {
    Filter(Option<ExpressionFilter>),
    Score(Option<ExpressionScore>),
}

/// A rule that has an expression, or a condition under which it holds.
#[derive(Debug)]
pub struct Witness {
    name: Arc<str>,
    conditions: Option<Arc<Conditions>>,
    part: Part,
}

impl Witness {
    pub(crate) fn of_filter(
        name: &Arc<str>,
        conditions: Option<&Arc<Conditions>>,
        part: Option<ExpressionFilter>,
    ) -> Option<Self> {
        let is_there = conditions.is_some() || part.is_some();
        is_there.then(|| Self {
            name: Arc::clone(name),
            conditions: conditions.cloned(),
            part: Part::Filter(part),
        })
    }

    pub(crate) fn of_score(
        name: &Arc<str>,
        conditions: Option<&Arc<Conditions>>,
        part: Option<ExpressionScore>,
    ) -> Option<Self> {
        let is_there = conditions.is_some() || part.is_some();
        is_there.then(|| Self {
            name: Arc::clone(name),
            conditions: conditions.cloned(),
            part: Part::Score(part),
        })
    }

    pub(crate) fn is_filter(&self) -> bool {
        matches!(self.part, Part::Filter(_))
    }

    /// `{"rule", "side", "match": [[…]], "nodes": […], "errors": [{"node", "code", "message", "at"}]}`;
    /// lists hold a set of bits for each node of an IR.
    pub(crate) fn seen<'a>(
        &self,
        pod: &Pod,
        cluster: &Cluster,
        views: impl Iterator<Item = NodeView<'a>>,
    ) -> Value {
        let sums = DomainSums::default();
        let world = ClusterWorld { pod: PodWorld { pod, cluster }, sums: &sums };
        let mut errors = Vec::new();
        let (matched, holds) = matched(self.conditions.as_deref(), world, &mut errors);
        let side = if self.is_filter() { "filter" } else { "score" };
        let mut object = begun(&self.name, side, matched);
        if let Some(written) = self.written().filter(|_| holds) {
            let expression = &written.expression;
            let mut seen = Vec::new();
            let limit = written.limit(cluster);
            for node in views {
                let facts = NodeWorld { world, node };
                let Some(limit) = limit else {
                    let fault = written.allowance.fault(cluster.nodes().len());
                    errors.push(rendered(&fault, expression.root(), Some(&node.node.name)));
                    continue;
                };
                if let Err(error) = witnessed(expression, &facts, Budget::new(limit), &mut seen) {
                    let at = error.node;
                    errors.push(rendered(&fault_of(error), at, Some(&node.node.name)));
                }
            }
            object.insert("nodes".into(), bits(&seen));
        }
        errors.truncate(ERRORS_MAX);
        object.insert("errors".into(), errors.into());
        object.into()
    }

    fn written(&self) -> Option<&Written> {
        match &self.part {
            Part::Filter(filter) => filter.as_ref().map(|filter| &filter.0.written),
            Part::Score(score) => score.as_ref().map(|score| &score.0.written),
        }
    }
}

/// What the expression of a rule gave that does not look at nodes.
#[derive(Debug, Default)]
pub(super) struct Notes {
    seen: Vec<Seen>,
    errors: Vec<Value>,
}

impl Notes {
    /// Evaluates the expression once more; gives its value, if it has one.
    pub(super) fn add(
        &mut self,
        expression: &Expression,
        facts: &dyn Facts,
    ) -> Option<kpolicy_cel::Value> {
        let mut budget = Budget::new(COST_PER_NODE_MAX);
        let outcome = expression.witness(facts, &mut budget, &mut self.seen);
        outcome.map_err(|error| self.fail(error.node, &fault_of(error))).ok()
    }

    pub(super) fn fail(&mut self, at: u32, fault: &Fault) {
        self.errors.push(rendered(fault, at, None));
    }

    /// As `Witness::seen` has it: a rule, what its conditions gave, and, where they hold, its
    /// expression.
    pub(super) fn told(
        name: &str,
        side: &str,
        (matched, mut errors): (Value, Vec<Value>),
        notes: Option<Self>,
    ) -> Value {
        let mut object = begun(name, side, matched);
        if let Some(notes) = notes {
            object.insert("nodes".into(), bits(&notes.seen));
            errors.extend(notes.errors);
        }
        errors.truncate(ERRORS_MAX);
        object.insert("errors".into(), errors.into());
        object.into()
    }
}

fn begun(name: &str, side: &str, matched: Value) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("rule".into(), name.into());
    object.insert("side".into(), side.into());
    object.insert("match".into(), matched);
    object
}

/// What each condition gave, and whether all hold. Conditions are evaluated in order until one is
/// false.
pub(super) fn matched(
    conditions: Option<&Conditions>,
    world: ClusterWorld<'_>,
    errors: &mut Vec<Value>,
) -> (Value, bool) {
    let mut matched = Vec::new();
    let mut holds = true;
    for expression in conditions.iter().flat_map(|conditions| &conditions.expressions) {
        let mut seen = Vec::new();
        let budget = Budget::new(COST_PER_NODE_MAX);
        let outcome = witnessed(expression, &world, budget, &mut seen);
        matched.push(bits(&seen));
        match outcome {
            Ok(true) => {}
            Ok(false) => return (matched.into(), false),
            Err(error) => {
                let at = error.node;
                errors.push(rendered(&fault_of(error), at, None));
                holds = false;
            }
        }
    }
    (matched.into(), holds)
}

/// Evaluates, and says whether it was true.
fn witnessed(
    expression: &Expression,
    facts: &dyn Facts,
    mut budget: Budget,
    seen: &mut Vec<Seen>,
) -> Result<bool, EvaluationError> {
    let outcome = expression.witness(facts, &mut budget, seen)?;
    Ok(matches!(outcome, kpolicy_cel::Value::Bool(true)))
}

fn bits(seen: &[Seen]) -> Value {
    let of = |seen: &Seen| {
        u8::from(seen.is_true)
            | u8::from(seen.is_false) << 1
            | u8::from(seen.is_error) << 2
            | u8::from(seen.is_other) << 3
    };
    seen.iter().map(|seen| Value::from(of(seen))).collect()
}

fn rendered(fault: &Fault, at: u32, node: Option<&str>) -> Value {
    let mut object = json!({"code": fault.code, "message": *fault.message, "at": at});
    if let (Some(object), Some(node)) = (object.as_object_mut(), node) {
        object.insert("node".into(), node.into());
    }
    object
}
