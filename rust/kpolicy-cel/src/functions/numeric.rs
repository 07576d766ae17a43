//! Conversions of numbers that several families of functions use.

use crate::error::Fault;
use crate::value::Value;

/// Any number as a double.
#[expect(clippy::cast_precision_loss)]
pub(super) fn double(value: &Value) -> Result<f64, Fault> {
    match value {
        Value::Int(value) => Ok(*value as f64),
        Value::Uint(value) => Ok(*value as f64),
        Value::Double(value) => Ok(*value),
        _ => Err(Fault::no_such_overload()),
    }
}

/// A double cut to an int; the bounds are exclusive, as the specification has it.
#[expect(clippy::cast_possible_truncation)]
pub(crate) fn double_to_int(value: f64) -> Option<i64> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    (value > -TWO_63 && value < TWO_63).then_some(value as i64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn double_to_uint(value: f64) -> Option<u64> {
    const TWO_64: f64 = 18_446_744_073_709_551_616.0;
    (0.0..TWO_64).contains(&value).then_some(value as u64)
}

/// An index or a count that a user gave.
pub(super) fn position(value: &Value) -> Result<Option<usize>, Fault> {
    match value {
        Value::Int(value) => Ok(usize::try_from(*value).ok()),
        _ => Err(Fault::no_such_overload()),
    }
}

pub(super) fn count(length: usize) -> Value {
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}
