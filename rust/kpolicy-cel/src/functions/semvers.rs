//! Kubernetes' semver library; comparisons are with those of quantities.

use std::sync::Arc;

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Semver, Value};

const PART: &[(&str, &str, &str)] = &[("semver", "semver", "int")];

pub(super) const FAMILIES: &[Family] = &[
    family(
        "semver",
        |call| {
            let version = parsed(call)?.map_err(Fault::malformed)?;
            Ok(Value::Semver(Arc::new(version)))
        },
        &[("string", "string", "semver"), ("string_bool", "string bool", "semver")],
    )
    .parsing(),
    family(
        "is_semver",
        |call| Ok(Value::Bool(parsed(call)?.is_ok())),
        &[("string", "string", "bool"), ("string_bool", "string bool", "bool")],
    )
    .parsing(),
    family("major", |call| part(call, |version| version.major), PART),
    family("minor", |call| part(call, |version| version.minor), PART),
    family("patch", |call| part(call, |version| version.patch), PART),
];

fn parsed(call: &mut Call<'_>) -> Result<Result<Semver, String>, Fault> {
    let (text, is_normalized) = match call.args {
        [Value::String(text)] => (text, false),
        [Value::String(text), Value::Bool(is_normalized)] => (text, *is_normalized),
        _ => return Err(Fault::no_such_overload()),
    };
    call.budget.charge_text(text.len())?;
    Ok(if is_normalized { Semver::parse_normalized(text) } else { Semver::parse(text) })
}

fn part(call: &mut Call<'_>, of: fn(&Semver) -> u64) -> Result<Value, Fault> {
    match call.args {
        [Value::Semver(version)] => {
            i64::try_from(of(version)).map(Value::Int).map_err(|_| Fault::overflow("int"))
        }
        _ => Err(Fault::no_such_overload()),
    }
}
