//! Nodes.

use kpolicy_engine::model::{ApiValues, Effect, Image, Kind, Node, Taint};

use super::map::AmountMap;
use super::meta::MetaWire;
use super::scalar::Text;
use super::sequence::List;
use super::wire;

wire! {
    pub(crate) struct NodeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SpecWire<'a>,
        "status" => status: StatusWire<'a>,
    }
}

wire! {
    pub(crate) struct SpecWire<'a> {
        "unschedulable" => unschedulable: bool,
        "taints" => taints: List<TaintWire<'a>>,
    }
}

wire! {
    pub(crate) struct StatusWire<'a> {
        "allocatable" => allocatable: Option<AmountMap>,
        "capacity" => capacity: AmountMap,
        "conditions" => conditions: List<ConditionWire<'a>>,
        "images" => images: List<ImageWire<'a>>,
        "declaredFeatures" => declared_features: List<Text<'a>>,
    }
}

wire! {
    pub(crate) struct TaintWire<'a> {
        "key" => key: Text<'a>,
        "value" => value: Text<'a>,
        "effect" => effect: Text<'a>,
    }
}

wire! {
    pub(crate) struct ConditionWire<'a> {
        "type" => kind: Text<'a>,
        "status" => status: Text<'a>,
    }
}

wire! {
    pub(crate) struct ImageWire<'a> {
        "names" => names: List<Text<'a>>,
        "sizeBytes" => size_bytes: i64,
    }
}

impl NodeWire<'_> {
    pub(crate) fn into_model(self) -> Node {
        let (meta, _) = self.meta.into_meta(Kind::Node);
        let status = self.status;
        let capacity = status.capacity.0;
        Node {
            meta,
            unschedulable: self.spec.unschedulable,
            taints: self.spec.taints.boxed(|taint| Taint {
                effect: effect(&taint.effect),
                key: taint.key.boxed(),
                value: taint.value.boxed(),
            }),
            allocatable: status.allocatable.map_or_else(|| capacity.clone(), |listed| listed.0),
            capacity,
            conditions: status
                .conditions
                .boxed(|condition| (condition.kind.boxed(), condition.status.boxed())),
            images: status
                .images
                .boxed(|image| Image { names: image.names.texts(), size_bytes: image.size_bytes }),
            declared_features: status.declared_features.texts_sorted_unique(),
            api_values: ApiValues::default(),
        }
    }
}

pub(crate) fn effect(text: &str) -> Effect {
    match text {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::decoded;
    use kpolicy_engine::model::{Effect, Kind, Node, Object, Quantity};

    fn node(json: &str) -> Node {
        match decoded(Kind::Node, json) {
            Object::Node(node) => *node,
            other => panic!("not a node: {other:?}"),
        }
    }

    #[test]
    fn a_node_is_read() {
        let node = node(
            r#"{"metadata": {"name": "n", "namespace": "ignored"},
                "spec": {"unschedulable": true, "taints": [
                  {"key": "a", "value": "b", "effect": "NoSchedule", "timeAdded": null},
                  {"key": "c", "effect": "PreferNoSchedule"}, {"key": "d", "effect": "Later"}]},
                "status": {"capacity": {"cpu": "4", "pods": "110"}, "allocatable": {"cpu": "3900m"},
                  "conditions": [{"type": "Ready", "status": "True"}],
                  "images": [{"names": ["b", "a"], "sizeBytes": 5}, {"names": null}],
                  "declaredFeatures": ["z", "y"]}}"#,
        );
        assert_eq!((&*node.meta.namespace, node.unschedulable), ("", true));
        let effects: Vec<Effect> = node.taints.iter().map(|taint| taint.effect).collect();
        assert_eq!(effects, [Effect::NoSchedule, Effect::PreferNoSchedule, Effect::Unknown]);
        assert_eq!(node.allocatable.iter().len(), 1);
        assert_eq!(node.capacity.get("pods"), Some(&Quantity::from_units(110)));
        assert_eq!(*node.conditions, [("Ready".into(), "True".into())]);
        assert_eq!((node.images.len(), node.images[0].size_bytes), (2, 5));
        assert_eq!(*node.images[0].names, ["b".into(), "a".into()]);
        assert_eq!(*node.declared_features, ["y".into(), "z".into()]);
    }

    #[test]
    fn without_allocatable_all_capacity_counts() {
        let bare = node(r#"{"metadata":{"name":"n"},"status":{"capacity":{"cpu":4}}}"#);
        assert_eq!(bare.allocatable.get("cpu"), Some(&Quantity::from_units(4)));
        let none =
            node(r#"{"metadata":{"name":"n"},"status":{"capacity":{"cpu":4},"allocatable":{}}}"#);
        assert!(none.allocatable.is_empty());
    }
}
