//! Values as JSON, without loss.
//!
//! | value | JSON |
//! |---|---|
//! | null, bool, string, list | as they are |
//! | int | an integer |
//! | others | an object of one key: `{"uint": 1}`, `{"double": "0.5"}`, `{"bytes": base64}`, `{"map": [[k, v], …]}`, `{"timestamp": RFC 3339}`, `{"duration": "1.5s"}`, `{"type": name}`, `{"optional": [] or [v]}`, `{"quantity": text}`, `{"selector": text}`, `{"ip": text}`, `{"cidr": text}`, `{"semver": text}`, `{"url": text}`, `{"format": name}`, `{"object": name}` |

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{
    Cidr, Duration, Key, Map, NamedFormat, Quantity, Selector, Semver, Timestamp, Url, Value,
    parse_ip,
};

/// How deep values may nest.
const DEPTH_MAX: usize = 100;

/// The JSON form of a value. Objects of the host are named only and cannot be read back.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::String(text) => json!(**text),
        Value::List(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Uint(value) => json!({"uint": value}),
        Value::Double(value) => json!({"double": double_text(*value)}),
        Value::Bytes(bytes) => json!({"bytes": encode_base64(bytes)}),
        Value::Map(map) => {
            let pair =
                |(key, value): (&Key, &Value)| json!([to_json(&key.value()), to_json(value)]);
            json!({"map": map.iter().map(pair).collect::<Vec<_>>()})
        }
        Value::Timestamp(time) => json!({"timestamp": time.text()}),
        Value::Duration(duration) => json!({"duration": duration.text()}),
        Value::Type(name) => json!({"type": **name}),
        Value::Optional(inner) => {
            json!({"optional": inner.iter().map(|value| to_json(value)).collect::<Vec<_>>()})
        }
        Value::Quantity(quantity) => json!({"quantity": quantity.text()}),
        Value::Selector(selector) => json!({"selector": selector.text()}),
        Value::Ip(address) => json!({"ip": address.to_string()}),
        Value::Cidr(range) => json!({"cidr": range.to_string()}),
        Value::Semver(version) => json!({"semver": version.text()}),
        Value::Url(url) => json!({"url": url.text()}),
        Value::Format(format) => json!({"format": format.name()}),
        Value::Object(object) => json!({"object": object.type_name()}),
    }
}

/// The value of a JSON form.
pub fn from_json(json: &Json) -> Result<Value, String> {
    read(json, DEPTH_MAX)
}

fn read(json: &Json, depth: usize) -> Result<Value, String> {
    let depth = depth.checked_sub(1).ok_or("nested too deeply")?;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => Value::Int(value),
            (None, Some(value)) if number.is_f64() => Value::Double(value),
            _ => return Err(format!("{number} is not an int")),
        },
        Json::Array(items) => {
            Value::list(items.iter().map(|item| read(item, depth)).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let mut entries = object.iter();
            match (entries.next(), entries.next()) {
                (Some((tag, body)), None) => tagged(tag, body, depth)?,
                _ => return Err("an object of a value has exactly one key".into()),
            }
        }
    })
}

fn tagged(tag: &str, body: &Json, depth: usize) -> Result<Value, String> {
    let bad = || format!("`{body}` is not a {tag}");
    let text = || body.as_str().ok_or_else(bad);
    Ok(match tag {
        "uint" => Value::Uint(body.as_u64().ok_or_else(bad)?),
        "double" => Value::Double(match body {
            Json::String(text) => text.parse().map_err(|_| bad())?,
            other => other.as_f64().ok_or_else(bad)?,
        }),
        "bytes" => Value::Bytes(decode_base64(text()?).ok_or_else(bad)?.into()),
        "map" => {
            let pairs = body.as_array().ok_or_else(bad)?;
            let entries = pairs.iter().map(|pair| entry(pair, depth)).collect::<Result<_, _>>()?;
            Value::map(Map::new(entries).map_err(|key| format!("key {key} is given twice"))?)
        }
        "timestamp" => Value::Timestamp(Timestamp::parse(text()?).ok_or_else(bad)?),
        "duration" => Value::Duration(Duration::parse(text()?).ok_or_else(bad)?),
        "type" => Value::Type(text()?.into()),
        "optional" => match body.as_array().map(Vec::as_slice) {
            Some([]) => Value::NONE,
            Some([inner]) => Value::some(read(inner, depth)?),
            _ => return Err(bad()),
        },
        "quantity" => Value::Quantity(Quantity::parse(text()?).ok_or_else(bad)?.into()),
        "selector" => Value::Selector(Selector::parse(text()?)?.into()),
        "ip" => Value::Ip(Arc::new(parse_ip(text()?)?)),
        "cidr" => Value::Cidr(Arc::new(Cidr::parse(text()?)?)),
        "semver" => Value::Semver(Semver::parse(text()?)?.into()),
        "url" => Value::Url(Url::parse(text()?)?.into()),
        "format" => Value::Format(NamedFormat::named(text()?).ok_or_else(bad)?),
        _ => return Err(format!("`{tag}` is not a tag of a value")),
    })
}

fn entry(pair: &Json, depth: usize) -> Result<(Key, Value), String> {
    match pair.as_array().map(Vec::as_slice) {
        Some([key, value]) => {
            let key = read(key, depth)?;
            let key = match key {
                Value::Double(_) => None,
                other => Key::of(&other),
            };
            Ok((key.ok_or("a key is a bool, int, uint or string")?, read(value, depth)?))
        }
        _ => Err("an entry of a map is a pair".into()),
    }
}

/// The shortest text that reads back as the same double.
pub(crate) fn double_text(value: f64) -> String {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else {
        format!("{value:?}")
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = (at(0) << 16) | (at(1) << 8) | at(2);
        for position in 0..4 {
            let figure = (group >> (18 - 6 * position)) & 63;
            let letter = ALPHABET.get(figure as usize).copied().unwrap_or(b'=');
            text.push(if position <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Padding may be missing as a whole, and lines may be broken, as in CEL's `base64.decode`.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let figures: Vec<u8> = text.bytes().filter(|byte| !b"\r\n".contains(byte)).collect();
    let padding = figures.iter().rev().take_while(|figure| **figure == b'=').count();
    let whole = figures.len();
    let figures = figures.get(..whole - padding)?;
    if (padding > 0 && (padding > 2 || !whole.is_multiple_of(4))) || figures.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(figures.len() * 3 / 4);
    let (mut group, mut bits) = (0_u32, 0_u32);
    for &letter in figures {
        let figure = ALPHABET.iter().position(|candidate| *candidate == letter)?;
        group = (group << 6) | u32::try_from(figure).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((group >> bits) & 0xff).ok()?);
            group &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}
