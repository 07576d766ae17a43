//! One evaluation from bytes to bytes: for `eval`, tests and conformance runs.
//!
//! In: the IR, and an object from the names of variables to values in JSON form. Out:
//! `{"value": …, "type": name}`, `{"error": {"code", "kind", "message", "node"}}` or
//! `{"refused": {"code", "message", "node"}}`.

use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};

use crate::budget::Budget;
use crate::error::{Fault, InvalidExpression};
use crate::facts::{Answer, Facts, NoFacts, Read};
use crate::ir::Expression;
use crate::names::Catalogue;
use crate::trace::{Trace, outcome_json};
use crate::value::{Value, from_json};

/// The cost such an evaluation may have.
const COST_MAX: u64 = 10_000_000;

/// Variables by name; what is none of them, the host answers.
struct Variables<'a> {
    values: FxHashMap<String, Value>,
    facts: &'a dyn Facts,
}

impl Variables<'_> {
    fn given(&self, read: &Read) -> Option<Answer> {
        let value = self.values.get(&*read.fact.text).filter(|_| read.args.is_empty());
        value.cloned().map(Answer::Known)
    }
}

impl Facts for Variables<'_> {
    fn read(&self, read: &Read) -> Answer {
        self.given(read).unwrap_or_else(|| self.facts.read(read))
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        self.given(read).map_or_else(|| self.facts.read_charged(read, budget), Ok)
    }

    fn is_made(&self, read: &Read) -> bool {
        !self.values.contains_key(&*read.fact.text) && self.facts.is_made(read)
    }
}

/// Verifies and evaluates `ir` with `variables`; never panics, whatever it is given.
pub fn evaluate_json(ir: &[u8], variables: &[u8]) -> Vec<u8> {
    let parsed = |bytes: &[u8]| serde_json::from_slice::<Json>(bytes);
    let answer = match (parsed(ir), parsed(variables)) {
        (Ok(ir), Ok(variables)) => answer_json(&ir, &variables, (&NoFacts, &NoFacts), false),
        (Err(why), _) | (_, Err(why)) => refused(&unreadable(why.to_string())),
    };
    answer.to_string().into_bytes()
}

/// The same with facts beside the variables; `traced` adds what each node gave.
pub fn answer_json(
    ir: &Json,
    variables: &Json,
    (catalogue, facts): (&dyn Catalogue, &dyn Facts),
    traced: bool,
) -> Json {
    let (expression, values) = match prepared(ir, variables) {
        Ok((expression, values)) => (expression.resolved(catalogue), values),
        Err(refusal) => return refused(&refusal),
    };
    let facts = Variables { values, facts };
    let mut budget = Budget::new(COST_MAX);
    if !traced {
        return outcome_json(&expression.evaluate(&facts, &mut budget));
    }
    let mut trace = Trace::default();
    let mut answer = outcome_json(&expression.evaluate_traced(&facts, &mut budget, &mut trace));
    if let Some(object) = answer.as_object_mut() {
        object.insert("spent".into(), budget.spent().into());
        object.insert("trace".into(), trace.to_json());
    }
    answer
}

fn refused(refusal: &InvalidExpression) -> Json {
    json!({"refused": {
        "code": refusal.code,
        "message": refusal.message,
        "node": refusal.node,
    }})
}

fn unreadable(message: String) -> InvalidExpression {
    InvalidExpression { code: "IR000", message, node: None }
}

fn prepared(
    ir: &Json,
    variables: &Json,
) -> Result<(Expression, FxHashMap<String, Value>), InvalidExpression> {
    let expression = Expression::verify(ir)?;
    let object =
        variables.as_object().ok_or_else(|| unreadable("variables are not an object".into()))?;
    let values = object
        .iter()
        .map(|(name, value)| from_json(value).map(|value| (name.clone(), value)))
        .collect::<Result<_, _>>()
        .map_err(|why| unreadable(format!("variables: {why}")))?;
    Ok((expression, values))
}
