//! `+ - * / %` and unary minus.

use super::{Call, Family, Kernel, family};
use crate::error::{ErrorKind, Fault};
use crate::value::Value;

pub(super) const FAMILIES: &[Family] = &[
    family(
        "add",
        add,
        &[
            ("int64", "int int", "int"),
            ("uint64", "uint uint", "uint"),
            ("double", "double double", "double"),
            ("string", "string string", "string"),
            ("bytes", "bytes bytes", "bytes"),
            ("list", "list list", "list"),
            ("timestamp_duration", "timestamp duration", "timestamp"),
            ("duration_timestamp", "duration timestamp", "timestamp"),
            ("duration", "duration duration", "duration"),
        ],
    )
    .with_kernel(Kernel::Add),
    family(
        "subtract",
        subtract,
        &[
            ("int64", "int int", "int"),
            ("uint64", "uint uint", "uint"),
            ("double", "double double", "double"),
            ("timestamp", "timestamp timestamp", "duration"),
            ("timestamp_duration", "timestamp duration", "timestamp"),
            ("duration", "duration duration", "duration"),
        ],
    )
    .with_kernel(Kernel::Subtract),
    family(
        "multiply",
        multiply,
        &[
            ("int64", "int int", "int"),
            ("uint64", "uint uint", "uint"),
            ("double", "double double", "double"),
        ],
    )
    .with_kernel(Kernel::Multiply),
    family(
        "divide",
        divide,
        &[
            ("int64", "int int", "int"),
            ("uint64", "uint uint", "uint"),
            ("double", "double double", "double"),
        ],
    )
    .with_kernel(Kernel::Divide),
    family("modulo", modulo, &[("int64", "int int", "int"), ("uint64", "uint uint", "uint")]),
    family("negate", negate, &[("int64", "int", "int"), ("double", "double", "double")]),
];

fn integer<T: Into<Value>>(result: Option<T>) -> Result<Value, Fault> {
    result.map(Into::into).ok_or_else(|| Fault::overflow("integer"))
}

pub(super) fn add(call: &mut Call<'_>) -> Result<Value, Fault> {
    let time = || Fault::overflow("timestamp");
    Ok(match call.args {
        [Value::Int(a), Value::Int(b)] => integer(a.checked_add(*b))?,
        [Value::Uint(a), Value::Uint(b)] => integer(a.checked_add(*b))?,
        [Value::Double(a), Value::Double(b)] => Value::Double(a + b),
        [Value::String(a), Value::String(b)] => {
            call.budget.charge_text(a.len() + b.len())?;
            Value::from([&**a, &**b].concat())
        }
        [Value::Bytes(a), Value::Bytes(b)] => {
            call.budget.charge_text(a.len() + b.len())?;
            Value::Bytes([&**a, &**b].concat().into())
        }
        [Value::List(a), Value::List(b)] => {
            call.budget.charge((a.len() + b.len()) as u64)?;
            Value::list([a.as_slice(), b.as_slice()].concat())
        }
        [Value::Timestamp(a), Value::Duration(b)] | [Value::Duration(b), Value::Timestamp(a)] => {
            Value::Timestamp(a.plus(*b).ok_or_else(time)?)
        }
        [Value::Duration(a), Value::Duration(b)] => duration(a.nanos() + b.nanos())?,
        _ => return Err(Fault::no_such_overload()),
    })
}

fn subtract(call: &mut Call<'_>) -> Result<Value, Fault> {
    let time = || Fault::overflow("timestamp");
    Ok(match call.args {
        [Value::Int(a), Value::Int(b)] => integer(a.checked_sub(*b))?,
        [Value::Uint(a), Value::Uint(b)] => integer(a.checked_sub(*b))?,
        [Value::Double(a), Value::Double(b)] => Value::Double(a - b),
        [Value::Timestamp(a), Value::Timestamp(b)] => {
            Value::Duration(a.since(*b).ok_or_else(time)?)
        }
        [Value::Timestamp(a), Value::Duration(b)] => {
            Value::Timestamp(a.minus(*b).ok_or_else(time)?)
        }
        [Value::Duration(a), Value::Duration(b)] => duration(a.nanos() - b.nanos())?,
        _ => return Err(Fault::no_such_overload()),
    })
}

fn duration(nanos: i128) -> Result<Value, Fault> {
    crate::value::Duration::from_nanos(nanos)
        .map(Value::Duration)
        .ok_or_else(|| Fault::overflow("duration"))
}

fn multiply(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(a), Value::Int(b)] => integer(a.checked_mul(*b)),
        [Value::Uint(a), Value::Uint(b)] => integer(a.checked_mul(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a * b)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn divide(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(Fault::new(ErrorKind::DivideByZero, "division by zero"))
        }
        [Value::Int(a), Value::Int(b)] => integer(a.checked_div(*b)),
        [Value::Uint(a), Value::Uint(b)] => integer(a.checked_div(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a / b)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn modulo(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(Fault::new(ErrorKind::DivideByZero, "modulus by zero"))
        }
        [Value::Int(a), Value::Int(b)] => integer(a.checked_rem(*b)),
        [Value::Uint(a), Value::Uint(b)] => integer(a.checked_rem(*b)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn negate(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(a)] => integer(a.checked_neg()),
        [Value::Double(a)] => Ok(Value::Double(-a)),
        [Value::Duration(a)] => duration(-a.nanos()),
        _ => Err(Fault::no_such_overload()),
    }
}
