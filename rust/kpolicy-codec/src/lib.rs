//! The codec: bytes of Kubernetes objects to the engine's model.
//!
//! Owns JSON and its oddities: what comes out is complete, defaulted and bounded, and what cannot be
//! read is named and costs itself only. Assumes bodies whole in memory. Must not know what a rule
//! does with an object, nor Python, files or HTTP; arbitrary bytes never panic.
//!
//! [`list::page`] reads a page of a list, [`watch::lines`] events of a watch, [`file::objects`] a
//! file of objects; each gives objects one by one to the caller as they are read, with what [`Keep`]
//! says is to be kept of them by API path.

mod cursor;
mod feed;
pub mod file;
mod header;
mod kept;
pub mod limits;
pub mod list;
mod object;
pub mod quantity;
mod timestamp;
mod unreadable;
pub mod watch;
mod wire;
mod yaml;

pub use feed::{Feed, Status};
pub use kept::Keep;
pub use unreadable::{Code, Unreadable};

use std::borrow::Cow;

/// The body as text. What is not UTF-8 is replaced, as Go's decoder does.
fn text(body: &[u8]) -> Cow<'_, str> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(body),
    }
}
