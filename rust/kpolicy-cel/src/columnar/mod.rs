//! The columnar evaluator: evaluates one filter or score expression for all lanes at once.
//!
//! Booleans are two bit planes, numbers slices, strings ids. The scalar evaluator evaluates what
//! has no kernel, once for each class of lanes that read the same values, or lane by lane. Every
//! lane has the result that the scalar evaluator would give. The error of a lane is computed by the
//! scalar evaluator, when a caller asks for it.

mod blend;
mod fallback;
mod kernels;
mod lane_costs;
mod machine;
mod plan;
mod side_by_side;
mod vector;

use crate::bits::Bits;
pub use plan::ColumnarPlan;

use crate::budget::Budget;
use crate::facts::Columns;
use crate::ir::Expression;
use crate::value::{Evaluated, Value};
use machine::Machine;

/// What a filter says of the lanes that were asked for: true, in error, or else false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The lanes where the filter is true.
    pub truth: Bits,
    /// The lanes where its evaluation ended with an error.
    pub error: Bits,
}

/// A score of the lanes that were asked for; lanes in error and lanes not asked for hold 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The score of each lane.
    pub values: ScoreValues,
    /// The lanes where its evaluation ended with an error.
    pub error: Bits,
}

/// The scores of all lanes, in the type of the expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreValues {
    /// The expression is an `int`.
    Int(Vec<i64>),
    /// The expression is a `double`.
    Double(Vec<f64>),
}

impl Score {
    /// What one lane gave after all.
    #[expect(clippy::cast_precision_loss)]
    fn put(&mut self, lane: usize, outcome: &Evaluated) {
        if let (ScoreValues::Int(values), Ok(Value::Uint(_) | Value::Double(_))) =
            (&self.values, outcome)
        {
            self.values = ScoreValues::Double(values.iter().map(|value| *value as f64).collect());
        }
        let number = match outcome {
            Ok(Value::Int(value)) => Some(*value as f64),
            Ok(Value::Uint(value)) => Some(*value as f64),
            Ok(Value::Double(value)) => Some(*value),
            _ => None,
        };
        self.error.assign(lane, number.is_none());
        match (&mut self.values, outcome) {
            (ScoreValues::Int(values), outcome) => {
                if let Some(cell) = values.get_mut(lane) {
                    *cell = if let Ok(Value::Int(value)) = outcome { *value } else { 0 };
                }
            }
            (ScoreValues::Double(values), _) => {
                if let Some(cell) = values.get_mut(lane) {
                    *cell = number.unwrap_or_default();
                }
            }
        }
    }
}

impl Expression {
    /// The lanes of `selected` in which the expression is true, and those in which it errs.
    pub fn filter(&self, columns: &dyn Columns, selected: &Bits, budget: &mut Budget) -> Mask {
        if self.kernels_exceed(budget.lane_limit()) {
            budget.count_exceeded(selected.count());
            return Mask { truth: Bits::zeros(selected.lanes()), error: selected.clone() };
        }
        let mut machine = Machine::new(self, columns, budget);
        let (truth, error) = machine.whole(selected).planes(selected.lanes());
        let mut mask = Mask { truth: truth.and(selected), error: error.and(selected) };
        for (lane, outcome) in machine.asked_again(selected) {
            mask.truth.assign(lane, matches!(outcome, Ok(Value::Bool(true))));
            mask.error.assign(lane, !matches!(outcome, Ok(Value::Bool(_))));
        }
        mask
    }

    /// The number the expression gives in each lane of `selected`.
    pub fn score(&self, columns: &dyn Columns, selected: &Bits, budget: &mut Budget) -> Score {
        if self.kernels_exceed(budget.lane_limit()) {
            budget.count_exceeded(selected.count());
            let values = ScoreValues::Int(vec![0; selected.lanes()]);
            return Score { values, error: selected.clone() };
        }
        let mut machine = Machine::new(self, columns, budget);
        let mut score = machine.whole(selected).into_score(selected);
        for (lane, outcome) in machine.asked_again(selected) {
            score.put(lane, &outcome);
        }
        score
    }
}
