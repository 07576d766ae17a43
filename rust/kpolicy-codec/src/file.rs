//! Reads a file of objects: one object, several one after another, or lists of them, in JSON or
//! YAML.
//!
//! A document that begins with a brace or bracket is JSON. Kinds that no rule reads are left out
//! and named in one line, since they may be a typing error. A typed list need not repeat the kind
//! in its items; a `kind: List` mixes kinds.

use std::collections::BTreeMap;

use kpolicy_engine::model::Kind;

use crate::cursor::{Cursor, Syntax};
use crate::handover::{Handover, Place, Sink};
use crate::header::Header;
use crate::kept::Keep;
use crate::limits::{LIST_NESTING_MAX, OTHER_KINDS_NAMED_MAX};
use crate::unreadable::{Code, Unreadable};
use crate::yaml;

/// Reads JSON or YAML documents, handing each object to `sink`; names what cannot be read.
pub fn objects(body: &[u8], keep: Keep<'_>, sink: &mut Sink<'_>) -> Vec<Unreadable> {
    let text = crate::text(body);
    let is_json = text.trim_ascii_start().starts_with(['{', '[']);
    let converted = if is_json { None } else { Some(yaml::to_json(&text)) };
    let mut file = File { objects: Handover::new(keep, sink), other_kinds: BTreeMap::new() };
    if let Some(converted) = &converted {
        let read = file.documents(&converted.json);
        if let Some(fault) = &converted.fault {
            file.refuse(Code::NotYaml, &document(read), format!("not YAML: {fault}"));
        }
    } else {
        file.documents(&text);
    }
    file.finish()
}

fn document(position: usize) -> String {
    format!("document {position}")
}

struct File<'t, 's> {
    objects: Handover<'t, 's>,
    /// How many of each kind that no rule reads.
    other_kinds: BTreeMap<String, usize>,
}

impl<'t> File<'t, '_> {
    /// How many there were.
    fn documents(&mut self, text: &'t str) -> usize {
        let mut cursor = Cursor::new(text);
        let mut position = 0_usize;
        while cursor.peek().is_some() {
            if let Err(syntax) = self.document(&mut cursor, &document(position), 0) {
                let message = format!("not JSON from here on: {syntax}");
                self.refuse(Code::NotJson, &document(position), message);
                break;
            }
            position += 1;
        }
        position
    }

    fn document(&mut self, cursor: &mut Cursor<'t>, place: &str, depth: u32) -> Result<(), Syntax> {
        match cursor.peek() {
            Some(b'[') => return self.items(cursor, &|| None, place, depth),
            Some(b'{') => {}
            _ => {
                // An empty YAML document is `null`.
                if cursor.skip()? != "null" {
                    self.refuse(Code::BadField, place, "an object is due");
                }
                return Ok(());
            }
        }
        let header = Header::peek(cursor.clone(), false)?;
        if header.has_items || header.kind.ends_with("List") {
            return self.list(cursor, place, depth);
        }
        if let Some(kind) = header.kind() {
            return self.object(cursor, kind, place);
        }
        cursor.skip()?;
        if header.kind.is_empty() {
            self.refuse(Code::NoName, place, "kind is missing");
        } else {
            self.leave_out(&header.kind);
        }
        Ok(())
    }

    fn leave_out(&mut self, kind: &str) {
        if let Some(count) = self.other_kinds.get_mut(kind) {
            *count += 1;
        } else if self.other_kinds.len() < OTHER_KINDS_NAMED_MAX {
            self.other_kinds.insert(kind.to_owned(), 1);
        }
    }

    fn object(&mut self, cursor: &mut Cursor<'t>, kind: Kind, place: &str) -> Result<(), Syntax> {
        self.objects.object(cursor, kind, Place::Named(place.to_owned()))
    }

    fn list(&mut self, cursor: &mut Cursor<'t>, place: &str, depth: u32) -> Result<(), Syntax> {
        let whole = cursor.clone();
        // Only asked where an item does not tell its kind: the list's own may stand behind them.
        let kind = || Header::peek(whole.clone(), true).ok()?.kind_of_items();
        let mut members = cursor.object()?;
        while let Some(key) = members.next_key(cursor)? {
            if &*key == "items" && cursor.peek() == Some(b'[') {
                self.items(cursor, &kind, place, depth)?;
            } else {
                cursor.skip()?;
            }
        }
        Ok(())
    }

    fn items(
        &mut self,
        cursor: &mut Cursor<'t>,
        kind_of_list: &dyn Fn() -> Option<Kind>,
        place: &str,
        depth: u32,
    ) -> Result<(), Syntax> {
        if depth == LIST_NESTING_MAX {
            cursor.skip()?;
            let message = format!("lists more than {LIST_NESTING_MAX} deep are not read");
            self.refuse(Code::TooLarge, place, message);
            return Ok(());
        }
        let mut members = cursor.array()?;
        let mut unreported: Option<Option<Kind>> = None;
        let mut position = 0_usize;
        while members.next(cursor)? {
            let place = format!("{place} items[{position}]");
            position += 1;
            let is_unreported =
                cursor.peek() == Some(b'{') && Header::peek(cursor.clone(), false)?.kind.is_empty();
            match is_unreported.then(|| *unreported.get_or_insert_with(kind_of_list)).flatten() {
                Some(kind) => self.object(cursor, kind, &place)?,
                None => self.document(cursor, &place, depth + 1)?,
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<Unreadable> {
        let kinds: Vec<String> =
            self.other_kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if !kinds.is_empty() {
            let message = format!("left out, as no rule reads these kinds: {}", kinds.join(", "));
            self.refuse(Code::OtherKind, "", message);
        }
        self.objects.finish().finish()
    }

    fn refuse(&mut self, code: Code, place: &str, message: impl Into<String>) {
        self.objects.refuse(Unreadable::new(code, place, message));
    }
}

#[cfg(test)]
mod tests {
    use super::objects;
    use crate::{Code, Keep, Unreadable};
    use kpolicy_engine::model::Event;

    fn read(body: &str) -> (Vec<String>, Vec<Unreadable>) {
        let mut names = Vec::new();
        let unreadable = objects(body.as_bytes(), Keep(None), &mut |event| {
            let Event::Present(object) = event else { panic!("a file tells of no deletion") };
            names.push(format!("{} {}", object.kind().name(), object.meta().name));
        });
        (names, unreadable)
    }

    #[track_caller]
    fn check(body: &str, want: &[&str]) {
        let (names, unreadable) = read(body);
        assert_eq!(names, want, "{body}");
        let unread = unreadable.iter().filter(|each| each.code != Code::OtherKind);
        assert_eq!(unread.count(), 0, "{unreadable:?} of {body}");
    }

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#;
    const NODE: &str = r#"{"kind":"Node","metadata":{"name":"n"}}"#;
    const OTHER: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#;

    #[test]
    fn documents_of_every_form_are_read() {
        check(POD, &["Pod a"]);
        check(OTHER, &[]);
        check("", &[]);
        check(" \n", &[]);
        check(&format!("{POD}\n{NODE}{POD}"), &["Pod a", "Node n", "Pod a"]);
        check(&format!("[{POD},{OTHER},{NODE}]"), &["Pod a", "Node n"]);
    }

    #[test]
    fn lists_are_read_typed_or_mixed() {
        check(
            &format!(r#"{{"apiVersion":"v1","kind":"List","items":[{OTHER},{POD},{NODE}]}}"#),
            &["Pod a", "Node n"],
        );
        // As kubectl prints it: keys sorted.
        check(
            &format!(
                r#"{{"apiVersion":"v1","items":[{POD},{NODE}],"kind":"List","metadata":{{}}}}"#
            ),
            &["Pod a", "Node n"],
        );
        check(
            r#"{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],
                "kind":"PodList"}"#,
            &["Pod a", "Pod b"],
        );
        check(
            &format!(
                r#"{{"kind":"List","items":[
                    {{"kind":"NodeList","items":[{{"metadata":{{"name":"n"}}}}]}},{POD}]}}"#
            ),
            &["Node n", "Pod a"],
        );
        check(
            r#"{"apiVersion":"example.com/v1","kind":"PodList",
                "items":[{"apiVersion":"example.com/v1","kind":"Pod"}]}"#,
            &[],
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_is_read() {
        let (names, unreadable) = read(
            r#"{"kind":"List","items":[
                {"kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":5}},
                {"metadata":{"name":"kindless"}}, 7,
                {"kind":"Pod","metadata":{"name":"b"}}]}
               "text" {"kind":"Node","metadata":{"name":"n"}} {"kind": "Pod", oh"#,
        );
        assert_eq!(names, ["Pod b", "Node n"]);
        let reported: Vec<(Code, &str)> =
            unreadable.iter().map(|each| (each.code, each.object.as_str())).collect();
        assert_eq!(
            reported,
            [
                (Code::BadField, "Pod a"),
                (Code::NoName, "document 0 items[1]"),
                (Code::BadField, "document 0 items[2]"),
                (Code::BadField, "document 1"),
                (Code::NotJson, "document 3"),
            ]
        );
    }

    #[test]
    fn kinds_that_no_rule_reads_are_told_in_one_line() {
        let (names, unreadable) = read(&format!("[{OTHER},{POD},{OTHER}]{{\"kind\":\"Nod\"}}"));
        assert_eq!(names, ["Pod a"]);
        let reported: Vec<_> = unreadable.iter().map(|each| (each.code, &*each.message)).collect();
        let message = "left out, as no rule reads these kinds: 2 ConfigMap, 1 Nod";
        assert_eq!(reported, [(Code::OtherKind, message)]);
    }

    #[test]
    fn yaml_is_read_as_kubectl_writes_it() {
        check(
            "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n    \
             creationTimestamp: 2026-01-01T00:00:00Z\n  spec:\n    containers:\n    - resources:\n        \
             requests: {cpu: 0.5, memory: 1Gi}\nkind: List\n---\n---\nkind: Node\nmetadata: {name: n}\n",
            &["Pod a", "Node n"],
        );
        let (names, unreadable) = read("kind: Node\nmetadata: {name: n}\n---\nkind: [\n");
        assert_eq!(names, ["Node n"]);
        assert_eq!(
            (unreadable[0].code, unreadable[0].object.as_str()),
            (Code::NotYaml, "document 1")
        );
        assert_eq!(read("just text").1[0].message, "an object is due");
    }

    #[test]
    fn nesting_of_lists_is_bounded() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let (_, unreadable) = read(&deep);
        assert_eq!(unreadable.len(), 1);
        assert_eq!(unreadable[0].code, Code::TooLarge);
        assert_eq!(read(&"[".repeat(100_000)).1[0].code, Code::NotJson);
    }
}
