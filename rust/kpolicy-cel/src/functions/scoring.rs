//! kpolicy's own numeric functions: `cpu`, `units`, `ratio`, `clamp`, `linear`, `step`.

use super::numeric::double;
use super::{Call, Family, Kernel, family};
use crate::error::Fault;
use crate::value::{Quantity, Value};

pub(super) const FAMILIES: &[Family] = &[
    family("cpu", cpu, &[("string", "string", "int")]).parsing(),
    family("units", units, &[("string", "string", "int")]).parsing(),
    family("ratio", ratio, &[("number", "dyn dyn", "double")]).with_kernel(Kernel::Ratio),
    family("clamp", clamp, &[("int64", "int int int", "int"), ("double", "dyn dyn dyn", "double")]),
    family("linear", linear, &[("number", "dyn dyn dyn dyn dyn", "double")]),
    family("step", step, &[("number", "dyn list", "double")]),
];

/// An amount has figures: `m` alone, which the API takes for zero, is a slip here.
fn quantity(call: &Call<'_>) -> Result<Quantity, Fault> {
    let [Value::String(text)] = call.args else { return Err(Fault::no_such_overload()) };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let figures = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let is_amount = figures.starts_with(|first: char| first.is_ascii_digit());
    let quantity = if is_amount { Quantity::parse(text) } else { None };
    quantity.ok_or_else(|| Fault::malformed(format!("`{text}` is not a quantity")))
}

fn cpu(call: &mut Call<'_>) -> Result<Value, Fault> {
    quantity(call)?.milli_ceil().map(Value::Int).ok_or_else(|| Fault::overflow("cpu"))
}

fn units(call: &mut Call<'_>) -> Result<Value, Fault> {
    quantity(call)?.units_ceil().map(Value::Int).ok_or_else(|| Fault::overflow("units"))
}

/// `a / b`, and 0 where `b` is 0: total, so that a score never errs on an empty node.
pub(crate) fn ratio_of(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

fn ratio(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [a, b] => Ok(Value::Double(ratio_of(double(a)?, double(b)?))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn clamp(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Int(x), Value::Int(low), Value::Int(high)] => {
            if low > high {
                return Err(Fault::invalid("clamp: the lower bound is above the upper"));
            }
            Ok(Value::Int(*x.clamp(low, high)))
        }
        [x, low, high] => bounded(double(x)?, double(low)?, double(high)?).map(Value::Double),
        _ => Err(Fault::no_such_overload()),
    }
}

fn bounded(x: f64, low: f64, high: f64) -> Result<f64, Fault> {
    if low <= high {
        Ok(x.max(low).min(high))
    } else {
        Err(Fault::invalid("clamp: the lower bound is above the upper"))
    }
}

/// The point at `x` of the line through (x0, y0) and (x1, y1), held at both ends.
fn linear(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [x, x0, x1, y0, y1] = call.args else {
        return Err(Fault::no_such_overload());
    };
    let (x, from, to) = (double(x)?, (double(x0)?, double(y0)?), (double(x1)?, double(y1)?));
    if from.0.partial_cmp(&to.0).is_none_or(std::cmp::Ordering::is_eq) {
        return Err(Fault::invalid("linear: the two x are equal"));
    }
    Ok(Value::Double(between(x, from, to)))
}

fn between(x: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
    let (low, high) = if from.0 <= to.0 { (from, to) } else { (to, from) };
    if x <= low.0 {
        low.1
    } else if x >= high.0 {
        high.1
    } else {
        low.1 + (x - low.0) * (high.1 - low.1) / (high.0 - low.0)
    }
}

/// Straight lines through points of ascending x, held at both ends.
fn step(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [x, Value::List(points)] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge(points.len() as u64)?;
    let x = double(x)?;
    let points = points.iter().map(point).collect::<Result<Vec<_>, _>>()?;
    let ascending = points.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0));
    let (Some(first), Some(last), true) = (points.first(), points.last(), ascending) else {
        return Err(Fault::invalid("step: points of ascending x are needed"));
    };
    if x <= first.0 {
        return Ok(Value::Double(first.1));
    }
    let segment = points.windows(2).find_map(|pair| match pair {
        [a, b] if x <= b.0 => Some(between(x, *a, *b)),
        _ => None,
    });
    Ok(Value::Double(segment.unwrap_or(last.1)))
}

fn point(value: &Value) -> Result<(f64, f64), Fault> {
    match value {
        Value::List(pair) => match pair.as_slice() {
            [x, y] => Ok((double(x)?, double(y)?)),
            _ => Err(Fault::invalid("step: a point is a pair of numbers")),
        },
        _ => Err(Fault::no_such_overload()),
    }
}
