//! Expression rules and match conditions from the program document.

use std::sync::Arc;

use kpolicy_cel::{Expression, Moments, Type};
use serde_json::Value;

use crate::fields::{BAD_EXPRESSION, Fields, Refusals, UNKNOWN, WRONG_TYPE};
use crate::model::ApiPaths;
use crate::rules::{Normalization, Rejection};

use super::allowance::{Allowance, Ledger, Limits};
use super::api_path::paths_of;
use super::conditions::Conditions;
use super::device_rules::DeviceRule;
use super::facts::{NOW, verified};
use super::filter::{ExpressionFilter, Spec as FilterSpec};
use super::needs::Needs;
use super::normalization::normalization;
use super::queue_rules::{HoldRule, OrderRule};
use super::score::{ExpressionScore, Spec as ScoreSpec};
use super::source::Source;
use super::victims::VictimRule;
use super::{EvaluationCounts, Written};

#[derive(Debug)]
pub(crate) struct LoadedFilter {
    pub(crate) rule: ExpressionFilter,
    pub(crate) counts: Arc<EvaluationCounts>,
    /// It only counts what it would have rejected.
    pub(crate) is_audit: bool,
    pub(crate) paths: ApiPaths,
}

#[derive(Debug)]
pub(crate) struct LoadedScore {
    pub(crate) rule: ExpressionScore,
    pub(crate) counts: Arc<EvaluationCounts>,
    pub(crate) paths: ApiPaths,
}

/// An expression whose result is one of some types.
fn expression(
    value: &Value,
    place: &str,
    wanted: &[&str],
    refusals: &mut Refusals,
) -> Option<(Expression, Needs)> {
    reading(value, place, wanted, Needs::of, refusals)
}

/// The same; `needs_of` says which facts there are.
fn reading(
    value: &Value,
    place: &str,
    wanted: &[&str],
    needs_of: fn(&Expression) -> Result<Needs, String>,
    refusals: &mut Refusals,
) -> Option<(Expression, Needs)> {
    let expression = match verified(value) {
        Ok(expression) => expression,
        Err(refusal) => {
            refusals.add(BAD_EXPRESSION, place, refusal.to_string(), "");
            return None;
        }
    };
    let given = expression.result_type();
    if *given != Type::Dyn && !wanted.contains(&given.head()) {
        let message = format!("the expression gives {}", given.head());
        refusals.add(WRONG_TYPE, place, message, format!("{} is wanted", wanted.join(" or ")));
        return None;
    }
    match needs_of(&expression) {
        Ok(needs) => Some((expression, needs)),
        Err(fact) => {
            refusals.add(UNKNOWN, place, format!("unknown fact {fact:?}"), "");
            None
        }
    }
}

fn written(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    wanted: &[&str],
    limits: Limits,
    refusals: &mut Refusals,
) -> Option<(Written, u64)> {
    let place = fields.place_of("expression");
    let value = fields.required("expression", refusals)?;
    let (expression, needs) = expression(value, &place, wanted, refusals)?;
    let cost = worst_case(value, &expression);
    // Where it was written is for people; the engine only carries it.
    fields.text_or("place", "", refusals)?;
    let moments = expression.moments(NOW);
    let written = Written {
        name: Arc::clone(name),
        expression,
        source: Source::of(value),
        needs,
        kinds: needs.kinds(),
        moments,
        allowance: Allowance::of_one_node(limits),
        is_bounded: cost <= Allowance::of_one_node(limits).per_node(),
        counts: Arc::new(EvaluationCounts::default()),
    };
    Some((written, cost))
}

/// What the compiler says that an expression may cost on one node; not less than its size.
fn worst_case(value: &Value, expression: &Expression) -> u64 {
    let stated = value.get("cost").and_then(Value::as_u64).unwrap_or_default();
    stated.max(expression.size() as u64)
}

/// What is drawn for an expression: on a node it cannot spend more than it may.
fn drawn(cost: u64, limits: Limits) -> u64 {
    cost.min(Allowance::of_one_node(limits).per_node())
}

pub(crate) fn filter(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    (policy, ledger): (usize, &mut Ledger),
    refusals: &mut Refusals,
) -> Option<LoadedFilter> {
    let limits = ledger.limits(policy);
    let (mut written, cost) = written(fields, name, &["bool"], limits, refusals)?;
    let mut cost = drawn(cost, limits);
    let message = fields.text_or("message", "", refusals)?;
    let message =
        if message.is_empty() { format!("node(s) didn't pass {name}") } else { message.into() };
    fields.text_or("reason", "", refusals)?;
    let mut message_needs = Needs::default();
    let mut paths = ApiPaths::default();
    paths_of(&written.expression, &mut paths);
    let place = fields.place_of("messageExpression");
    let message_expression = match fields.optional("messageExpression") {
        Some(value) => {
            let (expression, needs) = expression(value, &place, &["string"], refusals)?;
            message_needs = needs;
            written.kinds = written.needs.with(needs).kinds();
            written.moments = written.moments.with(expression.moments(NOW));
            cost = cost.saturating_add(drawn(worst_case(value, &expression), limits));
            paths_of(&expression, &mut paths);
            Some(expression)
        }
        None => None,
    };
    let is_preemptible = fields.flag_or("preemptible", true, refusals)?;
    let is_audit = choice(fields, "enforcement", ["deny", "audit"], refusals)? == "audit";
    let accepts_errors = choice(fields, "onError", ["reject", "accept"], refusals)? == "accept";
    if !is_audit {
        written.allowance = ledger.draw(policy, cost);
    }
    let counts = Arc::clone(&written.counts);
    let rejection = if is_preemptible { Rejection::Unschedulable } else { Rejection::Unresolvable };
    let spec = FilterSpec {
        written,
        message: message.into(),
        message_expression,
        message_needs,
        rejection,
        accepts_errors,
    };
    Some(LoadedFilter { rule: ExpressionFilter(Arc::new(spec)), counts, is_audit, paths })
}

pub(crate) fn score(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    (policy, ledger): (usize, &mut Ledger),
    refusals: &mut Refusals,
) -> Option<LoadedScore> {
    let limits = ledger.limits(policy);
    let wanted = ["int", "uint", "double"];
    let (mut written, cost) = written(fields, name, &wanted, limits, refusals)?;
    written.allowance = ledger.draw(policy, drawn(cost, limits));
    choice(fields, "onError", ["zero", "zero"], refusals)?;
    let normalization = match fields.object("normalize", refusals) {
        Some(mut fields) => {
            let normalization = normalization(&mut fields, refusals)?;
            fields.finish(refusals);
            normalization
        }
        None => Normalization::AsIs,
    };
    let counts = Arc::clone(&written.counts);
    let mut paths = ApiPaths::default();
    paths_of(&written.expression, &mut paths);
    let spec = ScoreSpec { written, normalization };
    Some(LoadedScore { rule: ExpressionScore(Arc::new(spec)), counts, paths })
}

/// The pods that may be evicted.
pub(crate) fn victims(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    limits: Limits,
    refusals: &mut Refusals,
) -> Option<VictimRule> {
    let place = fields.place_of("expression");
    let value = fields.required("expression", refusals)?;
    let (expression, needs) = reading(value, &place, &["bool"], Needs::with_victim, refusals)?;
    fields.text_or("place", "", refusals)?;
    Some(VictimRule(of_one_node(name, (value, expression), needs, limits)))
}

/// An expression that is evaluated on its own, as often as it is wanted.
fn of_one_node(
    name: &Arc<str>,
    (value, expression): (&Value, Expression),
    needs: Needs,
    limits: Limits,
) -> Written {
    let allowance = Allowance::of_one_node(limits);
    Written {
        name: Arc::clone(name),
        is_bounded: worst_case(value, &expression) <= allowance.per_node(),
        moments: expression.moments(NOW),
        expression,
        source: Source::of(value),
        needs,
        kinds: needs.kinds(),
        allowance,
        counts: Arc::new(EvaluationCounts::default()),
    }
}

/// A rule that scores allocations of devices. What it spends counts as looking for devices.
pub(crate) fn device_rule(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    (limits, weight): (Limits, i64),
    refusals: &mut Refusals,
) -> Option<DeviceRule> {
    let conditions = conditions(fields, name, refusals)?;
    let place = fields.place_of("expression");
    let value = fields.required("expression", refusals)?;
    let wanted = ["int", "uint", "double"];
    let (expression, needs) = reading(value, &place, &wanted, Needs::with_allocation, refusals)?;
    fields.text_or("place", "", refusals)?;
    let written = of_one_node(name, (value, expression), needs, limits);
    Some(DeviceRule { written, conditions: conditions.map(Arc::new), weight })
}

/// A sound expression about pods in the queue.
fn of_queue(
    fields: &mut Fields<'_>,
    field: &'static str,
    name: &Arc<str>,
    wanted: &[&str],
    refusals: &mut Refusals,
) -> Option<Written> {
    let place = fields.place_of(field);
    let value = fields.required(field, refusals)?;
    let (expression, needs) = reading(value, &place, wanted, Needs::of_queue, refusals)?;
    fields.text_or("place", "", refusals)?;
    Some(Written {
        name: Arc::clone(name),
        is_bounded: true,
        moments: expression.moments(NOW),
        expression,
        source: Source::of(value),
        needs,
        kinds: needs.kinds(),
        allowance: Allowance::of_one_node(Limits::default()),
        counts: Arc::new(EvaluationCounts::default()),
    })
}

/// The number that orders the queue.
pub(crate) fn order(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    refusals: &mut Refusals,
) -> Option<OrderRule> {
    of_queue(fields, "expression", name, &["int", "uint", "double"], refusals).map(OrderRule)
}

/// The condition under which pods are held back.
pub(crate) fn hold(
    fields: &mut Fields<'_>,
    name: &Arc<str>,
    refusals: &mut Refusals,
) -> Option<HoldRule> {
    let conditions = conditions(fields, name, refusals)?;
    let mut written = of_queue(fields, "when", name, &["bool"], refusals)?;
    let message = fields.text_or("message", "", refusals)?;
    let message = if message.is_empty() { format!("held by {name}") } else { message.into() };
    let reason = fields.text_or("reason", "Held", refusals)?.into();
    let place = fields.place_of("messageExpression");
    let mut message_needs = Needs::default();
    let message_expression = match fields.optional("messageExpression") {
        Some(value) => {
            let (expression, needs) =
                reading(value, &place, &["string"], Needs::of_queue, refusals)?;
            message_needs = needs;
            written.kinds = written.needs.with(needs).kinds();
            Some(expression)
        }
        None => None,
    };
    let message = message.into();
    Some(HoldRule { written, conditions, message, message_expression, message_needs, reason })
}

/// The conditions under which a rule holds, if there are any.
pub(crate) fn conditions(
    fields: &mut Fields<'_>,
    rule: &Arc<str>,
    refusals: &mut Refusals,
) -> Option<Option<Conditions>> {
    let items = fields.list("match", refusals)?;
    let fails = choice(fields, "failurePolicy", ["Fail", "Ignore"], refusals)? == "Fail";
    let mut expressions = Vec::with_capacity(items.len());
    let mut sources = Vec::with_capacity(items.len());
    let mut needs = Needs::default();
    let mut moments = Moments::None;
    for (place, item) in items {
        let (expression, read) = expression(item, &place, &["bool"], refusals)?;
        if !read.node().is_empty() && !read.is_of_cluster() {
            refusals.add(BAD_EXPRESSION, &place, "a match condition reads a node", "");
            return None;
        }
        needs = needs.with(read);
        moments = moments.with(expression.moments(NOW));
        expressions.push(expression);
        sources.push(Source::of(item));
    }
    if expressions.is_empty() {
        return Some(None);
    }
    let rule = Arc::clone(rule);
    Some(Some(Conditions { expressions, sources, needs, moments, fails_on_errors: fails, rule }))
}

/// One of two words, the first where absent.
fn choice<'a>(
    fields: &mut Fields<'a>,
    name: &'static str,
    known: [&'static str; 2],
    refusals: &mut Refusals,
) -> Option<&'a str> {
    let have = fields.text_or(name, known[0], refusals)?;
    if known.contains(&have) {
        return Some(have);
    }
    let message = format!("unknown {name} {have:?}");
    refusals.add(UNKNOWN, &fields.place_of(name), message, known.join(" or "));
    None
}
