//! Kubernetes' quantity library, and the order that quantities and versions share.

use std::sync::Arc;

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Quantity, Value};

pub(super) const FAMILIES: &[Family] = &[
    family("quantity", quantity, &[("string", "string", "quantity")]).parsing(),
    family("is_quantity", is_quantity, &[("string", "string", "bool")]).parsing(),
    family("sign", sign, &[("quantity", "quantity", "int")]),
    family("is_integer", is_integer, &[("quantity", "quantity", "bool")]),
    family("as_integer", as_integer, &[("quantity", "quantity", "int")]),
    family("as_approximate_float", as_float, &[("quantity", "quantity", "double")]),
    family("quantity_add", |call| combine(call, Quantity::plus), COMBINE).parsing(),
    family("quantity_sub", |call| combine(call, Quantity::minus), COMBINE).parsing(),
    family(
        "is_greater_than",
        is_greater,
        &[("quantity", "quantity quantity", "bool"), ("semver", "semver semver", "bool")],
    ),
    family(
        "is_less_than",
        is_less,
        &[("quantity", "quantity quantity", "bool"), ("semver", "semver semver", "bool")],
    ),
    family(
        "compare_to",
        compare_to,
        &[("quantity", "quantity quantity", "int"), ("semver", "semver semver", "int")],
    ),
];

const COMBINE: &[(&str, &str, &str)] =
    &[("quantity", "quantity quantity", "quantity"), ("int64", "quantity int", "quantity")];

fn quantity(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text)] => Quantity::parse(text)
            .map(|quantity| Value::Quantity(Arc::new(quantity)))
            .ok_or_else(|| Fault::malformed(format!("`{text}` is not a quantity"))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn is_quantity(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_some())),
        _ => Err(Fault::no_such_overload()),
    }
}

fn one<'a>(call: &'a Call<'_>) -> Result<&'a Quantity, Fault> {
    match call.args {
        [Value::Quantity(quantity)] => Ok(quantity),
        _ => Err(Fault::no_such_overload()),
    }
}

fn sign(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Int(one(call)?.sign()))
}

fn is_integer(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Bool(one(call)?.integer().is_some()))
}

fn as_integer(call: &mut Call<'_>) -> Result<Value, Fault> {
    let integer = one(call)?.integer();
    integer.map(Value::Int).ok_or_else(|| Fault::invalid("the quantity is not an integer"))
}

fn as_float(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Double(one(call)?.approximate()))
}

fn combine(
    call: &mut Call<'_>,
    with: fn(&Quantity, &Quantity) -> Option<Quantity>,
) -> Result<Value, Fault> {
    let result = match call.args {
        [Value::Quantity(a), Value::Quantity(b)] => with(a, b),
        [Value::Quantity(a), Value::Int(b)] => with(a, &Quantity::from_int(*b)),
        _ => return Err(Fault::no_such_overload()),
    };
    result
        .map(|quantity| Value::Quantity(Arc::new(quantity)))
        .ok_or_else(|| Fault::overflow("quantity"))
}

fn order(call: &Call<'_>) -> Result<std::cmp::Ordering, Fault> {
    match call.args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok(a.compare(b)),
        [Value::Semver(a), Value::Semver(b)] => Ok(a.compare(b)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn is_greater(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Bool(order(call)?.is_gt()))
}

fn is_less(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Bool(order(call)?.is_lt()))
}

fn compare_to(call: &mut Call<'_>) -> Result<Value, Fault> {
    Ok(Value::Int(order(call)? as i64))
}
