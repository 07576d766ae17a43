//! The way of a predicate and of a score, from JSON to a result, over a small world.

mod support;

use kpolicy_cel::{Bits, Budget, Expression, ScoreValues};
use serde_json::json;
use support::{Chance, Pod, World};

fn world() -> World {
    let mut world = World::random(&mut Chance(1));
    world.labels = [("lifecycle", vec![1, 3, 0, 1]), ("disk", vec![2, 0, 2, 1])].into();
    world.free = vec![1000, 400, 5000, 205];
    world.used = vec![4000, 8000, 8000, 4000];
    world
}

fn lanes(bits: &Bits) -> Vec<usize> {
    bits.iter().collect()
}

#[test]
fn a_guarded_label_test_rejects_without_errors() {
    let ir = json!({"format": 1, "constants": ["lifecycle", "spot"], "root": 5, "nodes": [
        {"op": "constant", "type": "string", "constant": 0},
        {"op": "present", "type": "bool", "fact": "node.labels[]", "args": [0]},
        {"op": "fact", "type": "string", "fact": "node.labels[]", "args": [0]},
        {"op": "constant", "type": "string", "constant": 1},
        {"op": "call", "type": "bool", "overload": "not_equals_any", "args": [2, 3]},
        {"op": "and", "type": "bool", "args": [1, 4]}]});
    let expression = Expression::verify(&ir).unwrap();
    let plan = expression.columnar_plan(|_| false);
    assert!(plan.by_lane.is_empty() && plan.classed.is_empty());
    assert!(
        plan.columns.iter().all(|fact| &*fact.text == "node.labels[]") && plan.columns.len() == 2
    );
    assert_eq!(expression.reads().len(), 1, "value and presence are one read");
    let mask = expression.filter(&world(), &Bits::ones(4), &mut Budget::new(1000));
    assert_eq!(lanes(&mask.truth), [1]);
    assert!(!mask.error.any());
}

#[test]
fn what_the_pod_tells_is_folded_before_the_columns_are_read() {
    let ir = json!({"format": 1, "constants": [20], "root": 6, "nodes": [
        {"op": "fact", "type": "int", "fact": "node.free"},
        {"op": "fact", "type": "int", "fact": "pod.priority"},
        {"op": "call", "type": "int", "overload": "subtract_int64", "args": [0, 1]},
        {"op": "fact", "type": "int", "fact": "node.used"},
        {"op": "constant", "type": "int", "constant": 0},
        {"op": "call", "type": "int", "overload": "divide_int64", "args": [3, 4]},
        {"op": "call", "type": "bool", "overload": "greater_equals_int64", "args": [2, 5]}]});
    let residual = Expression::verify(&ir).unwrap().fold(&Pod, &mut Budget::new(1000));
    let facts: Vec<&str> = residual.reads().iter().map(|read| &*read.fact.text).collect();
    assert_eq!(facts, ["node.free", "node.used"]);
    let mask = residual.filter(&world(), &Bits::ones(4), &mut Budget::new(1000));
    assert_eq!(lanes(&mask.truth), [0, 2, 3]);
}

#[test]
fn a_score_errs_in_the_lanes_without_the_label() {
    let ir = json!({"format": 1, "constants": ["disk", "ssd", 100, 0], "root": 6, "nodes": [
        {"op": "constant", "type": "string", "constant": 0},
        {"op": "fact", "type": "string", "fact": "node.labels[]", "args": [0]},
        {"op": "constant", "type": "string", "constant": 1},
        {"op": "call", "type": "bool", "overload": "equals_any", "args": [1, 2]},
        {"op": "constant", "type": "int", "constant": 2},
        {"op": "constant", "type": "int", "constant": 3},
        {"op": "conditional", "type": "int", "args": [3, 4, 5]}]});
    let expression = Expression::verify(&ir).unwrap();
    let score = expression.score(&world(), &Bits::ones(4), &mut Budget::new(1000));
    assert_eq!(score.values, ScoreValues::Int(vec![100, 0, 100, 0]));
    assert_eq!(lanes(&score.error), [1]);
}

#[test]
fn a_loop_over_the_pods_of_a_node_is_charged_and_stopped() {
    let ir = json!({"format": 1, "constants": [[1, 2, 3, 4, 5, 6, 7, 8, 9]], "root": 3, "nodes": [
        {"op": "constant", "type": ["list", "int"], "constant": 0},
        {"op": "slot", "type": "int", "slot": 0},
        {"op": "call", "type": "bool", "overload": "less_int64", "args": [1, 1]},
        {"op": "loop", "type": "bool", "kind": "exists", "slots": [0], "args": [0, 2]}]});
    let expression = Expression::verify(&ir).unwrap();
    let error = expression.evaluate(&Pod, &mut Budget::new(20)).unwrap_err();
    assert_eq!(error.kind.name(), "cost_exceeded");
    assert!(expression.evaluate(&Pod, &mut Budget::new(100)).is_ok());
}
