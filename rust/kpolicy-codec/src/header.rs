//! Reads `apiVersion` and `kind` of a document without reading the rest, and finds the kind of the
//! model.
//!
//! A list may have its items before its kind, as `kubectl get -o json` prints it.

use kpolicy_engine::model::Kind;

use crate::cursor::{Cursor, Syntax};
use crate::wire::scalar::Text;

#[derive(Debug, Default)]
pub(crate) struct Header<'a> {
    pub api_version: Text<'a>,
    pub kind: Text<'a>,
    /// It has a list of items.
    pub has_items: bool,
}

impl<'a> Header<'a> {
    /// Reads until both are known, or items begin; `whole` looks behind the items too.
    pub(crate) fn peek(mut cursor: Cursor<'a>, whole: bool) -> Result<Self, Syntax> {
        let mut header = Self::default();
        let mut members = cursor.object()?;
        while let Some(key) = members.next_key(&mut cursor)? {
            match &*key {
                "apiVersion" => header.api_version = cursor.value()?.unwrap_or_default(),
                "kind" => header.kind = cursor.value()?.unwrap_or_default(),
                "items" if cursor.peek() == Some(b'[') => {
                    header.has_items = true;
                    if !whole {
                        break;
                    }
                    cursor.skip()?;
                }
                _ => {
                    cursor.skip()?;
                }
            }
            let is_list = header.kind.ends_with("List");
            if !header.kind.is_empty() && !header.api_version.is_empty() && (!is_list || whole) {
                break;
            }
        }
        Ok(header)
    }

    /// `None` for a kind that no rule reads.
    pub(crate) fn kind(&self) -> Option<Kind> {
        kind_of(&self.api_version, &self.kind)
    }

    /// The kind of the items of a typed list, which need not repeat it.
    pub(crate) fn kind_of_items(&self) -> Option<Kind> {
        kind_of(&self.api_version, self.kind.strip_suffix("List")?)
    }
}

/// Without an `apiVersion` the name alone decides.
fn kind_of(api_version: &str, name: &str) -> Option<Kind> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if api_version.is_empty() {
        return Kind::ALL.into_iter().find(|kind| kind.name() == name);
    }
    // ReplicaSets were served there until 1.16, with the same fields.
    let group = if group == "extensions" { "apps" } else { group };
    Kind::of_name(group, name)
}

#[cfg(test)]
mod tests {
    use super::Header;
    use crate::cursor::Cursor;
    use kpolicy_engine::model::Kind;

    fn peek(text: &str, whole: bool) -> Header<'_> {
        Header::peek(Cursor::new(text), whole).expect(text)
    }

    #[test]
    fn kinds_are_told_by_group_and_name() {
        let cases = [
            (r#"{"apiVersion":"v1","kind":"Pod","spec": not read"#, Some(Kind::Pod)),
            (r#"{"metadata":{"kind":"Node"},"kind":"Pod","apiVersion":"v1"}"#, Some(Kind::Pod)),
            (r#"{"kind":"Pod"}"#, Some(Kind::Pod)),
            (r#"{"apiVersion":"apps/v1","kind":"Pod"}"#, None),
            (r#"{"apiVersion":"serving.knative.dev/v1","kind":"Service"}"#, None),
            (r#"{"apiVersion":"extensions/v1beta1","kind":"ReplicaSet"}"#, Some(Kind::ReplicaSet)),
            (r#"{"apiVersion":"storage.k8s.io/v1","kind":"CSINode"}"#, Some(Kind::CsiNode)),
            (r#"{"apiVersion":7,"kind":"Node"}"#, Some(Kind::Node)),
            ("{}", None),
        ];
        for (text, want) in cases {
            assert_eq!(peek(text, false).kind(), want, "{text}");
        }
    }

    #[test]
    fn lists_are_told_before_their_kind_is_read() {
        let text = r#"{"apiVersion":"v1","items":[{}],"kind":"NodeList"}"#;
        let first = peek(text, false);
        assert!(first.has_items && first.kind.is_empty());
        assert_eq!(peek(text, true).kind_of_items(), Some(Kind::Node));
    }
}
