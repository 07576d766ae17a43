//! The same world for all nodes at once: one lane a slot.
//!
//! Owns the columns of one call. Lanes without a node hold anything and must not be selected.

use std::borrow::Cow;
use std::sync::Arc;

use kpolicy_cel::{Answer, Bits, Column, Columns, Dictionary, Expression, Facts, Read, Value};
use rustc_hash::FxHashMap;

use crate::resources::names;
use crate::snapshot::{Cluster, Domains, NodeView, Pod, columns};

use super::api_path::kept_path;
use super::domain_sums::DomainSums;
use super::pod_set::{Asked, requested};
use super::world::{
    ClusterWorld, NodeWorld, condition, fits, free, has_image, is_ready, offered, share,
    utilization,
};

/// Columns that must outlive the call that asks for them, by the read's index.
enum Held {
    Labels(Arc<Domains>),
    Texts { ids: Vec<u32>, texts: Vec<Arc<str>> },
    Classes(Vec<u32>),
    None,
}

/// What nodes have of a resource, what pods hold of it, and what is left.
struct Amounts<'a> {
    has: &'a [f64],
    held: &'a [f64],
    free: &'a [f64],
}

pub struct NodeColumns<'a> {
    world: ClusterWorld<'a>,
    held: Vec<Held>,
    sums: DomainSums,
}

/// The lanes that have a node.
pub fn live(cluster: &Cluster) -> Bits {
    Bits::of_slice(&cluster.nodes().columns().live, |is_live| is_live)
}

impl<'a> NodeColumns<'a> {
    pub fn of(expression: &Expression, world: ClusterWorld<'a>) -> Self {
        let cluster = world.0.cluster;
        let held = expression.reads().iter().map(|read| held(read, cluster)).collect();
        Self { world, held, sums: DomainSums::default() }
    }

    fn cluster(&self) -> &'a Cluster {
        self.world.0.cluster
    }

    /// A fact that rests on no node.
    fn shared(&self, read: &Read) -> Answer {
        if read.fact.starts_with("cluster.") {
            self.sums.of_cluster(self.world, read)
        } else {
            self.world.read(read)
        }
    }

    fn each<T: Copy>(&self, empty: T, of: impl Fn(NodeView<'_>) -> T) -> Vec<T> {
        let mut values = vec![empty; self.lanes()];
        for view in self.cluster().nodes().iter() {
            if let Some(cell) = values.get_mut(view.slot.index()) {
                *cell = of(view);
            }
        }
        values
    }

    fn ints(&self, of: impl Fn(NodeView<'_>) -> i64) -> Column<'_> {
        Column::Int(Cow::Owned(self.each(0, of)))
    }

    fn bools(&self, of: impl Fn(NodeView<'_>) -> bool) -> Column<'_> {
        let mut words = vec![0_u64; self.lanes().div_ceil(64)];
        for view in self.cluster().nodes().iter().filter(|view| of(*view)) {
            let lane = view.slot.index();
            if let Some(word) = words.get_mut(lane / 64) {
                *word |= 1 << (lane % 64);
            }
        }
        Column::Bool(Cow::Owned(words))
    }

    fn numbers(&self, path: &str, args: &[Value]) -> Column<'_> {
        let pod = self.world.0.pod;
        match (path, args) {
            ("unschedulable", []) => self.bools(|view| view.node.object.unschedulable),
            ("ready", []) => self.bools(is_ready),
            ("fits", []) => match roomy(pod, self.cluster().nodes().columns()) {
                Some(fits) => Column::Bool(Cow::Owned(fits.words().to_vec())),
                None => self.bools(|view| fits(pod, view)),
            },
            ("hasImage", [Value::String(image)]) => self.bools(|view| has_image(view, image)),
            ("podLimit", []) => match self.exact() {
                Some(columns) => whole(&columns.pods_allowed),
                None => self.ints(|view| view.node.allocatable.pods),
            },
            ("podCount", []) => match self.exact() {
                Some(columns) => whole(&columns.pods),
                None => self.ints(|view| requested(view.load, "pods")),
            },
            ("allocatable", [Value::String(name)]) => match self.amounts(name) {
                Some(amounts) => whole(amounts.has),
                None => self.ints(|view| offered(&view.node.allocatable, name)),
            },
            ("capacity", [Value::String(name)]) => {
                self.ints(|view| offered(&view.node.capacity, name))
            }
            ("requested", [Value::String(name)]) => match self.amounts(name) {
                Some(amounts) => whole(amounts.held),
                None => self.ints(|view| requested(view.load, name)),
            },
            ("free", [Value::String(name)]) => match self.amounts(name) {
                Some(amounts) => whole(amounts.free),
                None => self.ints(|view| free(view, name)),
            },
            ("utilization", [Value::String(name)]) => Column::Double(match self.amounts(name) {
                Some(Amounts { has, held, .. }) => {
                    held.iter().zip(has).map(|(held, has)| share(*held, *has)).collect()
                }
                None => Cow::Owned(self.each(0.0, |view| utilization(view, name))),
            }),
            _ => match path.strip_prefix("pods.").map(|what| Asked::of(what, args)) {
                Some(Ok(asked)) => Column::Int(Cow::Owned(asked.by_slot(self.cluster()))),
                _ => Column::Unavailable,
            },
        }
    }

    /// The numbers that the snapshot has side by side, where they are exact.
    fn exact(&self) -> Option<&'a columns::Columns> {
        let columns = self.cluster().nodes().columns();
        columns.is_exact().then_some(columns)
    }

    fn amounts(&self, name: &str) -> Option<Amounts<'a>> {
        let at = match name {
            names::CPU => columns::CPU,
            names::MEMORY => columns::MEMORY,
            names::EPHEMERAL_STORAGE => columns::EPHEMERAL_STORAGE,
            _ => return None,
        };
        let columns = self.exact()?;
        Some(Amounts {
            has: columns.allocatable.get(at)?,
            held: columns.requested.get(at)?,
            free: columns.free.get(at)?,
        })
    }

    fn of_domain(&self, path: &str, read: &Read) -> Column<'_> {
        match self.sums.of_domain(self.cluster(), path, read) {
            Ok(sums) => sums.column(),
            Err(_) => Column::Unavailable,
        }
    }
}

/// Exact numbers as integers.
fn whole(values: &[f64]) -> Column<'_> {
    Column::Whole(Cow::Borrowed(values))
}

/// The nodes with room for the pod, as [`fits`] says of one; `None` where numbers are not exact or
/// the pod asks for more than columns tell.
fn roomy(pod: &Pod, columns: &columns::Columns) -> Option<Bits> {
    let asked = &pod.requests().fit;
    if !columns.is_exact() || asked.scalars.iter().any(|(_, amount)| *amount > 0) {
        return None;
    }
    let mut roomy = Bits::of_slices(&columns.pods, &columns.pods_allowed, |held, most| held < most);
    let amounts = [asked.cpu_milli, asked.memory, asked.ephemeral_storage];
    for (amount, free) in amounts.into_iter().zip(&columns.free).filter(|(amount, _)| *amount > 0) {
        let amount = columns::approximate(amount);
        roomy = roomy.and(&Bits::of_slice(free, |free| amount <= free));
    }
    Some(roomy)
}

/// Whether a fact rests on no node: all nodes get the same answer to the same arguments.
pub fn is_shared(fact: &str) -> bool {
    !fact.starts_with("node.")
}

/// What a read's column must keep, if it is one of texts or classes.
fn held(read: &Read, cluster: &Cluster) -> Held {
    match (&*read.fact, read.args.as_slice()) {
        ("node.labels[]" | "node.metadata.labels[]" | "node.domain.name", [Value::String(key)]) => {
            Held::Labels(cluster.nodes().domains(key))
        }
        ("node.name" | "node.metadata.name", []) => {
            texts(cluster, |view| Some(Arc::clone(&view.node.name)))
        }
        ("node.conditions[]", [Value::String(kind)]) => {
            texts(cluster, |view| condition(view, kind).map(Into::into))
        }
        ("node.taints", []) => classes(cluster, |view| view.node.taints.id()),
        (fact, args) => match fact.strip_prefix("node.").and_then(kept_path) {
            Some(path) => at_path(cluster, path, args),
            None => Held::None,
        },
    }
}

/// Texts where all nodes have a text or nothing at the path, else nodes of equal values as classes.
fn at_path(cluster: &Cluster, path: &str, args: &[Value]) -> Held {
    let kept = |view: NodeView<'_>| view.node.object.api_values.get(path).cloned();
    let is_text = |view: NodeView<'_>| {
        let found = view.node.object.api_values.get(path);
        found.is_some_and(|kept| matches!(kept.value, None | Some(Value::String(_))))
    };
    if args.is_empty() && cluster.nodes().iter().all(is_text) {
        return texts(cluster, |view| match kept(view)?.value? {
            Value::String(text) => Some(text),
            _ => None,
        });
    }
    let mut known: FxHashMap<Option<Box<str>>, u32> = FxHashMap::default();
    let mut ids = vec![0; cluster.nodes().slots()];
    for view in cluster.nodes().iter() {
        let next = u32::try_from(known.len()).unwrap_or(0);
        if let Some(cell) = ids.get_mut(view.slot.index()) {
            *cell = *known.entry(kept(view).map(|kept| kept.text)).or_insert(next);
        }
    }
    Held::Classes(ids)
}

fn texts(cluster: &Cluster, of: impl Fn(NodeView<'_>) -> Option<Arc<str>>) -> Held {
    let mut texts: Vec<Arc<str>> = vec!["".into()];
    let mut known: FxHashMap<Arc<str>, u32> = FxHashMap::default();
    let mut ids = vec![0; cluster.nodes().slots()];
    for view in cluster.nodes().iter() {
        let (Some(cell), Some(text)) = (ids.get_mut(view.slot.index()), of(view)) else { continue };
        *cell = *known.entry(Arc::clone(&text)).or_insert_with(|| {
            texts.push(text);
            u32::try_from(texts.len() - 1).unwrap_or(0)
        });
    }
    Held::Texts { ids, texts }
}

fn classes(cluster: &Cluster, of: impl Fn(NodeView<'_>) -> u64) -> Held {
    let mut known: FxHashMap<u64, u32> = FxHashMap::default();
    let mut ids = vec![0; cluster.nodes().slots()];
    for view in cluster.nodes().iter() {
        let next = u32::try_from(known.len()).unwrap_or(0);
        if let Some(cell) = ids.get_mut(view.slot.index()) {
            *cell = *known.entry(of(view)).or_insert(next);
        }
    }
    Held::Classes(ids)
}

impl Dictionary for Held {
    fn text(&self, id: u32) -> &str {
        match self {
            Self::Labels(domains) => domains.value(id).unwrap_or_default(),
            Self::Texts { texts, .. } => texts.get(id as usize).map_or("", AsRef::as_ref),
            Self::Classes(_) | Self::None => "",
        }
    }

    fn id(&self, text: &str) -> Option<u32> {
        match self {
            Self::Labels(domains) => domains.find(text),
            Self::Texts { texts, .. } => {
                let position = texts.iter().skip(1).position(|have| **have == *text)?;
                u32::try_from(position + 1).ok()
            }
            Self::Classes(_) | Self::None => None,
        }
    }
}

impl Columns for NodeColumns<'_> {
    fn lanes(&self) -> usize {
        self.cluster().nodes().slots()
    }

    fn column(&self, read: &Read) -> Column<'_> {
        let Some(path) = read.fact.strip_prefix("node.") else {
            return Column::Constant(self.shared(read));
        };
        match self.held.get(read.index as usize) {
            Some(held @ Held::Labels(domains)) => {
                return Column::Text { ids: domains.ids(), dictionary: held };
            }
            Some(held @ Held::Texts { ids, .. }) => {
                return Column::Text { ids, dictionary: held };
            }
            Some(Held::Classes(ids)) => return Column::Classes(ids),
            Some(Held::None) | None => {}
        }
        match path.strip_prefix("domain.") {
            Some(path) => self.of_domain(path, read),
            None => self.numbers(path, &read.args),
        }
    }

    fn is_shared(&self, fact: &str) -> bool {
        is_shared(fact)
    }

    fn work(&self, read: &Read) -> u64 {
        self.world.work(read)
    }

    fn read(&self, lane: usize, read: &Read) -> Answer {
        let slot = self.cluster().nodes().slot_at(lane);
        let Some(node) = slot.and_then(|slot| self.cluster().nodes().view(slot)) else {
            return Answer::Absent;
        };
        if is_shared(&read.fact) {
            return self.shared(read);
        }
        match read.fact.strip_prefix("node.domain.") {
            None | Some("name") => NodeWorld { world: self.world, node }.read(read),
            Some(path) => self.sums.on_node(self.cluster(), path, read, node.slot),
        }
    }
}
