//! Reads a page of a list as the API server sends it: the metadata of the list and its items, in
//! any order of fields.
//!
//! Items of a typed list carry neither kind nor apiVersion. A page that is cut short has a status,
//! so that it is not taken for the whole list; so has a list of another kind.

use kpolicy_engine::model::Kind;

use crate::cursor::{Cursor, Syntax};
use crate::feed::{Feed, Status, StatusWire};
use crate::handover::{Handover, Sink};
use crate::kept::Keep;
use crate::pieces::Walk;
use crate::wire::scalar::Text;
use crate::wire::wire;

wire! {
    struct ListMetaWire<'a> {
        "resourceVersion" => resource_version: Text<'a>,
        "continue" => continue_token: Text<'a>,
        "remainingItemCount" => remaining_item_count: i64,
    }
}

/// Reads a page of objects of one kind, handing each to `sink`.
pub fn page(body: &[u8], kind: Kind, keep: Keep<'_>, sink: &mut Sink<'_>) -> Feed {
    let text = crate::text(body);
    let mut page = Page { kind, feed: Feed::default(), items: Handover::new(keep, sink) };
    if let Err(syntax) = page.read(&text) {
        page.feed.status = Some(Status::not_json(&syntax));
    }
    page.feed.finished(page.items.finish())
}

struct Page<'s> {
    kind: Kind,
    feed: Feed,
    items: Handover<'s>,
}

impl Page<'_> {
    fn read(&mut self, text: &str) -> Result<(), Syntax> {
        let mut cursor = Cursor::new(text);
        let mut status = StatusWire::default();
        let mut kind = Text::default();
        let mut members = cursor.object()?;
        while let Some(key) = members.next_key(&mut cursor)? {
            match &*key {
                "kind" => kind = cursor.value()?.unwrap_or_default(),
                "metadata" => {
                    let meta: ListMetaWire<'_> = cursor.value()?.unwrap_or_default();
                    self.feed.resource_version = meta.resource_version.boxed().into();
                    self.feed.continue_token = meta.continue_token.boxed().into();
                    self.feed.remaining_item_count = meta.remaining_item_count;
                }
                "items" if cursor.peek() == Some(b'[') => self.items(&mut cursor)?,
                "code" => status.code = cursor.value()?.unwrap_or_default(),
                "reason" => status.reason = cursor.value()?.unwrap_or_default(),
                "message" => status.message = cursor.value()?.unwrap_or_default(),
                _ => {
                    cursor.skip()?;
                }
            }
        }
        match &*kind {
            "Status" => self.feed.status = Some(status.into()),
            "" | "List" => {}
            list if list.strip_suffix("List") == Some(self.kind.name()) => {}
            other => self.feed.status = Some(Status::other_kind(other, self.kind)),
        }
        match cursor.peek() {
            None => Ok(()),
            Some(_) => Err(cursor.syntax("something follows the list")),
        }
    }

    fn items(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Syntax> {
        let kind = self.kind;
        let members = cursor.array()?;
        let mut items = Walk::new(cursor.clone(), members);
        items.read(&mut self.items, &|cursor, position, to| {
            to.object(cursor, kind, &|| format!("items[{position}]"))
        })?;
        *cursor = items.cursor;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::{Code, Feed, Keep};
    use kpolicy_engine::model::{Event, Kind};

    fn read(body: &str) -> (Vec<String>, Feed) {
        let mut names = Vec::new();
        let feed = page(body.as_bytes(), Kind::Pod, Keep(None), &mut |event| match event {
            Event::Present(object) => names.push(object.meta().name.to_string()),
            Event::Gone(..) => panic!("a list tells of no deletion"),
        });
        (names, feed)
    }

    #[test]
    fn a_page_is_read_whatever_the_order_of_its_fields() {
        let bodies = [
            r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9",
                "continue":"c","remainingItemCount":3},
                "items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#,
            r#" {"apiVersion":"v1","items":[{"metadata":{"name":"a"}} , {"metadata":{"name":"b"}}],
                "kind":"PodList",
                "metadata":{"remainingItemCount":3,"continue":"c","resourceVersion":"9"}} "#,
        ];
        for body in bodies {
            let (names, feed) = read(body);
            assert_eq!(names, ["a", "b"]);
            assert_eq!((feed.resource_version.as_str(), feed.continue_token.as_str()), ("9", "c"));
            assert_eq!((feed.remaining_item_count, feed.status), (3, None));
            assert_eq!(feed.unreadable, []);
        }
    }

    #[test]
    fn a_bad_item_costs_itself() {
        let (names, feed) = read(
            r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"spec":7},null,[],"x",
                {"metadata":{"name":"c","labels":{"k":"\u00e9\n"}}}],"metadata":null}"#,
        );
        assert_eq!(names, ["a", "c"]);
        let objects: Vec<&str> = feed.unreadable.iter().map(|each| each.object.as_str()).collect();
        assert_eq!(objects, ["Pod b", "items[2]", "items[3]", "items[4]"]);
        assert_eq!(feed.status, None);
    }

    #[test]
    fn an_empty_list_is_a_list() {
        for body in [r#"{"items":[]}"#, r#"{"items":null}"#, "{}"] {
            let (names, feed) = read(body);
            assert_eq!((names.len(), feed.status, feed.unreadable.len()), (0, None, 0));
        }
    }

    #[test]
    fn a_page_that_breaks_off_is_not_the_whole() {
        let whole = r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}}],"metadata":{}}"#;
        assert_eq!(read(whole).1.status, None);
        for end in 0..whole.len() {
            let (names, feed) = read(&whole[..end]);
            assert!(names.len() <= 1);
            let status = feed.status.unwrap_or_else(|| panic!("{}", &whole[..end]));
            assert_eq!((status.code, status.reason.as_str()), (500, "NotJson"));
        }
        assert!(read(&format!("{whole}x")).1.status.is_some());
        assert!(read(&whole.replace("}],", "},],")).1.status.is_some());
    }

    #[test]
    fn a_status_instead_of_a_list_is_told() {
        let (_, feed) = read(
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
                "message":"too old resource version","reason":"Expired","code":410}"#,
        );
        let status = feed.status.expect("it is a failure");
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        assert_eq!(status.message, "too old resource version");
    }

    #[test]
    fn a_list_of_something_else_is_not_the_whole_either() {
        let (_, feed) = read(r#"{"kind":"Table","rows":[]}"#);
        assert_eq!(feed.status.map(|status| status.reason).as_deref(), Some("BadField"));
        let (_, feed) = read(r#"{"kind":"NodeList","items":[]}"#);
        let message = feed.status.map(|status| status.message);
        assert_eq!(message.as_deref(), Some("a NodeList, where a PodList is due"));
        assert_eq!(Code::BadField.name(), "BadField");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut values = Vec::new();
        let body =
            b"\xEF\xBB\xBF{\"items\":[{\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":\"\xFF\"}}}]}";
        let feed = page(body, Kind::Pod, Keep(None), &mut |event| {
            let Event::Present(object) = event else { panic!("a list tells of no deletion") };
            values.push(object.meta().labels.get("k").map(str::to_owned));
        });
        assert_eq!((values, feed.unreadable.len()), (vec![Some("\u{FFFD}".to_owned())], 0));
    }
}
