//! What is seen of an evaluation: the outcome of each node, and what it needed of the budget.

use std::ops::Range;

use crate::error::EvaluationError;
use crate::ir::Node;
use crate::value::Value;

/// Is shown what each node gave.
pub(crate) trait Observer {
    /// `needed` is what had been asked of the budget before the node was evaluated, and after it.
    fn note(&mut self, node: &Node, outcome: &Result<Value, EvaluationError>, needed: Range<u64>);
}

/// What a node of an expression gave in all evaluations that reached it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// It was true at least once.
    pub is_true: bool,
    /// It was false at least once.
    pub is_false: bool,
    /// It ended with an error at least once.
    pub is_error: bool,
    /// It was a value other than a bool at least once.
    pub is_other: bool,
}

impl Observer for Vec<Seen> {
    fn note(&mut self, node: &Node, outcome: &Result<Value, EvaluationError>, _: Range<u64>) {
        let Some(seen) = self.get_mut(node.origin as usize) else { return };
        match outcome {
            Ok(Value::Bool(true)) => seen.is_true = true,
            Ok(Value::Bool(false)) => seen.is_false = true,
            Ok(_) => seen.is_other = true,
            Err(_) => seen.is_error = true,
        }
    }
}
