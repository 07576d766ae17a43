//! Functions over whole columns. `None` means: no kernel for these operands.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::bits::Bits;
use super::vector::Vector;
use crate::facts::Dictionary;
use crate::functions::{Kernel, double_to_int, ratio_of};
use crate::value::{Value, integer_to_double};

pub(super) fn unary<'a>(kernel: Kernel, a: &Vector<'a>, lanes: usize) -> Option<Vector<'a>> {
    match (kernel, a) {
        (Kernel::Not, Vector::Bool { truth, error }) => {
            Some(Vector::Bool { truth: truth.or(error).not(), error: error.clone() })
        }
        #[expect(clippy::cast_precision_loss)]
        (Kernel::ToDouble, Vector::Int { values, error }) => Some(Vector::Double {
            values: values.iter().map(|value| *value as f64).collect(),
            error: error.clone(),
        }),
        (Kernel::ToInt, Vector::Double { values, error }) => {
            let lost = Bits::of_slice(values, |value| double_to_int(value).is_none());
            Some(Vector::Int {
                values: values.iter().map(|value| double_to_int(*value).unwrap_or(0)).collect(),
                error: Some(either(error.as_ref(), Some(&lost), lanes)),
            })
        }
        (Kernel::ToDouble, Vector::Double { .. }) | (Kernel::ToInt, Vector::Int { .. }) => {
            Some(a.clone())
        }
        _ => None,
    }
}

pub(super) fn binary<'a>(
    kernel: Kernel,
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
) -> Option<Vector<'a>> {
    if let (Vector::Same(Err(_)), _) = (a, b) {
        return Some(a.clone());
    }
    match kernel {
        Kernel::Equal | Kernel::NotEqual => {
            let (truth, error) = equal(a, b, lanes)?;
            let truth = if kernel == Kernel::Equal { truth } else { truth.or(&error).not() };
            Some(Vector::Bool { truth: truth.minus(&error), error })
        }
        Kernel::Less => compared(a, b, lanes, Ordering::is_lt),
        Kernel::LessEqual => compared(a, b, lanes, Ordering::is_le),
        Kernel::Greater => compared(a, b, lanes, Ordering::is_gt),
        Kernel::GreaterEqual => compared(a, b, lanes, Ordering::is_ge),
        Kernel::In => listed(a, b, lanes),
        Kernel::Ratio => ratio(a, b, lanes),
        Kernel::Add | Kernel::Subtract | Kernel::Multiply | Kernel::Divide => {
            arithmetic(kernel, a, b, lanes)
        }
        _ => None,
    }
}

/// One side of a numeric operation.
#[derive(Clone, Copy)]
enum Side<'v, T> {
    One(T),
    Slice(&'v [T]),
}

fn ints<'v>(vector: &'v Vector<'_>) -> Option<(Side<'v, i64>, Option<&'v Bits>)> {
    match vector {
        Vector::Int { values, error } => Some((Side::Slice(values), error.as_ref())),
        Vector::Same(Ok(Value::Int(value))) => Some((Side::One(*value), None)),
        _ => None,
    }
}

fn doubles<'v>(vector: &'v Vector<'_>) -> Option<(Side<'v, f64>, Option<&'v Bits>)> {
    match vector {
        Vector::Double { values, error } => Some((Side::Slice(values), error.as_ref())),
        Vector::Same(Ok(Value::Double(value))) => Some((Side::One(*value), None)),
        _ => None,
    }
}

fn either(a: Option<&Bits>, b: Option<&Bits>, lanes: usize) -> Bits {
    match (a, b) {
        (Some(a), Some(b)) => a.or(b),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (None, None) => Bits::zeros(lanes),
    }
}

/// The lanes for which `holds`; `None` when both sides are constant.
fn plane<A: Copy, B: Copy>(
    a: Side<'_, A>,
    b: Side<'_, B>,
    holds: impl Fn(A, B) -> bool,
) -> Option<Bits> {
    match (a, b) {
        (Side::Slice(a), Side::Slice(b)) => Some(Bits::of_slices(a, b, holds)),
        (Side::Slice(a), Side::One(b)) => Some(Bits::of_slice(a, |a| holds(a, b))),
        (Side::One(a), Side::Slice(b)) => Some(Bits::of_slice(b, |b| holds(a, b))),
        (Side::One(_), Side::One(_)) => None,
    }
}

fn mapped<A: Copy, B: Copy, C>(
    a: Side<'_, A>,
    b: Side<'_, B>,
    with: impl Fn(A, B) -> C,
) -> Option<Vec<C>> {
    match (a, b) {
        (Side::Slice(a), Side::Slice(b)) => {
            Some(a.iter().zip(b).map(|(a, b)| with(*a, *b)).collect())
        }
        (Side::Slice(a), Side::One(b)) => Some(a.iter().map(|a| with(*a, b)).collect()),
        (Side::One(a), Side::Slice(b)) => Some(b.iter().map(|b| with(a, *b)).collect()),
        (Side::One(_), Side::One(_)) => None,
    }
}

fn compared<'a>(
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
    holds: impl Fn(Ordering) -> bool,
) -> Option<Vector<'a>> {
    let test = |ordering: Option<Ordering>| ordering.is_some_and(&holds);
    let mixed = |a: i64, b: f64| integer_to_double(i128::from(a), b);
    let (truth, error) = if let (Some((x, ex)), Some((y, ey))) = (ints(a), ints(b)) {
        (plane(x, y, |x, y| holds(x.cmp(&y)))?, either(ex, ey, lanes))
    } else if let (Some((x, ex)), Some((y, ey))) = (doubles(a), doubles(b)) {
        (plane(x, y, |x, y| test(x.partial_cmp(&y)))?, either(ex, ey, lanes))
    } else if let (Some((x, ex)), Some((y, ey))) = (ints(a), doubles(b)) {
        (plane(x, y, |x, y| test(mixed(x, y)))?, either(ex, ey, lanes))
    } else if let (Some((x, ex)), Some((y, ey))) = (doubles(a), ints(b)) {
        let reversed = |x, y| test(mixed(y, x).map(Ordering::reverse));
        (plane(x, y, reversed)?, either(ex, ey, lanes))
    } else {
        return None;
    };
    Some(Vector::Bool { truth: truth.minus(&error), error })
}

/// Lanes that are equal, and lanes in error.
fn equal(a: &Vector<'_>, b: &Vector<'_>, lanes: usize) -> Option<(Bits, Bits)> {
    match (a, b) {
        (Vector::Text { ids, dictionary, error }, Vector::Same(Ok(value)))
        | (Vector::Same(Ok(value)), Vector::Text { ids, dictionary, error }) => {
            let wanted = text_id(value, *dictionary);
            let truth = match wanted {
                Some(wanted) => Bits::of_slice(ids, |id| id == wanted),
                None => Bits::zeros(lanes),
            };
            Some((truth, error.clone()))
        }
        (Vector::Bool { truth, error }, Vector::Same(Ok(Value::Bool(value))))
        | (Vector::Same(Ok(Value::Bool(value))), Vector::Bool { truth, error }) => {
            let same = if *value { truth.clone() } else { truth.not() };
            Some((same.minus(error), error.clone()))
        }
        _ => match compared(a, b, lanes, Ordering::is_eq)? {
            Vector::Bool { truth, error } => Some((truth, error)),
            _ => None,
        },
    }
}

/// The id of a constant; never 0, which stands for absent.
fn text_id(value: &Value, dictionary: &dyn Dictionary) -> Option<u32> {
    match value {
        Value::String(text) => dictionary.id(text).filter(|id| *id != 0),
        _ => None,
    }
}

fn listed<'a>(a: &Vector<'a>, b: &Vector<'a>, lanes: usize) -> Option<Vector<'a>> {
    let (Vector::Text { ids, dictionary, error }, Vector::Same(Ok(Value::List(items)))) = (a, b)
    else {
        return None;
    };
    let mut wanted: Vec<u32> = items.iter().filter_map(|item| text_id(item, *dictionary)).collect();
    wanted.sort_unstable();
    let truth = match *wanted.as_slice() {
        [] => Bits::zeros(lanes),
        [a] => Bits::of_slice(ids, |id| id == a),
        // Without branches, so that lanes are compared side by side.
        [a, b] => Bits::of_slice(ids, |id| id == a || id == b),
        [a, b, c] => Bits::of_slice(ids, |id| id == a || id == b || id == c),
        [a, b, c, d] => Bits::of_slice(ids, |id| id == a || id == b || id == c || id == d),
        _ => Bits::of_slice(ids, |id| wanted.binary_search(&id).is_ok()),
    };
    Some(Vector::Bool { truth, error: error.clone() })
}

fn arithmetic<'a>(
    kernel: Kernel,
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
) -> Option<Vector<'a>> {
    if let (Some((x, ex)), Some((y, ey))) = (ints(a), ints(b)) {
        let with = match kernel {
            Kernel::Add => i64::checked_add,
            Kernel::Subtract => i64::checked_sub,
            Kernel::Multiply => i64::checked_mul,
            Kernel::Divide => i64::checked_div,
            _ => return None,
        };
        let lost = plane(x, y, |x, y| with(x, y).is_none())?;
        let values = mapped(x, y, |x, y| with(x, y).unwrap_or(0))?;
        let error = either(ex, ey, lanes).or(&lost);
        return Some(Vector::Int { values: Cow::Owned(values), error: Some(error) });
    }
    let ((x, ex), (y, ey)) = (doubles(a)?, doubles(b)?);
    let values = match kernel {
        Kernel::Add => mapped(x, y, |x, y| x + y),
        Kernel::Subtract => mapped(x, y, |x, y| x - y),
        Kernel::Multiply => mapped(x, y, |x, y| x * y),
        Kernel::Divide => mapped(x, y, |x, y| x / y),
        _ => None,
    };
    Some(Vector::Double { values: Cow::Owned(values?), error: Some(either(ex, ey, lanes)) })
}

fn ratio<'a>(a: &Vector<'a>, b: &Vector<'a>, lanes: usize) -> Option<Vector<'a>> {
    let ((x, ex), (y, ey)) = (Doubles::of(a)?, Doubles::of(b)?);
    let values = mapped(x.side(), y.side(), ratio_of)?;
    Some(Vector::Double { values: Cow::Owned(values), error: Some(either(ex, ey, lanes)) })
}

/// Numbers of either type as doubles.
enum Doubles<'v> {
    One(f64),
    Many(Cow<'v, [f64]>),
}

impl<'v> Doubles<'v> {
    #[expect(clippy::cast_precision_loss)]
    fn of(vector: &'v Vector<'_>) -> Option<(Self, Option<&'v Bits>)> {
        Some(match vector {
            Vector::Double { values, error } => {
                (Self::Many(Cow::Borrowed(&**values)), error.as_ref())
            }
            Vector::Int { values, error } => {
                (Self::Many(values.iter().map(|value| *value as f64).collect()), error.as_ref())
            }
            Vector::Same(Ok(Value::Int(value))) => (Self::One(*value as f64), None),
            Vector::Same(Ok(Value::Double(value))) => (Self::One(*value), None),
            _ => return None,
        })
    }

    fn side(&self) -> Side<'_, f64> {
        match self {
            Self::One(value) => Side::One(*value),
            Self::Many(values) => Side::Slice(values),
        }
    }
}
