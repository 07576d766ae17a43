//! The string extension of CEL. Positions count code points.

use super::numeric::{count, position};
use super::{Call, Family, family};
use crate::error::Fault;
use crate::prices::{PART, SEARCH};
use crate::value::Value;

const ONE: &[(&str, &str, &str)] = &[("string", "string", "string")];
const FIND: &[(&str, &str, &str)] =
    &[("string", "string string", "int"), ("string_int64", "string string int", "int")];

pub(super) const FAMILIES: &[Family] = &[
    family("char_at", char_at, &[("string", "string int", "string")]),
    family("index_of", index_of, FIND),
    family("last_index_of", last_index_of, FIND),
    family("join", join, &[("list", "list", "string"), ("list_string", "list string", "string")]),
    family("lower_ascii", |call| map(call, str::to_ascii_lowercase), ONE),
    family("upper_ascii", |call| map(call, str::to_ascii_uppercase), ONE),
    family(
        "replace",
        replace,
        &[
            ("string", "string string string", "string"),
            ("string_int64", "string string string int", "string"),
        ],
    ),
    family(
        "split",
        split,
        &[("string", "string string", "list"), ("string_int64", "string string int", "list")],
    ),
    family(
        "substring",
        substring,
        &[("int64", "string int", "string"), ("int64_int64", "string int int", "string")],
    ),
    family("trim", |call| map(call, |text| text.trim().to_owned()), ONE),
    family("string_reverse", reverse, ONE),
    family("quote", |call| map(call, quoted), ONE),
];

fn text<'a>(call: &mut Call<'a>) -> Result<&'a str, Fault> {
    match call.args {
        [Value::String(text), ..] => {
            call.budget.charge_text(text.len())?;
            Ok(text)
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn map(call: &mut Call<'_>, with: fn(&str) -> String) -> Result<Value, Fault> {
    Ok(Value::from(with(text(call)?)))
}

fn outside(at: &Value) -> Fault {
    Fault::out_of_range(format!("index out of range: {at:?}"))
}

fn char_at(call: &mut Call<'_>) -> Result<Value, Fault> {
    let text = text(call)?;
    let [_, at] = call.args else {
        return Err(Fault::no_such_overload());
    };
    let position = position(at)?.ok_or_else(|| outside(at))?;
    match text.chars().nth(position) {
        Some(found) => Ok(Value::from(found.to_string())),
        None if position == text.chars().count() => Ok(Value::from("")),
        None => Err(outside(at)),
    }
}

/// A search: text, part and the position to start from, if one is given.
type Search = (Vec<char>, Vec<char>, Option<i64>);

fn search(call: &mut Call<'_>) -> Result<Search, Fault> {
    let text: Vec<char> = text(call)?.chars().collect();
    call.budget.charge(SEARCH + text.len() as u64 / 4)?;
    if let [_, Value::String(part), ..] = call.args {
        call.budget.charge_text(part.len())?;
    }
    match call.args {
        [_, Value::String(part)] => Ok((text, part.chars().collect(), None)),
        [_, Value::String(part), Value::Int(from)] => {
            if *from < 0 && !part.is_empty() {
                return Err(outside(&Value::Int(*from)));
            }
            Ok((text, part.chars().collect(), Some(*from)))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// Where a search begins; nothing is found from beyond the end on.
fn beginning(from: Option<i64>, text: &[char]) -> Option<usize> {
    usize::try_from(from.unwrap_or(0)).ok().filter(|from| *from < text.len())
}

pub(super) fn index_of(call: &mut Call<'_>) -> Result<Value, Fault> {
    let (text, part, from) = search(call)?;
    if part.is_empty() {
        return Ok(Value::Int(from.unwrap_or(0)));
    }
    let Some(from) = beginning(from, &text) else { return Ok(Value::Int(-1)) };
    call.budget.charge_text(text.len() * part.len())?;
    let found = text.windows(part.len()).skip(from).position(|window| window == part);
    Ok(found.map_or(Value::Int(-1), |found| count(from + found)))
}

pub(super) fn last_index_of(call: &mut Call<'_>) -> Result<Value, Fault> {
    let (text, part, from) = search(call)?;
    if part.is_empty() {
        return Ok(from.map_or_else(|| count(text.len()), Value::Int));
    }
    if from.is_some() && beginning(from, &text).is_none() {
        return Ok(Value::Int(-1));
    }
    call.budget.charge_text(text.len() * part.len())?;
    let last = from.map_or(text.len(), |from| usize::try_from(from).unwrap_or(usize::MAX));
    let found = text.windows(part.len()).take(last.saturating_add(1)).rposition(|w| w == part);
    Ok(found.map_or(Value::Int(-1), count))
}

pub(super) fn reverse(call: &mut Call<'_>) -> Result<Value, Fault> {
    map(call, |text| text.chars().rev().collect())
}

fn join(call: &mut Call<'_>) -> Result<Value, Fault> {
    let (items, separator) = match call.args {
        [Value::List(items)] => (items, ""),
        [Value::List(items), Value::String(separator)] => (items, &**separator),
        _ => return Err(Fault::no_such_overload()),
    };
    let mut parts = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Value::String(part) = item else {
            return Err(Fault::no_such_overload());
        };
        call.budget.charge_text(part.len() + separator.len())?;
        parts.push(&**part);
    }
    Ok(Value::from(parts.join(separator)))
}

/// A count that may be negative, which means no limit.
fn limit(value: &Value) -> Result<Option<usize>, Fault> {
    position(value)
}

fn replace(call: &mut Call<'_>) -> Result<Value, Fault> {
    let text = text(call)?;
    let (old, new, limit) = match call.args {
        [_, Value::String(old), Value::String(new)] => (old, new, None),
        [_, Value::String(old), Value::String(new), most] => (old, new, limit(most)?),
        _ => return Err(Fault::no_such_overload()),
    };
    call.budget.charge(SEARCH + old.len() as u64)?;
    let places = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
    call.budget.charge_text(places.min(limit.unwrap_or(places)).saturating_mul(new.len()))?;
    Ok(Value::from(match limit {
        Some(limit) => text.replacen(&**old, new, limit),
        None => text.replace(&**old, new),
    }))
}

fn split(call: &mut Call<'_>) -> Result<Value, Fault> {
    let text = text(call)?;
    let (separator, limit) = match call.args {
        [_, Value::String(separator)] => (separator, None),
        [_, Value::String(separator), most] => (separator, limit(most)?),
        _ => return Err(Fault::no_such_overload()),
    };
    call.budget.charge(SEARCH + separator.len() as u64)?;
    let most = limit.unwrap_or(usize::MAX);
    if most == 0 {
        return Ok(Value::list(Vec::new()));
    }
    // Each part is charged before it is made, so that the budget bounds memory too.
    let parts_most = match separator.is_empty() {
        true => text.len(),
        false => text.matches(&**separator).count() + 1,
    };
    call.budget.charge(PART.saturating_mul(parts_most.min(most) as u64))?;
    let parts: Vec<Value> = if separator.is_empty() {
        characters(text, most)
    } else {
        text.splitn(most, &**separator).map(Value::from).collect()
    };
    Ok(Value::list(parts))
}

/// Every character by itself, what is beyond the limit together.
fn characters(text: &str, most: usize) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = if parts.len() + 1 == most { rest.len() } else { first.len_utf8() };
        let (part, after) = rest.split_at(at);
        parts.push(Value::from(part));
        rest = after;
    }
    parts
}

fn substring(call: &mut Call<'_>) -> Result<Value, Fault> {
    let text: Vec<char> = text(call)?.chars().collect();
    let (from, to) = match call.args {
        [_, from] => (from, None),
        [_, from, to] => (from, Some(to)),
        _ => return Err(Fault::no_such_overload()),
    };
    let start = position(from)?.ok_or_else(|| outside(from))?;
    let end = match to {
        Some(to) => position(to)?.ok_or_else(|| outside(to))?,
        None => text.len(),
    };
    let part = text.get(start..end).ok_or_else(|| outside(from))?;
    Ok(Value::from(part.iter().collect::<String>()))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
