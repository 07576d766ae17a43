//! Equality and order as CEL defines them, across numeric types by value.

use std::cmp::Ordering;

use super::{Map, Value};

/// `==`: values of types that cannot be equal are unequal, never an error.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => equal_maps(a, b),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => equal(a, b),
            _ => false,
        },
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => {
            numbers(a, b) == Some(Ordering::Equal)
        }
        (Value::Quantity(a), Value::Quantity(b)) => a.compare(b) == Ordering::Equal,
        _ => a == b,
    }
}

fn equal_maps(a: &Map, b: &Map) -> bool {
    a.len() == b.len()
        && a.iter().zip(b.iter()).all(|((ka, va), (kb, vb))| ka == kb && equal(va, vb))
}

/// `<` and its kin: the order of two comparable values; `None` within for NaN; outer `None` when
/// the types have no order.
pub fn order(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => numbers(a, b),
        _ => return None,
    })
}

fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Double(b)) => integer_to_double(i128::from(*a), *b),
        (Value::Uint(a), Value::Double(b)) => integer_to_double(i128::from(*a), *b),
        (Value::Double(a), Value::Int(b)) => {
            integer_to_double(i128::from(*b), *a).map(Ordering::reverse)
        }
        (Value::Double(a), Value::Uint(b)) => {
            integer_to_double(i128::from(*b), *a).map(Ordering::reverse)
        }
        _ => None,
    }
}

/// As the specification has it: within the range of the integer type the integer is rounded to a
/// double first, so that the largest int equals 2^63.
#[expect(clippy::cast_precision_loss)]
pub(crate) fn integer_to_double(a: i128, b: f64) -> Option<Ordering> {
    (a as f64).partial_cmp(&b)
}
