//! Pods: everything that a rule may read of a pod.

use super::{Affinity, ApiValues, Effect, Labels, Meta, ResourceList, SpreadConstraint, Volume};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the API or a fact of its own"
)]
pub struct Pod {
    pub meta: Meta,
    pub owner: Option<OwnerReference>,
    pub node_name: Box<str>,
    pub nominated_node_name: Box<str>,
    pub scheduler_name: Box<str>,
    /// `spec.priority`, 0 where absent.
    pub priority: i32,
    pub priority_class_name: Box<str>,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    pub phase: Phase,
    pub start_seconds: Option<i64>,
    /// Names, in source order.
    pub scheduling_gates: Box<[Box<str>]>,
    pub node_selector: Option<Labels>,
    pub affinity: Option<Box<Affinity>>,
    pub tolerations: Box<[Toleration]>,
    pub spread_constraints: Box<[SpreadConstraint]>,
    pub containers: Box<[Container]>,
    pub init_containers: Box<[Container]>,
    pub overhead: ResourceList,
    /// `spec.resources.requests`, where present.
    pub pod_level_requests: Option<ResourceList>,
    pub status_resources: Option<Box<StatusResources>>,
    /// Condition `PodResizePending` with reason `Infeasible`.
    pub resize_infeasible: bool,
    pub volumes: Box<[Volume]>,
    /// Names of `spec.resourceClaims`.
    pub resource_claims: Box<[Box<str>]>,
    pub pod_group: Option<Box<str>>,
    pub host_network: bool,
    pub host_users: Option<bool>,
    pub service_account_name: Box<str>,
    /// Condition `DisruptionTarget=True` with reason `PreemptionByScheduler`.
    pub preempted_by_scheduler: bool,
    pub api_values: ApiValues,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

impl Phase {
    /// A pod in a terminal phase holds nothing: it is as good as deleted.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// The controlling owner (`controller: true`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct OwnerReference {
    pub api_version: Box<str>,
    pub kind: Box<str>,
    pub name: Box<str>,
    pub uid: Box<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Container {
    pub name: Box<str>,
    pub image: Box<str>,
    pub requests: ResourceList,
    pub limits: ResourceList,
    /// Only those with a host port above 0.
    pub host_ports: Box<[HostPort]>,
    /// An init container with `restartPolicy: Always` (a sidecar).
    pub restarts_always: bool,
    /// Container-level `restartPolicyRules` with action `RestartAllContainers`.
    pub restarts_all_containers: bool,
    pub status: Option<Box<StatusResources>>,
}

/// Resources as the status reports them, for in-place resize.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StatusResources {
    /// `None` where `status.resources` is absent.
    pub requests: Option<ResourceList>,
    pub allocated: ResourceList,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// Empty became `0.0.0.0`.
    pub ip: Box<str>,
    /// Empty became `TCP`.
    pub protocol: Box<str>,
    pub port: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Toleration {
    pub key: Box<str>,
    pub operator: TolerationOperator,
    pub value: Box<str>,
    /// `None` tolerates every effect.
    pub effect: Option<Effect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TolerationOperator {
    Equal,
    Exists,
    /// `Lt` and `Gt` are behind an alpha gate that is off, and anything else is unknown.
    Unknown,
}
