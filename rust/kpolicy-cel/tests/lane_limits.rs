//! A cost limit has its effect in the same lanes, however they are evaluated.

#![allow(clippy::expect_used, reason = "a test may end with a panic")]

#[path = "support/facts_with_columns.rs"]
mod facts_with_columns;
#[path = "support/random_ir.rs"]
mod random_ir;
mod support;

use facts_with_columns::FactsWithColumns;
use kpolicy_cel::{Bits, Budget, ErrorKind, Expression, ScoreValues, Value};
use serde_json::json;
use support::{Chance, Lane, Pod, World};

const ROUNDS: u64 = 10_000;
const LIMITS: [u64; 6] = [5, 12, 25, 60, 150, 400];

fn round(seed: u64, kind: &'static str) -> (World, Expression, u64) {
    let mut chance = Chance(seed);
    let world = World::random(&mut chance);
    let ir = random_ir::expression(&mut chance, kind);
    let limit = LIMITS[chance.below(LIMITS.len())];
    let verified = Expression::verify(&ir)
        .expect("what is drawn is of the right types")
        .resolved(&FactsWithColumns);
    let folded = verified.fold(&Pod, &mut Budget::new(u64::MAX));
    (world, folded, limit)
}

#[test]
fn a_filter_stops_at_the_limit_in_the_lanes_in_which_the_scalar_evaluator_does() {
    let (mut compared, mut stopped, mut both) = (0, 0, 0);
    for seed in 0..ROUNDS {
        let (world, expression, limit) = round(seed, "bool");
        let lanes = world.free.len();
        let all = Bits::ones(lanes);
        let mask = expression.filter(&world, &all, &mut Budget::of_each_lane(limit));
        let mut stopped_here = 0;
        for lane in 0..lanes {
            let expected = expression.evaluate(&Lane(&world, lane), &mut Budget::new(limit));
            let given = match (mask.truth.get(lane), mask.error.get(lane)) {
                (truth, false) => Some(truth),
                (_, true) => None,
            };
            let wanted = match &expected {
                Ok(Value::Bool(value)) => Some(*value),
                _ => None,
            };
            assert_eq!(given, wanted, "seed {seed} lane {lane} limit {limit}: {expected:?}");
            compared += 1;
            let is_stopped = expected.is_err_and(|error| error.kind == ErrorKind::CostExceeded);
            stopped_here += usize::from(is_stopped);
        }
        stopped += stopped_here;
        both += usize::from(stopped_here > 0 && stopped_here < lanes);
    }
    assert!(compared > 200_000 && stopped > 40_000 && both > 100, "{compared} {stopped} {both}");
}

#[test]
fn a_score_stops_at_the_limit_in_the_lanes_in_which_the_scalar_evaluator_does() {
    let (mut compared, mut stopped) = (0, 0);
    for seed in 0..ROUNDS {
        let kind = if seed % 2 == 0 { "int" } else { "double" };
        let (world, expression, limit) = round(seed, kind);
        let lanes = world.free.len();
        let all = Bits::ones(lanes);
        let score = expression.score(&world, &all, &mut Budget::of_each_lane(limit));
        for lane in 0..lanes {
            let expected = expression.evaluate(&Lane(&world, lane), &mut Budget::new(limit));
            assert_eq!(score.error.get(lane), expected.is_err(), "seed {seed} lane {lane}");
            compared += 1;
            match (expected, &score.values) {
                (Ok(Value::Int(value)), ScoreValues::Int(values)) => {
                    assert_eq!(values[lane], value, "seed {seed} lane {lane}");
                }
                (Ok(Value::Double(value)), ScoreValues::Double(values)) => {
                    assert!(
                        values[lane].to_bits() == value.to_bits() || value.is_nan(),
                        "seed {seed} lane {lane}"
                    );
                }
                (Ok(other), values) => panic!("seed {seed} lane {lane}: {other:?} in {values:?}"),
                (Err(error), _) => stopped += usize::from(error.kind == ErrorKind::CostExceeded),
            }
        }
    }
    assert!(compared > 200_000 && stopped > 40_000, "{compared} {stopped}");
}

#[test]
fn what_kernels_do_for_all_lanes_is_within_the_limit_of_many_small_rules() {
    let ir = json!({
        "format": 1,
        "constants": ["a", "", ["ssd", "spot"]],
        "nodes": [
            {"op": "constant", "type": "string", "constant": 0},
            {"op": "present", "type": "bool", "fact": "node.labels[]", "args": [0]},
            {"op": "fact", "type": "string", "fact": "node.labels[]", "args": [0]},
            {"op": "constant", "type": "string", "constant": 1},
            {"op": "conditional", "type": "string", "args": [1, 2, 3]},
            {"op": "constant", "type": ["list", "string"], "constant": 2},
            {"op": "call", "type": "bool", "overload": "in_list", "args": [4, 5]},
        ],
        "root": 6,
    });
    let expression = Expression::verify(&ir).expect("it is of the right types");
    let expression = expression.resolved(&FactsWithColumns);
    let world = World::random(&mut Chance(7));
    let mut budget = Budget::of_each_lane(6);
    let lanes = world.free.len();
    let all = Bits::ones(lanes);
    let mask = expression.filter(&world, &all, &mut budget);
    assert_eq!(budget.lanes_exceeded(), 0);
    assert!(mask.truth.any() && !mask.error.any());
    let units = budget.spent();
    assert!(units <= 2 * lanes as u64, "{units} units: no lane is evaluated by itself");
}

/// `(free > -1000000 ? 1 : 0) + (free > -2000000 ? 1 : 0) < 3`: what is added up is 1 in all lanes.
#[test]
fn operands_that_turn_out_to_be_the_same_in_all_lanes_need_no_lane_by_itself() {
    let constant = |constant: u32| json!({"op": "constant", "type": "int", "constant": constant});
    let ir = json!({
        "format": 1,
        "constants": [-1_000_000, -2_000_000, 1, 0, 3, "cpu"],
        "nodes": [
            {"op": "constant", "type": "string", "constant": 5},
            {"op": "fact", "type": "int", "fact": "node.free", "args": [0]},
            constant(0),
            {"op": "call", "type": "bool", "overload": "greater_int64", "args": [1, 2]},
            constant(1),
            {"op": "call", "type": "bool", "overload": "greater_int64", "args": [1, 4]},
            constant(2),
            constant(3),
            {"op": "conditional", "type": "int", "args": [3, 6, 7]},
            {"op": "conditional", "type": "int", "args": [5, 6, 7]},
            {"op": "call", "type": "int", "overload": "add_int64", "args": [8, 9]},
            constant(4),
            {"op": "call", "type": "bool", "overload": "less_int64", "args": [10, 11]},
        ],
        "root": 12,
    });
    let expression = Expression::verify(&ir).expect("it is of the right types");
    let expression = expression.resolved(&FactsWithColumns);
    let world = World::random(&mut Chance(7));
    let mut budget = Budget::of_each_lane(20);
    let lanes = world.free.len();
    let mask = expression.filter(&world, &Bits::ones(lanes), &mut budget);
    assert_eq!((mask.truth.count(), mask.error.count()), (lanes, 0));
    let (units, by_itself) = (budget.spent(), expression.units_by_itself(20));
    assert!(units <= 3 * lanes as u64, "{units} units for {lanes} lanes");
    assert!(by_itself.is_some_and(|units| units > 12), "{by_itself:?}");
}
