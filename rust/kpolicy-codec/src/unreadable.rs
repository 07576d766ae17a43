//! The report on an object that could not be read: a code, the object, and a message. The caller
//! adds where the bytes came from.

use crate::limits::{QUOTE_BYTES_MAX, UNREADABLE_NAMED_MAX};

/// Why something could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The text is not JSON from here on.
    NotJson,
    /// The text is not YAML.
    NotYaml,
    /// A field has a wrong type or form.
    BadField,
    /// `metadata.name` or `kind` is missing.
    NoName,
    /// Larger than a bound of `limits`.
    TooLarge,
    /// A watch event of an unknown type or without an object.
    BadEvent,
    /// Objects of kinds that no rule reads.
    OtherKind,
    /// There were too many; the rest is not named.
    More,
}

impl Code {
    /// The code as Python and people see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotJson => "NotJson",
            Self::NotYaml => "NotYaml",
            Self::BadField => "BadField",
            Self::NoName => "NoName",
            Self::TooLarge => "TooLarge",
            Self::BadEvent => "BadEvent",
            Self::OtherKind => "OtherKind",
            Self::More => "More",
        }
    }
}

/// An object that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Why it could not be read.
    pub code: Code,
    /// `Pod namespace/name` if that is known, otherwise its position.
    pub object: String,
    /// The text for people.
    pub message: String,
}

impl Unreadable {
    /// An object with the reason; long texts are cut.
    pub fn new(code: Code, object: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, object: quoted(object.into()), message: quoted(message.into()) }
    }
}

/// Cut to what a person reads.
fn quoted(mut text: String) -> String {
    if text.len() > QUOTE_BYTES_MAX {
        let end = (0..=QUOTE_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Everything unreadable in one call, bounded.
#[derive(Debug, Default)]
pub struct Unread {
    named: Vec<Unreadable>,
    more: usize,
}

impl Unread {
    pub fn add(&mut self, unreadable: Unreadable) {
        if self.named.len() < UNREADABLE_NAMED_MAX {
            self.named.push(unreadable);
        } else {
            self.more += 1;
        }
    }

    pub fn finish(mut self) -> Vec<Unreadable> {
        if self.more > 0 {
            let message = format!("{} more objects could not be read", self.more);
            self.named.push(Unreadable::new(Code::More, "", message));
        }
        self.named
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Unread, Unreadable};
    use crate::limits::{QUOTE_BYTES_MAX, UNREADABLE_NAMED_MAX};

    #[test]
    fn texts_and_counts_are_bounded() {
        let mut unread = Unread::default();
        for _ in 0..UNREADABLE_NAMED_MAX + 7 {
            unread.add(Unreadable::new(Code::BadField, "é".repeat(10_000), "m"));
        }
        let named = unread.finish();
        assert_eq!(named.len(), UNREADABLE_NAMED_MAX + 1);
        assert!(named.iter().all(|each| each.object.len() <= QUOTE_BYTES_MAX + 3));
        let last = named.last().expect("there are some");
        assert_eq!(
            (last.code, last.message.as_str()),
            (Code::More, "7 more objects could not be read")
        );
    }
}
