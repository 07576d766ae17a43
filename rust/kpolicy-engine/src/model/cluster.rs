//! Namespaces, services, controllers and disruption budgets.

use super::{ApiValues, Labels, Meta, Selector};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    pub meta: Meta,
    pub api_values: ApiValues,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    pub meta: Meta,
    /// Empty selects nothing.
    pub selector: Labels,
}

/// A replication controller, replica set or stateful set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Controller {
    pub meta: Meta,
    pub selector: Option<Selector>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisruptionBudget {
    pub meta: Meta,
    pub selector: Option<Selector>,
    pub disruptions_allowed: i32,
    /// Names of pods in `status.disruptedPods`, sorted.
    pub disrupted_pods: Box<[Box<str>]>,
}
