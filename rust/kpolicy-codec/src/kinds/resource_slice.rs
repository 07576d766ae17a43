//! Slices of devices. Devices of `v1beta1` have their parts under `basic`.

use kpolicy_engine::model::{
    Attribute, CounterSet, Device, DeviceCapacity, Kind, RequestPolicy, ResourceSlice, ValidRange,
};
use serde::de::{Deserialize, Deserializer};

use crate::wire::device::{DeviceTaintWire, WrittenSelectorWire, place};
use crate::wire::map::MapOf;
use crate::wire::meta::MetaWire;
use crate::wire::scalar::{Text, Written};
use crate::wire::sequence::List;
use crate::wire::wire;

wire! {
    struct SliceWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SliceSpecWire<'a>,
    }
}

wire! {
    struct SliceSpecWire<'a> {
        "driver" => driver: Text<'a>,
        "pool" => pool: PoolWire<'a>,
        "nodeName" => node_name: Text<'a>,
        "nodeSelector" => node_selector: Option<WrittenSelectorWire>,
        "allNodes" => all_nodes: bool,
        "perDeviceNodeSelection" => per_device: bool,
        "devices" => devices: List<DeviceWire<'a>>,
        "sharedCounters" => shared_counters: List<CountersWire<'a>>,
    }
}

wire! {
    struct PoolWire<'a> {
        "name" => name: Text<'a>,
        "generation" => generation: i64,
        "resourceSliceCount" => slice_count: i64,
    }
}

wire! {
    struct DeviceWire<'a> {
        "name" => name: Text<'a>,
        "basic" => basic: Option<Box<DeviceWire<'a>>>,
        "attributes" => attributes: MapOf<AttributeWire<'a>>,
        "capacity" => capacity: MapOf<CapacityWire>,
        "allowMultipleAllocations" => is_shared: bool,
        "nodeName" => node_name: Text<'a>,
        "nodeSelector" => node_selector: Option<WrittenSelectorWire>,
        "allNodes" => all_nodes: bool,
        "bindsToNode" => binds_to_node: bool,
        "taints" => taints: List<DeviceTaintWire<'a>>,
        "consumesCounters" => consumes: List<ConsumedWire<'a>>,
        "bindingConditions" => binding_conditions: List<Text<'a>>,
        "bindingFailureConditions" => binding_failure_conditions: List<Text<'a>>,
    }
}

wire! {
    struct AttributeWire<'a> {
        "int" => int: Option<i64>,
        "bool" => bool: Option<bool>,
        "string" => string: Option<Text<'a>>,
        "version" => version: Option<Text<'a>>,
    }
}

wire! {
    struct CapacityWire {
        "value" => value: Written,
        "requestPolicy" => policy: Option<PolicyWire>,
    }
}

wire! {
    struct PolicyWire {
        "default" => default: Option<Written>,
        "validValues" => valid_values: Option<List<Written>>,
        "validRange" => valid_range: Option<RangeWire>,
    }
}

wire! {
    struct RangeWire {
        "min" => min: Option<Written>,
        "max" => max: Option<Written>,
        "step" => step: Option<Written>,
    }
}

wire! {
    struct CountersWire<'a> {
        "name" => name: Text<'a>,
        "counters" => counters: MapOf<CounterWire>,
    }
}

wire! {
    struct ConsumedWire<'a> {
        "counterSet" => set: Text<'a>,
        "counters" => counters: MapOf<CounterWire>,
    }
}

wire! {
    struct CounterWire {
        "value" => value: Written,
    }
}

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<ResourceSlice, D::Error> {
    let SliceWire { meta, spec } = SliceWire::deserialize(json)?;
    let set = |name: Text<'_>, counters: MapOf<CounterWire>| CounterSet {
        name: name.boxed(),
        counters: counters.boxed(|counter| counter.value.0),
    };
    Ok(ResourceSlice {
        meta: meta.into_meta(Kind::ResourceSlice).0,
        driver: spec.driver.boxed(),
        pool: spec.pool.name.boxed(),
        generation: spec.pool.generation,
        slice_count: spec.pool.slice_count,
        place: place(spec.node_name, spec.all_nodes, spec.node_selector),
        is_per_device: spec.per_device,
        devices: spec.devices.boxed(|device| {
            let name = device.name;
            let device = match device.basic {
                Some(basic) => DeviceWire { name, ..*basic },
                None => DeviceWire { name, ..device },
            };
            Device {
                name: device.name.boxed(),
                attributes: device.attributes.boxed(attribute),
                capacity: device.capacity.boxed(capacity),
                is_shared: device.is_shared,
                place: place(device.node_name, device.all_nodes, device.node_selector),
                binds_to_node: device.binds_to_node,
                taints: device.taints.boxed(DeviceTaintWire::into_model),
                consumes: device.consumes.boxed(|consumed| set(consumed.set, consumed.counters)),
                binding_conditions: device.binding_conditions.texts(),
                binding_failure_conditions: device.binding_failure_conditions.texts(),
            }
        }),
        shared_counters: spec.shared_counters.boxed(|own| set(own.name, own.counters)),
    })
}

fn attribute(wire: AttributeWire<'_>) -> Attribute {
    match wire {
        AttributeWire { int: Some(value), .. } => Attribute::Int(value),
        AttributeWire { bool: Some(value), .. } => Attribute::Bool(value),
        AttributeWire { string: Some(value), .. } => Attribute::Text(value.boxed()),
        AttributeWire { version: Some(value), .. } => Attribute::Version(value.boxed()),
        _ => Attribute::Unknown,
    }
}

fn capacity(wire: CapacityWire) -> DeviceCapacity {
    let policy = wire.policy.map(|policy| RequestPolicy {
        default: policy.default.map(|written| written.0),
        valid_values: policy.valid_values.map(|values| values.boxed(|written| written.0)),
        valid_range: policy.valid_range.map(|range| ValidRange {
            min: range.min.map(|written| written.0),
            max: range.max.map(|written| written.0),
            step: range.step.map(|written| written.0),
        }),
    });
    DeviceCapacity { value: wire.value.0, policy }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::model_of;
    use kpolicy_engine::model::Attribute;

    #[test]
    fn slices_are_read() {
        let slice = model_of!(
            ResourceSlice,
            r#"{"metadata":{"name":"s"},"spec":{"driver":"d","nodeName":"n",
                "pool":{"name":"p","generation":2,"resourceSliceCount":1},
                "devices":[
                  {"name":"a","attributes":{"model":{"string":"x"},"index":{"int":1}},
                   "capacity":{"memory":{"value":"2048Mi","requestPolicy":{"validRange":
                     {"min":"1Gi","step":"1Gi"}}}},"allowMultipleAllocations":true,
                   "consumesCounters":[{"counterSet":"c","counters":{"m":{"value":"1"}}}],
                   "taints":[{"key":"k","effect":"NoSchedule"}]},
                  {"name":"b","basic":{"attributes":{"v":{"version":"1.0.0"}}}}]}}"#
        );
        assert_eq!((&*slice.driver, &*slice.pool, slice.generation), ("d", "p", 2));
        assert_eq!(slice.place.node_name.as_deref(), Some("n"));
        let [first, second] = &*slice.devices else { panic!("two devices") };
        assert_eq!(first.attributes[0], ("index".into(), Attribute::Int(1)));
        assert_eq!(first.capacity[0].1.value.text(), "2Gi");
        assert!(first.is_shared && first.taints[0].is_hard());
        assert_eq!(&*first.consumes[0].name, "c");
        assert_eq!(second.attributes[0].1, Attribute::Version("1.0.0".into()));
        assert_eq!(&*second.name, "b");
    }
}
