//! Conversions between types, `type()` and `dyn()`.

use super::numeric::{double, double_to_int, double_to_uint};
use super::{Call, Family, Kernel, family};
use crate::error::Fault;
use crate::value::{Duration, Timestamp, Value};

pub(super) const FAMILIES: &[Family] = &[
    family(
        "to_int",
        to_int,
        &[
            ("int64", "int", "int"),
            ("uint64", "uint", "int"),
            ("double", "double", "int"),
            ("string", "string", "int"),
            ("timestamp", "timestamp", "int"),
            ("duration", "duration", "int"),
        ],
    )
    .parsing()
    .with_kernel(Kernel::ToInt),
    family(
        "to_uint",
        to_uint,
        &[
            ("uint64", "uint", "uint"),
            ("int64", "int", "uint"),
            ("double", "double", "uint"),
            ("string", "string", "uint"),
        ],
    )
    .parsing(),
    family(
        "to_double",
        to_double,
        &[
            ("double", "double", "double"),
            ("int64", "int", "double"),
            ("uint64", "uint", "double"),
            ("string", "string", "double"),
        ],
    )
    .parsing()
    .with_kernel(Kernel::ToDouble),
    family(
        "to_string",
        to_string,
        &[
            ("string", "string", "string"),
            ("bool", "bool", "string"),
            ("int64", "int", "string"),
            ("uint64", "uint", "string"),
            ("double", "double", "string"),
            ("bytes", "bytes", "string"),
            ("timestamp", "timestamp", "string"),
            ("duration", "duration", "string"),
            ("quantity", "quantity", "string"),
            ("ip", "ip", "string"),
            ("cidr", "cidr", "string"),
        ],
    )
    .parsing(),
    family("to_bytes", to_bytes, &[("bytes", "bytes", "bytes"), ("string", "string", "bytes")])
        .parsing(),
    family("to_bool", to_bool, &[("bool", "bool", "bool"), ("string", "string", "bool")]).parsing(),
    family(
        "to_timestamp",
        to_timestamp,
        &[
            ("timestamp", "timestamp", "timestamp"),
            ("string", "string", "timestamp"),
            ("int64", "int", "timestamp"),
        ],
    )
    .parsing(),
    family(
        "to_duration",
        to_duration,
        &[("duration", "duration", "duration"), ("string", "string", "duration")],
    )
    .parsing(),
    family("to_dyn", to_dyn, &[("any", "dyn", "dyn")]),
    family("type_of", type_of, &[("any", "dyn", "type")]),
];

fn range(kind: &'static str) -> Fault {
    Fault::overflow(kind)
}

fn unreadable(text: &str, kind: &str) -> Fault {
    Fault::malformed(format!("`{text}` is not {kind}"))
}

fn to_int(call: &mut Call<'_>) -> Result<Value, Fault> {
    let value = match call.args {
        [Value::Int(value)] => *value,
        [Value::Uint(value)] => i64::try_from(*value).map_err(|_| range("int"))?,
        [Value::Double(value)] => double_to_int(*value).ok_or_else(|| range("int"))?,
        [Value::String(text)] => text.parse().map_err(|_| unreadable(text, "an int"))?,
        [Value::Timestamp(time)] => time.seconds(),
        [Value::Duration(duration)] => i64::try_from(duration.nanos()).map_err(|_| range("int"))?,
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Int(value))
}

fn to_uint(call: &mut Call<'_>) -> Result<Value, Fault> {
    let value = match call.args {
        [Value::Uint(value)] => *value,
        [Value::Int(value)] => u64::try_from(*value).map_err(|_| range("uint"))?,
        [Value::Double(value)] => double_to_uint(*value).ok_or_else(|| range("uint"))?,
        [Value::String(text)] if !text.starts_with('+') => {
            text.parse().map_err(|_| unreadable(text, "a uint"))?
        }
        [Value::String(text)] => return Err(unreadable(text, "a uint")),
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Uint(value))
}

fn to_double(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text)] => {
            let is_named = !text.bytes().any(|byte| byte.is_ascii_digit());
            match text.parse::<f64>() {
                // Figures of a number beyond the range.
                Ok(value) if value.is_infinite() && !is_named => Err(range("double")),
                Ok(value) => Ok(Value::Double(value)),
                Err(_) => Err(unreadable(text, "a double")),
            }
        }
        [value] => double(value).map(Value::Double),
        _ => Err(Fault::no_such_overload()),
    }
}

fn to_string(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [value] => {
            let text = display(value)?;
            call.budget.charge_text(value.weight())?;
            Ok(text)
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn display(value: &Value) -> Result<Value, Fault> {
    Ok(match value {
        Value::String(_) => value.clone(),
        Value::Bool(value) => Value::from(if *value { "true" } else { "false" }),
        Value::Int(value) => Value::from(value.to_string()),
        Value::Uint(value) => Value::from(value.to_string()),
        Value::Double(value) => Value::from(double_display(*value)),
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .map(Value::from)
            .map_err(|_| Fault::malformed("invalid UTF-8 in bytes"))?,
        Value::Timestamp(time) => Value::from(time.text()),
        Value::Duration(duration) => Value::from(duration_display(*duration)),
        Value::Quantity(quantity) => Value::from(quantity.text()),
        Value::Ip(address) => Value::from(address.to_string()),
        Value::Cidr(range) => Value::from(range.to_string()),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// The shortest text that reads back as the same double; with an exponent from a million on, and
/// below a ten thousandth.
pub(super) fn double_display(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf".into() } else { "-Inf".into() }
    } else {
        let scientific = format!("{value:e}");
        let (figures, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        if (-4..6).contains(&exponent) {
            value.to_string()
        } else {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{figures}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

/// The seconds as a double, as Go has them.
pub(super) fn duration_display(duration: Duration) -> String {
    format!("{}s", duration.approximate_seconds())
}

fn to_bytes(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Bytes(bytes)] => Ok(Value::Bytes(bytes.clone())),
        [Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn to_bool(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Bool(value)] => Ok(Value::Bool(*value)),
        [Value::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => Err(unreadable(other, "a bool")),
        },
        _ => Err(Fault::no_such_overload()),
    }
}

fn to_timestamp(call: &mut Call<'_>) -> Result<Value, Fault> {
    let time = match call.args {
        [Value::Timestamp(time)] => *time,
        [Value::String(text)] => {
            Timestamp::parse(text).ok_or_else(|| unreadable(text, "a timestamp"))?
        }
        [Value::Int(seconds)] => Timestamp::new(*seconds, 0).ok_or_else(|| range("timestamp"))?,
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Timestamp(time))
}

fn to_duration(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Duration(duration)] => Ok(Value::Duration(*duration)),
        [Value::String(text)] => {
            Duration::parse(text).map(Value::Duration).ok_or_else(|| unreadable(text, "a duration"))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn to_dyn(call: &mut Call<'_>) -> Result<Value, Fault> {
    call.args.first().cloned().ok_or_else(Fault::no_such_overload)
}

fn type_of(call: &mut Call<'_>) -> Result<Value, Fault> {
    let value = call.args.first().ok_or_else(Fault::no_such_overload)?;
    Ok(Value::Type(value.type_name().into()))
}
