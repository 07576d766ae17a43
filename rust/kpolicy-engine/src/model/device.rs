//! Devices that drivers publish in slices: what they are, what they offer, and which nodes reach them.

use super::{Meta, NodeSelector, WrittenQuantity};

/// A `ResourceSlice`: some devices of one pool of one driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceSlice {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.driver`.
    pub driver: Box<str>,
    /// `spec.pool.name`.
    pub pool: Box<str>,
    /// `spec.pool.generation`: only slices of the highest one count.
    pub generation: i64,
    /// `spec.pool.resourceSliceCount`: how many slices of this generation the pool has.
    pub slice_count: i64,
    /// Which nodes reach all devices of the slice.
    pub place: SlicePlace,
    /// `spec.perDeviceNodeSelection`: each device has a place of its own.
    pub is_per_device: bool,
    /// `spec.devices`, in source order.
    pub devices: Box<[Device]>,
    /// `spec.sharedCounters`.
    pub shared_counters: Box<[CounterSet]>,
}

/// Which nodes reach a slice or a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlicePlace {
    /// The only node; `None` where absent.
    pub node_name: Option<Box<str>>,
    /// Every node.
    pub is_everywhere: bool,
    /// The nodes that it selects.
    pub selector: Option<WrittenSelector>,
}

/// A node selector, with the text of the API: an allocation repeats it as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenSelector {
    /// What it selects.
    pub selector: NodeSelector,
    /// Its JSON.
    pub text: Box<str>,
}

/// One device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    /// Unique in its pool.
    pub name: Box<str>,
    /// By name, sorted; a name without a domain belongs to the driver's.
    pub attributes: Box<[(Box<str>, Attribute)]>,
    /// By name, sorted.
    pub capacity: Box<[(Box<str>, DeviceCapacity)]>,
    /// `allowMultipleAllocations`.
    pub is_shared: bool,
    /// Where it is reached, if its slice says so by device.
    pub place: SlicePlace,
    /// An allocation is good on one node only.
    pub binds_to_node: bool,
    /// `taints`.
    pub taints: Box<[DeviceTaint]>,
    /// `consumesCounters`.
    pub consumes: Box<[CounterSet]>,
    /// Conditions that must be true before the pod is bound.
    pub binding_conditions: Box<[Box<str>]>,
    /// Conditions that end the wait for the others.
    pub binding_failure_conditions: Box<[Box<str>]>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// `int`.
    Int(i64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    Text(Box<str>),
    /// `version`: a semantic version.
    Version(Box<str>),
    /// A type of a later release.
    Unknown,
}

/// An amount of something that a device offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DeviceCapacity {
    /// All of it.
    pub value: WrittenQuantity,
    /// Which shares of it may be asked for.
    pub policy: Option<RequestPolicy>,
}

/// `requestPolicy` of a capacity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RequestPolicy {
    /// What a request takes that names no amount.
    pub default: Option<WrittenQuantity>,
    /// The only amounts that may be taken.
    pub valid_values: Option<Box<[WrittenQuantity]>>,
    /// The range of amounts that may be taken.
    pub valid_range: Option<ValidRange>,
}

/// `validRange` of a request policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ValidRange {
    /// The smallest amount.
    pub min: Option<WrittenQuantity>,
    /// The largest amount.
    pub max: Option<WrittenQuantity>,
    /// Amounts are the smallest one and multiples of this above it.
    pub step: Option<WrittenQuantity>,
}

/// Counters by name, sorted: what a pool has, or what a device takes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CounterSet {
    /// The set's name.
    pub name: Box<str>,
    /// Amounts by the names of the counters.
    pub counters: Box<[(Box<str>, WrittenQuantity)]>,
}

/// A taint of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DeviceTaint {
    /// The taint's key.
    pub key: Box<str>,
    /// The taint's value, or empty.
    pub value: Box<str>,
    /// `NoSchedule`, `NoExecute`, `None`, or an effect of a later release.
    pub effect: Box<str>,
}

impl DeviceTaint {
    /// Whether it keeps requests off that do not tolerate it.
    pub fn is_hard(&self) -> bool {
        matches!(&*self.effect, "NoSchedule" | "NoExecute")
    }
}

/// A `DeviceTaintRule`: a taint for all devices that it selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceTaintRule {
    /// `metadata`.
    pub meta: Meta,
    /// Only devices of this driver.
    pub driver: Option<Box<str>>,
    /// Only devices of this pool.
    pub pool: Option<Box<str>>,
    /// Only devices of this name.
    pub device: Option<Box<str>>,
    /// Whether it selects anything: without `deviceSelector`, nothing.
    pub has_selector: bool,
    /// The taint.
    pub taint: DeviceTaint,
}
