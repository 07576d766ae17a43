//! `NodeResourcesFit`: a node must have room for what the pod asks for; how much would be left is its
//! score.
//!
//! Specification: every resource that is short is a reason, the pod count first, then CPU, memory,
//! ephemeral storage and scalars; evicting cannot help where the pod asks for more than the empty
//! node has.

use std::borrow::Cow;

use multiversion::multiversion;

use crate::event::{Event, Events, Occurrence};
use crate::fields::{Fields, Refusals, UNKNOWN};
use crate::heap::HeapBytes;
use crate::intern::{Name, Shared};
use crate::model::Kind;
use crate::part::{Part, Parts};
use crate::release::Followed;
use crate::resources::{Amounts, Requests, names};
use crate::rules::devices::extended::class_behind;
use crate::snapshot::columns::{self, Columns};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::filter::one_by_one;
use super::node_resources_hints as hints;
use super::resource_args::{default_resources, resources, shape};
use super::resource_scoring::{ResourceScoring, Strategy};
use super::scored_scalar::Counting;
use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Rejection, Status};

pub(crate) const NAME: &str = "NodeResourcesFit";
pub(crate) const TOO_MANY_PODS: &str = "Too many pods";

const PODS: u16 = 1;
const CPU: u16 = 1 << 1;
const MEMORY: u16 = 1 << 2;
const EPHEMERAL_STORAGE: u16 = 1 << 3;
const SCALAR_FIRST: usize = 4;
/// Scalars beyond this many share the last bit.
const SCALAR_BITS: usize = 10;
const BEYOND_EMPTY_NODE: u16 = 1 << 14;

#[derive(Debug, Default)]
pub(crate) struct NodeResourcesFit {
    ignored: Vec<Box<str>>,
    ignored_groups: Vec<Box<str>>,
    pub(super) followed: Followed,
}

#[derive(Debug, Clone)]
struct PreparedNodeResourcesFit {
    requests: Shared<Requests>,
    scalars: Box<[Scalar]>,
}

/// A resource that is asked for besides those that every pod has.
#[derive(Debug, Clone)]
struct Scalar {
    name: Name,
    amount: i64,
    /// The reason text for a node that is short of it.
    reason: Box<str>,
    /// A class of devices stands behind it: a node that has none of its own is judged by that.
    is_of_devices: bool,
}

impl HeapBytes for Scalar {
    fn heap_bytes(&self) -> usize {
        self.reason.heap_bytes()
    }
}

impl NodeResourcesFit {
    pub(super) fn ignores(&self, name: &str) -> bool {
        let group = name.split('/').next().unwrap_or_default();
        names::is_extended(name)
            && (self.ignored.iter().any(|ignored| ignored.as_ref() == name)
                || self.ignored_groups.iter().any(|ignored| ignored.as_ref() == group))
    }
}

impl Filter for NodeResourcesFit {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.requests.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let requests = pod.template.requests.clone();
        let counts = |(name, amount): &&(Name, i64)| *amount > 0 && !self.ignores(name);
        let scalar = |(name, amount): &(Name, i64)| Scalar {
            name: name.clone(),
            amount: *amount,
            reason: format!("Insufficient {}", &**name).into(),
            is_of_devices: class_behind(name, cluster, self.followed).is_some(),
        };
        let scalars = requests.fit.scalars.iter().filter(counts).map(scalar).collect();
        Some(Box::new(PreparedNodeResourcesFit { requests, scalars }))
    }

    fn events(&self) -> Events {
        hints::events(self.followed)
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeAllocatable, Part::Load])
    }

    fn kinds(&self) -> &[Kind] {
        hints::kinds(self.followed)
    }

    /// Another pod on a node frees nothing, and labels request nothing.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodAdd, Event::PodLabel])
    }

    fn events_of_no_use_to(&self, pod: &Pod) -> Events {
        hints::events_of_no_use_to(pod)
    }

    fn wakes(&self, pod: &Pod, event: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        hints::wakes(self, pod, event, occurrence, cluster)
    }
}

impl PreparedNodeResourcesFit {
    fn scalar_bit(index: usize) -> u16 {
        1 << (SCALAR_FIRST + index.min(SCALAR_BITS - 1))
    }

    /// The bits of everything short on a node.
    fn bits(&self, node: NodeView<'_>) -> u16 {
        let (wanted, has, held) =
            (&self.requests.fit, &node.node.allocatable.amounts, &node.load.requested);
        let pods = i64::try_from(node.load.pods.len()).unwrap_or(i64::MAX);
        let mut bits = if pods >= node.node.allocatable.pods { PODS } else { 0 };
        let mut judge = |wanted: i64, has: i64, held: i64, bit: u16| {
            if wanted > 0 && wanted > has.saturating_sub(held) {
                bits |= bit;
                if wanted > has {
                    bits |= BEYOND_EMPTY_NODE;
                }
            }
        };
        judge(wanted.cpu_milli, has.cpu_milli, held.cpu_milli, CPU);
        judge(wanted.memory, has.memory, held.memory, MEMORY);
        let ephemeral = (has.ephemeral_storage, held.ephemeral_storage);
        judge(wanted.ephemeral_storage, ephemeral.0, ephemeral.1, EPHEMERAL_STORAGE);
        for (index, Scalar { name, amount, is_of_devices, .. }) in self.scalars.iter().enumerate() {
            if !*is_of_devices || has.scalar(name) != 0 {
                judge(*amount, has.scalar(name), held.scalar(name), Self::scalar_bit(index));
            }
        }
        bits
    }

    fn is_exact(&self, columns: &Columns) -> bool {
        let wanted = &self.requests.fit;
        columns.is_exact()
            && columns::is_exact(wanted.cpu_milli)
            && columns::is_exact(wanted.memory)
            && columns::is_exact(wanted.ephemeral_storage)
    }

    fn scalar_reasons(&self, node: NodeView<'_>, code: Code) -> Vec<Cow<'static, str>> {
        let is_short = |(index, scalar): (usize, &Scalar)| {
            let Scalar { name, amount, reason, is_of_devices } = scalar;
            let short = if *is_of_devices && node.node.allocatable.amounts.scalar(name) == 0 {
                false
            } else if self.describes_by_code() {
                code.meaning() & Self::scalar_bit(index) != 0
            } else {
                let has = node.node.allocatable.amounts.scalar(name);
                *amount > has.saturating_sub(node.load.requested.scalar(name))
            };
            short.then(|| Cow::Owned(String::from(&**reason)))
        };
        self.scalars.iter().enumerate().filter_map(is_short).collect()
    }
}

/// Nodes that are looked at together: mostly none of them is short.
const BLOCK: usize = 64;

/// What a pod asks for of CPU and memory. What is not asked for is never short.
fn asked(wanted: &Amounts) -> [f64; 2] {
    [wanted.cpu_milli, wanted.memory]
        .map(|amount| if amount > 0 { columns::approximate(amount) } else { f64::NEG_INFINITY })
}

/// Sets the code of every node from a slot on by what nearly all pods ask for.
fn mark_pods_cpu_memory(codes: &mut [Code], wanted: &Amounts, columns: &Columns, first: usize) {
    let [cpu, memory] = asked(wanted);
    let starts = (first..).step_by(BLOCK);
    for (start, codes) in starts.zip(codes.chunks_mut(BLOCK)) {
        if columns.headroom.is_enough(start..start + codes.len(), cpu, memory) {
            codes.fill(Code::PASS);
        } else {
            mark_block(codes, columns, start, [cpu, memory]);
        }
    }
}

/// Sets the codes of nodes of which some may be short.
#[allow(clippy::cast_possible_truncation)]
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_block(codes: &mut [Code], columns: &Columns, first: usize, [cpu, memory]: [f64; 2]) {
    // Adding it rounds a small number to an integer, which then is the lowest bits of the sum.
    const TO_INTEGER: f64 = 4_503_599_627_370_496.0;
    let flag = |is_set: bool, bit: u16| if is_set { f64::from(bit) } else { 0.0 };
    let [cpu_has, memory_has, _] = &columns.allocatable;
    let [cpu_free, memory_free, _] = &columns.free;
    let [cpu_free, memory_free, cpu_has, memory_has] =
        [cpu_free, memory_free, cpu_has, memory_has].map(|lane| columns::behind(lane, first));
    let is_full = columns::behind(&columns.is_full, first);
    let free = cpu_free.iter().zip(memory_free);
    let has = cpu_has.iter().zip(memory_has);
    for (code, ((is_full, free), has)) in codes.iter_mut().zip(is_full.iter().zip(free).zip(has)) {
        // Without a branch, so that several nodes are judged at once.
        #[allow(clippy::needless_bitwise_bool)]
        let beyond = (cpu > *has.0) | (memory > *has.1);
        let bits = flag(*is_full, PODS)
            + flag(cpu > *free.0, CPU)
            + flag(memory > *free.1, MEMORY)
            + flag(beyond, BEYOND_EMPTY_NODE);
        *code = Code::reject((bits + TO_INTEGER).to_bits() as u16);
    }
}

/// Marks the nodes that are short of one resource.
fn mark_short(codes: &mut [Code], wanted: i64, has: &[f64], held: &[f64], bit: u16) {
    if wanted <= 0 {
        return;
    }
    let wanted = columns::approximate(wanted);
    for (code, (has, held)) in codes.iter_mut().zip(has.iter().zip(held)) {
        let short = if wanted > has - held { bit } else { 0 };
        let beyond = if wanted > *has { BEYOND_EMPTY_NODE } else { 0 };
        *code = Code::reject(code.meaning() | short | beyond);
    }
}

impl PreparedFilter for PreparedNodeResourcesFit {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::ALLOCATABLE).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let is_stale = |change: &Change| matches!(change, Change::Object(Kind::DeviceClass));
        let is_stale = !self.scalars.is_empty() && changes.iter().any(is_stale);
        if is_stale { Refresh::Again } else { Refresh::Nodes }
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        Code::reject(self.bits(node))
    }

    fn passes_all(&self, cluster: &Cluster) -> bool {
        let (nodes, wanted) = (cluster.nodes(), &self.requests.fit);
        let columns = nodes.columns_of(nodes.slots().div_ceil(BLOCK));
        let [cpu, memory] = asked(wanted);
        self.is_exact(columns)
            && self.scalars.is_empty()
            && wanted.ephemeral_storage <= 0
            && columns.headroom.is_enough(0..nodes.slots(), cpu, memory)
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        self.check_range(cluster, 0, codes);
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn check_range(&self, cluster: &Cluster, first: usize, codes: &mut [Code]) {
        let columns = cluster.nodes().columns();
        if !self.is_exact(columns) || !self.scalars.is_empty() {
            one_by_one(self, cluster, first, codes);
            return;
        }
        let wanted = &self.requests.fit;
        mark_pods_cpu_memory(codes, wanted, columns, first);
        let [_, _, ephemeral] = &columns.allocatable;
        let [_, _, ephemeral_held] = &columns.requested;
        let [ephemeral, ephemeral_held] =
            [ephemeral, ephemeral_held].map(|column| columns::behind(column, first));
        mark_short(codes, wanted.ephemeral_storage, ephemeral, ephemeral_held, EPHEMERAL_STORAGE);
    }

    fn describe(&self, _: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        let rejection = if code.meaning() & BEYOND_EMPTY_NODE == 0 {
            Rejection::Unschedulable
        } else {
            Rejection::Unresolvable
        };
        let fixed = [
            (PODS, TOO_MANY_PODS),
            (CPU, "Insufficient cpu"),
            (MEMORY, "Insufficient memory"),
            (EPHEMERAL_STORAGE, "Insufficient ephemeral-storage"),
        ];
        let mut reasons: Vec<Cow<'static, str>> = fixed
            .into_iter()
            .filter(|(bit, _)| code.meaning() & bit != 0)
            .map(|(_, reason)| Cow::Borrowed(reason))
            .collect();
        reasons.extend(self.scalar_reasons(node, code));
        Status { rejection, reasons, fault: None }
    }

    fn describes_by_code(&self) -> bool {
        self.scalars.len() <= SCALAR_BITS
    }

    fn rejects_by_code(&self) -> bool {
        true
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.scalars.heap_bytes())
    }
}

/// The filter, from the plugin's args.
pub(crate) fn filter(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<NodeResourcesFit> {
    let ignored = args.texts("ignoredResources", refusals)?;
    let groups = args.texts("ignoredResourceGroups", refusals)?;
    args.optional("scoringStrategy");
    let owned = |texts: Vec<&str>| texts.into_iter().map(Into::into).collect();
    Some(NodeResourcesFit { ignored: owned(ignored), ignored_groups: owned(groups), followed })
}

/// The score, from the plugin's args.
pub(crate) fn score(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<ResourceScoring> {
    let counting = Counting::of(followed);
    args.optional("ignoredResources");
    args.optional("ignoredResourceGroups");
    let Some(mut fields) = args.object("scoringStrategy", refusals) else {
        let strategy = Strategy::LeastAllocated;
        return Some(ResourceScoring { strategy, resources: default_resources(), counting });
    };
    let resources = resources(&mut fields, refusals)?;
    let kind = fields.text_or("type", "LeastAllocated", refusals)?;
    let ratio = fields.object("requestedToCapacityRatio", refusals);
    let strategy = match (kind, ratio) {
        ("LeastAllocated", _) => Strategy::LeastAllocated,
        ("MostAllocated", _) => Strategy::MostAllocated,
        ("RequestedToCapacityRatio", Some(mut ratio)) => {
            let points = shape(&mut ratio, refusals)?;
            ratio.finish(refusals);
            Strategy::RequestedToCapacityRatio(points)
        }
        ("RequestedToCapacityRatio", None) => {
            fields.required("requestedToCapacityRatio", refusals)?;
            return None;
        }
        (other, _) => {
            let hint = "LeastAllocated, MostAllocated or RequestedToCapacityRatio";
            refusals.add(
                UNKNOWN,
                &fields.place_of("type"),
                format!("unknown scoring strategy {other:?}"),
                hint,
            );
            return None;
        }
    };
    fields.finish(refusals);
    Some(ResourceScoring { strategy, resources, counting })
}
