//! The built-ins by kube-scheduler's names.
//!
//! To add one, add its constructor to `FILTERS`, `SCORES`, or both. Plugins that neither filter nor
//! score (`SchedulingGates`, `PrioritySort`, `DefaultBinder`) are not rules: gates and order hold
//! always.

use crate::fields::{Fields, Refusals};

use super::{
    Filter, Score, dynamic_resources, equal_priority, image_locality, inter_pod_affinity,
    node_affinity, node_declared_features, node_label, node_name, node_ports,
    node_prefer_avoid_pods, node_resources_balanced, node_resources_fit,
    node_resources_least_allocated, node_resources_most_allocated, node_unschedulable,
    node_volume_limits, pod_topology_spread, requested_to_capacity_ratio, resource_limits,
    selector_spread, service_affinity, taint_toleration, volume_binding, volume_restrictions,
    volume_zone,
};

type Made<T> = Option<Box<T>>;
type MakeFilter = fn(&mut Fields<'_>, &mut Refusals) -> Made<dyn Filter>;
type MakeScore = fn(&mut Fields<'_>, &mut Refusals) -> Made<dyn Score>;

const FILTERS: &[(&str, MakeFilter)] = &[
    (node_unschedulable::NAME, |_, _| Some(Box::new(node_unschedulable::NodeUnschedulable))),
    (node_name::NAME, |_, _| Some(Box::new(node_name::NodeName))),
    (taint_toleration::NAME, |_, _| Some(Box::new(taint_toleration::TaintToleration))),
    (node_affinity::NAME, |args, refusals| {
        node_affinity::from_args(args, refusals).map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (node_ports::NAME, |_, _| Some(Box::new(node_ports::NodePorts))),
    (volume_restrictions::NAME, |_, _| Some(Box::new(volume_restrictions::VolumeRestrictions))),
    (node_volume_limits::NAME, |_, _| Some(Box::new(node_volume_limits::NodeVolumeLimits))),
    (node_volume_limits::EBS.name, |_, _| Some(Box::new(&node_volume_limits::EBS))),
    (node_volume_limits::GCE_PD.name, |_, _| Some(Box::new(&node_volume_limits::GCE_PD))),
    (node_volume_limits::AZURE_DISK.name, |_, _| Some(Box::new(&node_volume_limits::AZURE_DISK))),
    (node_volume_limits::CINDER.name, |_, _| Some(Box::new(&node_volume_limits::CINDER))),
    (volume_binding::NAME, |args, refusals| {
        volume_binding::from_args(args, refusals).map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (volume_zone::NAME, |_, _| Some(Box::new(volume_zone::VolumeZone))),
    (pod_topology_spread::NAME, |args, refusals| {
        pod_topology_spread::from_args(args, refusals)
            .map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (inter_pod_affinity::NAME, |args, refusals| {
        inter_pod_affinity::from_args(args, refusals)
            .map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (node_declared_features::NAME, |_, _| {
        Some(Box::new(node_declared_features::NodeDeclaredFeatures))
    }),
    (node_resources_fit::NAME, |args, refusals| {
        node_resources_fit::filter(args, refusals).map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (dynamic_resources::NAME, |args, _| {
        args.optional("filterTimeout");
        args.optional("bindingTimeout");
        Some(Box::new(dynamic_resources::DynamicResources))
    }),
    (service_affinity::NAME, |args, refusals| {
        service_affinity::from_args(args, refusals)
            .map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
    (node_label::NAME, |args, refusals| {
        node_label::from_args(args, refusals).map(|rule| -> Box<dyn Filter> { Box::new(rule) })
    }),
];

const SCORES: &[(&str, MakeScore)] = &[
    (taint_toleration::NAME, |_, _| Some(Box::new(taint_toleration::TaintToleration))),
    (node_affinity::NAME, |args, refusals| {
        node_affinity::from_args(args, refusals).map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (pod_topology_spread::NAME, |args, refusals| {
        pod_topology_spread::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (inter_pod_affinity::NAME, |args, refusals| {
        inter_pod_affinity::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (image_locality::NAME, |_, _| Some(Box::new(image_locality::ImageLocality))),
    (node_resources_fit::NAME, |args, refusals| {
        node_resources_fit::score(args, refusals).map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (node_resources_balanced::NAME, |args, refusals| {
        node_resources_balanced::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (dynamic_resources::NAME, |args, _| {
        args.optional("filterTimeout");
        args.optional("bindingTimeout");
        Some(Box::new(dynamic_resources::DynamicResources))
    }),
    (selector_spread::NAME, |args, refusals| {
        selector_spread::from_args(args, refusals).map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (service_affinity::NAME, |args, refusals| {
        service_affinity::from_args(args, refusals).map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (node_label::NAME, |args, refusals| {
        node_label::from_args(args, refusals).map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (node_prefer_avoid_pods::NAME, |_, _| {
        Some(Box::new(node_prefer_avoid_pods::NodePreferAvoidPods))
    }),
    (node_resources_least_allocated::NAME, |args, refusals| {
        node_resources_least_allocated::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (node_resources_most_allocated::NAME, |args, refusals| {
        node_resources_most_allocated::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (requested_to_capacity_ratio::NAME, |args, refusals| {
        requested_to_capacity_ratio::from_args(args, refusals)
            .map(|rule| -> Box<dyn Score> { Box::new(rule) })
    }),
    (resource_limits::NAME, |_, _| Some(Box::new(resource_limits::ResourceLimits))),
    (equal_priority::NAME, |_, _| Some(Box::new(equal_priority::EqualPriority))),
];

pub fn filter(name: &str) -> Option<MakeFilter> {
    FILTERS.iter().find(|(have, _)| *have == name).map(|(_, make)| *make)
}

pub fn score(name: &str) -> Option<MakeScore> {
    SCORES.iter().find(|(have, _)| *have == name).map(|(_, make)| *make)
}

/// Names that filter, in order of name.
pub fn filter_names() -> Vec<&'static str> {
    sorted(FILTERS.iter().map(|(name, _)| *name))
}

/// Names that score, in order of name.
pub fn score_names() -> Vec<&'static str> {
    sorted(SCORES.iter().map(|(name, _)| *name))
}

fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}
