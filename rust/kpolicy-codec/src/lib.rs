//! The codec: reads bytes of Kubernetes objects into the engine's model.
//!
//! Objects come out complete, defaulted and bounded. An object that cannot be read is named and
//! costs only itself. Bodies are whole in memory; arbitrary bytes never panic. The codec does not
//! know rules, Python, files or HTTP.
//!
//! [`list::page`] reads a page of a list, [`watch::lines`] events of a watch, [`file::objects`] a
//! file of objects. Each hands objects to the caller one by one as they are read, with the API
//! paths that [`Keep`] asks for.

#![warn(missing_docs)]

mod cursor;
mod feed;
pub mod file;
mod handover;
mod header;
mod kept;
mod kinds;
pub mod limits;
pub mod list;
mod object;
mod pieces;
pub mod quantity;
mod timestamp;
mod unreadable;
pub mod watch;
mod wire;
mod yaml;

pub use feed::{Feed, Status};
pub use handover::Sink;
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
