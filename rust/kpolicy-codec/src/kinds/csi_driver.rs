//! CSI drivers.

use kpolicy_engine::model::{CsiDriver, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::meta::MetaWire;
use crate::wire::wire;

wire! {
    struct CsiDriverWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: CsiDriverSpecWire,
    }
}

wire! {
    struct CsiDriverSpecWire {
        "storageCapacity" => storage_capacity: bool,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<CsiDriver, D::Error> {
    let driver = CsiDriverWire::deserialize(json)?;
    Ok(CsiDriver {
        meta: driver.meta.into_meta(Kind::CsiDriver).0,
        storage_capacity: driver.spec.storage_capacity,
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn drivers_are_read() {
        let driver = r#"{"metadata":{"name":"d"},"spec":{"storageCapacity":true}}"#;
        assert!(model_of!(CsiDriver, driver).storage_capacity);
    }
}
