//! Functions over whole columns. `None` means: no kernel for these operands.

use std::borrow::Cow;

use super::vector::{Vector, integers};
use crate::bits::Bits;
use crate::facts::Dictionary;
use crate::functions::{Kernel, double_to_int, ratio_of};
use crate::value::Value;

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
        (Kernel::ToDouble, Vector::Whole(values)) => {
            Some(Vector::Double { values: values.clone(), error: None })
        }
        (_, Vector::Same(Err(_)))
        | (Kernel::ToDouble, Vector::Double { .. })
        | (Kernel::ToInt, Vector::Int { .. } | Vector::Whole(_)) => Some(a.clone()),
        _ => None,
    }
}

pub(super) fn binary<'a>(
    kernel: Kernel,
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
) -> Option<Vector<'a>> {
    if let (error @ Vector::Same(Err(_)), _) | (_, error @ Vector::Same(Err(_))) = (a, b) {
        return Some(error.clone());
    }
    match kernel {
        Kernel::Equal | Kernel::NotEqual => {
            let (truth, error) = equal(a, b, lanes)?;
            let truth = if kernel == Kernel::Equal { truth } else { truth.or(&error).not() };
            Some(Vector::Bool { truth: truth.minus(&error), error })
        }
        Kernel::Less => compared(a, b, lanes, |a, b| a < b, |a, b| a < b),
        Kernel::LessEqual => compared(a, b, lanes, |a, b| a <= b, |a, b| a <= b),
        Kernel::Greater => compared(a, b, lanes, |a, b| a > b, |a, b| a > b),
        Kernel::GreaterEqual => compared(a, b, lanes, |a, b| a >= b, |a, b| a >= b),
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

/// Two integers are compared as such, an integer and a double as doubles.
fn compared<'a>(
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
    of_ints: impl Fn(i64, i64) -> bool,
    of_doubles: impl Fn(f64, f64) -> bool,
) -> Option<Vector<'a>> {
    let is_int = |vector: &Vector<'_>| matches!(vector, Vector::Int { .. });
    let (truth, error) = if (is_int(a) || is_int(b))
        && let (Some((x, ex)), Some((y, ey))) = (Numbers::ints(a), Numbers::ints(b))
    {
        (plane(x.side(), y.side(), of_ints)?, either(ex, ey, lanes))
    } else {
        // A column of integers held as doubles compares with any integer as if both were exact.
        let ((x, ex), (y, ey)) = (Numbers::as_doubles(a)?, Numbers::as_doubles(b)?);
        (plane(x.side(), y.side(), of_doubles)?, either(ex, ey, lanes))
    };
    Some(Vector::Bool { truth: truth.minus(&error), error })
}

/// Lanes that are equal, and lanes in error.
#[expect(clippy::float_cmp, reason = "equality of doubles is exact in the language")]
fn equal(a: &Vector<'_>, b: &Vector<'_>, lanes: usize) -> Option<(Bits, Bits)> {
    match (a, b) {
        (Vector::Text { ids, dictionary, error, otherwise }, Vector::Same(Ok(value)))
        | (Vector::Same(Ok(value)), Vector::Text { ids, dictionary, error, otherwise }) => {
            let wanted = text_id(value, *dictionary);
            let truth = match wanted {
                Some(wanted) => Bits::of_slice(ids, |id| id == wanted),
                None => Bits::zeros(lanes),
            };
            Some((with_others(truth, otherwise.as_ref(), |text| text == value), error.clone()))
        }
        (Vector::Bool { truth, error }, Vector::Same(Ok(Value::Bool(value))))
        | (Vector::Same(Ok(Value::Bool(value))), Vector::Bool { truth, error }) => {
            let same = if *value { truth.clone() } else { truth.not() };
            Some((same.minus(error), error.clone()))
        }
        (
            Vector::Bool { truth: a, error: failed_a },
            Vector::Bool { truth: b, error: failed_b },
        ) => {
            let error = failed_a.or(failed_b);
            let same = a.and(b).or(&a.or(b).not());
            Some((same.minus(&error), error))
        }
        _ => match compared(a, b, lanes, |a, b| a == b, |a, b| a == b)? {
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
    let (Vector::Text { ids, dictionary, error, otherwise }, Vector::Same(Ok(Value::List(items)))) =
        (a, b)
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
    let truth = with_others(truth, otherwise.as_ref(), |text| items.contains(text));
    Some(Vector::Bool { truth, error: error.clone() })
}

/// Answers by id, and that of the text of the lanes that have no id of theirs.
fn with_others(
    truth: Bits,
    otherwise: Option<&(Value, Bits)>,
    holds: impl Fn(&Value) -> bool,
) -> Bits {
    match otherwise {
        Some((text, lanes)) if holds(text) => truth.or(lanes),
        Some((_, lanes)) => truth.minus(lanes),
        None => truth,
    }
}

fn arithmetic<'a>(
    kernel: Kernel,
    a: &Vector<'a>,
    b: &Vector<'a>,
    lanes: usize,
) -> Option<Vector<'a>> {
    if let (Some((x, ex)), Some((y, ey))) = (Numbers::ints(a), Numbers::ints(b)) {
        let with = match kernel {
            Kernel::Add => i64::checked_add,
            Kernel::Subtract => i64::checked_sub,
            Kernel::Multiply => i64::checked_mul,
            Kernel::Divide => i64::checked_div,
            _ => return None,
        };
        let lost = plane(x.side(), y.side(), |x, y| with(x, y).is_none())?;
        let values = mapped(x.side(), y.side(), |x, y| with(x, y).unwrap_or(0))?;
        let error = either(ex, ey, lanes).or(&lost);
        return Some(Vector::Int { values: Cow::Owned(values), error: Some(error) });
    }
    let ((x, ex), (y, ey)) = (Numbers::doubles(a)?, Numbers::doubles(b)?);
    let values = match kernel {
        Kernel::Add => mapped(x.side(), y.side(), |x, y| x + y),
        Kernel::Subtract => mapped(x.side(), y.side(), |x, y| x - y),
        Kernel::Multiply => mapped(x.side(), y.side(), |x, y| x * y),
        Kernel::Divide => mapped(x.side(), y.side(), |x, y| x / y),
        _ => None,
    };
    Some(Vector::Double { values: Cow::Owned(values?), error: Some(either(ex, ey, lanes)) })
}

fn ratio<'a>(a: &Vector<'a>, b: &Vector<'a>, lanes: usize) -> Option<Vector<'a>> {
    let ((x, ex), (y, ey)) = (Numbers::as_doubles(a)?, Numbers::as_doubles(b)?);
    let values = mapped(x.side(), y.side(), ratio_of)?;
    Some(Vector::Double { values: Cow::Owned(values), error: Some(either(ex, ey, lanes)) })
}

/// An operand as numbers, and the lanes in which it is in error.
type Operand<'v, T> = (Numbers<'v, T>, Option<&'v Bits>);

enum Numbers<'v, T: Copy> {
    One(T),
    Many(Cow<'v, [T]>),
}

impl<T: Copy> Numbers<'_, T> {
    fn side(&self) -> Side<'_, T> {
        match self {
            Self::One(value) => Side::One(*value),
            Self::Many(values) => Side::Slice(values),
        }
    }
}

impl<'v> Numbers<'v, i64> {
    fn ints(vector: &'v Vector<'_>) -> Option<Operand<'v, i64>> {
        Some(match vector {
            Vector::Int { values, error } => (Self::Many(Cow::Borrowed(values)), error.as_ref()),
            Vector::Whole(values) => (Self::Many(Cow::Owned(integers(values))), None),
            Vector::Same(Ok(Value::Int(value))) => (Self::One(*value), None),
            _ => return None,
        })
    }
}

impl<'v> Numbers<'v, f64> {
    fn doubles(vector: &'v Vector<'_>) -> Option<Operand<'v, f64>> {
        Some(match vector {
            Vector::Double { values, error } => (Self::Many(Cow::Borrowed(values)), error.as_ref()),
            Vector::Same(Ok(Value::Double(value))) => (Self::One(*value), None),
            _ => return None,
        })
    }

    /// Numbers of either type.
    #[expect(clippy::cast_precision_loss)]
    fn as_doubles(vector: &'v Vector<'_>) -> Option<Operand<'v, f64>> {
        Some(match vector {
            Vector::Int { values, error } => {
                (Self::Many(values.iter().map(|value| *value as f64).collect()), error.as_ref())
            }
            Vector::Whole(values) => (Self::Many(Cow::Borrowed(values)), None),
            Vector::Same(Ok(Value::Int(value))) => (Self::One(*value as f64), None),
            _ => return Self::doubles(vector),
        })
    }
}
