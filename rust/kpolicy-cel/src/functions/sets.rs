//! Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`.

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Value, equal};

const LISTS: &[(&str, &str, &str)] = &[("list", "list list", "bool")];

pub(super) const FAMILIES: &[Family] = &[
    family("sets_contains", |call| test(call, within), LISTS),
    family("sets_equivalent", |call| test(call, |a, b| within(a, b) && within(b, a)), LISTS),
    family("sets_intersects", |call| test(call, |a, b| b.iter().any(|item| has(a, item))), LISTS),
];

fn has(items: &[Value], wanted: &Value) -> bool {
    items.iter().any(|item| equal(item, wanted))
}

/// Whether every item of `b` is in `a`.
fn within(a: &[Value], b: &[Value]) -> bool {
    b.iter().all(|item| has(a, item))
}

fn test(call: &mut Call<'_>, holds: fn(&[Value], &[Value]) -> bool) -> Result<Value, Fault> {
    match call.args {
        [Value::List(a), Value::List(b)] => {
            call.budget.charge(1 + a.len() as u64 * b.len() as u64)?;
            Ok(Value::Bool(holds(a, b)))
        }
        _ => Err(Fault::no_such_overload()),
    }
}
