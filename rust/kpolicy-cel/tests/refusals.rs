//! No input to the verifier does harm.

#[path = "support/random_ir.rs"]
mod random_ir;
mod support;

use kpolicy_cel::{Bits, Budget, Expression, evaluate_json};
use serde_json::{Value as Json, json};
use support::{Chance, Lane, World};

fn code(ir: &Json) -> &'static str {
    Expression::verify(ir).map_or_else(|refusal| refusal.code, |_| "accepted")
}

fn of_nodes(nodes: &Json) -> Json {
    let root = nodes.as_array().map_or(0, |nodes| nodes.len().saturating_sub(1));
    json!({"format": 1, "constants": [1, true], "nodes": nodes, "root": root})
}

#[test]
fn each_kind_of_damage_has_its_code() {
    let int = json!({"op": "constant", "type": "int", "constant": 0});
    let refused = [
        (json!(3), "IR001"),
        (json!({"format": 2, "constants": [], "nodes": [], "root": 0}), "IR002"),
        (of_nodes(&json!([])), "IR005"),
        (of_nodes(&json!([{"op": "constant", "type": "int", "constant": 9}])), "IR004"),
        (of_nodes(&json!([{"op": "constant", "type": "string", "constant": 0}])), "IR006"),
        (of_nodes(&json!([{"op": "call", "type": "int", "overload": "nope"}])), "IR009"),
        (
            of_nodes(
                &json!([int, {"op": "call", "type": "bool", "overload": "not_bool", "args": [0]}]),
            ),
            "IR006",
        ),
        (
            of_nodes(
                &json!([int, {"op": "call", "type": "int", "overload": "negate_int64", "args": [0, 0]}]),
            ),
            "IR005",
        ),
        (of_nodes(&json!([{"op": "slot", "type": "int", "slot": 0}])), "IR007"),
        (of_nodes(&json!([{"op": "slot", "type": "int", "slot": 64}])), "IR007"),
        (
            of_nodes(
                &json!([{"op": "call", "type": "int", "overload": "negate_int64", "args": [0]}]),
            ),
            "IR005",
        ),
        (of_nodes(&json!([{"op": "fact", "type": "int", "fact": "x", "more": 1}])), "IR001"),
        (of_nodes(&json!([{"op": "wish", "type": "int"}])), "IR001"),
    ];
    for (ir, expected) in &refused {
        assert_eq!(code(ir), *expected, "{ir}");
    }
    assert_eq!(refused.len(), 13);
}

#[test]
fn depth_is_bounded() {
    let mut nodes = vec![json!({"op": "constant", "type": "int", "constant": 0})];
    for at in 0..199 {
        nodes.push(json!({"op": "call", "type": "int", "overload": "negate_int64", "args": [at]}));
    }
    let deepest = Expression::verify(&of_nodes(&json!(nodes))).unwrap();
    assert!(deepest.evaluate(&kpolicy_cel::NoFacts, &mut Budget::new(1000)).is_ok());
    nodes.push(json!({"op": "call", "type": "int", "overload": "negate_int64", "args": [199]}));
    assert_eq!(code(&of_nodes(&json!(nodes))), "IR008");
}

#[test]
fn shared_nodes_do_not_multiply_the_work() {
    let mut nodes = vec![json!({"op": "fact", "type": "int", "fact": "node.used"})];
    for at in 0..150 {
        let args = [at, at];
        nodes
            .push(json!({"op": "call", "type": "int", "overload": "subtract_int64", "args": args}));
    }
    let expression = Expression::verify(&of_nodes(&json!(nodes))).unwrap();
    let world = World::random(&mut Chance(3));
    let mut budget = Budget::new(10_000);
    assert!(expression.evaluate(&Lane(&world, 0), &mut budget).is_ok());
    assert!(budget.spent() < 1000, "{}", budget.spent());
    let mut budget = Budget::new(10_000);
    let score = expression.score(&world, &Bits::ones(world.free.len()), &mut budget);
    assert!(!score.error.any());
}

/// Changes one thing somewhere in the JSON.
fn damaged(json: &mut Json, chance: &mut Chance) {
    match json {
        Json::Object(object) if !object.is_empty() && chance.below(5) != 0 => {
            let key = object.keys().nth(chance.below(object.len())).cloned().unwrap_or_default();
            damaged(&mut object[&key], chance);
        }
        Json::Array(items) if !items.is_empty() && chance.below(5) != 0 => {
            let at = chance.below(items.len());
            damaged(&mut items[at], chance);
        }
        other => {
            let values = [
                json!(null),
                json!(0),
                json!(-1),
                json!(63),
                json!(1_u64 << 40),
                json!("int"),
                json!("dyn"),
                json!("or"),
                json!([]),
                json!([0]),
                json!([0, 1]),
                json!({}),
                json!("add"),
                json!("matches_string"),
                json!("loop"),
                json!(1.5),
            ];
            *other = chance.pick(&values).clone();
        }
    }
}

#[test]
fn damaged_expressions_are_refused_or_run_within_their_budget() {
    let (mut refused, mut ran) = (0, 0);
    for seed in 0..20_000 {
        let mut chance = Chance(seed);
        let mut ir = random_ir::expression(&mut chance, "bool");
        for _ in 0..=chance.below(2) {
            damaged(&mut ir, &mut chance);
        }
        match Expression::verify(&ir) {
            Err(_) => refused += 1,
            Ok(expression) => {
                ran += 1;
                let world = World::random(&mut chance);
                let all = Bits::ones(world.free.len());
                let _ = expression.evaluate(&Lane(&world, 0), &mut Budget::new(10_000));
                let folded = expression.fold(&support::Pod, &mut Budget::new(10_000));
                folded.filter(&world, &all, &mut Budget::new(100_000));
                folded.score(&world, &all, &mut Budget::new(100_000));
            }
        }
    }
    assert!(refused > 5_000 && ran > 500, "{refused} refused, {ran} ran");
}

#[test]
fn bytes_that_are_no_json_are_answered() {
    for (ir, variables) in [(&b"\xff"[..], &b"{}"[..]), (b"{}", b"{}"), (b"[", b"["), (b"", b"")] {
        let answer = String::from_utf8(evaluate_json(ir, variables)).unwrap();
        assert!(answer.starts_with("{\"refused\":"), "{answer}");
    }
}
