//! Facts of a node, of the pods on it, and of the domain that it is in.

use std::sync::Arc;

use kpolicy_cel::{Answer, Budget, Column, Fault, Value};

use crate::part::{Part, Parts};
use crate::resources::names;
use crate::rules::expression::api_path;
use crate::rules::expression::columns::NodeColumns;
use crate::rules::expression::lanes::{self, Lanes};
use crate::rules::expression::node_facts::{
    allocatable, capacity, condition, devices, fits, free, gpus, has_image, is_ready,
    meant_devices, utilization,
};
use crate::rules::expression::pod_facts::{self, PodObject, entry, keyed, map};
use crate::rules::expression::pod_set::{PodTotal, requested};
use crate::rules::prices::{IMAGE_NAMES_A_UNIT, POD_MATCHED};
use crate::rules::shared_gpus::free as shared;
use crate::snapshot::{Cluster, NodeView};

use super::cluster::{
    ALLOCATABLE, FREE, NODE_COUNT, PODS_COUNT, PODS_OF_CONTROLLER, PODS_SIZE, PODS_SUM,
    SAME_CONTROLLER,
};
use super::{Addend, Row, Source};

const LABELS: &str = "map(string, string)";
const EXISTENCE: Parts = Parts::of(&[Part::NodeExistence]);
const OF_LABELS: Parts = Parts::of(&[Part::NodeLabels]);
const OF_ANNOTATIONS: Parts = Parts::of(&[Part::NodeAnnotations]);
const OF_CONDITIONS: Parts = Parts::of(&[Part::NodeConditions]);
const OF_ALLOCATABLE: Parts = Parts::of(&[Part::NodeAllocatable]);
const OF_API: Parts = Parts::of(&[Part::NodeApiValues]);
const OF_LOAD: Parts = Parts::of(&[Part::Load]);
const OF_ROOM: Parts = Parts::of(&[Part::NodeAllocatable, Part::Load]);
/// Pods say in annotations which devices they have.
const OF_GPUS: Parts = Parts::of(&[Part::NodeAllocatable, Part::Load, Part::LoadInDetail]);
/// Of the other nodes of its domain, and of the pods on them.
const OF_DOMAIN_NODES: Parts = Parts::of(&[Part::NodeLabels, Part::OtherNodes]);
const OF_DOMAIN_PODS: Parts = OF_DOMAIN_NODES.with(Parts::of(&[Part::OtherPods]));
const OF_SAME_CONTROLLER: Parts = OF_DOMAIN_PODS.with(SAME_CONTROLLER);

const fn fact(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    parts: Parts,
    lanes: Lanes,
    answer: fn(NodeView<'_>, &[Value]) -> Answer,
) -> Row {
    Row { name, arguments, result, parts, source: Source::Node(answer), lanes }
}

/// Driver, attribute and value.
const OF_ATTRIBUTE: &[&str] = &["string", "string", "string"];

/// What slices and claims say of the devices of a class, or with a value of an attribute.
const fn of_meant_devices(
    name: &'static str,
    arguments: &'static [&'static str],
    answer: fn(&Cluster, NodeView<'_>, &[Value], &mut Budget) -> Result<Answer, Fault>,
) -> Row {
    let source = Source::NodeInClusterWalk(answer);
    let parts = Parts::of(&[Part::Claims]);
    Row { name, arguments, result: "int", parts, source, lanes: Lanes::None }
}

/// What slices and claims say of the devices of a driver.
const fn of_devices(
    name: &'static str,
    column: for<'a> fn(&'a NodeColumns<'_>, &[Value]) -> Column<'a>,
    answer: fn(&Cluster, NodeView<'_>, &[Value]) -> Answer,
) -> Row {
    let (arguments, parts) = (&["string"], Parts::of(&[Part::Claims]));
    let (source, lanes) = (Source::NodeInCluster(answer), Lanes::Numbers(column));
    Row { name, arguments, result: "int", parts, source, lanes }
}

/// A fact whose answer walks something of the node.
const fn walking(
    walk: fn(NodeView<'_>) -> u64,
    name: &'static str,
    arguments: &'static [&'static str],
    parts: Parts,
    lanes: Lanes,
    answer: fn(NodeView<'_>, &[Value]) -> Answer,
) -> Row {
    let result = "int";
    Row { name, arguments, result, parts, source: Source::NodeWalk(answer, walk), lanes }
}

fn walking_pods(view: NodeView<'_>) -> u64 {
    POD_MATCHED.saturating_mul(view.load.pods.len() as u64)
}

fn walking_images(view: NodeView<'_>) -> u64 {
    let names = view.node.object.images.iter().map(|image| image.names.len());
    (names.sum::<usize>() / IMAGE_NAMES_A_UNIT) as u64
}

fn numbers(numbers: impl IntoIterator<Item = i64>) -> Answer {
    pod_facts::list(numbers.into_iter().map(Into::into))
}

const fn path(name: &'static str, result: &'static str) -> Row {
    let (source, lanes) = (Source::NodePath, Lanes::AtPath);
    Row { name, arguments: &[], result, parts: OF_API, source, lanes }
}

const fn of_domain(
    name: &'static str,
    arguments: &'static [&'static str],
    parts: Parts,
    addend: Addend,
) -> Row {
    let (source, lanes) = (Source::DomainSum(addend), Lanes::Sums(addend));
    Row { name, arguments, result: "int", parts, source, lanes }
}

fn condition_text(view: NodeView<'_>, args: &[Value]) -> Option<Arc<str>> {
    let [Value::String(kind)] = args else { return None };
    condition(view, kind).map(Into::into)
}

pub(super) static ROWS: [Row; 52] = [
    fact("name", &[], "string", EXISTENCE, Lanes::Names, |view, _| {
        Arc::clone(&view.node.name).into()
    }),
    fact("labels", &[], LABELS, OF_LABELS, Lanes::None, |view, _| {
        map(&view.node.object.meta.labels).into()
    }),
    fact("labels[]", &["string"], "string", OF_LABELS, Lanes::Labels, |view, args| {
        entry(&view.node.object.meta.labels, args)
    }),
    fact("annotations", &[], LABELS, OF_ANNOTATIONS, Lanes::None, |view, _| {
        map(&view.node.object.meta.annotations).into()
    }),
    fact("annotations[]", &["string"], "string", OF_ANNOTATIONS, Lanes::None, |view, args| {
        entry(&view.node.object.meta.annotations, args)
    }),
    fact(
        "taints",
        &[],
        "list(Taint)",
        Parts::of(&[Part::NodeTaints]),
        Lanes::Classes(|view| view.node.taints.id()),
        |view, _| pod_facts::list(view.node.taints.iter().map(pod_facts::taint)),
    ),
    fact(
        "unschedulable",
        &[],
        "bool",
        Parts::of(&[Part::NodeUnschedulable]),
        Lanes::Numbers(lanes::unschedulables),
        |view, _| view.node.object.unschedulable.into(),
    ),
    fact("ready", &[], "bool", OF_CONDITIONS, Lanes::Numbers(lanes::readiness), |view, _| {
        is_ready(view).into()
    }),
    fact("conditions", &[], LABELS, OF_CONDITIONS, Lanes::None, |view, _| {
        let pairs = view.node.object.conditions.iter();
        map(&pairs.map(|(kind, status)| (kind.clone(), status.clone())).collect()).into()
    }),
    fact(
        "conditions[]",
        &["string"],
        "string",
        OF_CONDITIONS,
        Lanes::Texts(condition_text),
        |view, args| match args {
            [Value::String(kind)] => condition(view, kind).map_or(Answer::Absent, Into::into),
            _ => pod_facts::no_such_overload(),
        },
    ),
    fact(
        "allocatable",
        &["string"],
        "int",
        OF_ALLOCATABLE,
        Lanes::Numbers(lanes::allocatables),
        |view, args| keyed(args, |name| allocatable(view, name)),
    ),
    fact(
        "capacity",
        &["string"],
        "int",
        Parts::of(&[Part::NodeCapacity]),
        Lanes::Numbers(lanes::capacities),
        |view, args| keyed(args, |name| capacity(view, name)),
    ),
    fact(
        "requested",
        &["string"],
        "int",
        OF_ROOM,
        Lanes::Numbers(lanes::requests),
        |view, args| keyed(args, |name| requested(view.load, name)),
    ),
    fact("free", &["string"], "int", OF_ROOM, Lanes::Numbers(lanes::free_amounts), |view, args| {
        keyed(args, |name| free(view, name))
    }),
    fact(
        "utilization",
        &["string"],
        "double",
        OF_ROOM,
        Lanes::Numbers(lanes::utilizations),
        |view, args| keyed(args, |name| utilization(view, name)),
    ),
    fact("podCount", &[], "int", OF_LOAD, Lanes::Numbers(lanes::pod_counts), |view, _| {
        requested(view.load, names::PODS).into()
    }),
    fact("podLimit", &[], "int", OF_ALLOCATABLE, Lanes::Numbers(lanes::pod_limits), |view, _| {
        view.node.allocatable.pods.into()
    }),
    fact(
        "pods",
        &[],
        "PodSet",
        Parts::of(&[Part::Load, Part::LoadInDetail]),
        Lanes::None,
        |view, _| {
            let pods = view.load.pods.iter();
            pod_facts::list(pods.map(|pod| Value::Object(Arc::new(PodObject(Arc::clone(pod))))))
        },
    ),
    walking(
        walking_pods,
        "pods.count",
        &["selector", "list(string)?"],
        OF_LOAD,
        Lanes::Numbers(lanes::pods_counted),
        |view, args| {
            PodTotal::count(args).map_or_else(|answer| answer, |asked| asked.on(view.load).into())
        },
    ),
    walking(
        walking_pods,
        "pods.sum",
        &["string", "selector?"],
        OF_LOAD,
        Lanes::Numbers(lanes::pods_summed),
        |view, args| {
            PodTotal::sum(args).map_or_else(|answer| answer, |asked| asked.on(view.load).into())
        },
    ),
    fact("pods.size", &[], "int", OF_LOAD, Lanes::Numbers(lanes::pod_counts), |view, _| {
        requested(view.load, names::PODS).into()
    }),
    Row {
        name: "pods.sameController",
        arguments: &[],
        result: "int",
        parts: OF_LOAD.with(SAME_CONTROLLER),
        source: Source::PodOnNodeWalk(
            |pod, view| PodTotal::of_controller(pod).on(view.load).into(),
            walking_pods,
        ),
        lanes: Lanes::Numbers(lanes::pods_of_controller),
    },
    of_devices("devices.count", lanes::devices_counted, |cluster, view, args| {
        keyed(args, |driver| devices(cluster, view, driver).0)
    }),
    of_devices("devices.free", lanes::devices_free, |cluster, view, args| {
        keyed(args, |driver| devices(cluster, view, driver).1)
    }),
    fact(
        "gpus.count",
        &[],
        "int",
        OF_ALLOCATABLE,
        Lanes::Numbers(lanes::gpus_counted),
        |view, _| gpus(view).into(),
    ),
    fact("gpus.free", &[], "list(int)", OF_GPUS, Lanes::None, |view, _| {
        numbers(shared::free(view))
    }),
    fact("gpus.freeMilli", &[], "int", OF_GPUS, Lanes::Numbers(lanes::gpus_free), |view, _| {
        shared::free_total(view).into()
    }),
    fact("gpus.kinds", &[], "list(int)", OF_GPUS, Lanes::None, |view, _| {
        numbers(shared::kinds(view.load))
    }),
    of_meant_devices("devices.countOfClass", &["string"], |cluster, view, args, budget| {
        meant_devices(cluster, view, args, budget, |counted| counted.all)
    }),
    of_meant_devices("devices.freeOfClass", &["string"], |cluster, view, args, budget| {
        meant_devices(cluster, view, args, budget, |counted| counted.free)
    }),
    of_meant_devices("devices.countWith", OF_ATTRIBUTE, |cluster, view, args, budget| {
        meant_devices(cluster, view, args, budget, |counted| counted.all)
    }),
    of_meant_devices("devices.freeWith", OF_ATTRIBUTE, |cluster, view, args, budget| {
        meant_devices(cluster, view, args, budget, |counted| counted.free)
    }),
    Row {
        name: "hasImage",
        arguments: &["string"],
        result: "bool",
        parts: Parts::of(&[Part::NodeImages]),
        source: Source::NodeWalk(
            |view, args| keyed(args, |image| has_image(view, image)),
            walking_images,
        ),
        lanes: Lanes::Numbers(lanes::having_image),
    },
    Row {
        name: "fits",
        arguments: &[],
        result: "bool",
        parts: OF_ROOM.with(Parts::of(&[Part::PodRequests])),
        source: Source::PodOnNode(|pod, view| fits(pod, view).into()),
        lanes: Lanes::Numbers(lanes::fitting),
    },
    Row {
        name: "domain.name",
        arguments: &["string"],
        result: "string",
        parts: OF_LABELS,
        source: Source::DomainName,
        lanes: Lanes::Labels,
    },
    of_domain("domain.nodeCount", &["string"], OF_DOMAIN_NODES, NODE_COUNT),
    of_domain(
        "domain.pods.count",
        &["string", "selector", "list(string)?"],
        OF_DOMAIN_PODS,
        PODS_COUNT,
    ),
    of_domain("domain.pods.sum", &["string", "string", "selector?"], OF_DOMAIN_PODS, PODS_SUM),
    of_domain("domain.pods.size", &["string"], OF_DOMAIN_PODS, PODS_SIZE),
    of_domain("domain.pods.sameController", &["string"], OF_SAME_CONTROLLER, PODS_OF_CONTROLLER),
    of_domain("domain.free", &["string", "string"], OF_DOMAIN_PODS, FREE),
    of_domain("domain.allocatable", &["string", "string"], OF_DOMAIN_NODES, ALLOCATABLE),
    // API paths. What is held anyway is not kept once more.
    fact("metadata.name", &[], "string", EXISTENCE, Lanes::Names, |view, _| {
        api_path::text(&view.node.object.meta.name)
    }),
    fact("metadata.namespace", &[], "string", OF_API, Lanes::None, |view, _| {
        api_path::text(&view.node.object.meta.namespace)
    }),
    fact("metadata.uid", &[], "string", OF_API, Lanes::None, |view, _| {
        api_path::text(&view.node.object.meta.uid)
    }),
    fact("metadata.labels", &[], LABELS, OF_LABELS, Lanes::None, |view, _| {
        api_path::whole(&view.node.object.meta.labels)
    }),
    fact("metadata.labels[]", &["string"], "string", OF_LABELS, Lanes::Labels, |view, args| {
        entry(&view.node.object.meta.labels, args)
    }),
    fact("metadata.annotations", &[], LABELS, OF_ANNOTATIONS, Lanes::None, |view, _| {
        api_path::whole(&view.node.object.meta.annotations)
    }),
    fact(
        "metadata.annotations[]",
        &["string"],
        "string",
        OF_ANNOTATIONS,
        Lanes::None,
        |view, args| entry(&view.node.object.meta.annotations, args),
    ),
    path("metadata", "v1.ObjectMeta"),
    path("spec", "v1.NodeSpec"),
    path("status", "v1.NodeStatus"),
];
