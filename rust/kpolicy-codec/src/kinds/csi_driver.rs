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
        "preventPodSchedulingIfMissing" => prevents_where_missing: bool,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<CsiDriver, D::Error> {
    let driver = CsiDriverWire::deserialize(json)?;
    Ok(CsiDriver {
        meta: driver.meta.into_meta(Kind::CsiDriver).0,
        storage_capacity: driver.spec.storage_capacity,
        prevents_where_missing: driver.spec.prevents_where_missing,
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn drivers_are_read() {
        let read = |spec: &str| {
            let driver = format!(r#"{{"metadata":{{"name":"d"}},"spec":{spec}}}"#);
            let driver = model_of!(CsiDriver, &driver);
            (driver.storage_capacity, driver.prevents_where_missing)
        };
        assert_eq!(read(r#"{"storageCapacity":true}"#), (true, false));
        assert_eq!(read(r#"{"preventPodSchedulingIfMissing":true}"#), (false, true));
    }
}
