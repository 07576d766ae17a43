//! Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`.

use super::collections::find;
use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::Value;

const LISTS: &[(&str, &str, &str)] = &[("list", "list list", "bool")];

pub(super) const FAMILIES: &[Family] = &[
    family("sets_contains", |call| test(call, within), LISTS),
    family("sets_equivalent", |call| test(call, equivalent), LISTS),
    family("sets_intersects", |call| test(call, intersects), LISTS),
];

/// How many items of `b`, from its beginning, are in `a` (`wanted`), or are not.
fn leading(call: &mut Call<'_>, a: &[Value], b: &[Value], wanted: bool) -> Result<usize, Fault> {
    for (index, item) in b.iter().enumerate() {
        call.budget.charge(1 + a.len() as u64)?;
        if find(call, a, item)?.is_some() != wanted {
            return Ok(index);
        }
    }
    Ok(b.len())
}

fn within(call: &mut Call<'_>, a: &[Value], b: &[Value]) -> Result<bool, Fault> {
    Ok(leading(call, a, b, true)? == b.len())
}

fn equivalent(call: &mut Call<'_>, a: &[Value], b: &[Value]) -> Result<bool, Fault> {
    Ok(within(call, a, b)? && within(call, b, a)?)
}

fn intersects(call: &mut Call<'_>, a: &[Value], b: &[Value]) -> Result<bool, Fault> {
    Ok(leading(call, a, b, false)? < b.len())
}

type Test = fn(&mut Call<'_>, &[Value], &[Value]) -> Result<bool, Fault>;

fn test(call: &mut Call<'_>, holds: Test) -> Result<Value, Fault> {
    match call.args {
        [Value::List(a), Value::List(b)] => holds(call, a, b).map(Value::Bool),
        _ => Err(Fault::no_such_overload()),
    }
}
