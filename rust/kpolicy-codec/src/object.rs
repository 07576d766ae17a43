//! Reads one object of a known kind. An object that cannot be read is reported by kind and name, if
//! these can still be found.

use kpolicy_engine::model::{Kind, Meta, Object};
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::cursor::{Cursor, Syntax, without_position};
use crate::kept::Keep;
use crate::kinds;
use crate::limits::OBJECT_BYTES_MAX;
use crate::unreadable::{Code, Unreadable};
use crate::wire::meta::BareWire;
use crate::wire::scalar::Text;
use crate::wire::wire;

/// An object that could not be read, and the version it says it has.
#[derive(Debug)]
pub(crate) struct Refused {
    pub unreadable: Unreadable,
    pub resource_version: String,
}

/// What to read of an object of some kind.
pub(crate) trait Shape: Copy {
    type Value;

    fn kind(self) -> Kind;

    fn decode<'de, D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error>;

    fn meta(value: &Self::Value) -> &Meta;

    /// What the value lacks of the object as it was written.
    fn complete(self, _: &mut Self::Value, _raw: &str) {}
}

/// All that the model keeps, and values at API paths.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'p>(pub Kind, pub Keep<'p>);

/// The metadata, whatever the rest looks like.
#[derive(Clone, Copy)]
pub(crate) struct Bare(pub Kind);

/// The object at the cursor, or why it cannot be read; either way the cursor then stands behind it.
/// `place` names it where it has no name itself.
pub(crate) fn read<S: Shape>(
    cursor: &mut Cursor<'_>,
    shape: S,
    place: &dyn Fn() -> String,
) -> Result<Result<S::Value, Refused>, Syntax> {
    let refused = |raw: &str, code, message| {
        let (name, resource_version) = named(raw, shape.kind());
        let unreadable = Unreadable::new(code, name.unwrap_or_else(place), message);
        Ok(Err(Refused { unreadable, resource_version }))
    };
    let from = cursor.clone();
    match cursor.read(OBJECT_BYTES_MAX, |json| shape.decode(json)) {
        Ok(value) if S::meta(&value).name.is_empty() => {
            let raw = from.clone().skip()?;
            refused(raw, Code::NoName, "metadata.name is missing".to_owned())
        }
        Ok(mut value) => {
            let rest = from.rest();
            let raw = rest.get(..rest.len() - cursor.rest().len()).unwrap_or_default();
            shape.complete(&mut value, raw);
            Ok(Ok(value))
        }
        Err(_) => {
            let raw = cursor.skip()?;
            if raw.len() > OBJECT_BYTES_MAX {
                let message = format!("larger than {OBJECT_BYTES_MAX} bytes");
                return refused(raw, Code::TooLarge, message);
            }
            refused(raw, Code::BadField, complaint(raw, shape))
        }
    }
}

/// Why `raw` was refused, with the path of the field.
fn complaint<S: Shape>(raw: &str, shape: S) -> String {
    let mut json = serde_json::Deserializer::from_str(raw);
    let mut track = serde_path_to_error::Track::new();
    let again = shape.decode(serde_path_to_error::Deserializer::new(&mut json, &mut track));
    let path = track.path();
    match again {
        Ok(_) => "could not be read".to_owned(),
        Err(error) if path.iter().next().is_none() => without_position(&error),
        Err(error) => format!("{path}: {}", without_position(&error)),
    }
}

wire! {
    struct NamesWire<'a> {
        "metadata" => meta: Option<&'a RawValue>,
    }
}

wire! {
    struct MetaNamesWire<'a> {
        "namespace" => namespace: Option<&'a RawValue>,
        "name" => name: Option<&'a RawValue>,
        "resourceVersion" => resource_version: Option<&'a RawValue>,
    }
}

/// What is known of an object that cannot be read: its name and version.
fn named(raw: &str, kind: Kind) -> (Option<String>, String) {
    let text = |raw: Option<&RawValue>| -> String {
        raw.and_then(|raw| serde_json::from_str::<Text<'_>>(raw.get()).ok())
            .unwrap_or_default()
            .boxed()
            .into()
    };
    let meta = serde_json::from_str::<NamesWire<'_>>(raw).ok().and_then(|names| names.meta);
    let Some(names) = meta.and_then(|meta| serde_json::from_str(meta.get()).ok()) else {
        return (None, String::new());
    };
    let names: MetaNamesWire<'_> = names;
    let (namespace, name) = (text(names.namespace), text(names.name));
    let whole = match (namespace.is_empty(), name.is_empty()) {
        (_, true) => None,
        (true, false) => Some(format!("{} {name}", kind.name())),
        (false, false) => Some(format!("{} {namespace}/{name}", kind.name())),
    };
    (whole, text(names.resource_version))
}

impl Shape for Bare {
    type Value = Meta;

    fn kind(self) -> Kind {
        self.0
    }

    fn decode<'de, D: Deserializer<'de>>(self, json: D) -> Result<Meta, D::Error> {
        BareWire::deserialize(json).map(|wire| wire.meta.into_meta(self.0).0)
    }

    fn meta(value: &Meta) -> &Meta {
        value
    }
}

impl Shape for Whole<'_> {
    type Value = Object;

    fn kind(self) -> Kind {
        self.0
    }

    fn meta(value: &Object) -> &Meta {
        value.meta()
    }

    fn complete(self, value: &mut Object, raw: &str) {
        self.1.add_to(value, raw);
    }

    fn decode<'de, D: Deserializer<'de>>(self, json: D) -> Result<Object, D::Error> {
        kinds::decode(self.0, json)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Whole, read};
    use crate::cursor::Cursor;
    use crate::kept::Keep;
    use crate::limits::{LIST_ELEMENTS_MAX, MAP_ENTRIES_MAX, OBJECT_BYTES_MAX};
    use crate::unreadable::{Code, Unreadable};
    use kpolicy_engine::model::{Kind, Object, Pod};

    fn outcome(kind: Kind, json: &str) -> Result<Object, Unreadable> {
        let mut cursor = Cursor::new(json);
        let outcome =
            read(&mut cursor, Whole(kind, Keep(None)), &|| "here".to_owned()).expect("it is JSON");
        assert_eq!(cursor.peek(), None, "the cursor stands behind the object");
        outcome.map_err(|refused| refused.unreadable)
    }

    pub(crate) fn decoded(kind: Kind, json: &str) -> Object {
        outcome(kind, json).unwrap_or_else(|unreadable| panic!("{unreadable:?}"))
    }

    /// The model of an object of this kind.
    macro_rules! model_of {
        ($kind:ident, $json:expr) => {
            match $crate::object::tests::decoded(kpolicy_engine::model::Kind::$kind, $json) {
                kpolicy_engine::model::Object::$kind(object) => {
                    std::sync::Arc::unwrap_or_clone(object)
                }
                other => panic!("{other:?}"),
            }
        };
    }
    pub(crate) use model_of;

    pub(crate) fn pod(json: &str) -> Pod {
        model_of!(Pod, json)
    }

    pub(crate) fn refused(kind: Kind, json: &str) -> Unreadable {
        outcome(kind, json).expect_err(json)
    }

    #[test]
    fn every_kind_needs_no_more_than_a_name() {
        for kind in Kind::ALL {
            let object = decoded(kind, r#"{"metadata":{"name":"x"}}"#);
            assert_eq!(object.kind(), kind);
            let namespace = if kind.is_namespaced() { "default" } else { "" };
            assert_eq!((&*object.meta().namespace, &*object.meta().name), (namespace, "x"));
            let uid = if kind.is_namespaced() { "default/x" } else { "x" };
            assert_eq!(&*object.meta().uid, uid);
            assert_eq!(refused(kind, "{}").code, Code::NoName);
            assert_eq!(refused(kind, "7").code, Code::BadField);
        }
    }

    #[test]
    fn what_is_too_large_is_refused_by_name() {
        let padded = |bytes: usize| {
            format!(r#"{{"metadata":{{"name":"x"}},"padding":"{}"}}"#, "é".repeat(bytes / 2))
        };
        decoded(Kind::Node, &padded(OBJECT_BYTES_MAX - 100));
        let unreadable = refused(Kind::Node, &padded(OBJECT_BYTES_MAX));
        assert_eq!((unreadable.code, unreadable.object.as_str()), (Code::TooLarge, "Node x"));
    }

    #[test]
    fn maps_and_lists_are_bounded() {
        let labels = |count: usize| {
            let pairs: Vec<String> = (0..count).map(|key| format!(r#""{key}":"""#)).collect();
            format!(r#"{{"metadata":{{"name":"x","labels":{{{}}}}}}}"#, pairs.join(","))
        };
        let most = decoded(Kind::Node, &labels(MAP_ENTRIES_MAX));
        assert_eq!(most.meta().labels.len(), MAP_ENTRIES_MAX);
        let unreadable = refused(Kind::Node, &labels(MAP_ENTRIES_MAX + 1));
        assert!(unreadable.message.contains("a map of more than"), "{}", unreadable.message);
        assert_eq!(refused(Kind::Node, &labels(1_000_000)).code, Code::TooLarge);
        let containers = |count: usize| {
            let list = vec!["null"; count].join(",");
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{list}]}}}}"#)
        };
        assert_eq!(pod(&containers(LIST_ELEMENTS_MAX)).containers.len(), LIST_ELEMENTS_MAX);
        let unreadable = refused(Kind::Pod, &containers(LIST_ELEMENTS_MAX + 1));
        assert!(unreadable.message.contains("a list of more than"), "{}", unreadable.message);
    }

    #[test]
    fn nesting_costs_no_stack() {
        let nested =
            |open: &str, close: &str| format!("{}0{}", open.repeat(10_000), close.repeat(10_000));
        for value in [nested("[", "]"), nested(r#"{"a":"#, "}")] {
            decoded(Kind::Pod, &format!(r#"{{"metadata":{{"name":"x"}},"other":{value}}}"#));
            let known =
                format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{value}]}}}}"#);
            if value.starts_with('[') {
                assert_eq!(refused(Kind::Pod, &known).object, "Pod x");
            }
        }
    }
}
