//! `format` of the string extension: `%s %d %f %e %x %X %o %b %%`, with a precision for `f`, `e`.

use std::fmt::Write as _;

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::Value;

/// The most decimal places that may be asked for.
const PRECISION_MAX: usize = 1000;
const PRECISION: usize = 6;
/// The deepest value that is written out.
const DEPTH_MAX: usize = 64;

pub(super) const FAMILIES: &[Family] =
    &[family("format", format, &[("list", "string list", "string")]).parsing()];

fn format(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::String(template), Value::List(args)] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge_text(template.len())?;
    let mut out = String::with_capacity(template.len());
    let mut args = args.iter();
    let mut rest = &**template;
    while let Some(at) = rest.find('%') {
        let (text, clause) = rest.split_at(at);
        out.push_str(text);
        let clause = clause.get(1..).unwrap_or("");
        if let Some(after) = clause.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (precision, verb, after) = parsed(clause)?;
        let arg = args.next().ok_or_else(|| Fault::invalid("format: an argument is missing"))?;
        let length = out.len();
        written(&mut out, verb, precision, arg)?;
        call.budget.charge_text(out.len() - length)?;
        rest = after;
    }
    out.push_str(rest);
    Ok(Value::from(out))
}

/// Precision, verb, and what comes after.
fn parsed(clause: &str) -> Result<(usize, char, &str), Fault> {
    let bad = || Fault::malformed("format: not a formatting clause");
    let (precision, rest) = match clause.strip_prefix('.') {
        Some(figures) => {
            let end = figures.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
            let (figures, rest) = figures.split_at(end);
            (figures.parse().ok().filter(|p| *p <= PRECISION_MAX).ok_or_else(bad)?, rest)
        }
        None => (PRECISION, clause),
    };
    let verb = rest.chars().next().ok_or_else(bad)?;
    Ok((precision, verb, rest.get(verb.len_utf8()..).unwrap_or("")))
}

fn written(out: &mut String, verb: char, precision: usize, arg: &Value) -> Result<(), Fault> {
    match verb {
        's' => shown(out, arg, DEPTH_MAX),
        'd' => decimal(out, arg),
        'f' => floating(out, arg, |value| format!("{value:.precision$}")),
        'e' => floating(out, arg, |value| scientific(value, precision)),
        'b' => match arg {
            Value::Bool(value) => push(out, u64::from(*value)),
            _ => radix(out, arg, |value| format!("{value:b}")),
        },
        'o' => radix(out, arg, |value| format!("{value:o}")),
        'x' => hexadecimal(out, arg, false),
        'X' => hexadecimal(out, arg, true),
        other => Err(Fault::malformed(format!("format: unknown clause `%{other}`"))),
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) -> Result<(), Fault> {
    write!(out, "{value}").map_err(|_| Fault::invalid("format"))
}

fn wrong(arg: &Value, clause: &str) -> Fault {
    Fault::invalid(format!("format: {clause} does not take {}", arg.type_name()))
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value == f64::INFINITY {
        Some("Infinity")
    } else if value == f64::NEG_INFINITY {
        Some("-Infinity")
    } else {
        None
    }
}

fn decimal(out: &mut String, arg: &Value) -> Result<(), Fault> {
    match arg {
        Value::Int(value) => push(out, value),
        Value::Uint(value) => push(out, value),
        Value::Double(value) => match special(*value) {
            Some(text) => push(out, text),
            None => Err(wrong(arg, "%d")),
        },
        _ => Err(wrong(arg, "%d")),
    }
}

#[expect(clippy::cast_precision_loss)]
fn floating(out: &mut String, arg: &Value, with: impl Fn(f64) -> String) -> Result<(), Fault> {
    let value = match arg {
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        Value::Double(value) => *value,
        _ => return Err(wrong(arg, "%f and %e")),
    };
    match special(value) {
        Some(text) => push(out, text),
        None => push(out, with(value)),
    }
}

/// The exponent has a sign and at least two figures.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(figures) => format!("{mantissa}e-{figures:0>2}"),
            None => format!("{mantissa}e+{exponent:0>2}"),
        },
        None => text,
    }
}

fn radix(out: &mut String, arg: &Value, with: impl Fn(u64) -> String) -> Result<(), Fault> {
    match arg {
        Value::Int(value) if *value < 0 => push(out, format!("-{}", with(value.unsigned_abs()))),
        Value::Int(value) => push(out, with(value.unsigned_abs())),
        Value::Uint(value) => push(out, with(*value)),
        _ => Err(wrong(arg, "%b, %o and %x")),
    }
}

fn hexadecimal(out: &mut String, arg: &Value, upper: bool) -> Result<(), Fault> {
    let bytes = match arg {
        Value::String(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => {
            let figures = |value| if upper { format!("{value:X}") } else { format!("{value:x}") };
            return radix(out, arg, figures);
        }
    };
    for byte in bytes {
        push(out, if upper { format!("{byte:02X}") } else { format!("{byte:02x}") })?;
    }
    Ok(())
}

fn shown(out: &mut String, arg: &Value, depth: usize) -> Result<(), Fault> {
    let depth = depth.checked_sub(1).ok_or_else(|| Fault::invalid("format: too deep"))?;
    match arg {
        Value::Null => push(out, "null"),
        Value::Bool(value) => push(out, value),
        Value::Int(value) => push(out, value),
        Value::Uint(value) => push(out, value),
        Value::Double(value) => match special(*value) {
            Some(text) => push(out, text),
            None => push(out, value),
        },
        Value::String(text) => push(out, text),
        Value::Bytes(bytes) => push(out, String::from_utf8_lossy(bytes)),
        Value::Type(name) => push(out, name),
        Value::Timestamp(time) => push(out, time.text()),
        Value::Duration(duration) => push(out, duration.text()),
        Value::Quantity(quantity) => push(out, quantity.text()),
        Value::List(items) => {
            let mut parts = Vec::with_capacity(items.len());
            for item in items.iter() {
                let mut part = String::new();
                shown(&mut part, item, depth)?;
                parts.push(part);
            }
            push(out, format!("[{}]", parts.join(", ")))
        }
        Value::Map(map) => {
            let mut parts = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                let mut part = format!("{key}: ");
                shown(&mut part, value, depth)?;
                parts.push(part);
            }
            parts.sort();
            push(out, format!("{{{}}}", parts.join(", ")))
        }
        Value::Optional(_)
        | Value::Selector(_)
        | Value::Ip(_)
        | Value::Cidr(_)
        | Value::Semver(_)
        | Value::Url(_)
        | Value::Format(_)
        | Value::Object(_) => Err(wrong(arg, "%s")),
    }
}
