//! The math extension of CEL.

use std::cmp::Ordering;

use super::numeric::double;
use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Value, order};

const DOUBLE: &[(&str, &str, &str)] = &[("double", "double", "double")];
const TEST: &[(&str, &str, &str)] = &[("double", "double", "bool")];
const SIGNED: &[(&str, &str, &str)] =
    &[("int64", "int", "int"), ("uint64", "uint", "uint"), ("double", "double", "double")];
const BITS: &[(&str, &str, &str)] = &[("int64", "int int", "int"), ("uint64", "uint uint", "uint")];
const SHIFT: &[(&str, &str, &str)] = &[("int64", "int int", "int"), ("uint64", "uint int", "uint")];

pub(super) const FAMILIES: &[Family] = &[
    family("math_greatest", |call| extreme(call, Ordering::Greater), &[("list", "list", "dyn")]),
    family("math_least", |call| extreme(call, Ordering::Less), &[("list", "list", "dyn")]),
    family("math_ceil", |call| rounded(call, f64::ceil), DOUBLE),
    family("math_floor", |call| rounded(call, f64::floor), DOUBLE),
    family("math_round", |call| rounded(call, f64::round), DOUBLE),
    family("math_trunc", |call| rounded(call, f64::trunc), DOUBLE),
    family("math_abs", abs, SIGNED),
    family("math_sign", sign, SIGNED),
    family("math_is_nan", |call| test(call, f64::is_nan), TEST),
    family("math_is_inf", |call| test(call, f64::is_infinite), TEST),
    family("math_is_finite", |call| test(call, f64::is_finite), TEST),
    family("math_bit_or", |call| bits(call, |a, b| a | b), BITS),
    family("math_bit_and", |call| bits(call, |a, b| a & b), BITS),
    family("math_bit_xor", |call| bits(call, |a, b| a ^ b), BITS),
    family("math_bit_not", bit_not, &[("int64", "int", "int"), ("uint64", "uint", "uint")]),
    family("math_bit_shift_left", |call| shift(call, u64::checked_shl), SHIFT),
    family("math_bit_shift_right", |call| shift(call, u64::checked_shr), SHIFT),
    family(
        "math_sqrt",
        sqrt,
        &[("double", "double", "double"), ("int64", "int", "double"), ("uint64", "uint", "double")],
    ),
];

/// The greatest or least of numbers of any type; of equal ones the first.
fn extreme(call: &mut Call<'_>, wanted: Ordering) -> Result<Value, Fault> {
    let items = match call.args {
        [Value::List(items)] => items.as_slice(),
        one => one,
    };
    call.budget.charge(items.len() as u64)?;
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    if !items.iter().all(number) {
        return Err(Fault::no_such_overload());
    }
    let is_nan = |value: &Value| matches!(value, Value::Double(value) if value.is_nan());
    if items.len() > 1 && items.iter().any(is_nan) {
        return Err(Fault::not_a_number());
    }
    let mut best = items.first().ok_or_else(|| Fault::invalid("no numbers"))?;
    for item in items {
        if order(item, best).flatten() == Some(wanted) {
            best = item;
        }
    }
    Ok(best.clone())
}

fn rounded(call: &mut Call<'_>, with: fn(f64) -> f64) -> Result<Value, Fault> {
    match call.args {
        [Value::Double(value)] => Ok(Value::Double(with(*value))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn test(call: &mut Call<'_>, holds: fn(f64) -> bool) -> Result<Value, Fault> {
    match call.args {
        [Value::Double(value)] => Ok(Value::Bool(holds(*value))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn abs(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(value)] => {
            value.checked_abs().map(Value::Int).ok_or_else(|| Fault::overflow("integer"))
        }
        [Value::Uint(value)] => Ok(Value::Uint(*value)),
        [Value::Double(value)] => Ok(Value::Double(value.abs())),
        _ => Err(Fault::no_such_overload()),
    }
}

fn sign(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(value)] => Ok(Value::Int(value.signum())),
        [Value::Uint(value)] => Ok(Value::Uint((*value).min(1))),
        [Value::Double(value)] if *value == 0.0 => Ok(Value::Double(0.0)),
        [Value::Double(value)] if value.is_nan() => Ok(Value::Double(*value)),
        [Value::Double(value)] => Ok(Value::Double(value.signum())),
        _ => Err(Fault::no_such_overload()),
    }
}

fn bits(call: &mut Call<'_>, with: fn(u64, u64) -> u64) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(a), Value::Int(b)] => {
            Ok(Value::Int(with(a.cast_unsigned(), b.cast_unsigned()).cast_signed()))
        }
        [Value::Uint(a), Value::Uint(b)] => Ok(Value::Uint(with(*a, *b))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn bit_not(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(value)] => Ok(Value::Int(!value)),
        [Value::Uint(value)] => Ok(Value::Uint(!value)),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Shifts in zeros from either side; 64 places and more leave nothing.
fn shift(call: &mut Call<'_>, with: fn(u64, u32) -> Option<u64>) -> Result<Value, Fault> {
    let places = match call.args {
        [_, Value::Int(places)] if *places < 0 => {
            return Err(Fault::invalid("a shift by a negative number"));
        }
        [_, Value::Int(places)] => u32::try_from(*places).unwrap_or(u32::MAX),
        _ => return Err(Fault::no_such_overload()),
    };
    match call.args {
        [Value::Int(value), _] => {
            Ok(Value::Int(with(value.cast_unsigned(), places).unwrap_or(0).cast_signed()))
        }
        [Value::Uint(value), _] => Ok(Value::Uint(with(*value, places).unwrap_or(0))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn sqrt(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [value] => Ok(Value::Double(double(value)?.sqrt())),
        _ => Err(Fault::no_such_overload()),
    }
}
