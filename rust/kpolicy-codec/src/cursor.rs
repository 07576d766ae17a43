//! A position in a JSON text, moved value by value.
//!
//! Walks the outer structure of lists and events, so that one bad value inside costs only itself: a
//! value that does not fit is skipped from where it began. The text is UTF-8.

use serde::de::{Deserialize, IgnoredAny};

use crate::wire::scalar::Text;

/// The text is not JSON from `at` on.
#[derive(Debug)]
pub struct Syntax {
    pub at: usize,
    pub message: String,
}

impl std::fmt::Display for Syntax {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} at byte {}", self.message, self.at)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Where inside an array, an object or documents one after another: before the first member or
/// behind one.
#[derive(Clone, Copy)]
pub(crate) struct Members {
    /// What ends them; nothing but the text ends documents.
    close: Option<u8>,
    is_first: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// In the same text, elsewhere.
    pub(crate) fn moved_to(&self, at: usize) -> Self {
        Self { text: self.text, at }
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().as_bytes();
        let spaces = rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.at += spaces;
        rest.get(spaces).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), Syntax> {
        if self.take(byte) {
            return Ok(());
        }
        let message = match self.peek() {
            None => format!("the text ends where `{}` is due", char::from(byte)),
            Some(_) => format!("`{}` is due", char::from(byte)),
        };
        Err(self.syntax(message))
    }

    pub(crate) fn syntax(&self, message: impl Into<String>) -> Syntax {
        Syntax { at: self.at, message: message.into() }
    }

    pub(crate) fn object(&mut self) -> Result<Members, Syntax> {
        self.expect(b'{')?;
        Ok(Members { close: Some(b'}'), is_first: true })
    }

    pub(crate) fn array(&mut self) -> Result<Members, Syntax> {
        self.expect(b'[')?;
        Ok(Members { close: Some(b']'), is_first: true })
    }

    /// The next value as `decode` reads it from at most `bytes_max` bytes. Where that fails the
    /// cursor has not moved.
    pub(crate) fn read<T>(
        &mut self,
        bytes_max: usize,
        decode: impl FnOnce(&mut Json<'a>) -> Result<T, serde_json::Error>,
    ) -> Result<T, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(prefix(self.rest(), bytes_max));
        let value = decode(&mut json)?;
        self.at += json.into_iter::<IgnoredAny>().byte_offset();
        Ok(value)
    }

    /// The next value if it has the type, otherwise it is skipped.
    pub(crate) fn value<T: Deserialize<'a>>(&mut self) -> Result<Option<T>, Syntax> {
        if let Ok(value) = self.read(usize::MAX, |json| T::deserialize(json)) {
            return Ok(Some(value));
        }
        self.skip().map(|_| None)
    }

    /// The next value as it is written.
    pub(crate) fn skip(&mut self) -> Result<&'a str, Syntax> {
        self.peek();
        let from = self.at;
        match self.read(usize::MAX, |json| IgnoredAny::deserialize(json)) {
            Ok(IgnoredAny) => Ok(self.text.get(from..self.at).unwrap_or_default()),
            Err(error) => Err(self.syntax(without_position(&error))),
        }
    }
}

/// What `read` hands to its caller.
pub(crate) type Json<'a> = serde_json::Deserializer<serde_json::de::StrRead<'a>>;

impl Members {
    /// Documents one after another.
    pub(crate) fn documents() -> Self {
        Self { close: None, is_first: true }
    }

    /// Whether another member follows; the cursor stands at it.
    pub(crate) fn next(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Syntax> {
        let Some(close) = self.close else { return Ok(cursor.peek().is_some()) };
        if std::mem::take(&mut self.is_first) {
            return Ok(!cursor.take(close));
        }
        if cursor.take(b',') {
            return Ok(true);
        }
        cursor.expect(close).map(|()| false)
    }

    /// The key of the next field; the cursor stands at its value.
    pub(crate) fn next_key<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Text<'a>>, Syntax> {
        if !self.next(cursor)? {
            return Ok(None);
        }
        let key = cursor.read(usize::MAX, |json| Text::deserialize(json));
        let key = key.map_err(|error| cursor.syntax(without_position(&error)))?;
        cursor.expect(b':')?;
        Ok(Some(key))
    }
}

/// The message of an error without the line and column, which count from where reading began.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(end) = text.rfind(" at line ") {
        text.truncate(end);
    }
    text
}

fn prefix(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    // A character takes at most four bytes.
    (bytes_max.saturating_sub(3)..=bytes_max).rev().find_map(|end| text.get(..end)).unwrap_or(text)
}
