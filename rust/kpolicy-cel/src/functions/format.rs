//! `format` of the string extension: `%s %d %f %e %x %X %o %b %%`, with a precision.
//!
//! It follows version 2 of the extension, which Kubernetes has. The specification's data are of a
//! later version.

use std::fmt::Write as _;

use super::convert::{double_display, duration_display};
use super::{Call, Family, family, localized};
use crate::error::Fault;
use crate::value::{Value, quoted};

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
        // Written piece by piece, which takes twice as long as copying.
        call.budget.charge_text(2 * (out.len() - length))?;
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
        'f' => push(out, localized::fixed(floating(arg)?, precision)),
        'e' => push(out, localized::scientific(floating(arg)?, precision)),
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

fn decimal(out: &mut String, arg: &Value) -> Result<(), Fault> {
    match arg {
        Value::Int(value) => push(out, value),
        Value::Uint(value) => push(out, value),
        _ => Err(wrong(arg, "%d")),
    }
}

/// A double, or the name of a special one as a text.
fn floating(arg: &Value) -> Result<f64, Fault> {
    match arg {
        Value::Double(value) => Ok(*value),
        Value::String(text) => match &**text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(wrong(arg, "%f and %e")),
        },
        _ => Err(wrong(arg, "%f and %e")),
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

/// A value by itself is written as `string()` does, inside a list or a map as a literal of CEL.
fn shown(out: &mut String, arg: &Value, depth: usize) -> Result<(), Fault> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| Fault::invalid("format: too deep"));
    match arg {
        Value::Null => push(out, "null"),
        Value::Bool(value) => push(out, value),
        Value::Int(value) => push(out, value),
        Value::Uint(value) => push(out, value),
        Value::Double(value) => push(out, double_display(*value)),
        Value::String(text) => push(out, text),
        Value::Bytes(bytes) => push(out, readable(bytes)?),
        Value::Type(name) => push(out, name),
        Value::Timestamp(time) => push(out, time.text()),
        Value::Duration(duration) => push(out, duration_display(*duration)),
        Value::List(items) => {
            let depth = deeper()?;
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(separator(at));
                literal(out, item, depth)?;
            }
            out.push(']');
            Ok(())
        }
        Value::Map(map) => {
            let depth = deeper()?;
            let mut entries = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                let mut written = String::new();
                literal(&mut written, &key.value(), depth)?;
                entries.push((written, value));
            }
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(separator(at));
                out.push_str(&key);
                out.push(':');
                literal(out, value, depth)?;
            }
            out.push('}');
            Ok(())
        }
        Value::Optional(_)
        | Value::Quantity(_)
        | Value::Selector(_)
        | Value::Ip(_)
        | Value::Cidr(_)
        | Value::Semver(_)
        | Value::Url(_)
        | Value::Format(_)
        | Value::Object(_) => Err(wrong(arg, "%s")),
    }
}

/// What stands before an item of a list or an entry of a map.
fn separator(at: usize) -> &'static str {
    if at == 0 { "" } else { ", " }
}

fn literal(out: &mut String, arg: &Value, depth: usize) -> Result<(), Fault> {
    match arg {
        Value::Double(value) if value.is_finite() => push(out, format!("{value:.6}")),
        Value::Double(value) => push(out, quoted(&double_display(*value))),
        Value::String(text) => push(out, quoted(text)),
        Value::Bytes(bytes) => push(out, format!("b{}", quoted(readable(bytes)?))),
        Value::Timestamp(time) => push(out, format!("timestamp({})", quoted(&time.text()))),
        Value::Duration(duration) => {
            push(out, format!("duration({})", quoted(&duration_display(*duration))))
        }
        _ => shown(out, arg, depth),
    }
}

fn readable(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| Fault::malformed("invalid UTF-8 in bytes"))
}
