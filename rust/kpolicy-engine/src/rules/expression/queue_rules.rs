//! Expressions about pods in the queue: the number that orders them, and the conditions that hold them.

use std::sync::Arc;

use kpolicy_cel::{Budget, Expression, Moments, Value};

use crate::event::Events;
use crate::model::{ApiPaths, Kind};
use crate::part::Parts;
use crate::rules::Fault;

use super::allowance::COST_PER_NODE_MAX;
use super::api_path::paths_of;
use super::conditions::{Conditions, Holds};
use super::facts::{self, Root};
use super::filter::one_line;
use super::needs::{Needs, facts_of};
use super::queue_world::QueueWorld;
use super::witness::{self, Notes};
use super::{EvaluationCounts, Written, fault_of, wrong_type};

/// What the expressions about the queue read together: when they are to be evaluated again, and of
/// which pods they say the same.
#[allow(clippy::struct_excessive_bools, reason = "each is one thing that is read or not")]
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueReads {
    pub(crate) needs: Needs,
    pub(crate) moments: Moments,
    pub(crate) tenant: bool,
    /// Sums of all other tenants.
    pub(crate) others: bool,
    /// The cluster, or objects beside pods and nodes.
    pub(crate) cluster: bool,
    pub(crate) age: bool,
    pub(crate) attempts: bool,
}

impl QueueReads {
    fn of(expression: &Expression, needs: Needs) -> Self {
        let root_is = |root: Root| {
            facts_of(expression).any(|fact| facts::row(fact).is_some_and(|(of, _)| of == root))
        };
        let names = |name: &str| facts_of(expression).any(|fact| &*fact.text == name);
        Self {
            needs,
            moments: expression.moments(facts::NOW),
            tenant: root_is(Root::Tenant),
            others: facts_of(expression).any(|fact| fact.text.starts_with(facts::OF_OTHERS)),
            cluster: root_is(Root::Cluster) || needs.parts().meets(Parts::OBJECTS),
            age: names(facts::AGE),
            attempts: names(facts::ATTEMPTS),
        }
    }

    fn of_conditions(conditions: &Conditions) -> Self {
        let (needs, moments) = (conditions.needs, conditions.moments.clone());
        Self { needs, moments, cluster: needs.is_of_cluster(), ..Self::default() }
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            needs: self.needs.with(other.needs),
            moments: self.moments.with(other.moments),
            tenant: self.tenant || other.tenant,
            others: self.others || other.others,
            cluster: self.cluster || other.cluster,
            age: self.age || other.age,
            attempts: self.attempts || other.attempts,
        }
    }

    /// Whatever may change what they say.
    pub(crate) fn events(&self) -> Events {
        self.needs.events()
    }
}

/// Orders the queue: the pod with the smallest number is tried first.
#[derive(Debug)]
pub(crate) struct OrderRule(pub(super) Written);

impl OrderRule {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    pub(crate) fn reads(&self) -> QueueReads {
        QueueReads::of(&self.0.expression, self.0.needs)
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.0.kinds
    }

    pub(crate) fn paths(&self) -> ApiPaths {
        self.0.paths()
    }

    pub(crate) fn counts(&self) -> (Arc<str>, Arc<EvaluationCounts>) {
        self.0.counts()
    }

    /// What the parts of its expression give, as `Witness` tells it of other rules.
    pub(crate) fn seen(&self, world: &QueueWorld<'_>) -> serde_json::Value {
        let mut notes = Notes::default();
        if let Some(Value::Double(number)) = notes.add(&self.0.expression, world)
            && number.is_nan()
        {
            notes.fail(self.0.expression.root(), &no_number());
        }
        let no_conditions = (serde_json::Value::Array(Vec::new()), Vec::new());
        Notes::told(&self.0.name, "order", no_conditions, Some(notes))
    }

    /// Its number, or why there is none, and the units that it took.
    #[allow(clippy::cast_precision_loss, reason = "where doubles are equal, the pods tie")]
    pub(crate) fn number(&self, world: &QueueWorld<'_>) -> (Result<f64, Fault>, u64) {
        let mut budget = Budget::new(COST_PER_NODE_MAX);
        let found = match self.0.expression.evaluate(world, &mut budget) {
            Ok(Value::Int(number)) => Ok(number as f64),
            Ok(Value::Uint(number)) => Ok(number as f64),
            Ok(Value::Double(number)) if number.is_nan() => Err(no_number()),
            Ok(Value::Double(number)) => Ok(number),
            Ok(other) => Err(wrong_type(&other)),
            Err(error) => Err(fault_of(error)),
        };
        self.0.counts.count_units(&budget);
        if let Err(fault) = &found {
            self.0.counts.count_fault(fault);
        }
        (found, budget.spent())
    }
}

fn no_number() -> Fault {
    Fault { code: "KR111", message: "it gave NaN, which is no number".into() }
}

/// What a hold says of a pod.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Why it holds the pod, if it does.
    pub(crate) why: Option<Arc<str>>,
    /// Why it cannot say.
    pub(crate) fault: Option<Fault>,
    /// What looking took.
    pub(crate) units: u64,
}

/// Holds pods back from being tried while its expression is true.
#[derive(Debug)]
pub(crate) struct HoldRule {
    pub(super) written: Written,
    pub(super) conditions: Option<Conditions>,
    pub(super) message: Arc<str>,
    pub(super) message_expression: Option<Expression>,
    pub(super) message_needs: Needs,
    pub(crate) reason: Arc<str>,
}

impl HoldRule {
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.written.name
    }

    pub(crate) fn reads(&self) -> QueueReads {
        let own = QueueReads::of(&self.written.expression, self.written.needs);
        let of_message = self.message_expression.as_ref();
        let message = of_message.map(|message| QueueReads::of(message, self.message_needs));
        let conditions = self.conditions.as_ref().map(QueueReads::of_conditions);
        own.with(message.unwrap_or_default()).with(conditions.unwrap_or_default())
    }

    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds = self.written.kinds.clone();
        kinds.extend(self.conditions.iter().flat_map(Conditions::kinds));
        kinds
    }

    pub(crate) fn paths(&self) -> ApiPaths {
        let mut paths = self.conditions.as_ref().map(Conditions::paths).unwrap_or_default();
        paths_of(&self.written.expression, &mut paths);
        self.message_expression.iter().for_each(|message| paths_of(message, &mut paths));
        paths
    }

    pub(crate) fn counts(&self) -> (Arc<str>, Arc<EvaluationCounts>) {
        self.written.counts()
    }

    /// What the parts of its expressions give, as `Witness` tells it of other rules.
    pub(crate) fn seen(&self, world: &QueueWorld<'_>) -> serde_json::Value {
        let mut errors = Vec::new();
        let conditions = self.conditions.as_ref();
        let (matched, applies) = witness::matched(conditions, world.of_cluster(), &mut errors);
        let notes = applies.then(|| {
            let mut notes = Notes::default();
            notes.add(&self.written.expression, world);
            notes
        });
        Notes::told(self.name(), "hold", (matched, errors), notes)
    }

    /// Whether it holds the pod. A hold that errs holds: a quota that cannot be read is no leave to
    /// exceed it.
    pub(crate) fn holds(&self, world: &QueueWorld<'_>) -> Verdict {
        match self.conditions.as_ref().map(|own| own.hold(world.pod.pod, world.pod.cluster)) {
            None | Some(Holds::Yes) => {}
            Some(Holds::No) => return Verdict { units: CONDITIONS_UNITS, ..Verdict::default() },
            Some(Holds::Unknown(fault)) => {
                let held = self.conditions.as_ref().is_some_and(|own| own.fails_on_errors);
                self.written.counts.count_fault(&fault);
                let why = held.then(|| self.unknown(&fault));
                return Verdict { why, fault: Some(fault), units: CONDITIONS_UNITS };
            }
        }
        let mut budget = Budget::new(COST_PER_NODE_MAX);
        let fault = match self.written.expression.evaluate(world, &mut budget) {
            Ok(Value::Bool(false)) => {
                self.written.counts.count_units(&budget);
                return Verdict { units: budget.spent(), ..Verdict::default() };
            }
            Ok(Value::Bool(true)) => None,
            Ok(other) => Some(wrong_type(&other)),
            Err(error) => Some(fault_of(error)),
        };
        let why = match &fault {
            Some(fault) => {
                self.written.counts.count_fault(fault);
                self.unknown(fault)
            }
            None => self.said(world, &mut budget),
        };
        self.written.counts.count_units(&budget);
        Verdict { why: Some(why), fault, units: budget.spent() }
    }

    fn unknown(&self, fault: &Fault) -> Arc<str> {
        format!("hold {} could not be evaluated: {}", self.written.name, fault.rendered()).into()
    }

    fn said(&self, world: &QueueWorld<'_>, budget: &mut Budget) -> Arc<str> {
        let Some(expression) = &self.message_expression else { return Arc::clone(&self.message) };
        match expression.evaluate(world, budget) {
            Ok(Value::String(text)) if !text.trim().is_empty() => one_line(&text).into(),
            _ => Arc::clone(&self.message),
        }
    }
}

/// What looking at match conditions counts as.
const CONDITIONS_UNITS: u64 = 100;
