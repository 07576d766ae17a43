//! What slices, classes and claims of devices share: selectors, taints, places, configurations.

use kpolicy_engine::model::{DeviceTaint, SlicePlace, WrittenSelector};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use super::affinity::NodeSelectorWire;
use super::scalar::{Json, Text};
use super::sequence::List;
use super::wire;

/// A node selector with its text.
#[derive(Default)]
pub(crate) struct WrittenSelectorWire(pub WrittenSelector);

impl<'de> Deserialize<'de> for WrittenSelectorWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let read: NodeSelectorWire<'_> = serde_json::from_str(text).map_err(D::Error::custom)?;
        Ok(Self(WrittenSelector { selector: read.into_model(), text: text.into() }))
    }
}

/// A name that may be absent; empty is as good as absent.
pub(crate) fn present(text: Text<'_>) -> Option<Box<str>> {
    (!text.is_empty()).then(|| text.boxed())
}

pub(crate) fn place(
    node_name: Text<'_>,
    is_everywhere: bool,
    selector: Option<WrittenSelectorWire>,
) -> SlicePlace {
    let selector = selector.map(|selector| selector.0);
    SlicePlace { node_name: present(node_name), is_everywhere, selector }
}

wire! {
    pub(crate) struct DeviceSelectorWire<'a> {
        "cel" => cel: Option<CelWire<'a>>,
    }
}

wire! {
    pub(crate) struct CelWire<'a> {
        "expression" => expression: Text<'a>,
    }
}

/// The CEL texts; `None` for a selector of another type.
pub(crate) fn selectors(list: List<DeviceSelectorWire<'_>>) -> Box<[Option<Box<str>>]> {
    list.boxed(|selector| selector.cel.map(|cel| cel.expression.boxed()))
}

wire! {
    pub(crate) struct DeviceTaintWire<'a> {
        "key" => key: Text<'a>,
        "value" => value: Text<'a>,
        "effect" => effect: Text<'a>,
    }
}

impl DeviceTaintWire<'_> {
    pub(crate) fn into_model(self) -> DeviceTaint {
        DeviceTaint {
            key: self.key.boxed(),
            value: self.value.boxed(),
            effect: self.effect.boxed(),
        }
    }
}

wire! {
    /// A configuration of a class or a claim; `source` in allocations only.
    pub(crate) struct ConfigWire<'a> {
        "source" => source: Text<'a>,
        "requests" => requests: List<Text<'a>>,
        "opaque" => opaque: Json,
    }
}

impl ConfigWire<'_> {
    /// The JSON of the configuration itself.
    pub(crate) fn text(opaque: &str) -> Box<str> {
        if opaque.is_empty() { "{}".into() } else { format!("{{\"opaque\":{opaque}}}").into() }
    }
}
