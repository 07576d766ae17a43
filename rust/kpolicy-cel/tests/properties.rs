//! Random expressions over random worlds: every way to evaluate gives the same.

#[path = "support/facts_with_columns.rs"]
mod facts_with_columns;
#[path = "support/random_ir.rs"]
mod random_ir;
mod support;

use facts_with_columns::FactsWithColumns;
use kpolicy_cel::{Bits, Budget, EvaluationError, Expression, ScoreValues, Value};
use support::{Chance, Lane, Pod, World};

const ROUNDS: u64 = 8000;
const COST: u64 = 100_000_000;

fn scalar(expression: &Expression, world: &World, lane: usize) -> Result<Value, EvaluationError> {
    expression.evaluate(&Lane(world, lane), &mut Budget::new(COST))
}

/// A world, and an expression of the type that is valid.
fn round(seed: u64, kind: &'static str) -> (World, Expression) {
    let mut chance = Chance(seed);
    let world = World::random(&mut chance);
    let ir = random_ir::expression(&mut chance, kind);
    let verified = Expression::verify(&ir);
    assert!(verified.is_ok(), "seed {seed}: {verified:?}: {ir}");
    (world, verified.unwrap_or_default().resolved(&FactsWithColumns))
}

fn selection(seed: u64, lanes: usize) -> Bits {
    let mut chance = Chance(seed ^ 0xabcd);
    let mut selected = Bits::zeros(lanes);
    (0..lanes).filter(|_| chance.below(4) != 0).for_each(|lane| selected.set(lane));
    selected
}

#[test]
fn a_filter_over_columns_is_the_scalar_result_of_each_lane() {
    let (mut compared, mut truths, mut errors) = (0, 0, 0);
    for seed in 0..ROUNDS {
        let (world, expression) = round(seed, "bool");
        let folded = expression.fold(&Pod, &mut Budget::new(COST));
        let lanes = world.free.len();
        let selected = selection(seed, lanes);
        let mask = folded.filter(&world, &selected, &mut Budget::new(COST));
        for lane in 0..lanes {
            let expected = scalar(&expression, &world, lane);
            let (truth, error) = (mask.truth.get(lane), mask.error.get(lane));
            if !selected.get(lane) {
                assert!(!truth && !error, "seed {seed} lane {lane}: not asked for");
                continue;
            }
            let agrees = match &expected {
                Ok(Value::Bool(value)) => truth == *value && !error,
                _ => error && !truth,
            };
            assert!(agrees, "seed {seed} lane {lane}: {expected:?}, truth {truth}, error {error}");
            compared += 1;
            truths += usize::from(truth);
            errors += usize::from(error);
        }
    }
    assert!(
        compared > 400_000 && truths > 40_000 && errors > 40_000,
        "{compared} {truths} {errors}"
    );
}

#[test]
fn a_score_over_columns_is_the_scalar_result_of_each_lane() {
    let (mut compared, mut numbers) = (0, 0);
    for seed in 0..ROUNDS {
        let kind = if seed % 2 == 0 { "int" } else { "double" };
        let (world, expression) = round(seed, kind);
        let folded = expression.fold(&Pod, &mut Budget::new(COST));
        let lanes = world.free.len();
        let score = folded.score(&world, &Bits::ones(lanes), &mut Budget::new(COST));
        for lane in 0..lanes {
            let expected = scalar(&expression, &world, lane);
            let actual = match &score.values {
                ScoreValues::Int(values) => Value::Int(values[lane]),
                ScoreValues::Double(values) => Value::Double(values[lane]),
            };
            match (&expected, score.error.get(lane)) {
                (Ok(Value::Double(expected)), false) if expected.is_nan() => {
                    assert!(
                        matches!(actual, Value::Double(value) if value.is_nan()),
                        "seed {seed}"
                    );
                }
                (Ok(expected), false) => {
                    assert_eq!(*expected, actual, "seed {seed} lane {lane}");
                    numbers += 1;
                }
                (Err(_), true) => {}
                (expected, error) => panic!("seed {seed} lane {lane}: {expected:?}, error {error}"),
            }
            compared += 1;
        }
    }
    assert!(compared > 400_000 && numbers > 150_000, "{compared} {numbers}");
}

#[test]
fn folding_changes_no_value_and_no_error() {
    let mut compared = 0;
    for seed in 0..ROUNDS {
        for kind in ["bool", "int", "string"] {
            let (world, expression) = round(seed, kind);
            let folded = expression.fold(&Pod, &mut Budget::new(COST));
            assert!(folded.reads().iter().all(|read| !read.fact.text.starts_with("pod.")));
            for lane in 0..world.free.len().min(5) {
                let before = scalar(&expression, &world, lane);
                let after = scalar(&folded, &world, lane);
                assert_eq!(before, after, "seed {seed} {kind} lane {lane}");
                compared += 1;
            }
        }
    }
    assert!(compared > 90_000, "{compared}");
}
