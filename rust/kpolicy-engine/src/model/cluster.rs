//! Namespaces, services, controllers and disruption budgets.

use super::{ApiValues, Labels, Meta, Selector};

/// A namespace: its labels, and values that expressions read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// `metadata`.
    pub meta: Meta,
    /// Values that expressions read by API path.
    pub api_values: ApiValues,
}

/// A service, whose pods are spread by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// `metadata`.
    pub meta: Meta,
    /// Empty selects nothing.
    pub selector: Labels,
}

/// A replication controller, replica set or stateful set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Controller {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.selector`; `None` where absent.
    pub selector: Option<Selector>,
    /// `spec.replicas`, 1 where absent.
    pub replicas: i32,
}

/// A `PodDisruptionBudget`: how many of its pods may be evicted now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisruptionBudget {
    /// `metadata`.
    pub meta: Meta,
    /// `spec.selector`; `None` selects no pod.
    pub selector: Option<Selector>,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// Names of pods in `status.disruptedPods`, sorted.
    pub disrupted_pods: Box<[Box<str>]>,
}
