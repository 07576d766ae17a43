//! The world that an expression sees, one node at a time: the pod, the node, its domain, the cluster.
//!
//! Owns the answers of facts by node. `columns` gives the same answers for all nodes at once.

use std::sync::Arc;

use kpolicy_cel::{Answer, Facts, Read, Value};

use crate::resources::{Allocatable, names};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains, NodeView, Pod};

use super::api_path::{self, is_api_path};
use super::pod_facts::{self, PodObject, entry, keyed, map, no_such_overload};
use super::pod_set::{Asked, requested};

/// What a sum walks for one unit of cost.
const NODES_A_UNIT: usize = 16;
const IDENTITIES_A_UNIT: usize = 4;

/// What is known before any node: the pod and its namespace.
#[derive(Debug, Clone, Copy)]
pub struct PodWorld<'a> {
    pub pod: &'a Pod,
    pub cluster: &'a Cluster,
}

impl Facts for PodWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        if let Some(path) = read.fact.strip_prefix("pod.") {
            return pod_facts::answer(self.pod, path, &read.args);
        }
        match read.fact.strip_prefix("namespaceObject.") {
            Some(path) => self.namespace(path, &read.args),
            None => Answer::Unknown,
        }
    }
}

impl PodWorld<'_> {
    fn namespace(&self, path: &str, args: &[Value]) -> Answer {
        let name = self.pod.namespace();
        let found = self.cluster.objects().namespaces.get("", name);
        let meta = found.map(|namespace| &namespace.meta);
        match path {
            "name" => Arc::clone(name).into(),
            "labels[]" => meta.map_or(Answer::Absent, |meta| entry(&meta.labels, args)),
            "annotations[]" => meta.map_or(Answer::Absent, |meta| entry(&meta.annotations, args)),
            "labels" => meta
                .map_or_else(|| map(&crate::model::Labels::default()), |meta| map(&meta.labels))
                .into(),
            "annotations" => meta
                .map_or_else(
                    || map(&crate::model::Labels::default()),
                    |meta| map(&meta.annotations),
                )
                .into(),
            path if is_api_path(path) => found.map_or(Answer::Absent, |namespace| {
                api_path::of_meta(&namespace.meta, path, args)
                    .unwrap_or_else(|| api_path::answer(&namespace.api_values, path, args))
            }),
            _ => Answer::Unknown,
        }
    }
}

/// As [`PodWorld`], with what holds for the cluster as it is.
#[derive(Debug, Clone, Copy)]
pub struct ClusterWorld<'a>(pub PodWorld<'a>);

impl Facts for ClusterWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match read.fact.strip_prefix("cluster.") {
            Some(path) => of_cluster(self.0.cluster, path, &read.args),
            None => self.0.read(read),
        }
    }

    /// Sums over a domain or the cluster walk all nodes, and match a selector with all kinds of pods.
    fn work(&self, read: &Read) -> u64 {
        let path = read
            .fact
            .strip_prefix("cluster.")
            .or_else(|| read.fact.strip_prefix("node.domain.").filter(|path| *path != "name"));
        let Some(path) = path else { return 0 };
        let cluster = self.0.cluster;
        let identities = if path.starts_with("pods.") {
            cluster.census().identities().len() / IDENTITIES_A_UNIT
        } else {
            0
        };
        (cluster.nodes().len() / NODES_A_UNIT + identities) as u64
    }
}

/// As [`ClusterWorld`], with one node.
#[derive(Debug, Clone, Copy)]
pub struct NodeWorld<'a> {
    pub world: ClusterWorld<'a>,
    pub node: NodeView<'a>,
}

impl Facts for NodeWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match read.fact.strip_prefix("node.") {
            Some(path) => of_node(self.world.0, self.node, path, &read.args),
            None => self.world.read(read),
        }
    }

    fn work(&self, read: &Read) -> u64 {
        self.world.work(read)
    }
}

fn of_node(world: PodWorld<'_>, view: NodeView<'_>, path: &str, args: &[Value]) -> Answer {
    let (node, object) = (view.node, &view.node.object);
    if let Some(path) = path.strip_prefix("domain.") {
        return of_domain(world.cluster, view, path, args);
    }
    match path {
        "name" => Arc::clone(&node.name).into(),
        "labels" => map(&object.meta.labels).into(),
        "labels[]" => entry(&object.meta.labels, args),
        "annotations" => map(&object.meta.annotations).into(),
        "annotations[]" => entry(&object.meta.annotations, args),
        "conditions" => {
            let pairs = object.conditions.iter();
            map(&pairs.map(|(kind, status)| (kind.clone(), status.clone())).collect()).into()
        }
        "conditions[]" => match args {
            [Value::String(kind)] => condition(view, kind).map_or(Answer::Absent, Into::into),
            _ => no_such_overload(),
        },
        "taints" => pod_facts::list(node.taints.iter().map(pod_facts::taint)),
        "unschedulable" => object.unschedulable.into(),
        "ready" => is_ready(view).into(),
        "allocatable" => keyed(args, |name| offered(&node.allocatable, name)),
        "capacity" => keyed(args, |name| offered(&node.capacity, name)),
        "requested" => keyed(args, |name| requested(view.load, name)),
        "free" => keyed(args, |name| free(view, name)),
        "utilization" => keyed(args, |name| utilization(view, name)),
        "podLimit" => node.allocatable.pods.into(),
        "hasImage" => keyed(args, |image| has_image(view, image)),
        "fits" => fits(world.pod, view).into(),
        path if is_api_path(path) => api_path::of_meta(&object.meta, path, args)
            .unwrap_or_else(|| api_path::answer(&object.api_values, path, args)),
        "podCount" => requested(view.load, names::PODS).into(),
        "pods" => pod_facts::list(
            view.load.pods.iter().map(|pod| Value::Object(Arc::new(PodObject(Arc::clone(pod))))),
        ),
        _ => match path.strip_prefix("pods.") {
            Some(what) => {
                Asked::of(what, args).map_or_else(|e| e, |asked| asked.on(view.load).into())
            }
            None => Answer::Unknown,
        },
    }
}

/// Facts of the domain that a node is in: its first argument is the topology key.
fn of_domain(cluster: &Cluster, view: NodeView<'_>, path: &str, args: &[Value]) -> Answer {
    let Some((Value::String(key), args)) = args.split_first() else { return no_such_overload() };
    let domains = cluster.nodes().domains(key);
    let id = domains.id(view.slot);
    let Some(name) = domains.value(id) else { return Answer::Absent };
    if path == "name" {
        return name.into();
    }
    match by_slot(cluster, path, args) {
        Ok(values) => sum_of(&values, &domains, id).into(),
        Err(answer) => answer,
    }
}

fn sum_of(by_slot: &[i64], domains: &Domains, id: u32) -> i64 {
    let inside = domains.ids().iter().zip(by_slot).filter(|(have, _)| **have == id);
    inside.fold(0, |sum: i64, (_, value)| sum.saturating_add(*value))
}

/// What each node adds to a fact of its domain, or of the cluster, by slot.
pub fn by_slot(cluster: &Cluster, path: &str, args: &[Value]) -> Result<Vec<i64>, Answer> {
    let each = |of: &dyn Fn(NodeView<'_>) -> i64| {
        let mut values = vec![0; cluster.nodes().slots()];
        for view in cluster.nodes().iter() {
            if let Some(cell) = values.get_mut(view.slot.index()) {
                *cell = of(view);
            }
        }
        values
    };
    match (path, args) {
        ("nodeCount", []) => Ok(each(&|_| 1)),
        ("podCount", []) => Ok(each(&|view| requested(view.load, names::PODS))),
        ("free", [Value::String(name)]) => Ok(each(&|view| free(view, name))),
        ("allocatable", [Value::String(name)]) => {
            Ok(each(&|view| offered(&view.node.allocatable, name)))
        }
        _ => match path.strip_prefix("pods.") {
            Some(what) => Ok(Asked::of(what, args)?.by_slot(cluster)),
            None => Err(Answer::Unknown),
        },
    }
}

fn of_cluster(cluster: &Cluster, path: &str, args: &[Value]) -> Answer {
    if path == "domains" {
        let count = |key: &str| {
            let domains = cluster.nodes().domains(key);
            let mut ids: Vec<u32> = domains.ids().to_vec();
            ids.retain(|id| *id != ABSENT);
            ids.sort_unstable();
            ids.dedup();
            i64::try_from(ids.len()).unwrap_or(i64::MAX)
        };
        return keyed(args, count);
    }
    match by_slot(cluster, path, args) {
        Ok(values) => values.into_iter().fold(0, i64::saturating_add).into(),
        Err(answer) => answer,
    }
}

pub fn offered(offered: &Allocatable, name: &str) -> i64 {
    if name == names::PODS { offered.pods } else { offered.amounts.get(name) }
}

pub fn free(view: NodeView<'_>, name: &str) -> i64 {
    offered(&view.node.allocatable, name).saturating_sub(requested(view.load, name))
}

#[allow(clippy::cast_precision_loss)]
pub fn utilization(view: NodeView<'_>, name: &str) -> f64 {
    share(requested(view.load, name) as f64, offered(&view.node.allocatable, name) as f64)
}

/// Which part of what there is is held; 0 of nothing.
pub fn share(held: f64, has: f64) -> f64 {
    if has == 0.0 { 0.0 } else { held / has }
}

pub fn condition<'a>(view: NodeView<'a>, kind: &str) -> Option<&'a str> {
    let mut conditions = view.node.object.conditions.iter();
    conditions.find(|(have, _)| have.as_ref() == kind).map(|(_, status)| status.as_ref())
}

pub fn is_ready(view: NodeView<'_>) -> bool {
    condition(view, "Ready") == Some("True")
}

/// Names without a tag mean the latest.
pub fn has_image(view: NodeView<'_>, image: &str) -> bool {
    let has_tag = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    let tagged = if has_tag { image.to_owned() } else { format!("{image}:latest") };
    let images = view.node.object.images.iter();
    images.flat_map(|image| image.names.iter()).any(|name| **name == *tagged || **name == *image)
}

/// Whether the node has room for the pod: the pod count and every resource that it asks for.
pub fn fits(pod: &Pod, view: NodeView<'_>) -> bool {
    let asked = &pod.requests().fit;
    let has_room = |amount: i64, name: &str| amount <= 0 || amount <= free(view, name);
    free(view, names::PODS) >= 1
        && has_room(asked.cpu_milli, names::CPU)
        && has_room(asked.memory, names::MEMORY)
        && has_room(asked.ephemeral_storage, names::EPHEMERAL_STORAGE)
        && asked.scalars.iter().all(|(name, amount)| has_room(*amount, name))
}
