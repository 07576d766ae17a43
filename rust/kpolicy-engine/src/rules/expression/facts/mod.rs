//! The facts that expressions may read: one row for each fact.
//!
//! A row has the name of a fact, its arguments and type, how it is answered for one node and for
//! all nodes, and which parts of the cluster the answer depends on. Names are resolved to rows when
//! a program is loaded, so evaluating compares no text. Cache keys, refreshing and wakes follow
//! from the parts. The catalogue of the front end (`python/kpolicy/policy/cel/facts.py`) has the
//! same rows.

mod allocation;
mod cluster;
mod namespace;
mod node;
mod now;
mod pod;
mod queue;
mod tenant;

use kpolicy_cel::prices::{FACT, KERNELS};
use kpolicy_cel::{Answer, Budget, Catalogue, Expression, Fault, InvalidExpression, Name, Value};

use crate::event::Event;
use crate::model::Namespace;
use crate::part::{Part, Parts};
use crate::rules::devices::Allocated;
use crate::rules::prices::{COLUMN_KERNELS, DOMAIN_SUM, PODS_COUNT, PODS_SUM};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::lanes::{Lanes, LanesKind};
use super::queue_world::{TenantView, Waited};

pub(super) use queue::{AGE, ATTEMPTS};
pub(super) use tenant::OF_OTHERS;

pub(super) use allocation::{DEVICES, OF_ATTRIBUTES};

/// A fact, named by its path from its root; an entry of a map has the name of the map with `[]`.
pub(super) struct Row {
    pub(crate) name: &'static str,
    /// The types of its arguments; one that may be left out has `?` behind.
    pub(crate) arguments: &'static [&'static str],
    pub(crate) result: &'static str,
    /// The parts of the world that the answer rests on.
    pub(crate) parts: Parts,
    pub(crate) source: Source,
    pub(crate) lanes: Lanes,
}

impl Row {
    /// What reading it takes where its arguments are constant.
    fn units(&self) -> u64 {
        match self.name {
            name if name.ends_with("pods.count") || name.ends_with("pods.sameController") => {
                PODS_COUNT
            }
            name if name.ends_with("pods.sum") || name.starts_with("gpus.") => PODS_SUM,
            name if name.starts_with("devices.") => PODS_COUNT,
            _ if matches!(self.source, Source::DomainSum(_)) => DOMAIN_SUM,
            _ => FACT,
        }
    }

    /// Where the snapshot does not have the column, it takes three times as long to make one.
    fn column_units(&self) -> u64 {
        match self.units() {
            FACT | DOMAIN_SUM => 1,
            units => units,
        }
    }

    /// As how many kernels reading it for all nodes counts, if kernels always can.
    fn column_kernels(&self, root: Root) -> Option<u64> {
        match self.lanes {
            Lanes::Labels | Lanes::Names => Some(COLUMN_KERNELS),
            Lanes::Numbers(_) | Lanes::Sums(_) => Some(self.column_units() * KERNELS),
            // Facts about the cluster are the same for all nodes.
            _ if root == Root::Cluster => Some(self.column_units() * KERNELS),
            Lanes::Texts(_) | Lanes::Classes(_) | Lanes::AtPath | Lanes::None => None,
        }
    }
}

/// What a fact is read from, and how.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Pod(fn(&Pod, &[Value]) -> Answer),
    /// Of a pending pod, by other objects.
    PodInCluster(fn(&Pod, &Cluster) -> Answer),
    /// The namespace of the pod as an object, where there is one.
    Namespace(fn(Option<&Namespace>, &[Value]) -> Answer),
    /// The moment of the decision.
    Moment,
    /// The tenant that the pod belongs to.
    Tenant(fn(&TenantView<'_>, &[Value]) -> Answer),
    /// Its wait in the queue.
    Waited(fn(Waited) -> Answer),
    Cluster(fn(&Cluster, &[Value]) -> Answer),
    ClusterSum(Addend),
    Node(fn(NodeView<'_>, &[Value]) -> Answer),
    /// As `Node`, where answering walks something of the node; what that takes.
    NodeWalk(fn(NodeView<'_>, &[Value]) -> Answer, fn(NodeView<'_>) -> u64),
    /// Of a node, by other objects.
    NodeInCluster(fn(&Cluster, NodeView<'_>, &[Value]) -> Answer),
    /// As `NodeInCluster`, where answering walks these objects, and is charged while it does.
    NodeInClusterWalk(fn(&Cluster, NodeView<'_>, &[Value], &mut Budget) -> Result<Answer, Fault>),
    PodOnNode(fn(&Pod, NodeView<'_>) -> Answer),
    /// As `PodOnNode`, where answering walks something of the node; what that takes.
    PodOnNodeWalk(fn(&Pod, NodeView<'_>) -> Answer, fn(NodeView<'_>) -> u64),
    DomainName,
    /// A sum over the nodes of the node's domain; the first argument is the topology key.
    DomainSum(Addend),
    /// An allocation of devices that a node can give.
    Allocation(fn(&Allocated<'_, '_>, &[Value]) -> Answer),
    /// The value at an API path: the row is that of all paths that begin with its name.
    PodPath,
    NamespacePath,
    NodePath,
}

/// What each node adds to a sum, by slot.
pub(crate) type BySlot = fn(&Pod, &Cluster, &[Value]) -> Result<Vec<i64>, Answer>;

/// What each node adds to a sum over many.
#[derive(Clone, Copy)]
pub(super) struct Addend {
    /// By slot; slots without a node have 0. The pod is the one of the cycle.
    pub(crate) by_slot: BySlot,
    /// Whether a selector is matched with all kinds of pods.
    pub(crate) matches_pods: bool,
    /// Whether it differs between the pods of cycles.
    pub(crate) rests_on_pod: bool,
}

impl Source {
    /// Whether all nodes get the same answer to the same arguments.
    pub(super) fn is_shared(self) -> bool {
        match self {
            Self::Pod(_)
            | Self::PodPath
            | Self::PodInCluster(_)
            | Self::Namespace(_)
            | Self::NamespacePath
            | Self::Moment
            | Self::Tenant(_)
            | Self::Waited(_)
            | Self::Cluster(_)
            | Self::ClusterSum(_) => true,
            Self::Node(_)
            | Self::NodeWalk(..)
            | Self::NodeInCluster(_)
            | Self::NodeInClusterWalk(..)
            | Self::NodePath
            | Self::PodOnNode(_)
            | Self::PodOnNodeWalk(..)
            | Self::DomainName
            | Self::DomainSum(_)
            | Self::Allocation(_) => false,
        }
    }

    pub(super) fn rests_on_pod(self) -> bool {
        match self {
            Self::Pod(_)
            | Self::PodPath
            | Self::PodInCluster(_)
            | Self::Namespace(_)
            | Self::NamespacePath
            | Self::Tenant(_)
            | Self::Waited(_)
            | Self::PodOnNode(_)
            | Self::PodOnNodeWalk(..) => true,
            Self::ClusterSum(addend) | Self::DomainSum(addend) => addend.rests_on_pod,
            Self::Moment
            | Self::Cluster(_)
            | Self::Node(_)
            | Self::NodeWalk(..)
            | Self::NodeInCluster(_)
            | Self::NodeInClusterWalk(..)
            | Self::NodePath
            | Self::DomainName
            | Self::Allocation(_) => false,
        }
    }

    /// Whether answering walks something of the node.
    pub(super) fn is_walked(self) -> bool {
        matches!(self, Self::NodeWalk(..) | Self::PodOnNodeWalk(..))
    }

    fn is_path(self) -> bool {
        matches!(self, Self::PodPath | Self::NamespacePath | Self::NodePath)
    }
}

/// Where a name begins, and the rows of what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    Pod,
    Namespace,
    Node,
    Cluster,
    /// A pod on the node that may be evicted. Of pods on nodes nothing is kept by API path.
    Victim,
    /// The moment of the decision, which is a value itself.
    Now,
    /// The tenant of the pending pod.
    Tenant,
    /// The pending pod's place in the queue.
    Queue,
    /// What a node can give to the claims of the pod.
    Allocation,
}

impl Root {
    const ALL: [Self; 9] = [
        Self::Pod,
        Self::Namespace,
        Self::Node,
        Self::Cluster,
        Self::Victim,
        Self::Now,
        Self::Tenant,
        Self::Queue,
        Self::Allocation,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Namespace => "namespaceObject",
            Self::Node => "node",
            Self::Cluster => "cluster",
            Self::Victim => "victim",
            Self::Now => NOW,
            Self::Tenant => "tenant",
            Self::Queue => "queue",
            Self::Allocation => "allocation",
        }
    }

    fn rows(self) -> &'static [Row] {
        match self {
            Self::Pod => &pod::ROWS,
            Self::Namespace => &namespace::ROWS,
            Self::Node => &node::ROWS,
            Self::Cluster => &cluster::ROWS,
            Self::Victim => pod::VICTIM_ROWS,
            Self::Now => &now::ROWS,
            Self::Tenant => &tenant::ROWS,
            Self::Queue => &queue::ROWS,
            Self::Allocation => &allocation::ROWS,
        }
    }
}

/// A root in the high byte of an id, the position of its row in the low one.
fn id_of(root: Root, position: usize) -> Option<u16> {
    Some(u16::from(root as u8) << 8 | u16::from(u8::try_from(position).ok()?))
}

/// The row of a name, and the root that it is read from.
pub(super) fn row(name: &Name) -> Option<(Root, &'static Row)> {
    let [root, position] = name.id.to_be_bytes();
    let root = *Root::ALL.get(usize::from(root))?;
    Some((root, root.rows().get(usize::from(position))?))
}

/// What a fact is read from, if the engine knows it.
pub(super) fn source(name: &Name) -> Option<Source> {
    row(name).map(|(_, row)| row.source)
}

/// Whether each node makes its list or map anew. Those of the pod, its namespace and the cluster are
/// made once for all nodes.
pub(super) fn is_made_by_node(name: &Name) -> bool {
    is_made(name) && source(name).is_some_and(|source| !source.is_shared())
}

/// Whether each reading makes its list or map anew; what is kept by API path is shared.
pub(super) fn is_made(name: &Name) -> bool {
    let is_collection = |row: &Row| {
        row.result.starts_with("list") || row.result.starts_with("map") || row.result == "PodSet"
    };
    row(name).is_some_and(|(_, row)| !row.source.is_path() && is_collection(row))
}

/// What the answer to a fact rests on. A victim is a pod on the node, whatever is read of it.
pub(super) fn parts(name: &Name) -> Option<Parts> {
    row(name).map(|(root, row)| match root {
        Root::Victim => Parts::of(&[Part::Load]).with(row.parts.of_objects()),
        _ => row.parts,
    })
}

fn without_entry(path: &str) -> &str {
    path.strip_suffix("[]").unwrap_or(path)
}

/// The API path that a fact names, as it is kept of objects, and the root that it is read from;
/// `None` for a fact that is no API path.
pub(super) fn api_path(name: &Name) -> Option<(Root, &str)> {
    let (root, row) = row(name)?;
    let path = name.text.strip_prefix(root.name())?.strip_prefix('.')?;
    row.source.is_path().then(|| (root, without_entry(path)))
}

/// The row of a name: its own, or that of the first part of an API path.
fn found(name: &str) -> Option<(Root, usize)> {
    let (root, path) = name.split_once('.').unwrap_or((name, ""));
    let root = Root::ALL.into_iter().find(|known| known.name() == root)?;
    let exact = root.rows().iter().position(|row| row.name == path);
    let position = exact.or_else(|| {
        let first = path.split(['.', '[']).next()?;
        root.rows().iter().position(|row| row.source.is_path() && row.name == first)
    })?;
    Some((root, position))
}

/// The rows as the names of an expression are resolved to them.
struct Table;

impl Catalogue for Table {
    fn fact(&self, name: &str) -> Option<u16> {
        let (root, position) = found(name)?;
        id_of(root, position)
    }

    fn units(&self, name: &str) -> u64 {
        found(name).and_then(|(root, position)| root.rows().get(position)).map_or(FACT, Row::units)
    }

    fn column_kernels(&self, name: &str) -> Option<u64> {
        let (root, position) = found(name)?;
        root.rows().get(position).and_then(|row| row.column_kernels(root))
    }

    /// Of a pod of a loop.
    fn member(&self, name: &str) -> Option<u16> {
        let position = pod::SHORT_ROWS.iter().position(|row| row.name == name)?;
        id_of(Root::Pod, position)
    }
}

/// The fact that tells the moment of the decision.
pub(crate) const NOW: &str = "now";

pub(crate) const CATALOGUE: &dyn Catalogue = &Table;

/// An unverified expression, its names resolved to rows.
pub(crate) fn verified(ir: &serde_json::Value) -> Result<Expression, InvalidExpression> {
    Expression::verify(ir).map(|expression| expression.resolved(CATALOGUE))
}

/// Whether a fact is answered of a pod, alone or with a node.
pub(crate) fn rests_on_pod(name: &Name) -> bool {
    source(name).is_some_and(Source::rests_on_pod)
}

/// A row for who compares it with the front end's, and for the reference of the language: name, types
/// of arguments, type of the result and of the column, what wakes a pod that was rejected by it, and
/// the units that reading it takes where its arguments are constant.
pub type FactRow = (String, Vec<&'static str>, &'static str, &'static str, Vec<String>, u64);

/// All rows, in order.
pub fn facts() -> Vec<FactRow> {
    let of_root = |root: Root| {
        root.rows().iter().map(move |row| {
            let column = match row.lanes.kind() {
                Some(LanesKind::Numbers) => row.result,
                Some(LanesKind::Texts) => "text",
                Some(LanesKind::Classes) => "classes",
                None => "",
            };
            let name = match row.name {
                "" => root.name().to_owned(),
                path => format!("{}.{path}", root.name()),
            };
            let wakes = row.parts.events().iter().map(Event::words).collect();
            (name, row.arguments.to_vec(), row.result, column, wakes, row.units())
        })
    };
    Root::ALL.into_iter().flat_map(of_root).collect()
}
