//! Storage capacities that CSI drivers report.

use kpolicy_engine::model::{CsiStorageCapacity, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::MetaWire;
use crate::wire::scalar::{Amount, Text};
use crate::wire::selector::SelectorWire;
use crate::wire::wire;

wire! {
    struct CapacityWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "storageClassName" => class: Text<'a>,
        "nodeTopology" => topology: Option<SelectorWire<'a>>,
        "capacity" => capacity: Option<Amount>,
        "maximumVolumeSize" => maximum_volume_size: Option<Amount>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<CsiStorageCapacity, D::Error> {
    let capacity = CapacityWire::deserialize(json)?;
    Ok(CsiStorageCapacity {
        meta: capacity.meta.into_meta(Kind::CsiStorageCapacity).0,
        storage_class: capacity.class.boxed(),
        node_topology: capacity.topology.map(SelectorWire::into_model),
        capacity: capacity.capacity.map(|amount| amount.0),
        maximum_volume_size: capacity.maximum_volume_size.map(|amount| amount.0),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::Quantity;

    #[test]
    fn capacities_are_read() {
        let capacity = model_of!(
            CsiStorageCapacity,
            r#"{"metadata":{"name":"c","namespace":"n"},"storageClassName":"s","capacity":"1Gi",
                "nodeTopology":{"matchLabels":{"zone":"a"}}}"#
        );
        assert_eq!(capacity.capacity, Some(Quantity::from_units(1 << 30)));
        assert_eq!((&*capacity.storage_class, capacity.maximum_volume_size), ("s", None));
        assert!(capacity.node_topology.is_some());
    }
}
