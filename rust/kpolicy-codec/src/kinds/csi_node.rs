//! What CSI drivers report of a node.

use kpolicy_engine::model::{CsiNode, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::sequence::List;
use crate::wire::wire;

wire! {
    struct CsiNodeWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: CsiNodeSpecWire<'a>,
    }
}

wire! {
    struct CsiNodeSpecWire<'a> {
        "drivers" => drivers: List<CsiNodeDriverWire<'a>>,
    }
}

wire! {
    struct CsiNodeDriverWire<'a> {
        "name" => name: Text<'a>,
        "allocatable" => allocatable: CountWire,
    }
}

wire! {
    struct CountWire {
        "count" => count: Option<i32>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<CsiNode, D::Error> {
    let node = CsiNodeWire::deserialize(json)?;
    Ok(CsiNode {
        meta: node.meta.into_meta(Kind::CsiNode).0,
        drivers: node.spec.drivers.boxed(|driver| (driver.name.boxed(), driver.allocatable.count)),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn drivers_of_a_node_are_read() {
        let node = model_of!(
            CsiNode,
            r#"{"metadata":{"name":"n"},"spec":{"drivers":[
                {"name":"d","allocatable":{"count":0}},{"name":"e"}]}}"#
        );
        assert_eq!(*node.drivers, [("d".into(), Some(0)), ("e".into(), None)]);
    }
}
