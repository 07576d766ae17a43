//! Reads events of a watch, one on each line: `{"type": …, "object": …}`.
//!
//! Lines are whole. If a line cannot be read, only that event is lost, and its resourceVersion
//! still counts if it can be found.

use kpolicy_engine::model::{Event, Kind};
use serde::de::Deserialize;

use crate::cursor::{Cursor, Syntax};
use crate::feed::{Feed, Status, StatusWire};
use crate::kept::Keep;
use crate::limits::OBJECT_BYTES_MAX;
use crate::object::{self, Bare, Refused, Whole};
use crate::unreadable::{Code, Unread, Unreadable};
use crate::wire::scalar::Text;

/// Reads events about objects of one kind, handing each to `sink`.
pub fn lines(body: &[u8], kind: Kind, keep: Keep<'_>, sink: &mut dyn FnMut(Event)) -> Feed {
    let text = crate::text(body);
    let mut watch = Watch { kind, keep, sink, feed: Feed::default(), unread: Unread::default() };
    for (number, line) in (1_usize..).zip(text.split('\n')) {
        let mut cursor = Cursor::new(line);
        while cursor.peek().is_some() {
            if let Err(syntax) = watch.frame(&mut cursor, number) {
                let place = format!("line {number}");
                watch.unread.add(Unreadable::new(Code::NotJson, place, syntax.to_string()));
                break;
            }
        }
    }
    watch.feed.finished(watch.unread)
}

struct Watch<'s> {
    kind: Kind,
    keep: Keep<'s>,
    sink: &'s mut dyn FnMut(Event),
    feed: Feed,
    unread: Unread,
}

impl Watch<'_> {
    fn frame(&mut self, cursor: &mut Cursor<'_>, number: usize) -> Result<(), Syntax> {
        let from = cursor.clone();
        let mut members = cursor.object()?;
        let mut event = Text::default();
        let mut waiting: Option<&str> = None;
        let mut is_done = false;
        while let Some(key) = members.next_key(cursor)? {
            match &*key {
                "type" => event = cursor.value()?.unwrap_or_default(),
                // The API server writes the type first; others may not.
                "object" if event.is_empty() => waiting = Some(cursor.skip()?),
                "object" => {
                    self.event(&event, cursor, number)?;
                    is_done = true;
                }
                // A failure may come as a bare Status instead of an event.
                "kind" if cursor.value::<Text<'_>>()?.as_deref() == Some("Status") => {
                    *cursor = from;
                    self.feed.status = Some(status(cursor)?);
                    return Ok(());
                }
                "kind" => {}
                _ => {
                    cursor.skip()?;
                }
            }
        }
        match (is_done, waiting) {
            (true, _) => Ok(()),
            (false, Some(object)) => self.event(&event, &mut Cursor::new(object), number),
            (false, None) => {
                self.refuse(number, "an event without an object");
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &str, cursor: &mut Cursor<'_>, number: usize) -> Result<(), Syntax> {
        let kind = self.kind;
        let place = || format!("line {number}");
        match event {
            "ADDED" | "MODIFIED" => match object::read(cursor, Whole(kind, self.keep), &place)? {
                Ok(object) => {
                    self.newest(&object.meta().resource_version);
                    (self.sink)(Event::Present(object));
                }
                Err(refused) => self.refused(refused),
            },
            "DELETED" => match object::read(cursor, Bare(kind), &place)? {
                Ok(meta) => {
                    self.newest(&meta.resource_version);
                    (self.sink)(Event::Gone(kind, Box::new(meta)));
                }
                Err(refused) => self.refused(refused),
            },
            "BOOKMARK" => self.bookmark(cursor)?,
            "ERROR" => self.feed.status = Some(status(cursor)?),
            _ => {
                cursor.skip()?;
                self.refuse(number, format!("an event of unknown type `{event}`"));
            }
        }
        Ok(())
    }

    /// A bookmark has a version but no name.
    fn bookmark(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Syntax> {
        use crate::wire::meta::BareWire;
        let read = cursor.read(OBJECT_BYTES_MAX, |json| BareWire::deserialize(json));
        let Ok(BareWire { meta }) = read else {
            return cursor.skip().map(|_| ());
        };
        self.newest(&meta.resource_version);
        Ok(())
    }

    fn newest(&mut self, resource_version: &str) {
        if !resource_version.is_empty() {
            resource_version.clone_into(&mut self.feed.resource_version);
        }
    }

    fn refused(&mut self, refused: Refused) {
        self.newest(&refused.resource_version);
        self.unread.add(refused.unreadable);
    }

    fn refuse(&mut self, number: usize, message: impl Into<String>) {
        self.unread.add(Unreadable::new(Code::BadEvent, format!("line {number}"), message));
    }
}

fn status(cursor: &mut Cursor<'_>) -> Result<Status, Syntax> {
    Ok(cursor.value::<StatusWire<'_>>()?.unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::{Code, Feed, Keep};
    use kpolicy_engine::model::{Event, Kind};

    fn read(lines_of_events: &[&str]) -> (Vec<String>, Feed) {
        let mut events = Vec::new();
        let body = lines_of_events.join("\n");
        let feed = lines(body.as_bytes(), Kind::Pod, Keep(None), &mut |event| {
            events.push(match event {
                Event::Present(object) => format!("+{}", object.meta().name),
                Event::Gone(kind, meta) => format!("-{} {}", kind.name(), meta.name),
            });
        });
        (events, feed)
    }

    #[test]
    fn events_are_read_line_by_line() {
        let (events, feed) = read(&[
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}"#,
            "\r",
            r#"{"object":{"metadata":{"name":"a","resourceVersion":"2"}},"type":"MODIFIED"}"#,
            r#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"3"},"spec":7}}"#,
            "",
        ]);
        assert_eq!(events, ["+a", "+a", "-Pod a"]);
        assert_eq!((feed.resource_version.as_str(), feed.unreadable.len()), ("3", 0));
    }

    #[test]
    fn two_events_in_a_line_are_two() {
        let (events, feed) = read(&[concat!(
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}} "#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"b"}}} oh"#,
        )]);
        assert_eq!(events, ["+a", "+b"]);
        assert_eq!(feed.unreadable.len(), 1);
    }

    #[test]
    fn bookmarks_move_the_version() {
        let (events, feed) = read(&[
            r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"8"}}}"#,
        ]);
        assert_eq!((events.len(), feed.resource_version.as_str()), (0, "8"));
    }

    #[test]
    fn failures_are_told_as_event_or_as_body() {
        let status = r#"{"kind":"Status","status":"Failure","reason":"Expired","code":410}"#;
        for line in [format!(r#"{{"type":"ERROR","object":{status}}}"#), status.to_owned()] {
            let feed = read(&[&line]).1;
            let status = feed.status.expect("it is a failure");
            assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
            assert_eq!(feed.unreadable, []);
        }
        let odd = read(&[r#"{"type":"ERROR","object":null}"#]).1.status.expect("a failure still");
        assert_eq!(odd.code, 500);
    }

    #[test]
    fn a_bad_line_costs_itself_and_its_version_counts() {
        let (events, feed) = read(&[
            concat!(
                r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"n","#,
                r#""resourceVersion":"5"},"spec":[]}}"#
            ),
            r#"{"type":"ADDED","object":"#,
            "nonsense",
            r#"{"type":"SYNC","object":{}}"#,
            r#"{"type":"ADDED"}"#,
            r#"{"type":7,"object":{}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"b"}}}"#,
        ]);
        assert_eq!(events, ["+b"]);
        assert_eq!(feed.resource_version, "5");
        let reported: Vec<(Code, &str)> =
            feed.unreadable.iter().map(|each| (each.code, each.object.as_str())).collect();
        assert_eq!(
            reported,
            [
                (Code::BadField, "Pod n/a"),
                (Code::NotJson, "line 2"),
                (Code::NotJson, "line 3"),
                (Code::BadEvent, "line 4"),
                (Code::BadEvent, "line 5"),
                (Code::BadEvent, "line 6"),
            ]
        );
    }
}
