//! Metadata of a list page or of watch lines: resource version, continue token, and error status.

use kpolicy_engine::model::Kind;

use crate::cursor::Syntax;
use crate::unreadable::{Code, Unread, Unreadable};
use crate::wire::scalar::Text;
use crate::wire::wire;

/// What a list or watch response says besides its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// Of the list, or of the newest event; empty if neither had it.
    pub resource_version: String,
    /// Where the next page of the list begins; empty on the last page.
    pub continue_token: String,
    /// How many objects are on later pages, if the API server says so.
    pub remaining_item_count: i64,
    /// The body or an event was a failure, or a list broke off: what was read must not be taken for
    /// the whole.
    pub status: Option<Status>,
    /// Objects that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// A failure that the API server reports, or a body that is no answer of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code.
    pub code: i32,
    /// The reason, in one word.
    pub reason: String,
    /// The text for people.
    pub message: String,
}

/// The code of a failure that names none, and of a body that is not JSON.
const CODE_UNKNOWN: i32 = 500;

wire! {
    #[derive(Debug)]
    pub struct StatusWire<'a> {
        "code" => code: i32,
        "reason" => reason: Text<'a>,
        "message" => message: Text<'a>,
    }
}

impl From<StatusWire<'_>> for Status {
    fn from(wire: StatusWire<'_>) -> Self {
        Self {
            code: if wire.code == 0 { CODE_UNKNOWN } else { wire.code },
            reason: wire.reason.boxed().into(),
            message: wire.message.boxed().into(),
        }
    }
}

impl Status {
    /// The status of a body that is not JSON.
    pub fn not_json(syntax: &Syntax) -> Self {
        Self {
            code: CODE_UNKNOWN,
            reason: Code::NotJson.name().to_owned(),
            message: format!("the body is not whole JSON: {syntax}"),
        }
    }

    /// The status of a body that is not a list of the kind that was asked for.
    pub fn other_kind(found: &str, due: Kind) -> Self {
        Self {
            code: CODE_UNKNOWN,
            reason: Code::BadField.name().to_owned(),
            message: format!("a {found}, where a {}List is due", due.name()),
        }
    }
}

impl Feed {
    /// The feed with the objects that could not be read.
    #[must_use]
    pub fn finished(self, unread: Unread) -> Self {
        Self { unreadable: unread.finish(), ..self }
    }
}
