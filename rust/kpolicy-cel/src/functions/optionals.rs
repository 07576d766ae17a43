//! Making and opening optionals. `or` and `orValue` are operations.

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::Value;

pub(super) const FAMILIES: &[Family] = &[
    family("optional_of", of, &[("any", "dyn", "optional")]),
    family("optional_none", |_| Ok(Value::NONE), &[("any", "", "optional")]),
    family("optional_of_non_zero", of_non_zero, &[("any", "dyn", "optional")]),
    family("has_value", has_value, &[("optional", "optional", "bool")]),
    family("optional_value", value, &[("optional", "optional", "dyn")]),
    family("optional_unwrap", unwrap_all, &[("list", "list", "list")]),
];

fn of(call: &mut Call<'_>) -> Result<Value, Fault> {
    call.args.first().cloned().map(Value::some).ok_or_else(Fault::no_such_overload)
}

fn of_non_zero(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [value] if value.is_zero() => Ok(Value::NONE),
        [value] => Ok(Value::some(value.clone())),
        _ => Err(Fault::no_such_overload()),
    }
}

fn has_value(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Optional(inner)] => Ok(Value::Bool(inner.is_some())),
        _ => Err(Fault::no_such_overload()),
    }
}

fn value(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Optional(Some(inner))] => Ok((**inner).clone()),
        [Value::Optional(None)] => Err(Fault::invalid("optional.none() has no value")),
        _ => Err(Fault::no_such_overload()),
    }
}

/// The values of those that have one.
fn unwrap_all(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::List(items)] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge(items.len() as u64)?;
    let mut values = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item {
            Value::Optional(inner) => values.extend(inner.iter().map(|value| (**value).clone())),
            _ => return Err(Fault::no_such_overload()),
        }
    }
    Ok(Value::list(values))
}
