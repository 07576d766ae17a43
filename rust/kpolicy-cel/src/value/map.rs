//! Maps: entries sorted by key, so that nothing depends on the order of insertion.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::Value;

/// A key of a map. Numbers of equal value are the same key, whatever their type.
#[derive(Clone, Debug)]
pub enum Key {
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Int(i64),
    /// A `uint`.
    Uint(u64),
    /// A `string`.
    String(Arc<str>),
}

impl Key {
    /// The key a value denotes; doubles only when integral, as they then equal an integer key.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Uint(value) => Some(Self::Uint(*value)),
            Value::String(text) => Some(Self::String(text.clone())),
            Value::Double(value) => integral(*value),
            _ => None,
        }
    }

    /// The key as a value.
    pub fn value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::String(text) => Value::String(text.clone()),
        }
    }

    /// The key as it is shown.
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_string().into(),
        }
    }

    fn number(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            Self::Bool(_) | Self::String(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Int(_) | Self::Uint(_) => 1,
            Self::String(_) => 2,
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn integral(value: f64) -> Option<Key> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() != 0.0 {
        None
    } else if (-TWO_63..TWO_63).contains(&value) {
        Some(Key::Int(value as i64))
    } else if (TWO_63..2.0 * TWO_63).contains(&value) {
        Some(Key::Uint(value as u64))
    } else {
        None
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()).then_with(|| self.number().cmp(&other.number())),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Int(value) => write!(formatter, "{value}"),
            Self::Uint(value) => write!(formatter, "{value}"),
            Self::String(text) => formatter.write_str(text),
        }
    }
}

/// A map by ascending key: booleans, then numbers, then strings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<(Key, Value)>,
}

impl Map {
    /// The map of these entries, or the key that occurs twice.
    pub fn new(mut entries: Vec<(Key, Value)>) -> Result<Self, Key> {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let twice = entries.windows(2).find_map(|pair| match pair {
            [a, b] if a.0 == b.0 => Some(a.0.clone()),
            _ => None,
        });
        match twice {
            Some(key) => Err(key),
            None => Ok(Self { entries }),
        }
    }

    /// The map of string keys; of a key given twice the last entry stays.
    pub fn of_strings<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        let mut entries: Vec<(Key, Value)> =
            entries.into_iter().map(|(key, value)| (Key::String(key.into()), value)).collect();
        entries.reverse();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, earlier| later.0 == earlier.0);
        Self { entries }
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let at = self.entries.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
        self.entries.get(at).map(|entry| &entry.1)
    }

    /// The value of a string key.
    pub fn get_text(&self, key: &str) -> Option<&Value> {
        let at = self
            .entries
            .binary_search_by(|entry| match &entry.0 {
                Key::String(text) => (**text).cmp(key),
                _ => Ordering::Less,
            })
            .ok()?;
        self.entries.get(at).map(|entry| &entry.1)
    }

    /// How many entries the map has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Value)> {
        self.entries.iter().map(|entry| (&entry.0, &entry.1))
    }
}
