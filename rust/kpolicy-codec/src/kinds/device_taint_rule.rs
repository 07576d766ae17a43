//! Taints that are laid over published devices.

use kpolicy_engine::model::{DeviceTaintRule, Kind};
use serde::de::{Deserialize, Deserializer};

use crate::wire::device::{DeviceTaintWire, present};
use crate::wire::meta::MetaWire;
use crate::wire::scalar::Text;
use crate::wire::wire;

wire! {
    struct TaintRuleWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: TaintRuleSpecWire<'a>,
    }
}

wire! {
    struct TaintRuleSpecWire<'a> {
        "deviceSelector" => selector: Option<SelectorWire<'a>>,
        "taint" => taint: DeviceTaintWire<'a>,
    }
}

wire! {
    struct SelectorWire<'a> {
        "driver" => driver: Text<'a>,
        "pool" => pool: Text<'a>,
        "device" => device: Text<'a>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<DeviceTaintRule, D::Error> {
    let TaintRuleWire { meta, spec } = TaintRuleWire::deserialize(json)?;
    let has_selector = spec.selector.is_some();
    let selector = spec.selector.unwrap_or_default();
    Ok(DeviceTaintRule {
        meta: meta.into_meta(Kind::DeviceTaintRule).0,
        driver: present(selector.driver),
        pool: present(selector.pool),
        device: present(selector.device),
        has_selector,
        taint: spec.taint.into_model(),
    })
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;

    #[test]
    fn rules_are_read() {
        let rule = model_of!(
            DeviceTaintRule,
            r#"{"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"d"},
                "taint":{"key":"k","effect":"NoSchedule"}}}"#
        );
        assert_eq!((rule.driver.as_deref(), rule.pool.as_deref()), (Some("d"), None));
        assert!(rule.has_selector && rule.taint.is_hard());
    }
}
