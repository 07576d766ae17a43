//! Claims on devices. Requests of `v1beta1` have the parts of `exactly` beside their name. Defaults of
//! the API: one device, `ExactCount`.

use kpolicy_engine::model::{
    AllocatedConfig, AllocatedDevice, Allocation, Ask, ClaimConfig, ClaimConstraint,
    ConstraintKind, Consumer, DeviceRequest, DeviceStatus, DeviceToleration, Kind, Mode,
    ResourceClaim, Wanted,
};
use serde::de::{Deserialize, Deserializer, Error};

use crate::timestamp;
use crate::wire::device::{ConfigWire, DeviceSelectorWire, WrittenSelectorWire, selectors};
use crate::wire::map::MapOf;
use crate::wire::meta::MetaWire;
use crate::wire::scalar::{Json, Text, Written};
use crate::wire::sequence::List;
use crate::wire::wire;

wire! {
    struct ClaimWire<'a> {
        "metadata" => meta: ClaimMetaWire<'a>,
        "spec" => spec: ClaimSpecWire<'a>,
        "status" => status: ClaimStatusWire<'a>,
    }
}

/// Metadata, with the finalizers.
#[derive(Default)]
struct ClaimMetaWire<'a> {
    meta: MetaWire<'a>,
    finalizers: Box<[Box<str>]>,
}

impl<'de> Deserialize<'de> for ClaimMetaWire<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&serde_json::value::RawValue>::deserialize(deserializer)?.get();
        let meta = serde_json::from_str(text).map_err(D::Error::custom)?;
        let more: FinalizersWire<'_> = serde_json::from_str(text).map_err(D::Error::custom)?;
        Ok(Self { meta, finalizers: more.finalizers.texts() })
    }
}

wire! {
    struct FinalizersWire<'a> {
        "finalizers" => finalizers: List<Text<'a>>,
    }
}

wire! {
    struct ClaimSpecWire<'a> {
        "devices" => devices: DevicesWire<'a>,
    }
}

wire! {
    struct DevicesWire<'a> {
        "requests" => requests: List<RequestWire<'a>>,
        "constraints" => constraints: List<ConstraintWire<'a>>,
        "config" => config: List<ConfigWire<'a>>,
    }
}

wire! {
    struct RequestWire<'a> {
        "name" => name: Text<'a>,
        "exactly" => exactly: Option<AskWire<'a>>,
        "firstAvailable" => first_available: Option<List<AskWire<'a>>>,
        "deviceClassName" => class: Text<'a>,
        "selectors" => selectors: List<DeviceSelectorWire<'a>>,
        "allocationMode" => mode: Text<'a>,
        "count" => count: i64,
        "adminAccess" => is_admin: bool,
        "tolerations" => tolerations: List<TolerationWire<'a>>,
        "capacity" => capacity: CapacityRequestsWire,
    }
}

wire! {
    struct AskWire<'a> {
        "name" => name: Text<'a>,
        "deviceClassName" => class: Text<'a>,
        "selectors" => selectors: List<DeviceSelectorWire<'a>>,
        "allocationMode" => mode: Text<'a>,
        "count" => count: i64,
        "adminAccess" => is_admin: bool,
        "tolerations" => tolerations: List<TolerationWire<'a>>,
        "capacity" => capacity: CapacityRequestsWire,
    }
}

wire! {
    struct CapacityRequestsWire {
        "requests" => requests: MapOf<Written>,
    }
}

wire! {
    struct TolerationWire<'a> {
        "key" => key: Text<'a>,
        "operator" => operator: Text<'a>,
        "value" => value: Text<'a>,
        "effect" => effect: Text<'a>,
        "tolerationSeconds" => seconds: Option<i64>,
    }
}

wire! {
    struct ConstraintWire<'a> {
        "requests" => requests: List<Text<'a>>,
        "matchAttribute" => matched: Option<Text<'a>>,
        "distinctAttribute" => distinct: Option<Text<'a>>,
    }
}

wire! {
    struct ClaimStatusWire<'a> {
        "allocation" => allocation: Option<AllocationWire<'a>>,
        "reservedFor" => reserved_for: List<ConsumerWire<'a>>,
        "devices" => devices: Option<Json>,
    }
}

wire! {
    struct AllocationWire<'a> {
        "devices" => devices: AllocatedWire<'a>,
        "nodeSelector" => node_selector: Option<WrittenSelectorWire>,
        "allocationTimestamp" => allocated_at: Text<'a>,
    }
}

wire! {
    struct AllocatedWire<'a> {
        "results" => results: List<ResultWire<'a>>,
        "config" => config: List<ConfigWire<'a>>,
    }
}

wire! {
    struct ResultWire<'a> {
        "request" => request: Text<'a>,
        "driver" => driver: Text<'a>,
        "pool" => pool: Text<'a>,
        "device" => device: Text<'a>,
        "adminAccess" => is_admin: bool,
        "tolerations" => tolerations: List<TolerationWire<'a>>,
        "shareID" => share_id: Text<'a>,
        "consumedCapacity" => consumed: Option<MapOf<Written>>,
        "bindingConditions" => binding_conditions: List<Text<'a>>,
        "bindingFailureConditions" => binding_failure_conditions: List<Text<'a>>,
    }
}

wire! {
    struct ConsumerWire<'a> {
        "apiGroup" => group: Text<'a>,
        "resource" => resource: Text<'a>,
        "name" => name: Text<'a>,
        "uid" => uid: Text<'a>,
    }
}

wire! {
    struct DeviceStatusWire<'a> {
        "driver" => driver: Text<'a>,
        "pool" => pool: Text<'a>,
        "device" => device: Text<'a>,
        "shareID" => share_id: Text<'a>,
        "conditions" => conditions: List<ConditionWire<'a>>,
    }
}

wire! {
    struct ConditionWire<'a> {
        "type" => kind: Text<'a>,
        "status" => status: Text<'a>,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<ResourceClaim, D::Error> {
    let ClaimWire { meta, spec, status } = ClaimWire::deserialize(json)?;
    let finalizers = meta.finalizers;
    let (meta, owner) = meta.meta.into_meta(Kind::ResourceClaim);
    let statuses: List<DeviceStatusWire<'_>> = match &status.devices {
        Some(Json(text)) => serde_json::from_str(text).map_err(D::Error::custom)?,
        None => List::default(),
    };
    Ok(ResourceClaim {
        owner,
        finalizers,
        requests: spec.devices.requests.0.into_iter().map(request).collect(),
        constraints: spec.devices.constraints.boxed(constraint),
        config: spec.devices.config.boxed(|config| ClaimConfig {
            requests: config.requests.texts(),
            opaque: config.opaque.0,
        }),
        allocation: status.allocation.map(|own| allocation(own).into()),
        reserved_for: status.reserved_for.boxed(|consumer| Consumer {
            group: consumer.group.boxed(),
            resource: consumer.resource.boxed(),
            name: consumer.name.boxed(),
            uid: consumer.uid.boxed(),
        }),
        device_statuses: statuses.boxed(device_status),
        device_statuses_text: status.devices.map(|Json(text)| text),
        meta,
    })
}

fn request(wire: RequestWire<'_>) -> DeviceRequest {
    let name = wire.name.boxed();
    let wanted = match (wire.first_available, wire.exactly) {
        (Some(list), _) if !list.0.is_empty() => Wanted::FirstAvailable(list.boxed(ask)),
        (_, Some(exactly)) => Wanted::Exactly(Ask { name: name.clone(), ..ask(exactly) }),
        _ if wire.class.is_empty() => Wanted::Unknown,
        _ => Wanted::Exactly(Ask {
            name: name.clone(),
            ..ask(AskWire {
                name: Text::default(),
                class: wire.class,
                selectors: wire.selectors,
                mode: wire.mode,
                count: wire.count,
                is_admin: wire.is_admin,
                tolerations: wire.tolerations,
                capacity: wire.capacity,
            })
        }),
    };
    DeviceRequest { name, wanted }
}

fn ask(wire: AskWire<'_>) -> Ask {
    Ask {
        name: wire.name.boxed(),
        class: wire.class.boxed(),
        selectors: selectors(wire.selectors),
        mode: match &*wire.mode {
            "" | "ExactCount" => Mode::Exact(if wire.count == 0 { 1 } else { wire.count }),
            "All" => Mode::All,
            other => Mode::Unknown(other.into()),
        },
        is_admin: wire.is_admin,
        tolerations: wire.tolerations.boxed(toleration),
        capacity: wire.capacity.requests.boxed(|written| written.0),
    }
}

fn toleration(wire: TolerationWire<'_>) -> DeviceToleration {
    DeviceToleration {
        key: wire.key.boxed(),
        operator: wire.operator.boxed(),
        value: wire.value.boxed(),
        effect: wire.effect.boxed(),
        seconds: wire.seconds,
    }
}

fn constraint(wire: ConstraintWire<'_>) -> ClaimConstraint {
    let kind = match (wire.matched, wire.distinct) {
        (Some(attribute), _) => ConstraintKind::Match(attribute.boxed()),
        (None, Some(attribute)) => ConstraintKind::Distinct(attribute.boxed()),
        (None, None) => ConstraintKind::Unknown,
    };
    ClaimConstraint { requests: wire.requests.texts(), kind }
}

fn allocation(wire: AllocationWire<'_>) -> Allocation {
    Allocation {
        devices: wire.devices.results.boxed(|result| AllocatedDevice {
            request: result.request.boxed(),
            driver: result.driver.boxed(),
            pool: result.pool.boxed(),
            device: result.device.boxed(),
            is_admin: result.is_admin,
            tolerations: result.tolerations.boxed(toleration),
            share_id: result.share_id.boxed(),
            consumed: result.consumed.map(|consumed| consumed.boxed(|written| written.0)),
            binding_conditions: result.binding_conditions.texts(),
            binding_failure_conditions: result.binding_failure_conditions.texts(),
        }),
        config: wire.devices.config.boxed(|config| AllocatedConfig {
            is_from_class: &*config.source == "FromClass",
            text: ConfigWire::text(&config.opaque.0),
            requests: config.requests.texts(),
        }),
        node_selector: wire.node_selector.map(|selector| selector.0),
        allocated_seconds: timestamp::seconds(&wire.allocated_at),
        allocated_at: wire.allocated_at.boxed(),
    }
}

fn device_status(wire: DeviceStatusWire<'_>) -> DeviceStatus {
    let is_true = |condition: ConditionWire<'_>| {
        (&*condition.status == "True").then(|| condition.kind.boxed())
    };
    DeviceStatus {
        driver: wire.driver.boxed(),
        pool: wire.pool.boxed(),
        device: wire.device.boxed(),
        share_id: wire.share_id.boxed(),
        true_conditions: wire.conditions.0.into_iter().filter_map(is_true).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::{Mode, Wanted};

    #[test]
    fn claims_are_read() {
        let claim = model_of!(
            ResourceClaim,
            r#"{"metadata":{"name":"c","namespace":"n","finalizers":["f"]},
                "spec":{"devices":{"requests":[
                  {"name":"a","exactly":{"deviceClassName":"gpu","allocationMode":"All"}},
                  {"name":"b","firstAvailable":[{"name":"x","deviceClassName":"gpu","count":2}]},
                  {"name":"c","deviceClassName":"nic"},{"name":"d"}],
                  "constraints":[{"matchAttribute":"d/a"}],
                  "config":[{"requests":["a"],"opaque":{"driver":"d"}}]}},
                "status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}],
                  "allocation":{"devices":{"results":[{"request":"a","driver":"d","pool":"p",
                    "device":"x","consumedCapacity":{"m":"1Gi"},"shareID":"s"}]},
                    "allocationTimestamp":"1970-01-01T00:00:05Z"},
                  "devices":[{"driver":"d","pool":"p","device":"x",
                    "conditions":[{"type":"Ready","status":"True"},{"type":"B","status":"False"}]}]
                }}"#
        );
        assert_eq!(*claim.finalizers, ["f".into()]);
        let [a, b, c, d] = &*claim.requests else { panic!("four requests") };
        assert!(matches!(&a.wanted, Wanted::Exactly(ask) if ask.mode == Mode::All));
        assert!(
            matches!(&b.wanted, Wanted::FirstAvailable(asks) if asks[0].mode == Mode::Exact(2))
        );
        assert!(matches!(&c.wanted, Wanted::Exactly(ask) if &*ask.class == "nic"));
        assert_eq!(d.wanted, Wanted::Unknown);
        let allocation = claim.allocation.expect("it is allocated");
        assert_eq!(allocation.allocated_seconds, Some(5));
        assert_eq!(&*allocation.devices[0].share_id, "s");
        assert_eq!(*claim.device_statuses[0].true_conditions, ["Ready".into()]);
    }
}
