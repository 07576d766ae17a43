//! Objects that select pods: a service or replication controller by a map of labels, others by a
//! selector.

use kpolicy_engine::model::{Controller, Kind, Selector};

use super::map::TextMap;
use super::meta::MetaWire;
use super::selector::SelectorWire;
use super::wire;

/// The API's default.
pub(crate) const REPLICAS: i32 = 1;

wire! {
    /// A service or replication controller: its selector is a map of labels.
    pub(crate) struct MapSelectorWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: MapSelectorSpecWire,
    }
}

wire! {
    pub(crate) struct MapSelectorSpecWire {
        "selector" => selector: Option<TextMap>,
        "replicas" => replicas: Option<i32>,
    }
}

wire! {
    /// A replica set or stateful set.
    pub(crate) struct SelectorOwnerWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: ControllerSpecWire<'a>,
    }
}

wire! {
    pub(crate) struct ControllerSpecWire<'a> {
        "selector" => selector: Option<SelectorWire<'a>>,
        "replicas" => replicas: Option<i32>,
    }
}

impl SelectorOwnerWire<'_> {
    pub(crate) fn into_model(self, kind: Kind) -> Controller {
        Controller {
            meta: self.meta.into_meta(kind).0,
            selector: self.spec.selector.map(SelectorWire::into_model),
            replicas: self.spec.replicas.unwrap_or(REPLICAS),
        }
    }
}

wire! {
    pub(crate) struct SelectorSpecWire<'a> {
        "selector" => selector: Option<SelectorWire<'a>>,
    }
}

impl SelectorSpecWire<'_> {
    pub(crate) fn into_selector(self) -> Option<Selector> {
        self.selector.map(SelectorWire::into_model)
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::SelectorOperator;

    #[test]
    fn controllers_select_by_map_or_by_selector() {
        let spec = |spec: &str| format!(r#"{{"metadata":{{"name":"x"}},"spec":{spec}}}"#);
        let map = model_of!(ReplicationController, &spec(r#"{"selector":{"a":"b"}}"#));
        let set = model_of!(ReplicaSet, &spec(r#"{"selector":{"matchLabels":{"a":"b"}}}"#));
        assert_eq!(map.selector, set.selector);
        let selector = set.selector.expect("it has one");
        assert_eq!(selector.requirements[0].operator, SelectorOperator::In);
        assert_eq!(model_of!(StatefulSet, &spec("{}")).selector, None);
        assert_eq!(model_of!(StatefulSet, &spec("{}")).replicas, 1);
        assert_eq!(model_of!(ReplicaSet, &spec(r#"{"replicas":0}"#)).replicas, 0);
        assert_eq!(model_of!(ReplicationController, &spec(r#"{"replicas":7}"#)).replicas, 7);
        assert_eq!(model_of!(ReplicationController, &spec("{}")).selector, None);
    }
}
