//! Claims on devices: what is asked for, and which devices were given; and the classes that they name.

use std::sync::Arc;

use super::device::{DeviceTaint, WrittenSelector};
use super::{Meta, OwnerReference, WrittenQuantity};

/// A `DeviceClass`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceClass {
    /// `metadata`.
    pub meta: Meta,
    /// The CEL texts of `spec.selectors`; `None` for a selector of another type.
    pub selectors: Box<[Option<Box<str>>]>,
    /// The JSON of each entry of `spec.config`.
    pub config: Box<[Box<str>]>,
    /// `spec.extendedResourceName`.
    pub extended_resource: Option<Box<str>>,
}

/// A `ResourceClaimTemplate`: only known to be there; a controller makes claims of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// `metadata`.
    pub meta: Meta,
}

/// A `ResourceClaim`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceClaim {
    /// `metadata`.
    pub meta: Meta,
    /// The controlling owner.
    pub owner: Option<OwnerReference>,
    /// `metadata.finalizers`.
    pub finalizers: Box<[Box<str>]>,
    /// `spec.devices.requests`.
    pub requests: Arc<[DeviceRequest]>,
    /// `spec.devices.constraints`.
    pub constraints: Box<[ClaimConstraint]>,
    /// `spec.devices.config`.
    pub config: Box<[ClaimConfig]>,
    /// `status.allocation`.
    pub allocation: Option<Arc<Allocation>>,
    /// `status.reservedFor`.
    pub reserved_for: Box<[Consumer]>,
    /// `status.devices`: what drivers report.
    pub device_statuses: Box<[DeviceStatus]>,
    /// The JSON of `status.devices`.
    pub device_statuses_text: Option<Box<str>>,
}

impl ResourceClaim {
    /// Whether a scheduler made it for the extended resources of its owner.
    pub fn is_for_extended_resources(&self) -> bool {
        const ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";
        self.meta.annotations.get(ANNOTATION) == Some("true")
    }

    /// What such a claim is called before it is written: no claim of the API has this name.
    pub fn stand_in_name(pod_uid: &str) -> String {
        format!("<extended-resources>/{pod_uid}")
    }
}

/// One request of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRequest {
    /// Unique in the claim.
    pub name: Box<str>,
    /// What will do.
    pub wanted: Wanted,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// `exactly`.
    Exactly(Ask),
    /// `firstAvailable`: alternatives in order of preference.
    FirstAvailable(Box<[Ask]>),
    /// A kind of request of a later release.
    Unknown,
}

/// Some devices of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// The name of the alternative; of an `exactly`, that of the request.
    pub name: Box<str>,
    /// `deviceClassName`.
    pub class: Box<str>,
    /// The CEL texts of `selectors`; `None` for a selector of another type.
    pub selectors: Box<[Option<Box<str>>]>,
    /// How many devices.
    pub mode: Mode,
    /// `adminAccess`.
    pub is_admin: bool,
    /// `tolerations`.
    pub tolerations: Box<[DeviceToleration]>,
    /// `capacity.requests`, by name, sorted.
    pub capacity: Box<[(Box<str>, WrittenQuantity)]>,
}

/// How many devices a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// `ExactCount`.
    Exact(i64),
    /// `All`.
    All,
    /// A mode of a later release.
    Unknown(Box<str>),
}

impl Default for Mode {
    fn default() -> Self {
        Self::Exact(1)
    }
}

/// A taint of devices that a request tolerates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceToleration {
    /// The taint's key; empty for any.
    pub key: Box<str>,
    /// `Equal` or `Exists`.
    pub operator: Box<str>,
    /// The taint's value, for `Equal`.
    pub value: Box<str>,
    /// Empty for every effect.
    pub effect: Box<str>,
    /// `tolerationSeconds`.
    pub seconds: Option<i64>,
}

impl DeviceToleration {
    /// Whether it tolerates a taint.
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match &*self.operator {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}

/// A constraint over the devices of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimConstraint {
    /// The requests that it binds, also as `request/alternative`; none: all.
    pub requests: Box<[Box<str>]>,
    /// What must hold.
    pub kind: ConstraintKind,
}

/// What a constraint asks of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConstraintKind {
    /// All devices have the same value of this attribute.
    Match(Box<str>),
    /// All devices have different values of this attribute.
    Distinct(Box<str>),
    /// A constraint of a later release.
    Unknown,
}

/// A configuration of a claim for its driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimConfig {
    /// The requests that it is for, also as `request/alternative`; none: all.
    pub requests: Box<[Box<str>]>,
    /// The JSON of `opaque`; empty where absent.
    pub opaque: Box<str>,
}

/// `status.allocation`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// `devices.results`, in the order in which they were chosen.
    pub devices: Box<[AllocatedDevice]>,
    /// `devices.config`.
    pub config: Box<[AllocatedConfig]>,
    /// The nodes on which it is good; `None`: all.
    pub node_selector: Option<WrittenSelector>,
    /// `allocationTimestamp`, in seconds since the epoch.
    pub allocated_seconds: Option<i64>,
    /// `allocationTimestamp` as written; empty where absent.
    pub allocated_at: Box<str>,
}

impl Allocation {
    /// Whether it has devices that are made ready before a pod is bound.
    pub(crate) fn has_binding_conditions(&self) -> bool {
        self.devices.iter().any(|device| !device.binding_conditions.is_empty())
    }
}

/// Amounts by the names of capacities, sorted.
pub(crate) type CapacityAmounts = Box<[(Box<str>, WrittenQuantity)]>;

/// One allocated device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocatedDevice {
    /// The request, or `request/alternative`.
    pub request: Box<str>,
    /// The driver.
    pub driver: Box<str>,
    /// The pool.
    pub pool: Box<str>,
    /// The device.
    pub device: Box<str>,
    /// `adminAccess`: it does not take the device.
    pub is_admin: bool,
    /// The tolerations of the request.
    pub tolerations: Box<[DeviceToleration]>,
    /// The id of a share of the device; empty where it is taken whole.
    pub share_id: Box<str>,
    /// What the share takes, by name, sorted; `None` where absent.
    pub consumed: Option<CapacityAmounts>,
    /// As the device had them.
    pub binding_conditions: Box<[Box<str>]>,
    /// As the device had them.
    pub binding_failure_conditions: Box<[Box<str>]>,
}

/// One configuration of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocatedConfig {
    /// From the class, not from the claim.
    pub is_from_class: bool,
    /// The requests that it is for; none: all.
    pub requests: Box<[Box<str>]>,
    /// The JSON of the configuration: an object with `opaque`.
    pub text: Box<str>,
}

/// Who uses a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consumer {
    /// `apiGroup`, or empty.
    pub group: Box<str>,
    /// `resource`, for example `pods`.
    pub resource: Box<str>,
    /// The consumer's name.
    pub name: Box<str>,
    /// The consumer's uid.
    pub uid: Box<str>,
}

/// What a driver reports about an allocated device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceStatus {
    /// The driver.
    pub driver: Box<str>,
    /// The pool.
    pub pool: Box<str>,
    /// The device.
    pub device: Box<str>,
    /// The id of a share of the device, or empty.
    pub share_id: Box<str>,
    /// Types of conditions that are `True`.
    pub true_conditions: Box<[Box<str>]>,
}
