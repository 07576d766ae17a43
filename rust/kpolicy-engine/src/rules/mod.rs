//! The rules: filters that a node must pass to get a pod, and scores that compare nodes.
//!
//! Contains the list of built-ins. Rules implement [`Filter`], [`Score`] or both, and a prepared
//! form of each, which holds what a rule computed for one *sub-shape*: all pods that agree in what
//! the rule put into its [`Key`]. The cycle keeps prepared forms and their verdicts per node from
//! decision to decision, and asks again only where something changed that the rule says it reads.
//! `docs/internals/adding-a-built-in.md` shows how to add one. The snapshot does not change within
//! a call.

pub mod catalog;
mod claim_work;
pub(crate) mod container_limits;
pub mod decision_work;
pub(crate) mod default_selector;
pub(crate) mod devices;
mod disks;
pub(crate) mod dynamic_resources;
pub(crate) mod equal_priority;
pub mod expression;
mod filter;
pub(crate) mod gang_scheduling;
pub(crate) mod held;
pub(crate) mod image_locality;
pub(crate) mod inter_pod_affinity;
mod key;
pub(crate) mod label_classes;
pub(crate) mod label_lanes;
pub(crate) mod lanes;
pub(crate) mod node_affinity;
pub(crate) mod node_declared_features;
pub(crate) mod node_label;
pub(crate) mod node_name;
pub(crate) mod node_ports;
pub(crate) mod node_prefer_avoid_pods;
pub(crate) mod node_resources_balanced;
pub(crate) mod node_resources_fit;
mod node_resources_hints;
pub(crate) mod node_resources_least_allocated;
pub(crate) mod node_resources_most_allocated;
pub(crate) mod node_selection;
pub(crate) mod node_unschedulable;
pub(crate) mod node_volume_limits;
pub(crate) mod node_zones;
pub(crate) mod normalization;
pub(crate) mod placed;
mod placed_terms;
pub(crate) mod pod_topology_spread;
pub(crate) mod prices;
pub(crate) mod priority_sort;
mod reads;
pub(crate) mod requested_to_capacity_ratio;
pub(crate) mod reservation;
pub(crate) mod resource_args;
pub(crate) mod resource_balance;
pub(crate) mod resource_limits;
pub(crate) mod resource_mean;
pub(crate) mod resource_scoring;
pub(crate) mod scale;
pub(crate) mod scheduling_gates;
mod score;
mod scored_scalar;
mod selectable_identities;
pub(crate) mod selected_pods;
pub(crate) mod selector_spread;
pub(crate) mod service_affinity;
pub(crate) mod shared_gpus;
pub(crate) mod status;
mod sure_lanes;
pub(crate) mod taint_toleration;
pub(crate) mod tolerations;
pub mod volume_binding;
pub(crate) mod volume_claims;
pub(crate) mod volume_migration;
pub(crate) mod volume_restrictions;
pub(crate) mod volume_zone;

use crate::release::Gate;
use catalog::BuiltIn;

pub use filter::{Filter, NodeNames, PreparedFilter, Stage, more_events};
pub use held::HeldBytes;
pub use key::Key;
pub use normalization::{Fitted, IGNORED, Normalization};
pub use placed::{FilterRule, HelpedBy, ScoreRule};
pub use reads::{Reads, Refresh};
pub use reservation::Reservation;
pub use scale::Scale;
pub use score::{Feasible, PreparedScore, Score, ScoreProblem};
pub use status::{Code, Fault, Rejection, Status};

/// Every built-in, in the order of kube-scheduler's default profile (`MultiPoint`), which is also the
/// order of filters. What differs between releases is in `release`; weights do not.
/// `make generated` writes the names for Python.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::of_default(node_unschedulable::NAME)
        .filter(|_, followed, _| Some(Box::new(node_unschedulable::of(followed)))),
    BuiltIn::of_default(node_name::NAME).filter(|_, _, _| Some(Box::new(node_name::NodeName))),
    BuiltIn::of_default(taint_toleration::NAME)
        .filter(|_, followed, _| Some(Box::new(taint_toleration::of(followed))))
        .score(|_, followed, _| Some(Box::new(taint_toleration::of(followed))))
        .weight(3),
    BuiltIn::of_default(node_affinity::NAME)
        .filter(|args, _, refusals| Some(Box::new(node_affinity::from_args(args, refusals)?)))
        .score(|args, _, refusals| Some(Box::new(node_affinity::from_args(args, refusals)?)))
        .weight(2),
    BuiltIn::of_default(node_ports::NAME).filter(|_, _, _| Some(Box::new(node_ports::NodePorts))),
    BuiltIn::of_default(node_resources_fit::NAME)
        .filter(|args, followed, refusals| {
            Some(Box::new(node_resources_fit::filter(args, followed, refusals)?))
        })
        .score(|args, followed, refusals| {
            Some(Box::new(node_resources_fit::score(args, followed, refusals)?))
        })
        .weight(1),
    BuiltIn::of_default(volume_restrictions::NAME)
        .filter(|_, _, _| Some(Box::new(volume_restrictions::VolumeRestrictions))),
    // The limits of one kind of volume; upstream until 1.33, and named by legacy policies.
    BuiltIn::optional(node_volume_limits::EBS.name)
        .filter(|_, _, _| Some(Box::new(&node_volume_limits::EBS))),
    BuiltIn::optional(node_volume_limits::GCE_PD.name)
        .filter(|_, _, _| Some(Box::new(&node_volume_limits::GCE_PD))),
    BuiltIn::of_default(node_volume_limits::NAME)
        .filter(|_, followed, _| Some(Box::new(node_volume_limits::of(followed)))),
    BuiltIn::optional(node_volume_limits::AZURE_DISK.name)
        .filter(|_, _, _| Some(Box::new(&node_volume_limits::AZURE_DISK))),
    BuiltIn::optional(node_volume_limits::CINDER.name)
        .filter(|_, _, _| Some(Box::new(&node_volume_limits::CINDER))),
    BuiltIn::of_default(volume_binding::NAME)
        .filter(|args, followed, refusals| {
            Some(Box::new(volume_binding::from_args(args, followed, refusals)?))
        })
        .score(|args, followed, refusals| {
            Some(Box::new(volume_binding::score_from_args(args, followed, refusals)?))
        })
        .scores_where(|followed| followed.has(Gate::StorageCapacityScoring))
        .weight(1),
    BuiltIn::of_default(volume_zone::NAME)
        .filter(|_, _, _| Some(Box::new(volume_zone::VolumeZone))),
    BuiltIn::of_default(pod_topology_spread::NAME)
        .filter(|args, followed, refusals| {
            Some(Box::new(pod_topology_spread::from_args(args, followed, refusals)?))
        })
        .score(|args, followed, refusals| {
            Some(Box::new(pod_topology_spread::from_args(args, followed, refusals)?))
        })
        .weight(2),
    BuiltIn::of_default(inter_pod_affinity::NAME)
        .filter(|args, followed, refusals| {
            Some(Box::new(inter_pod_affinity::from_args(args, followed, refusals)?))
        })
        .score(|args, followed, refusals| {
            Some(Box::new(inter_pod_affinity::from_args(args, followed, refusals)?))
        })
        .weight(2),
    BuiltIn::of_default(dynamic_resources::NAME)
        .filter(|args, followed, refusals| {
            Some(Box::new(dynamic_resources::from_args(args, followed, refusals)?))
        })
        .score(|args, followed, refusals| {
            Some(Box::new(dynamic_resources::from_args(args, followed, refusals)?))
        })
        .scores_where(|followed| followed.traits().scores_devices)
        .weight(2),
    BuiltIn::of_default(node_resources_balanced::NAME)
        .score(|args, followed, refusals| {
            Some(Box::new(node_resources_balanced::from_args(args, followed, refusals)?))
        })
        .weight(1),
    BuiltIn::of_default(image_locality::NAME)
        .score(|_, followed, _| Some(Box::new(image_locality::of(followed))))
        .weight(1),
    BuiltIn::of_default(node_declared_features::NAME)
        .filter(|_, _, _| Some(Box::new(node_declared_features::NodeDeclaredFeatures)))
        .filters_where(|followed| followed.has(Gate::NodeDeclaredFeatures)),
    // Known to the legacy Policy only.
    BuiltIn::optional(node_label::NAME)
        .filter(|args, _, refusals| Some(Box::new(node_label::from_args(args, refusals)?)))
        .score(|args, _, refusals| Some(Box::new(node_label::from_args(args, refusals)?))),
    BuiltIn::optional(service_affinity::NAME)
        .filter(|args, _, refusals| Some(Box::new(service_affinity::from_args(args, refusals)?)))
        .score(|args, _, refusals| Some(Box::new(service_affinity::from_args(args, refusals)?))),
    BuiltIn::optional(selector_spread::NAME)
        .score(|args, _, refusals| Some(Box::new(selector_spread::from_args(args, refusals)?))),
    BuiltIn::optional(node_prefer_avoid_pods::NAME)
        .score(|_, _, _| Some(Box::new(node_prefer_avoid_pods::NodePreferAvoidPods))),
    BuiltIn::optional(node_resources_least_allocated::NAME).score(|args, _, refusals| {
        Some(Box::new(node_resources_least_allocated::from_args(args, refusals)?))
    }),
    BuiltIn::optional(node_resources_most_allocated::NAME).score(|args, _, refusals| {
        Some(Box::new(node_resources_most_allocated::from_args(args, refusals)?))
    }),
    BuiltIn::optional(requested_to_capacity_ratio::NAME).score(|args, _, refusals| {
        Some(Box::new(requested_to_capacity_ratio::from_args(args, refusals)?))
    }),
    BuiltIn::optional(resource_limits::NAME)
        .score(|_, _, _| Some(Box::new(resource_limits::ResourceLimits))),
    BuiltIn::optional(equal_priority::NAME)
        .score(|_, _, _| Some(Box::new(equal_priority::EqualPriority))),
    // Not of kube-scheduler.
    BuiltIn::optional(shared_gpus::NAME)
        .filter(|args, _, refusals| Some(Box::new(shared_gpus::from_args(args, refusals)?)))
        .score(|args, _, refusals| Some(Box::new(shared_gpus::from_args(args, refusals)?))),
];
