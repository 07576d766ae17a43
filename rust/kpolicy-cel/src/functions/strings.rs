//! Tests on strings, of the standard library: `contains`, `startsWith`, `endsWith`, `matches`.

use super::{Call, Family, charge_matching, charge_pattern, compile_pattern, family};
use crate::error::Fault;
use crate::value::Value;

const TEST: &[(&str, &str, &str)] = &[("string", "string string", "bool")];

pub(super) const FAMILIES: &[Family] = &[
    family("contains", |call| test(call, |text, part| text.contains(part)), TEST),
    family("starts_with", |call| test(call, |text, part| text.starts_with(part)), TEST),
    family("ends_with", |call| test(call, |text, part| text.ends_with(part)), TEST),
    family("matches", matches, TEST).with_pattern(1),
];

fn test(call: &mut Call<'_>, holds: fn(&str, &str) -> bool) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text), Value::String(part)] => {
            call.budget.charge_text(text.len() + part.len())?;
            Ok(Value::Bool(holds(text, part)))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

pub(super) fn matches(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => {
            charge_matching(call.budget, text.len(), pattern)?;
            match call.pattern {
                Some(compiled) => Ok(Value::Bool(compiled.is_match(text))),
                None => {
                    charge_pattern(call.budget, pattern)?;
                    Ok(Value::Bool(compile_pattern(pattern)?.is_match(text)))
                }
            }
        }
        _ => Err(Fault::no_such_overload()),
    }
}
