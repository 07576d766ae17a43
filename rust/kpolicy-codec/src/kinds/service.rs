//! Services.

use kpolicy_engine::model::{Kind, Service};
use serde::de::{Deserialize, Deserializer};

use crate::wire::selecting::MapSelectorWire;

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Service, D::Error> {
    let service = MapSelectorWire::deserialize(json)?;
    Ok(Service {
        meta: service.meta.into_meta(Kind::Service).0,
        selector: service.spec.selector.unwrap_or_default().0,
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn a_service_selects_by_labels() {
        let service =
            model_of!(Service, r#"{"metadata":{"name":"s"},"spec":{"selector":{"a":"b"}}}"#);
        assert_eq!(service.selector.get("a"), Some("b"));
    }
}
