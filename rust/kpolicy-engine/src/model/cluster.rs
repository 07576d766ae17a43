//! Namespaces, services, controllers and disruption budgets.

use super::{ApiValues, Kind, Labels, Meta, Selector};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControllerKind {
    ReplicationController,
    ReplicaSet,
    StatefulSet,
}

impl From<ControllerKind> for Kind {
    fn from(kind: ControllerKind) -> Self {
        match kind {
            ControllerKind::ReplicationController => Self::ReplicationController,
            ControllerKind::ReplicaSet => Self::ReplicaSet,
            ControllerKind::StatefulSet => Self::StatefulSet,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    pub meta: Meta,
    pub kind: ControllerKind,
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
