//! Nodes.

use kpolicy_engine::model::{ApiValues, Image, Kind, Node, Taint};
use serde::de::{Deserialize, Deserializer};

use crate::wire::map::AmountMap;
use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::sequence::List;
use crate::wire::taint::effect;
use crate::wire::wire;

wire! {
    struct NodeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SpecWire<'a>,
        "status" => status: StatusWire<'a>,
    }
}

wire! {
    struct SpecWire<'a> {
        "unschedulable" => unschedulable: bool,
        "taints" => taints: List<TaintWire<'a>>,
    }
}

wire! {
    struct StatusWire<'a> {
        "allocatable" => allocatable: Option<AmountMap>,
        "capacity" => capacity: AmountMap,
        "conditions" => conditions: List<ConditionWire<'a>>,
        "images" => images: List<ImageWire<'a>>,
        "declaredFeatures" => declared_features: List<Text<'a>>,
    }
}

wire! {
    struct TaintWire<'a> {
        "key" => key: Text<'a>,
        "value" => value: Text<'a>,
        "effect" => effect: Text<'a>,
    }
}

wire! {
    struct ConditionWire<'a> {
        "type" => kind: Text<'a>,
        "status" => status: Text<'a>,
    }
}

wire! {
    struct ImageWire<'a> {
        "names" => names: List<Text<'a>>,
        "sizeBytes" => size_bytes: i64,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Node, D::Error> {
    let node = NodeWire::deserialize(json)?;
    let (meta, _) = node.meta.into_meta(Kind::Node);
    let status = node.status;
    let capacity = status.capacity.0;
    Ok(Node {
        meta,
        unschedulable: node.spec.unschedulable,
        taints: node.spec.taints.boxed(|taint| Taint {
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
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::{Effect, Node, Quantity};

    fn node(json: &str) -> Node {
        model_of!(Node, json)
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
