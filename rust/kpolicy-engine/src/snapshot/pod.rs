//! Pods as the engine holds them: small rows that share what pods of one template have in common.
//!
//! Contains [`Pod`], its facets and the tables that share them. A rule reads facets and, for its
//! cache key, their ids. A row never changes: an update makes a new one. `pods` knows where a pod
//! is placed.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::intern::{Interner, Name, Shared};
use crate::model::{
    self, ApiValues, HostPort, Labels, NodeSelector, NodeSelectorTerm, OwnerReference,
    PodAffinityTerm, SpreadConstraint, Toleration, Volume, VolumeSource,
};
use crate::resources::{Amounts, Requests, ResizeRule};

use super::containers::{Containers, Images, KnownContainers, OfContainers};

/// Namespace and labels: all that selectors read of a pod.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub namespace: Name,
    pub labels: Labels,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct NodeAffinity {
    pub selector: Option<Labels>,
    pub required: Option<NodeSelector>,
    pub preferred: Box<[(i32, NodeSelectorTerm)]>,
    /// Why `preferred` cannot be parsed.
    pub preferred_problem: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct PodAffinity {
    pub required: Box<[PodAffinityTerm]>,
    pub preferred: Box<[(i32, PodAffinityTerm)]>,
    pub anti_required: Box<[PodAffinityTerm]>,
    pub anti_preferred: Box<[(i32, PodAffinityTerm)]>,
}

impl PodAffinity {
    pub(crate) fn is_empty(&self) -> bool {
        self.required.is_empty()
            && self.preferred.is_empty()
            && self.anti_required.is_empty()
            && self.anti_preferred.is_empty()
    }
}

/// What the pod's specification asks that only some nodes declare to have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct NeededFeatures {
    pub restarts_all_containers: bool,
    pub host_network: bool,
    pub host_users: Option<bool>,
    pub pod_level_resize: bool,
}

/// Everything that pods of one controller usually share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Template {
    pub scheduler_name: Name,
    pub priority: i32,
    pub priority_class_name: Name,
    pub never_preempts: bool,
    pub(crate) requests: Shared<Requests>,
    pub(crate) limits: Shared<Amounts>,
    pub tolerations: Shared<Box<[Toleration]>>,
    pub(crate) node_affinity: Shared<NodeAffinity>,
    pub(crate) pod_affinity: Shared<PodAffinity>,
    pub spread: Shared<Box<[SpreadConstraint]>>,
    /// Host ports of containers and sidecars, sorted and unique.
    pub ports: Shared<Box<[HostPort]>>,
    /// Without those that no rule reads.
    pub volumes: Shared<Box<[Volume]>>,
    pub(crate) images: Shared<Images>,
    pub(crate) containers: Shared<Containers>,
    pub owner: Option<Shared<OwnerReference>>,
    pub(crate) needed_features: NeededFeatures,
    pub scheduling_gates: Box<[Box<str>]>,
    pub resource_claims: Box<[model::PodClaim]>,
    pub pod_group: Option<Box<str>>,
    pub service_account_name: Name,
}

/// `status.resourceClaimStatuses`.
pub(crate) type ClaimStatuses = [(Box<str>, Option<Box<str>>)];

/// A pod as rules read it: a small row that shares what pods of one template have in common.
#[derive(Debug, Clone)]
pub struct Pod {
    pub(crate) uid: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) identity: Shared<Identity>,
    /// The part of the spec that pods of one template share.
    pub template: Shared<Template>,
    pub(crate) annotations: Shared<Labels>,
    /// `spec.nodeName`; empty while pending.
    pub node_name: Arc<str>,
    /// `status.nominatedNodeName`, or empty.
    pub nominated_node_name: Arc<str>,
    /// `metadata.generation`, which no rule reads: who writes a condition says which one it is of.
    pub(crate) generation: i64,
    pub(crate) created_seconds: Option<i64>,
    pub(crate) start_seconds: Option<i64>,
    pub(crate) is_terminating: bool,
    pub(crate) preempted_by_scheduler: bool,
    /// The claims made for the pod, by their names in it; `None`: there are none.
    pub(crate) claim_statuses: Option<Arc<ClaimStatuses>>,
    /// What expressions read by API path.
    pub api_values: Shared<ApiValues>,
}

/// What the parts of an ordinary pod hold at most.
const ORDINARY_BYTES: usize = 8 << 10;

/// Facets and texts of a copy belong to the row that was copied.
impl HeapBytes for Pod {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Pod {
    /// A pod that asks for nothing, for questions that no pod is part of.
    pub fn blank() -> Self {
        PodTables::default().row(model::Pod::default(), &mut Interner::default())
    }

    pub(crate) fn namespace(&self) -> &Name {
        &self.identity.namespace
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.identity.labels
    }

    pub(crate) fn priority(&self) -> i32 {
        self.template.priority
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.template.requests
    }

    /// What a cache holds because it holds this pod, which may be gone. The parts of an ordinary pod
    /// count nothing: most likely many pods have them.
    pub fn bytes_beyond_ordinary(&self) -> usize {
        self.bytes_not_shared_with(None).saturating_sub(ORDINARY_BYTES)
    }

    /// What its parts hold, about, without those that it has in common with another.
    pub fn bytes_not_shared_with(&self, other: Option<&Self>) -> usize {
        let own = |has_same: bool, bytes: usize| if has_same { 0 } else { bytes };
        let is_same = |same: fn(&Self, &Self) -> bool| other.is_some_and(|other| same(self, other));
        own(is_same(|own, other| own.identity == other.identity), self.identity.bytes())
            + own(
                is_same(|own, other| own.annotations == other.annotations),
                self.annotations.bytes(),
            )
            + own(is_same(|own, other| own.api_values == other.api_values), self.api_values.bytes())
            + own(is_same(|own, other| own.template == other.template), self.template_bytes())
    }

    /// The template with what it shares with other templates.
    pub fn template_bytes(&self) -> usize {
        let template = &*self.template;
        self.template.bytes()
            + template.requests.bytes()
            + template.limits.bytes()
            + template.tolerations.bytes()
            + template.node_affinity.bytes()
            + template.pod_affinity.bytes()
            + template.spread.bytes()
            + template.ports.bytes()
            + template.volumes.bytes()
            + template.images.bytes()
            + template.containers.bytes()
            + template.owner.as_ref().map_or(0, Shared::bytes)
    }

    pub(crate) fn is_gated(&self) -> bool {
        !self.template.scheduling_gates.is_empty()
    }

    /// Whether a node that holds this pod may hold the other in its place without any rule seeing a
    /// difference. Start times, which only order victims, are read where they are needed.
    pub fn weighs_as(&self, other: &Self) -> bool {
        self.template == other.template
            && self.identity == other.identity
            && self.annotations == other.annotations
            && self.is_terminating == other.is_terminating
    }

    /// Whether both ask for the same and mean the same to selectors. A bind adds annotations.
    pub fn asks_like(&self, other: &Self) -> bool {
        self.template == other.template && self.identity == other.identity
    }

    /// Whether both hold the same of a node, but for what updates may change: labels, annotations,
    /// requests and tolerations.
    pub fn holds_like(&self, other: &Self) -> bool {
        let (own, others) = (&self.template, &other.template);
        self.namespace() == other.namespace()
            && own.ports == others.ports
            && own.volumes == others.volumes
            && own.pod_affinity == others.pod_affinity
    }

    /// As it would be if it had been placed nowhere.
    #[must_use]
    pub fn unplaced(&self) -> Self {
        let nowhere: Arc<str> = "".into();
        Self {
            node_name: Arc::clone(&nowhere),
            nominated_node_name: nowhere,
            start_seconds: None,
            ..self.clone()
        }
    }

    /// `namespace/name`, as people write it.
    pub fn key(&self) -> String {
        format!("{}/{}", &**self.namespace(), self.name)
    }
}

/// Declares the tables. They are swept in this order: those first whose values hold values of others.
macro_rules! pod_tables {
    ($($table:ident: $value:ty,)*) => {
        /// The tables behind the shared parts of pods.
        #[derive(Debug, Default)]
        pub(crate) struct PodTables {
            $(pub(super) $table: Interner<$value>,)*
            pub(super) known: KnownContainers,
            /// How the requests of rows count resizes in progress.
            pub(super) resize_rule: ResizeRule,
        }

        impl PodTables {
            pub(crate) fn bytes(&self) -> usize {
                self.known.bytes() $(+ self.$table.bytes())*
            }

            /// Drops what nobody holds.
            pub(crate) fn sweep(&mut self) {
                self.known.clear();
                $(self.$table.sweep();)*
            }
        }
    };
}

pod_tables! {
    templates: Template,
    identities: Identity,
    labels: Labels,
    requests: Requests,
    limits: Amounts,
    tolerations: Box<[Toleration]>,
    node_affinities: NodeAffinity,
    pod_affinities: PodAffinity,
    spreads: Box<[SpreadConstraint]>,
    ports: Box<[HostPort]>,
    volumes: Box<[Volume]>,
    images: Images,
    containers: Containers,
    owners: OwnerReference,
    texts: Arc<str>,
    api_values: ApiValues,
}

impl PodTables {
    pub(crate) fn templates(&self) -> usize {
        self.templates.len()
    }

    pub(crate) fn identities(&self) -> usize {
        self.identities.len()
    }

    pub(super) fn annotations(&mut self, annotations: Labels) -> Shared<Labels> {
        self.labels.intern(annotations)
    }

    pub(crate) fn row(&mut self, mut pod: model::Pod, names: &mut Interner<Arc<str>>) -> Pod {
        let needed_features = NeededFeatures {
            restarts_all_containers: pod
                .init_containers
                .iter()
                .chain(&pod.containers)
                .any(|container| container.restarts_all_containers),
            host_network: pod.host_network,
            host_users: pod.host_users,
            pod_level_resize: pod.pod_level_requests.is_some() && pod.status_resources.is_some(),
        };
        let OfContainers { containers, requests, limits, ports, images } =
            self.of_containers(&mut pod, names);
        let affinity = pod.affinity.map(|affinity| *affinity).unwrap_or_default();
        let node_affinity = NodeAffinity {
            selector: pod.node_selector,
            required: affinity.node_required,
            preferred: affinity.node_preferred,
            preferred_problem: affinity.node_preferred_problem,
        };
        let pod_affinity = PodAffinity {
            required: affinity.pod_required,
            preferred: affinity.pod_preferred,
            anti_required: affinity.anti_required,
            anti_preferred: affinity.anti_preferred,
        };
        let is_read = |volume: &Volume| volume.source != VolumeSource::Other;
        let volumes = pod.volumes.into_iter().filter(is_read).collect();
        let template = Template {
            scheduler_name: names.name(&pod.scheduler_name),
            priority: pod.priority,
            priority_class_name: self.texts.name(&pod.priority_class_name),
            never_preempts: pod.never_preempts,
            requests,
            limits,
            tolerations: self.tolerations.intern(pod.tolerations),
            node_affinity: self.node_affinities.intern(node_affinity),
            pod_affinity: self.pod_affinities.intern(pod_affinity),
            spread: self.spreads.intern(pod.spread_constraints),
            ports,
            volumes: self.volumes.intern(volumes),
            images,
            containers,
            owner: pod.owner.map(|owner| self.owners.intern(owner)),
            needed_features,
            scheduling_gates: pod.scheduling_gates,
            resource_claims: pod.resource_claims,
            pod_group: pod.pod_group,
            service_account_name: self.texts.name(&pod.service_account_name),
        };
        let identity =
            Identity { namespace: names.name(&pod.meta.namespace), labels: pod.meta.labels };
        Pod {
            uid: pod.meta.uid.into(),
            name: pod.meta.name.into(),
            identity: self.identities.intern(identity),
            template: self.templates.intern(template),
            annotations: self.labels.intern(pod.meta.annotations),
            node_name: pod.node_name.into(),
            nominated_node_name: pod.nominated_node_name.into(),
            generation: pod.generation,
            created_seconds: pod.meta.creation_seconds,
            start_seconds: pod.start_seconds,
            is_terminating: pod.meta.deletion_seconds.is_some(),
            preempted_by_scheduler: pod.preempted_by_scheduler,
            claim_statuses: (!pod.claim_statuses.is_empty()).then(|| pod.claim_statuses.into()),
            api_values: self.api_values.intern(pod.api_values),
        }
    }
}
