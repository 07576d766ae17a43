//! Kubernetes' regex library: `find`, `findAll`.

use super::{Call, Family, charge_matching, charge_pattern, compile_pattern, family};
use crate::error::Fault;
use crate::prices::MATCH;
use crate::value::Value;

pub(super) const FAMILIES: &[Family] = &[
    family("find", find, &[("string", "string string", "string")]).with_pattern(1),
    family(
        "find_all",
        find_all,
        &[("string", "string string", "list"), ("string_limit", "string string int", "list")],
    )
    .with_pattern(1),
];

/// Up to `limit` matches.
fn matches(call: &mut Call<'_>, limit: usize) -> Result<Vec<Value>, Fault> {
    let [Value::String(text), Value::String(pattern), ..] = call.args else {
        return Err(Fault::no_such_overload());
    };
    charge_matching(call.budget, text.len(), pattern)?;
    let made;
    let compiled = if let Some(compiled) = call.pattern {
        compiled
    } else {
        charge_pattern(call.budget, pattern)?;
        made = compile_pattern(pattern)?;
        &made
    };
    let mut found = Vec::new();
    for part in compiled.find_iter(text).take(limit) {
        call.budget.charge(MATCH)?;
        found.push(Value::from(part.as_str()));
    }
    Ok(found)
}

fn find(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(matches(call, 1)?.pop().unwrap_or_else(|| Value::from("")))
}

/// A negative limit is none.
fn find_all(call: &mut Call<'_>) -> Result<Value, Fault> {
    let limit = match call.args {
        [_, _, Value::Int(limit)] => usize::try_from(*limit).unwrap_or(usize::MAX),
        [_, _] => usize::MAX,
        _ => return Err(Fault::no_such_overload()),
    };
    matches(call, limit).map(Value::list)
}
