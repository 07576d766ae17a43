//! Reads a file of objects: one object, several one after another, or lists of them, in JSON or
//! YAML.
//!
//! A document that begins with a brace or bracket is JSON. Kinds that no rule reads are left out
//! and named in one line, since they may be a typing error. A typed list need not repeat the kind
//! in its items; a `kind: List` mixes kinds.

use std::sync::OnceLock;

use kpolicy_engine::model::Kind;

use crate::cursor::{Cursor, Members, Syntax};
use crate::handover::{Handover, Sink};
use crate::header::Header;
use crate::kept::Keep;
use crate::limits::LIST_NESTING_MAX;
use crate::pieces::Walk;
use crate::unreadable::{Code, Unreadable};
use crate::yaml;

/// Reads JSON or YAML documents, handing each object to `sink`; names what cannot be read.
pub fn objects(body: &[u8], keep: Keep<'_>, sink: &mut Sink<'_>) -> Vec<Unreadable> {
    let text = crate::text(body);
    let is_json = text.trim_ascii_start().starts_with(['{', '[']);
    let mut to = Handover::new(keep, sink);
    if is_json {
        documents(&text, &mut to);
    } else {
        let converted = yaml::to_json(&text);
        let read = documents(&converted.json, &mut to);
        if let Some(fault) = &converted.fault {
            refuse(&mut to, Code::NotYaml, document_name(read), format!("not YAML: {fault}"));
        }
    }
    let kinds = to.left_out.texts();
    if !kinds.is_empty() {
        let message = format!("left out, as no rule reads these kinds: {}", kinds.join(", "));
        refuse(&mut to, Code::OtherKind, "", message);
    }
    to.finish().finish()
}

fn document_name(position: usize) -> String {
    format!("document {position}")
}

fn refuse(to: &mut Handover<'_>, code: Code, place: impl Into<String>, message: impl Into<String>) {
    to.refuse(Unreadable::new(code, place, message));
}

/// How many there were.
fn documents(text: &str, to: &mut Handover<'_>) -> usize {
    let mut walk = Walk::new(Cursor::new(text), Members::documents());
    let read =
        walk.read(to, &|cursor, position, to| document(cursor, &|| document_name(position), 0, to));
    if let Err(syntax) = read {
        let message = format!("not JSON from here on: {syntax}");
        refuse(to, Code::NotJson, document_name(walk.position), message);
    }
    walk.position
}

fn document(
    cursor: &mut Cursor<'_>,
    place: &(dyn Fn() -> String + Sync),
    depth: u32,
    to: &mut Handover<'_>,
) -> Result<(), Syntax> {
    match cursor.peek() {
        Some(b'[') => return items(cursor, &|| None, place, depth, to),
        Some(b'{') => {}
        _ => {
            // An empty YAML document is `null`.
            if cursor.skip()? != "null" {
                refuse(to, Code::BadField, place(), "an object is due");
            }
            return Ok(());
        }
    }
    let header = Header::peek(cursor.clone(), false)?;
    if header.has_items || header.kind.ends_with("List") {
        return list(cursor, place, depth, to);
    }
    if let Some(kind) = header.kind() {
        return to.object(cursor, kind, place);
    }
    cursor.skip()?;
    if header.kind.is_empty() {
        refuse(to, Code::NoName, place(), "kind is missing");
    } else {
        to.left_out.add(&header.kind);
    }
    Ok(())
}

fn list(
    cursor: &mut Cursor<'_>,
    place: &(dyn Fn() -> String + Sync),
    depth: u32,
    to: &mut Handover<'_>,
) -> Result<(), Syntax> {
    let whole = cursor.clone();
    // Only asked where an item does not tell its kind: the list's own may stand behind them.
    let kind = || Header::peek(whole.clone(), true).ok()?.kind_of_items();
    let mut members = cursor.object()?;
    while let Some(key) = members.next_key(cursor)? {
        if &*key == "items" && cursor.peek() == Some(b'[') {
            items(cursor, &kind, place, depth, to)?;
        } else {
            cursor.skip()?;
        }
    }
    Ok(())
}

fn items(
    cursor: &mut Cursor<'_>,
    kind_of_list: &(dyn Fn() -> Option<Kind> + Sync),
    place: &(dyn Fn() -> String + Sync),
    depth: u32,
    to: &mut Handover<'_>,
) -> Result<(), Syntax> {
    if depth == LIST_NESTING_MAX {
        cursor.skip()?;
        let message = format!("lists more than {LIST_NESTING_MAX} deep are not read");
        refuse(to, Code::TooLarge, place(), message);
        return Ok(());
    }
    let unreported: OnceLock<Option<Kind>> = OnceLock::new();
    let members = cursor.array()?;
    let mut walk = Walk::new(cursor.clone(), members);
    walk.read(to, &|cursor, position, to| {
        let place = || format!("{} items[{position}]", place());
        let is_unreported =
            cursor.peek() == Some(b'{') && Header::peek(cursor.clone(), false)?.kind.is_empty();
        match is_unreported.then(|| *unreported.get_or_init(kind_of_list)).flatten() {
            Some(kind) => to.object(cursor, kind, &place),
            None => document(cursor, &place, depth + 1, to),
        }
    })?;
    *cursor = walk.cursor;
    Ok(())
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
