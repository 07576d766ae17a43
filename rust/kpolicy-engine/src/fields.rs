//! Strict reading of the program document: a field that is not read is refused.
//!
//! [`Fields`] is one JSON object that is being read; [`Refusals`] holds the codes. Places are JSON
//! paths such as `$.profiles[0].filters[2].args`.

use serde_json::{Map, Value};

use crate::api::Refusal;

/// A field, a name or a value that does not belong there.
pub(crate) const UNKNOWN: &str = "PR101";
/// A field that must be there.
pub(crate) const MISSING: &str = "PR102";
/// A value of the wrong type.
pub(crate) const WRONG_TYPE: &str = "PR103";
/// A value out of its range.
pub(crate) const OUT_OF_RANGE: &str = "PR104";
/// An expression that the verifier does not accept.
pub(crate) const BAD_EXPRESSION: &str = "PR105";
/// Values that contradict each other.
pub(crate) const CONFLICT: &str = "PR106";

/// A program with more faults than this is not read further.
const REFUSALS_MAX: usize = 100;

/// What a reader found wrong with the program so far; bounded in number.
#[derive(Debug, Default)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    pub(crate) fn add(
        &mut self,
        code: &'static str,
        place: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.0.len() < REFUSALS_MAX {
            let (message, hint) = (message.into(), hint.into());
            self.0.push(Refusal { code, place: place.to_owned(), message, hint });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_list(self) -> Vec<Refusal> {
        self.0
    }
}

/// One object being read.
#[derive(Debug)]
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: String,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Starts to read a value as an object; refuses anything else.
    pub fn of(value: &'a Value, place: impl Into<String>, refusals: &mut Refusals) -> Option<Self> {
        let place = place.into();
        match value.as_object() {
            Some(map) => Some(Self { map, place, asked: Vec::new() }),
            None => {
                wrong_type(refusals, &place, "an object", value);
                None
            }
        }
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn place_of(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    /// A field that may be absent; null counts as absent.
    pub(crate) fn optional(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn required(
        &mut self,
        name: &'static str,
        refusals: &mut Refusals,
    ) -> Option<&'a Value> {
        let found = self.optional(name);
        if found.is_none() {
            let place = self.place_of(name);
            refusals.add(MISSING, &place, format!("{name} is missing"), "");
        }
        found
    }

    pub(crate) fn text(&mut self, name: &'static str, refusals: &mut Refusals) -> Option<&'a str> {
        let value = self.required(name, refusals)?;
        self.typed(name, value.as_str(), "a string", value, refusals)
    }

    pub(crate) fn text_or(
        &mut self,
        name: &'static str,
        default: &'static str,
        refusals: &mut Refusals,
    ) -> Option<&'a str> {
        let Some(value) = self.optional(name) else { return Some(default) };
        self.typed(name, value.as_str(), "a string", value, refusals)
    }

    pub(crate) fn flag_or(
        &mut self,
        name: &'static str,
        default: bool,
        refusals: &mut Refusals,
    ) -> Option<bool> {
        let Some(value) = self.optional(name) else { return Some(default) };
        self.typed(name, value.as_bool(), "true or false", value, refusals)
    }

    pub(crate) fn integer(
        &mut self,
        name: &'static str,
        range: std::ops::RangeInclusive<i64>,
        refusals: &mut Refusals,
    ) -> Option<i64> {
        let value = self.required(name, refusals)?;
        let number = self.typed(name, value.as_i64(), "an integer", value, refusals)?;
        self.ranged(name, number, range, refusals)
    }

    pub(crate) fn integer_or(
        &mut self,
        name: &'static str,
        default: i64,
        range: std::ops::RangeInclusive<i64>,
        refusals: &mut Refusals,
    ) -> Option<i64> {
        let Some(value) = self.optional(name) else { return Some(default) };
        let number = self.typed(name, value.as_i64(), "an integer", value, refusals)?;
        self.ranged(name, number, range, refusals)
    }

    /// A list, empty where absent, with the place of each item.
    pub(crate) fn list(
        &mut self,
        name: &'static str,
        refusals: &mut Refusals,
    ) -> Option<Vec<(String, &'a Value)>> {
        let Some(value) = self.optional(name) else { return Some(Vec::new()) };
        let items = self.typed(name, value.as_array(), "a list", value, refusals)?;
        let place = self.place_of(name);
        Some(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| (format!("{place}[{index}]"), item))
                .collect(),
        )
    }

    /// A list of strings, empty where absent.
    pub(crate) fn texts(
        &mut self,
        name: &'static str,
        refusals: &mut Refusals,
    ) -> Option<Vec<&'a str>> {
        let items = self.list(name, refusals)?;
        let mut texts = Vec::with_capacity(items.len());
        for (place, item) in items {
            match item.as_str() {
                Some(text) => texts.push(text),
                None => {
                    wrong_type(refusals, &place, "a string", item);
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// An object inside; `None` where absent or not an object (which is refused).
    pub(crate) fn object(
        &mut self,
        name: &'static str,
        refusals: &mut Refusals,
    ) -> Option<Fields<'a>> {
        let value = self.optional(name)?;
        Fields::of(value, self.place_of(name), refusals)
    }

    /// Refuses every field that was not read.
    pub(crate) fn finish(self, refusals: &mut Refusals) {
        for name in self.map.keys() {
            if !self.asked.contains(&name.as_str()) {
                let mut known = self.asked.clone();
                known.sort_unstable();
                refusals.add(
                    UNKNOWN,
                    &self.place_of(name),
                    format!("unknown field {name:?}"),
                    format!("known here: {}", known.join(", ")),
                );
            }
        }
    }

    fn typed<T>(
        &self,
        name: &str,
        read: Option<T>,
        wanted: &str,
        value: &Value,
        refusals: &mut Refusals,
    ) -> Option<T> {
        if read.is_none() {
            wrong_type(refusals, &self.place_of(name), wanted, value);
        }
        read
    }

    fn ranged(
        &self,
        name: &str,
        number: i64,
        range: std::ops::RangeInclusive<i64>,
        refusals: &mut Refusals,
    ) -> Option<i64> {
        if range.contains(&number) {
            return Some(number);
        }
        let message = format!("{name} is {number}");
        let hint = format!("from {} to {}", range.start(), range.end());
        refusals.add(OUT_OF_RANGE, &self.place_of(name), message, hint);
        None
    }
}

fn wrong_type(refusals: &mut Refusals, place: &str, wanted: &str, value: &Value) {
    let have = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    refusals.add(WRONG_TYPE, place, format!("{wanted} is wanted, this is {have}"), "");
}
