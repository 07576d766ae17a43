//! Kubernetes' URL library.

use std::sync::Arc;

use super::{Call, Family, family};
use crate::error::Fault;
use crate::value::{Key, Map, Url, Value};

const PART: &[(&str, &str, &str)] = &[("url", "url", "string")];

pub(super) const FAMILIES: &[Family] = &[
    family("url", url, &[("string", "string", "url")]).parsing(),
    family("is_url", is_url, &[("string", "string", "bool")]).parsing(),
    family("get_scheme", |call| part(call, Url::scheme), PART).parsing(),
    family("get_host", |call| part(call, Url::host), PART).parsing(),
    family("get_hostname", |call| part(call, Url::hostname), PART).parsing(),
    family("get_port", |call| part(call, Url::port), PART).parsing(),
    family("get_escaped_path", |call| part(call, Url::escaped_path), PART).parsing(),
    family("get_query", get_query, &[("url", "url", "map")]).parsing(),
];

fn url(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::String(text)] = call.args else { return Err(Fault::no_such_overload()) };
    call.budget.charge_text(text.len())?;
    let url = Url::parse(text).map_err(|why| {
        Fault::malformed(format!("URL parse error during conversion from string: {why}"))
    })?;
    Ok(Value::Url(Arc::new(url)))
}

fn is_url(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::String(text)] = call.args else { return Err(Fault::no_such_overload()) };
    call.budget.charge_text(text.len())?;
    Ok(Value::Bool(Url::is_request(text).is_ok()))
}

fn part(call: &mut Call<'_>, of: fn(&Url) -> &str) -> Result<Value, Fault> {
    match call.args {
        [Value::Url(url)] => Ok(Value::from(of(url))),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Every key with the list of its values.
fn get_query(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [Value::Url(url)] = call.args else { return Err(Fault::no_such_overload()) };
    call.budget.charge_text(url.text().len())?;
    let mut pairs = url.query();
    // Stable: values of a key stay in order.
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let entries = pairs.chunk_by(|a, b| a.0 == b.0).filter_map(|same| {
        let (key, _) = same.first()?;
        let values = same.iter().map(|(_, value)| Value::from(value.as_str())).collect();
        Some((Key::String(key.as_str().into()), Value::list(values)))
    });
    let map = Map::new(entries.collect()).map_err(|_| Fault::invalid("a key is given twice"))?;
    Ok(Value::map(map))
}
