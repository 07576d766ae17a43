//! Classes of devices.

use kpolicy_engine::model::{DeviceClass, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::device::{ConfigWire, DeviceSelectorWire, present, selectors};
use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::sequence::List;
use crate::wire::wire;

wire! {
    struct DeviceClassWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: DeviceClassSpecWire<'a>,
    }
}

wire! {
    struct DeviceClassSpecWire<'a> {
        "selectors" => selectors: List<DeviceSelectorWire<'a>>,
        "config" => config: List<ConfigWire<'a>>,
        "extendedResourceName" => extended_resource: Text<'a>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<DeviceClass, D::Error> {
    let DeviceClassWire { meta, spec } = DeviceClassWire::deserialize(json)?;
    Ok(DeviceClass {
        meta: meta.into_meta(Kind::DeviceClass).0,
        selectors: selectors(spec.selectors),
        config: spec.config.boxed(|config| ConfigWire::text(&config.opaque.0)),
        extended_resource: present(spec.extended_resource),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn classes_are_read() {
        let class = model_of!(
            DeviceClass,
            r#"{"metadata":{"name":"gpu"},"spec":{"extendedResourceName":"example.com/gpu",
                "selectors":[{"cel":{"expression":"true"}},{}],
                "config":[{"opaque":{"driver":"d"}}]}}"#
        );
        assert_eq!(*class.selectors, [Some("true".into()), None]);
        assert_eq!(*class.config, [r#"{"opaque":{"driver":"d"}}"#.into()]);
        assert_eq!(class.extended_resource.as_deref(), Some("example.com/gpu"));
    }
}
