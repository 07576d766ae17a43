//! Scalars in JSON: text, times and amounts, borrowed from the input or refused.

use kpolicy_engine::model::{Quantity, QuantityFormat, WrittenQuantity};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use crate::quantity;
use crate::timestamp;

/// A string, borrowed from the input unless it holds escapes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub fn boxed(self) -> Box<str> {
        match self.0 {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into_boxed_str(),
        }
    }

    /// Where empty, what the API takes instead.
    pub fn boxed_or(self, default: &str) -> Box<str> {
        if self.is_empty() { default.into() } else { self.boxed() }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Text<'_>> for Box<str> {
    fn from(text: Text<'_>) -> Self {
        text.boxed()
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Characters;
        impl<'de> Visitor<'de> for Characters {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Characters)
    }
}

/// A time as seconds since the epoch; empty text equals absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Time(pub Option<i64>);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        timestamp::seconds(&text)
            .map(|seconds| Self(Some(seconds)))
            .ok_or_else(|| D::Error::custom("a time is written as in 2026-11-21T13:24:14Z"))
    }
}

/// An amount of a resource: a quantity that is not negative, as a string or a number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Amount(pub Quantity);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        let parsed = match written.as_bytes() {
            [b'"', ..] => match inside_quotes(written) {
                Some(text) => quantity::parse(text),
                None => quantity::parse(
                    &serde_json::from_str::<String>(written).map_err(Error::custom)?,
                ),
            },
            [b'-' | b'0'..=b'9', ..] => quantity::parse(written),
            _ => return Err(D::Error::custom("a quantity is a string or a number")),
        };
        let amount = parsed.map_err(Error::custom)?;
        if amount < Quantity::ZERO {
            return Err(D::Error::custom("an amount must not be negative"));
        }
        Ok(Self(amount))
    }
}

/// A quantity with the form in which it is written; it may be negative.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written(pub WrittenQuantity);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        let text: Cow<'_, str> = match written.as_bytes() {
            [b'"', ..] => match inside_quotes(written) {
                Some(text) => text.into(),
                None => serde_json::from_str::<String>(written).map_err(Error::custom)?.into(),
            },
            [b'-' | b'0'..=b'9', ..] => written.into(),
            _ => return Err(D::Error::custom("a quantity is a string or a number")),
        };
        let amount = quantity::parse(&text).map_err(Error::custom)?;
        let text = text.trim();
        let format = if text.ends_with('i') {
            QuantityFormat::Binary
        } else if text.contains(['e', 'E']) && !text.ends_with('E') {
            QuantityFormat::Exponent
        } else {
            QuantityFormat::Decimal
        };
        Ok(Self(WrittenQuantity { amount, format }))
    }
}

/// The JSON of a value, as it is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Json(pub Box<str>);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(<&RawValue>::deserialize(deserializer)?.get().into()))
    }
}

/// The text of a JSON string without escapes.
fn inside_quotes(written: &str) -> Option<&str> {
    let text = written.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then_some(text)
}
