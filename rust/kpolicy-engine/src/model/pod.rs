//! Pods: everything that a rule may read of a pod.

use super::{Affinity, ApiValues, Effect, Labels, Meta, ResourceList, SpreadConstraint, Volume};

/// A pod with the API's defaults applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the API or a fact of its own"
)]
pub struct Pod {
    /// `metadata`.
    pub meta: Meta,
    /// `metadata.generation`, which grows with changes of the spec; 0 where absent.
    pub generation: i64,
    /// The controlling owner in `metadata.ownerReferences`.
    pub owner: Option<OwnerReference>,
    /// `spec.nodeName`; empty while pending.
    pub node_name: Box<str>,
    /// `status.nominatedNodeName`, or empty.
    pub nominated_node_name: Box<str>,
    /// `spec.schedulerName`.
    pub scheduler_name: Box<str>,
    /// `spec.priority`, 0 where absent.
    pub priority: i32,
    /// `spec.priorityClassName`, or empty.
    pub priority_class_name: Box<str>,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.startTime`, in seconds since the epoch.
    pub start_seconds: Option<i64>,
    /// Names, in source order.
    pub scheduling_gates: Box<[Box<str>]>,
    /// `spec.nodeSelector`; `None` where absent.
    pub node_selector: Option<Labels>,
    /// `spec.affinity`.
    pub affinity: Option<Box<Affinity>>,
    /// `spec.tolerations`.
    pub tolerations: Box<[Toleration]>,
    /// `spec.topologySpreadConstraints`.
    pub spread_constraints: Box<[SpreadConstraint]>,
    /// `spec.containers`.
    pub containers: Box<[Container]>,
    /// `spec.initContainers`, sidecars among them.
    pub init_containers: Box<[Container]>,
    /// `spec.overhead`.
    pub overhead: ResourceList,
    /// `spec.resources.requests`, where present.
    pub pod_level_requests: Option<ResourceList>,
    /// `spec.resources.limits`.
    pub pod_level_limits: ResourceList,
    /// Resources of the pod as a whole in `status`.
    pub status_resources: Option<Box<StatusResources>>,
    /// Condition `PodResizePending` with reason `Infeasible`.
    pub resize_infeasible: bool,
    /// `spec.volumes`.
    pub volumes: Box<[Volume]>,
    /// `spec.resourceClaims`.
    pub resource_claims: Box<[PodClaim]>,
    /// `status.resourceClaimStatuses`: names in the pod, and the claims made for them (`None`: none is
    /// needed).
    pub claim_statuses: Box<[ClaimStatus]>,
    /// The pod group that `spec` names.
    pub pod_group: Option<Box<str>>,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// `spec.hostUsers`.
    pub host_users: Option<bool>,
    /// `spec.serviceAccountName`, or empty.
    pub service_account_name: Box<str>,
    /// Condition `DisruptionTarget=True` with reason `PreemptionByScheduler`.
    pub preempted_by_scheduler: bool,
    /// Values that expressions read by API path.
    pub api_values: ApiValues,
}

/// A name in the pod, and the claim made for it.
pub(crate) type ClaimStatus = (Box<str>, Option<Box<str>>);

/// An entry of `spec.resourceClaims`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodClaim {
    /// Its name in the pod.
    pub name: Box<str>,
    /// Which claim it is.
    pub source: ClaimSource,
}

/// Which claim a pod uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ClaimSource {
    /// The claim of this name.
    Claim(Box<str>),
    /// The one that was made from a template for this pod.
    Template,
    /// A source of a later release.
    #[default]
    Unknown,
}

/// `status.phase` of a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have been started.
    #[default]
    Pending,
    /// Bound to a node, with a container that runs, starts or restarts.
    Running,
    /// All containers ended with success.
    Succeeded,
    /// All containers ended, one of them with failure.
    Failed,
    /// The node does not answer, or the phase is not one of the API's.
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
    /// Group and version of the owner's kind.
    pub api_version: Box<str>,
    /// The owner's kind.
    pub kind: Box<str>,
    /// The owner's name.
    pub name: Box<str>,
    /// The owner's uid.
    pub uid: Box<str>,
}

/// A container or init container, as far as a rule reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Container {
    /// `name`, unique in the pod.
    pub name: Box<str>,
    /// `image` as the spec names it.
    pub image: Box<str>,
    /// `resources.requests`, limits where it names none.
    pub requests: ResourceList,
    /// `resources.limits`.
    pub limits: ResourceList,
    /// Only those with a host port above 0.
    pub host_ports: Box<[HostPort]>,
    /// An init container with `restartPolicy: Always` (a sidecar).
    pub restarts_always: bool,
    /// Container-level `restartPolicyRules` with action `RestartAllContainers`.
    pub restarts_all_containers: bool,
    /// Its resources in the pod's status; `None` where absent.
    pub status: Option<Box<StatusResources>>,
}

/// Resources as the status reports them, for in-place resize.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StatusResources {
    /// `None` where `status.resources` is absent.
    pub requests: Option<ResourceList>,
    /// `allocatedResources`.
    pub allocated: ResourceList,
}

/// A port of the node that a container occupies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// Empty became `0.0.0.0`.
    pub ip: Box<str>,
    /// Empty became `TCP`.
    pub protocol: Box<str>,
    /// `hostPort`.
    pub port: i32,
}

/// A taint that the pod tolerates.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Toleration {
    /// The taint's key; empty for any.
    pub key: Box<str>,
    /// How the taint's value is compared.
    pub operator: TolerationOperator,
    /// The taint's value, for `Equal`.
    pub value: Box<str>,
    /// `None` tolerates every effect.
    pub effect: Option<Effect>,
}

/// `operator` of a toleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TolerationOperator {
    /// The taint's value equals the toleration's.
    Equal,
    /// Any value of the taint is tolerated.
    Exists,
    /// The taint's value is a smaller number; only with a feature gate.
    Lt,
    /// The taint's value is a greater number; only with a feature gate.
    Gt,
    /// Anything else, which tolerates nothing.
    Unknown,
}
