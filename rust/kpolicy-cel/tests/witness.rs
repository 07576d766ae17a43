//! Outcomes of the parts of an expression, summed over evaluations.

#![allow(clippy::expect_used, reason = "a test may end with a panic")]

use kpolicy_cel::{Answer, Budget, Expression, Facts, Read, Seen};
use serde_json::json;

/// `fact("a") || fact("b") && fact("c")`, each true, false or absent.
struct World([Option<bool>; 3]);

impl Facts for World {
    fn read(&self, read: &Read) -> Answer {
        let position = ["a", "b", "c"].iter().position(|name| read.key() == Some(name));
        match position.and_then(|position| self.0[position]) {
            Some(value) => value.into(),
            None => Answer::Absent,
        }
    }
}

const A: usize = 1;
const B: usize = 3;
const C: usize = 5;
const AND: usize = 6;
const OR: usize = 7;

fn expression() -> Expression {
    let fact = |constant: u32, arg: u32| {
        [
            json!({"op": "constant", "type": "string", "constant": constant}),
            json!({"op": "fact", "type": "bool", "fact": "flag[]", "args": [arg]}),
        ]
    };
    let mut nodes: Vec<_> = [fact(0, 0), fact(1, 2), fact(2, 4)].into_iter().flatten().collect();
    nodes.push(json!({"op": "and", "type": "bool", "args": [3, 5]}));
    nodes.push(json!({"op": "or", "type": "bool", "args": [1, 6]}));
    let spans = vec![json!([0, 1]); nodes.len()];
    let ir = json!({"format": 1, "constants": ["a", "b", "c"], "nodes": nodes, "root": 7,
        "spans": spans, "reads": [], "cost": 9, "time": "pod", "type": "bool"});
    Expression::verify(&ir).expect("it is sound")
}

fn witnessed(worlds: &[World]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for world in worlds {
        let mut budget = Budget::new(1000);
        let plain = expression().evaluate(world, &mut Budget::new(1000));
        assert_eq!(expression().witness(world, &mut budget, &mut seen), plain);
    }
    seen
}

const NEVER: Seen = Seen { is_true: false, is_false: false, is_error: false, is_other: false };
const TRUE: Seen = Seen { is_true: true, ..NEVER };
const FALSE: Seen = Seen { is_false: true, ..NEVER };

#[test]
fn what_is_not_reached_is_not_seen() {
    let seen = witnessed(&[World([Some(true), None, None])]);
    assert_eq!([seen[A], seen[B], seen[C], seen[AND], seen[OR]], [TRUE, NEVER, NEVER, NEVER, TRUE]);
    let seen = witnessed(&[World([Some(false), Some(false), None])]);
    assert_eq!(
        [seen[A], seen[B], seen[C], seen[AND], seen[OR]],
        [FALSE, FALSE, NEVER, FALSE, FALSE]
    );
}

#[test]
fn sides_add_up_and_errors_are_neither() {
    let seen = witnessed(&[
        World([Some(false), Some(true), None]),
        World([Some(true), None, None]),
        World([Some(false), Some(true), Some(true)]),
    ]);
    assert_eq!(seen[A], Seen { is_true: true, is_false: true, ..NEVER });
    assert_eq!(seen[B], TRUE);
    assert_eq!(seen[C], Seen { is_true: true, is_error: true, ..NEVER });
    assert_eq!(seen[OR], Seen { is_true: true, is_error: true, ..NEVER });
    assert_eq!(seen[0], NEVER, "a constant argument is read with its fact");
}
