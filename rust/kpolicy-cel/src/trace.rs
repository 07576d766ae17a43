//! A trace of one evaluation: the outcomes of each node of an expression, for people who ask why.
//!
//! A node in a loop is reached many times: the first outcomes are kept, the others are counted.

use std::ops::Range;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::budget::Budget;
use crate::error::EvaluationError;
use crate::facts::Facts;
use crate::ir::{Expression, Node};
use crate::observation::Observer;
use crate::value::{Evaluated, Value, to_json};

/// Outcomes kept of one node; a reader of a loop looks at the first few.
const OUTCOMES_MAX: usize = 16;

#[derive(Debug, Clone, Default)]
struct Seen {
    outcomes: Vec<Evaluated>,
    count: u64,
}

/// Outcomes by node of the verified expression.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    nodes: Vec<Seen>,
}

impl Observer for Trace {
    fn note(&mut self, node: &Node, outcome: &Evaluated, _: Range<u64>) {
        let index = node.origin as usize;
        if self.nodes.len() <= index {
            self.nodes.resize(index + 1, Seen::default());
        }
        if let Some(seen) = self.nodes.get_mut(index) {
            seen.count += 1;
            if seen.outcomes.len() < OUTCOMES_MAX {
                seen.outcomes.push(outcome.clone());
            }
        }
    }
}

impl Trace {
    /// By node that was reached: how often, and the first outcomes.
    pub fn to_json(&self) -> Json {
        let mut nodes = JsonMap::new();
        for (index, seen) in self.nodes.iter().enumerate().filter(|(_, seen)| seen.count > 0) {
            let outcomes: Vec<Json> = seen.outcomes.iter().map(outcome_json).collect();
            nodes.insert(index.to_string(), json!({"count": seen.count, "outcomes": outcomes}));
        }
        nodes.into()
    }
}

impl Expression {
    /// As [`Expression::evaluate`], and keeps the first values that each node gave.
    pub fn evaluate_traced(
        &self,
        facts: &dyn Facts,
        budget: &mut Budget,
        trace: &mut Trace,
    ) -> Result<Value, EvaluationError> {
        self.evaluate_observed(facts, budget, trace)
    }
}

/// `{"value", "type"}` or `{"error": {"code", "kind", "message", "node"}}`.
pub(crate) fn outcome_json(outcome: &Evaluated) -> Json {
    match outcome {
        Ok(value) => json!({"value": to_json(value), "type": value.type_name()}),
        Err(error) => json!({"error": {
            "code": error.kind.code(),
            "kind": error.kind.name(),
            "message": error.message.to_string(),
            "node": error.node,
        }}),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Trace;
    use crate::{Budget, Expression, NoFacts};

    #[test]
    fn a_node_that_was_not_reached_is_not_there_and_loops_are_counted() {
        let ir = json!({"format": 1, "constants": [1, 2, 3, true], "root": 7, "nodes": [
            {"op": "constant", "type": "int", "constant": 0},
            {"op": "constant", "type": "int", "constant": 1},
            {"op": "constant", "type": "int", "constant": 2},
            {"op": "list", "type": ["list", "int"], "args": [0, 1, 2]},
            {"op": "slot", "type": "int", "slot": 0},
            {"op": "call", "type": "bool", "overload": "greater_int64", "args": [4, 0]},
            {"op": "loop", "type": "bool", "kind": "exists", "slots": [0], "args": [3, 5]},
            {"op": "or", "type": "bool", "args": [6, 8]}, ]});
        let mut nodes = ir["nodes"].as_array().unwrap().clone();
        nodes.insert(7, json!({"op": "constant", "type": "bool", "constant": 3}));
        nodes[8]["args"] = json!([6, 7]);
        let ir = json!({"format": 1, "constants": ir["constants"], "root": 8, "nodes": nodes});
        let expression = Expression::verify(&ir).unwrap();
        let mut trace = Trace::default();
        expression.evaluate_traced(&NoFacts, &mut Budget::new(100), &mut trace).unwrap();
        let shown = trace.to_json();
        assert_eq!(shown["5"]["count"], 2, "1 > 1 and 2 > 1, which decides");
        assert_eq!(shown["5"]["outcomes"][1], json!({"value": true, "type": "bool"}));
        assert_eq!(shown["3"]["outcomes"][0]["value"], json!([1, 2, 3]));
        assert!(shown.get("7").is_none(), "the second operand of || is not reached");
    }
}
