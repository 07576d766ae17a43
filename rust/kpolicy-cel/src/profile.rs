//! Which part of an expression needs most units, found by evaluating the expression once more.
//!
//! A part that works much by itself, such as a regular expression over a long text or a list of all
//! pods of a node, counts by itself. Everything cheaper counts for the loop around it, because it is
//! the loop that makes it dear, or for the whole expression where there is no loop.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::facts::Facts;
use crate::ir::{Expression, Node, Operation};
use crate::observation::Observer;
use crate::value::Evaluated;

/// A node counts by itself if one evaluation of it needs so many units, besides its operands.
const WORK_MIN: u64 = 16;

/// What a node needed whose user has not been noted yet.
#[derive(Debug)]
struct Operand {
    needed: Range<u64>,
    /// Units of it and of its operands that count for no part yet.
    open: u64,
}

/// The units that the parts of an expression needed in one evaluation.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    parts: FxHashMap<u32, u64>,
    operands: Vec<Operand>,
}

impl Profile {
    fn count(&mut self, part: u32, units: u64) {
        let sum = self.parts.entry(part).or_default();
        *sum = sum.saturating_add(units);
    }

    /// The part that needed most, and how many units that was: a node of the verified expression.
    fn dearest(mut self, root: u32) -> (u32, u64) {
        let open = self.operands.iter().fold(0_u64, |sum, next| sum.saturating_add(next.open));
        self.count(root, open);
        let dearest = self.parts.into_iter().max_by_key(|(node, units)| (*units, *node));
        dearest.unwrap_or((root, open))
    }
}

impl Observer for Profile {
    fn note(&mut self, node: &Node, _: &Evaluated, needed: Range<u64>) {
        let mut own = needed.end - needed.start;
        let mut open = 0_u64;
        // Operands begin with their user or after it. What began as early and was noted before it without
        // being an operand needed nothing.
        while let Some(operand) = self.operands.pop_if(|last| last.needed.start >= needed.start) {
            own = own.saturating_sub(operand.needed.end - operand.needed.start);
            open = open.saturating_add(operand.open);
        }
        if own >= WORK_MIN {
            self.count(node.origin, own);
        } else {
            open = open.saturating_add(own);
        }
        if matches!(node.operation, Operation::Loop { .. }) {
            self.count(node.origin, open);
            open = 0;
        }
        self.operands.push(Operand { needed, open });
    }
}

impl Expression {
    /// Evaluates as [`Expression::evaluate`] does, and finds the part that needed most units: its node
    /// in the verified expression, and the units, those included that were lacking at the end.
    pub fn evaluate_for_dearest(
        &self,
        facts: &dyn Facts,
        budget: &mut Budget,
    ) -> (Evaluated, (u32, u64)) {
        let mut profile = Profile::default();
        let outcome = self.evaluate_observed(facts, budget, &mut profile);
        (outcome, profile.dearest(self.root()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::error::ErrorKind;
    use crate::{Budget, Expression, NoFacts};

    /// `lists.range(3).all(x, lists.range(40).all(y, y > -1))`
    fn nested() -> Expression {
        let ir = json!({"format": 1, "constants": [3, 40, -1], "root": 8, "nodes": [
            {"op": "constant", "type": "int", "constant": 0},
            {"op": "call", "type": ["list", "int"], "overload": "lists_range_int64", "args": [0]},
            {"op": "constant", "type": "int", "constant": 1},
            {"op": "call", "type": ["list", "int"], "overload": "lists_range_int64", "args": [2]},
            {"op": "slot", "type": "int", "slot": 1},
            {"op": "constant", "type": "int", "constant": 2},
            {"op": "call", "type": "bool", "overload": "greater_int64", "args": [4, 5]},
            {"op": "loop", "type": "bool", "kind": "all", "slots": [1], "args": [3, 6]},
            {"op": "loop", "type": "bool", "kind": "all", "slots": [0], "args": [1, 7]}]});
        Expression::verify(&ir).unwrap()
    }

    #[test]
    fn the_inner_loop_needs_most_whether_the_budget_lasts_or_not() {
        let expression = nested();
        let (outcome, dearest) =
            expression.evaluate_for_dearest(&NoFacts, &mut Budget::new(10_000));
        assert!(outcome.is_ok());
        assert_eq!(dearest, (7, 3 * (2 + 2 * 40 + 40 * 4)), "with the constant of its range");
        let (outcome, (node, units)) =
            expression.evaluate_for_dearest(&NoFacts, &mut Budget::new(150));
        assert_eq!(outcome.map_err(|error| error.kind), Err(ErrorKind::CostExceeded));
        assert_eq!(node, 7);
        assert!((80..=150).contains(&units), "{units}");
    }

    #[test]
    fn what_was_lacking_counts_for_the_part_that_asked_for_it() {
        let ir = json!({"format": 1, "constants": [4000], "root": 1, "nodes": [
            {"op": "constant", "type": "int", "constant": 0},
            {"op": "call", "type": ["list", "int"], "overload": "lists_range_int64", "args": [0]}]});
        let expression = Expression::verify(&ir).unwrap();
        let (outcome, dearest) = expression.evaluate_for_dearest(&NoFacts, &mut Budget::new(20));
        assert!(outcome.is_err());
        assert_eq!(dearest, (1, 4003), "the node and its call, the items and the constant");
    }
}
