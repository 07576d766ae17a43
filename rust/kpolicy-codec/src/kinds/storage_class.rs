//! Storage classes.

use kpolicy_engine::model::{Kind, StorageClass};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::sequence::List;
use crate::wire::wire;

wire! {
    struct ClassWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "provisioner" => provisioner: Text<'a>,
        "volumeBindingMode" => binding_mode: Text<'a>,
        "allowedTopologies" => topologies: List<TopologyWire<'a>>,
    }
}

wire! {
    struct TopologyWire<'a> {
        "matchLabelExpressions" => expressions: List<TopologyKeyWire<'a>>,
    }
}

wire! {
    struct TopologyKeyWire<'a> {
        "key" => key: Text<'a>,
        "values" => values: List<Text<'a>>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<StorageClass, D::Error> {
    let class = ClassWire::deserialize(json)?;
    let term = |term: TopologyWire<'_>| {
        term.expressions.boxed(|each| (each.key.boxed(), each.values.texts_sorted_unique()))
    };
    let mode = class.binding_mode;
    Ok(StorageClass {
        meta: class.meta.into_meta(Kind::StorageClass).0,
        provisioner: class.provisioner.boxed(),
        waits_for_first_consumer: (!mode.is_empty()).then(|| &*mode == "WaitForFirstConsumer"),
        allowed_topologies: class.topologies.boxed(term),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn storage_classes_are_read() {
        let class = model_of!(
            StorageClass,
            r#"{"metadata":{"name":"s"},"provisioner":"p",
                "volumeBindingMode":"WaitForFirstConsumer",
                "allowedTopologies":[
                  {"matchLabelExpressions":[{"key":"zone","values":["b","a"]}]}]}"#
        );
        assert_eq!((&*class.provisioner, class.waits_for_first_consumer), ("p", Some(true)));
        assert_eq!(*class.allowed_topologies[0][0].1, ["a".into(), "b".into()]);
        let class = model_of!(StorageClass, r#"{"metadata":{"name":"s"}}"#);
        assert_eq!(class.waits_for_first_consumer, None);
    }
}
