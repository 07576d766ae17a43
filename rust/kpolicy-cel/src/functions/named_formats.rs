//! Kubernetes' format library.

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{NamedFormat, Value};

const NONE: &[(&str, &str, &str)] = &[("any", "", "format")];

pub(super) const FAMILIES: &[Family] = &[
    family("format_named", named, &[("string", "string", "optional")]).parsing(),
    family("format_validate", validate, &[("string", "format string", "optional")]).parsing(),
    family("format_dns1123_label", |call| constant(call, NamedFormat::Dns1123Label), NONE),
    family("format_dns1123_subdomain", |call| constant(call, NamedFormat::Dns1123Subdomain), NONE),
    family("format_dns1035_label", |call| constant(call, NamedFormat::Dns1035Label), NONE),
    family("format_qualified_name", |call| constant(call, NamedFormat::QualifiedName), NONE),
    family(
        "format_dns1123_label_prefix",
        |call| constant(call, NamedFormat::Dns1123LabelPrefix),
        NONE,
    ),
    family(
        "format_dns1123_subdomain_prefix",
        |call| constant(call, NamedFormat::Dns1123SubdomainPrefix),
        NONE,
    ),
    family(
        "format_dns1035_label_prefix",
        |call| constant(call, NamedFormat::Dns1035LabelPrefix),
        NONE,
    ),
    family("format_label_value", |call| constant(call, NamedFormat::LabelValue), NONE),
    family("format_uri", |call| constant(call, NamedFormat::Uri), NONE),
    family("format_uuid", |call| constant(call, NamedFormat::Uuid), NONE),
    family("format_byte", |call| constant(call, NamedFormat::Byte), NONE),
    family("format_date", |call| constant(call, NamedFormat::Date), NONE),
    family("format_datetime", |call| constant(call, NamedFormat::Datetime), NONE),
];

fn constant(call: &Call<'_>, format: NamedFormat) -> Result<Value, Fault> {
    if call.args.is_empty() { Ok(Value::Format(format)) } else { Err(Fault::no_such_overload()) }
}

fn named(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(name)] => Ok(NamedFormat::named(name)
            .map_or(Value::NONE, |format| Value::some(Value::Format(format)))),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Nothing for a text that has the format, else what is wrong with it.
fn validate(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::Format(format), Value::String(text)] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge_text(text.len())?;
    let complaints = format.complaints(text);
    if complaints.is_empty() {
        return Ok(Value::NONE);
    }
    Ok(Value::some(Value::list(complaints.into_iter().map(Value::from).collect())))
}
