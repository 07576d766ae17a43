//! Label selectors: `selector('a=b')`, `selector({'a': 'b'})`, `.matches(labels)`.

use std::sync::Arc;

use super::{Call, Family, family, strings};
use crate::error::Fault;
use crate::prices::REQUIREMENT;
use crate::value::{Key, Selector, Value};

pub(super) const FAMILIES: &[Family] = &[
    family("selector", selector, &[("string", "string", "selector"), ("map", "map", "selector")])
        .parsing(),
    family("selector_matches", matches, &[("map", "selector map", "bool")]),
];

fn selector(call: &mut Call<'_>) -> Result<Value, Fault> {
    let selector = match call.args {
        [Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            Selector::parse(text)
                .map_err(|why| Fault::malformed(format!("invalid selector `{text}`: {why}")))?
        }
        [Value::Map(map)] => {
            call.budget.charge(REQUIREMENT * map.len() as u64)?;
            let mut labels: Vec<(&str, &str)> = Vec::with_capacity(map.len());
            for (key, value) in map.iter() {
                match (key, value) {
                    (Key::String(key), Value::String(value)) => labels.push((key, value)),
                    _ => return Err(Fault::no_such_overload()),
                }
            }
            Selector::of_labels(labels)
        }
        _ => return Err(Fault::no_such_overload()),
    };
    Ok(Value::Selector(Arc::new(selector)))
}

/// Of labels; and of a text, where types are known only while evaluating.
fn matches(call: &mut Call<'_>) -> Result<Value, Fault> {
    if matches!(call.args, [Value::String(_), ..]) {
        return strings::matches(call);
    }
    let [Value::Selector(selector), Value::Map(labels)] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge(selector.requirements().len() as u64)?;
    let label = |key: &str| match labels.get_text(key) {
        Some(Value::String(text)) => Some(&**text),
        _ => None,
    };
    Ok(Value::Bool(selector.matches(label)))
}
