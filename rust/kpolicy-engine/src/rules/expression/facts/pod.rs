//! Facts of the pending pod; those of a victim and the members of a pod of a loop are the same.

use std::sync::Arc;

use kpolicy_cel::{Answer, Value};

use crate::model::Labels;
use crate::part::{Part, Parts};
use crate::rules::container_limits::limit;
use crate::rules::expression::api_path;
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::pod_facts::{
    claims, containers, controller, entry, images, keyed, list, map, owner, qos_class, record,
    tolerates_taint, toleration,
};
use crate::rules::expression::pod_objects::{
    controller_replicas, disruption_budgets, resource_claims,
};
use crate::rules::shared_gpus::asked::Asked;
use crate::snapshot::{Cluster, Pod};

use super::{Row, Source};

const fn fact(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    part: Part,
    answer: fn(&Pod, &[Value]) -> Answer,
) -> Row {
    let parts = Parts::of(&[part]);
    Row { name, arguments, result, parts, source: Source::Pod(answer), lanes: Lanes::None }
}

const fn path(name: &'static str, result: &'static str) -> Row {
    let parts = Parts::of(&[Part::PodApiValues]);
    Row { name, arguments: &[], result, parts, source: Source::PodPath, lanes: Lanes::None }
}

const fn in_cluster(
    name: &'static str,
    result: &'static str,
    parts: &[Part],
    answer: fn(&Pod, &Cluster) -> Answer,
) -> Row {
    let (parts, source) = (Parts::of(parts), Source::PodInCluster(answer));
    Row { name, arguments: &[], result, parts, source, lanes: Lanes::None }
}

const SHORT: usize = 31;
const LABELS: &str = "map(string, string)";

/// Those that any pod has, pending or not: the rows before what other objects say and the API paths.
pub(super) static SHORT_ROWS: &[Row] = ROWS.split_at(SHORT).0;

/// Those of a pod on a node that may be evicted: also the budgets that cover it, which come next.
pub(super) static VICTIM_ROWS: &[Row] = ROWS.split_at(SHORT + 1).0;

pub(super) static ROWS: [Row; SHORT + 13] = [
    fact("name", &[], "string", Part::PodName, |pod, _| Arc::clone(&pod.name).into()),
    fact("namespace", &[], "string", Part::PodIdentity, |pod, _| {
        Arc::clone(pod.namespace()).into()
    }),
    fact("uid", &[], "string", Part::PodName, |pod, _| Arc::clone(&pod.uid).into()),
    fact("labels", &[], LABELS, Part::PodIdentity, |pod, _| map(pod.labels()).into()),
    fact("labels[]", &["string"], "string", Part::PodIdentity, |pod, args| {
        entry(pod.labels(), args)
    }),
    fact("annotations", &[], LABELS, Part::PodAnnotations, |pod, _| map(&pod.annotations).into()),
    fact("annotations[]", &["string"], "string", Part::PodAnnotations, |pod, args| {
        entry(&pod.annotations, args)
    }),
    fact("nodeSelector", &[], LABELS, Part::PodNodeAffinity, |pod, _| {
        let selector = pod.template.node_affinity.selector.as_ref();
        selector.map_or_else(|| map(&Labels::default()), map).into()
    }),
    fact("nodeSelector[]", &["string"], "string", Part::PodNodeAffinity, |pod, args| {
        let selector = pod.template.node_affinity.selector.as_ref();
        selector.map_or(Answer::Absent, |selector| entry(selector, args))
    }),
    fact("priority", &[], "int", Part::PodPriority, |pod, _| i64::from(pod.priority()).into()),
    fact("priorityClassName", &[], "string", Part::PodTemplate, |pod, _| {
        Arc::clone(&pod.template.priority_class_name).into()
    }),
    fact("schedulerName", &[], "string", Part::PodTemplate, |pod, _| {
        Arc::clone(&pod.template.scheduler_name).into()
    }),
    fact("serviceAccount", &[], "string", Part::PodTemplate, |pod, _| {
        Arc::clone(&pod.template.service_account_name).into()
    }),
    fact("qosClass", &[], "string", Part::PodTemplate, |pod, _| qos_class(pod).into()),
    fact("preemptionPolicy", &[], "string", Part::PodTemplate, |pod, _| {
        if pod.template.never_preempts { "Never" } else { "PreemptLowerPriority" }.into()
    }),
    fact("controller", &[], "Controller", Part::PodTemplate, |pod, _| controller(pod)),
    fact("controller.kind", &[], "string", Part::PodTemplate, |pod, _| {
        owner(pod, |owner| owner.kind.as_ref().into())
    }),
    fact("controller.name", &[], "string", Part::PodTemplate, |pod, _| {
        owner(pod, |owner| owner.name.as_ref().into())
    }),
    fact("containers", &[], "list(Container)", Part::PodTemplate, |pod, _| {
        containers(&pod.template.containers.regular)
    }),
    fact("initContainers", &[], "list(Container)", Part::PodTemplate, |pod, _| {
        containers(&pod.template.containers.init)
    }),
    fact("tolerations", &[], "list(Toleration)", Part::PodTolerations, |pod, _| {
        list(pod.template.tolerations.iter().map(toleration))
    }),
    fact("hostNetwork", &[], "bool", Part::PodTemplate, |pod, _| {
        pod.template.needed_features.host_network.into()
    }),
    // The name of an ephemeral volume's claim begins with that of the pod.
    fact("volumes", &[], "Volumes", Part::PodName, |pod, _| {
        Answer::Known(record([("claims", claims(pod))]))
    }),
    fact("volumes.claims", &[], "list(string)", Part::PodName, |pod, _| claims(pod).into()),
    fact("images", &[], "list(string)", Part::PodTemplate, |pod, _| images(pod)),
    fact("request", &["string"], "int", Part::PodRequests, |pod, args| {
        keyed(args, |name| pod.requests().fit.get(name))
    }),
    fact("limit", &["string"], "int", Part::PodTemplate, |pod, args| {
        keyed(args, |name| limit(pod, name))
    }),
    fact("tolerates", &["Taint"], "bool", Part::PodTolerations, tolerates_taint),
    fact("gpu", &[], "PodGpu", Part::PodAnnotations, |pod, _| {
        let Asked { count, milli } = Asked::of(pod);
        Answer::Known(record([("count", count.into()), ("milli", milli.into())]))
    }),
    fact("gpu.count", &[], "int", Part::PodAnnotations, |pod, _| Asked::of(pod).count.into()),
    fact("gpu.milli", &[], "int", Part::PodAnnotations, |pod, _| Asked::of(pod).milli.into()),
    // By other objects.
    in_cluster(
        "disruptionBudgets",
        "list(DisruptionBudget)",
        &[Part::PodIdentity, Part::DisruptionBudgets],
        disruption_budgets,
    ),
    in_cluster(
        "controllerReplicas",
        "int",
        &[Part::PodIdentity, Part::PodTemplate, Part::Controller],
        controller_replicas,
    ),
    in_cluster(
        "claims",
        "list(PodClaim)",
        &[Part::PodIdentity, Part::PodTemplate, Part::Claims],
        resource_claims,
    ),
    // API paths. What is held anyway is not kept once more.
    fact("metadata.name", &[], "string", Part::PodName, |pod, _| api_path::text(&pod.name)),
    fact("metadata.namespace", &[], "string", Part::PodIdentity, |pod, _| {
        api_path::text(pod.namespace())
    }),
    fact("metadata.uid", &[], "string", Part::PodName, |pod, _| api_path::text(&pod.uid)),
    fact("metadata.labels", &[], LABELS, Part::PodIdentity, |pod, _| api_path::whole(pod.labels())),
    fact("metadata.labels[]", &["string"], "string", Part::PodIdentity, |pod, args| {
        entry(pod.labels(), args)
    }),
    fact("metadata.annotations", &[], LABELS, Part::PodAnnotations, |pod, _| {
        api_path::whole(&pod.annotations)
    }),
    fact("metadata.annotations[]", &["string"], "string", Part::PodAnnotations, |pod, args| {
        entry(&pod.annotations, args)
    }),
    path("metadata", "v1.ObjectMeta"),
    path("spec", "v1.PodSpec"),
    path("status", "v1.PodStatus"),
];
