//! One evaluation from bytes to bytes: for `eval`, tests and conformance runs.
//!
//! In: the IR, and an object from the names of variables to values in JSON form. Out:
//! `{"value": …, "type": name}`, `{"error": {"kind", "message", "node"}}` or
//! `{"refused": {"code", "message", "node"}}`.

use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};

use crate::budget::Budget;
use crate::error::Refusal;
use crate::facts::{Answer, Facts, Read};
use crate::ir::Expression;
use crate::value::{Value, from_json, to_json};

/// The cost such an evaluation may have.
const COST_MAX: u64 = 10_000_000;

struct Variables(FxHashMap<String, Value>);

impl Facts for Variables {
    fn read(&self, read: &Read) -> Answer {
        match self.0.get(&*read.fact) {
            Some(value) if read.args.is_empty() => Answer::Known(value.clone()),
            _ => Answer::Unknown,
        }
    }
}

/// Verifies and evaluates `ir` with `variables`; never panics, whatever it is given.
pub fn evaluate_json(ir: &[u8], variables: &[u8]) -> Vec<u8> {
    let answer = match prepared(ir, variables) {
        Ok((expression, variables)) => {
            match expression.evaluate(&variables, &mut Budget::new(COST_MAX)) {
                Ok(value) => json!({"value": to_json(&value), "type": value.type_name()}),
                Err(error) => json!({"error": {
                    "kind": error.kind.name(),
                    "message": *error.message,
                    "node": error.node,
                }}),
            }
        }
        Err(refusal) => json!({"refused": {
            "code": refusal.code,
            "message": refusal.message,
            "node": refusal.node,
        }}),
    };
    answer.to_string().into_bytes()
}

fn prepared(ir: &[u8], variables: &[u8]) -> Result<(Expression, Variables), Refusal> {
    let refuse = |message: String| Refusal { code: "IR000", message, node: None };
    let ir: Json = serde_json::from_slice(ir).map_err(|why| refuse(why.to_string()))?;
    let expression = Expression::verify(&ir)?;
    let json: Json = serde_json::from_slice(variables).map_err(|why| refuse(why.to_string()))?;
    let object = json.as_object().ok_or_else(|| refuse("variables are not an object".into()))?;
    let values = object
        .iter()
        .map(|(name, value)| from_json(value).map(|value| (name.clone(), value)))
        .collect::<Result<_, _>>()
        .map_err(|why| refuse(format!("variables: {why}")))?;
    Ok((expression, Variables(values)))
}
