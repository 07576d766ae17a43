//! Facts of the cluster, and what each node adds to sums over the cluster or a domain.

use kpolicy_cel::{Answer, Value};

use crate::part::{Part, Parts};
use crate::resources::names;
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::node_facts::{allocatable, free};
use crate::rules::expression::pod_facts::{keyed, no_such_overload};
use crate::rules::expression::pod_set::{PodTotal, requested};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::{Addend, Row, Source};

const OF_NODES: Parts = Parts::of(&[Part::NodeLabels, Part::OtherNodes]);
const OF_PODS: Parts = OF_NODES.with(Parts::of(&[Part::OtherPods]));
/// Of the pod its controller, and of pods on nodes theirs, which an update may take away.
pub(super) const SAME_CONTROLLER: Parts =
    Parts::of(&[Part::PodIdentity, Part::PodTemplate, Part::LoadInDetail]);
const OF_SAME_CONTROLLER: Parts = OF_PODS.with(SAME_CONTROLLER);

const fn row(
    name: &'static str,
    arguments: &'static [&'static str],
    parts: Parts,
    source: Source,
) -> Row {
    Row { name, arguments, result: "int", parts, source, lanes: Lanes::None }
}

const fn sum(
    name: &'static str,
    arguments: &'static [&'static str],
    parts: Parts,
    addend: Addend,
) -> Row {
    row(name, arguments, parts, Source::ClusterSum(addend))
}

pub(super) static ROWS: [Row; 9] = [
    sum("nodeCount", &[], OF_NODES, NODE_COUNT),
    sum("podCount", &[], OF_PODS, POD_COUNT),
    sum("free", &["string"], OF_PODS, FREE),
    sum("allocatable", &["string"], OF_NODES, ALLOCATABLE),
    row(
        "domains",
        &["string"],
        OF_NODES,
        Source::Cluster(|cluster, args| keyed(args, |key| domains(cluster, key))),
    ),
    sum("pods.count", &["selector", "list(string)?"], OF_PODS, PODS_COUNT),
    sum("pods.sum", &["string", "selector?"], OF_PODS, PODS_SUM),
    sum("pods.size", &[], OF_PODS, PODS_SIZE),
    sum("pods.sameController", &[], OF_SAME_CONTROLLER, PODS_OF_CONTROLLER),
];

type BySlot = fn(&Pod, &Cluster, &[Value]) -> Result<Vec<i64>, Answer>;

const fn of_nodes(by_slot: BySlot) -> Addend {
    Addend { by_slot, matches_pods: false, rests_on_pod: false }
}

const fn of_pods(by_slot: BySlot) -> Addend {
    Addend { by_slot, matches_pods: true, rests_on_pod: false }
}

pub(super) const NODE_COUNT: Addend = of_nodes(|_, cluster, args| without(args, cluster, |_| 1));
const POD_COUNT: Addend =
    of_nodes(|_, cluster, args| without(args, cluster, |view| requested(view.load, names::PODS)));
pub(super) const FREE: Addend = of_nodes(|_, cluster, args| by_resource(args, cluster, free));
pub(super) const ALLOCATABLE: Addend =
    of_nodes(|_, cluster, args| by_resource(args, cluster, allocatable));
pub(super) const PODS_COUNT: Addend =
    of_pods(|_, cluster, args| Ok(PodTotal::count(args)?.by_slot(cluster)));
pub(super) const PODS_SUM: Addend =
    of_pods(|_, cluster, args| Ok(PodTotal::sum(args)?.by_slot(cluster)));
pub(super) const PODS_SIZE: Addend =
    of_pods(|_, cluster, args| without(args, cluster, |view| requested(view.load, names::PODS)));
pub(super) const PODS_OF_CONTROLLER: Addend = Addend {
    by_slot: |pod, cluster, _| Ok(PodTotal::of_controller(pod).by_slot(cluster)),
    matches_pods: false,
    rests_on_pod: true,
};

fn each(cluster: &Cluster, of: impl Fn(NodeView<'_>) -> i64) -> Vec<i64> {
    let mut values = vec![0; cluster.nodes().slots()];
    for view in cluster.nodes().iter() {
        if let Some(cell) = values.get_mut(view.slot.index()) {
            *cell = of(view);
        }
    }
    values
}

fn without(
    args: &[Value],
    cluster: &Cluster,
    of: impl Fn(NodeView<'_>) -> i64,
) -> Result<Vec<i64>, Answer> {
    if args.is_empty() { Ok(each(cluster, of)) } else { Err(no_such_overload()) }
}

fn by_resource(
    args: &[Value],
    cluster: &Cluster,
    of: fn(NodeView<'_>, &str) -> i64,
) -> Result<Vec<i64>, Answer> {
    match args {
        [Value::String(name)] => Ok(each(cluster, |view| of(view, name))),
        _ => Err(no_such_overload()),
    }
}

/// How many values of a topology key there are.
fn domains(cluster: &Cluster, key: &str) -> i64 {
    let domains = cluster.nodes().domains(key);
    let mut ids: Vec<u32> = domains.ids().to_vec();
    ids.retain(|id| *id != ABSENT);
    ids.sort_unstable();
    ids.dedup();
    i64::try_from(ids.len()).unwrap_or(i64::MAX)
}
