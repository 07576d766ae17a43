//! The world of an expression for all nodes at once: one lane for each slot. The columns live for
//! one call. Lanes without a node hold arbitrary values and must not be selected.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use kpolicy_cel::{
    Answer, Bits, Budget, Column, Columns, Dictionary, Expression, Facts, Fault, Name, Read, Value,
};
use rustc_hash::FxHashMap;

use crate::snapshot::node::NodeSlot;
use crate::snapshot::{Cluster, Domains, NodeView, Nodes, Pod, columns};

use super::domain_sums::Sums;
use super::facts::{self, Addend, Row, Source};
use super::lanes::Lanes;
use super::pod_set::PodTotal;
use super::world::{ClusterWorld, NodeWorld};

/// Columns that must outlive the call that asks for them.
enum Held<'a> {
    Labels(Arc<Domains>),
    /// The id of a name is the position of its slot, and one more.
    Names {
        ids: Vec<u32>,
        nodes: &'a Nodes,
    },
    Texts {
        ids: Vec<u32>,
        texts: Vec<Arc<str>>,
    },
    Classes(Vec<u32>),
    /// The same in every lane.
    Same(Answer),
    /// Sums of the domains of a topology key, with the domain of each node.
    Sums {
        sums: Arc<Sums>,
        domains: Arc<Domains>,
    },
    Ints(Vec<i64>),
    Flags(Vec<u64>),
    None,
}

pub(super) struct NodeColumns<'a> {
    world: ClusterWorld<'a>,
    /// By the read's index; made when the first lane is asked for.
    held: Vec<OnceLock<Held<'a>>>,
}

/// The lanes that have a node.
pub(super) fn live(cluster: &Cluster) -> Bits {
    Bits::of_slice(&cluster.nodes().columns().live, |is_live| is_live)
}

/// Whether a fact rests on no node: all nodes get the same answer to the same arguments.
pub(super) fn is_shared(fact: &Name) -> bool {
    facts::source(fact).is_none_or(Source::is_shared)
}

impl<'a> NodeColumns<'a> {
    pub(super) fn of(expression: &Expression, world: ClusterWorld<'a>) -> Self {
        let held = expression.reads().iter().map(|_| OnceLock::new()).collect();
        Self { world, held }
    }

    pub(super) fn cluster(&self) -> &'a Cluster {
        self.world.pod.cluster
    }

    pub(super) fn pod(&self) -> &'a Pod {
        self.world.pod.pod
    }

    fn on_node(&self, lane: usize) -> Option<NodeWorld<'a>> {
        let node = self.cluster().nodes().view(self.cluster().nodes().slot_at(lane)?)?;
        Some(NodeWorld { world: self.world, node })
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

    pub(super) fn doubles(&self, of: impl Fn(NodeView<'_>) -> f64) -> Vec<f64> {
        self.each(0.0, of)
    }

    pub(super) fn ints(&self, of: impl Fn(NodeView<'_>) -> i64) -> Column<'_> {
        Column::Int(Cow::Owned(self.each(0, of)))
    }

    pub(super) fn bools(&self, of: impl Fn(NodeView<'_>) -> bool) -> Column<'_> {
        let mut words = vec![0_u64; self.lanes().div_ceil(64)];
        for view in self.cluster().nodes().iter().filter(|view| of(*view)) {
            let lane = view.slot.index();
            if let Some(word) = words.get_mut(lane / 64) {
                *word |= 1 << (lane % 64);
            }
        }
        Column::Bool(Cow::Owned(words))
    }

    /// The numbers that the snapshot has side by side.
    pub(super) fn of_snapshot(&self) -> &'a columns::Columns {
        self.cluster().nodes().columns()
    }

    /// The numbers of the snapshot, if they are exact.
    pub(super) fn exact(&self) -> Option<&'a columns::Columns> {
        Some(self.of_snapshot()).filter(|columns| columns.is_exact())
    }

    /// The nodes that list an image by this name.
    pub(super) fn of_images(&self, name: &str) -> &'a [(NodeSlot, i64)] {
        self.cluster().nodes().images().on(name)
    }

    /// Of each node, what a set of its pods comes to.
    pub(super) fn totals(&self, total: &PodTotal) -> Column<'_> {
        Column::Int(Cow::Owned(total.by_slot(self.cluster())))
    }
}

impl<'a> NodeColumns<'a> {
    /// What is held of a read; `None` where the arguments are only known while evaluating.
    fn held(&self, read: &Read) -> Option<&Held<'a>> {
        let place = self.held.get(read.index as usize)?;
        Some(place.get_or_init(|| match facts::row(&read.fact) {
            Some((_, Row { source, lanes: Lanes::Numbers(column), .. })) if source.is_walked() => {
                walked(column(self, &read.args))
            }
            Some((_, Row { lanes: Lanes::Sums(addend), .. })) => self.sums(*addend, read),
            Some((_, row)) if row.source.is_shared() => Held::Same(self.world.read(read)),
            Some((_, row)) => held(row, read, self.cluster()),
            None => Held::None,
        }))
    }

    fn sums(&self, addend: Addend, read: &Read) -> Held<'a> {
        match self.world.sums.of_domain(self.pod(), self.cluster(), addend, read) {
            Ok(sums) => Held::Sums { domains: sums.domains(self.cluster()), sums },
            Err(_) => Held::None,
        }
    }

    /// What is held of a read that answers a lane sooner than its node does: what another lane asked for,
    /// and what would be walked for each node again.
    fn held_for_lane(&self, read: &Read) -> Option<&Held<'a>> {
        let held = self.held.get(read.index as usize)?.get();
        let is_once = |source: Source| {
            source.is_walked() || source.is_shared() || matches!(source, Source::DomainSum(_))
        };
        if held.is_none() && facts::source(&read.fact).is_some_and(is_once) {
            return self.held(read);
        }
        held
    }

    /// What is held of one lane.
    fn of_lane(&self, lane: usize, read: &Read) -> Option<Answer> {
        match self.held_for_lane(read)? {
            Held::Labels(domains) => {
                let text = domains.value_at(lane);
                Some(text.map_or(Answer::Absent, |text| Arc::clone(text).into()))
            }
            Held::Texts { ids, texts } => match ids.get(lane) {
                None | Some(0) => Some(Answer::Absent),
                Some(id) => texts.get(*id as usize).map(|text| Arc::clone(text).into()),
            },
            Held::Same(answer) => Some(answer.clone()),
            Held::Sums { sums, domains } => Some(sums.at(domains, lane)),
            Held::Ints(values) => {
                Some(values.get(lane).map_or(Answer::Absent, |value| (*value).into()))
            }
            Held::Flags(words) => {
                let word = words.get(lane / 64).copied().unwrap_or_default();
                Some((word >> (lane % 64) & 1 == 1).into())
            }
            Held::Names { .. } | Held::Classes(_) | Held::None => None,
        }
    }
}

/// What would be walked for each node again.
fn walked(column: Column<'_>) -> Held<'static> {
    match column {
        Column::Int(values) => Held::Ints(values.into_owned()),
        Column::Bool(words) => Held::Flags(words.into_owned()),
        _ => Held::None,
    }
}

/// What a read's column must keep, if it is one of texts or classes.
fn held<'a>(row: &Row, read: &Read, cluster: &'a Cluster) -> Held<'a> {
    match (row.lanes, read.args.as_slice()) {
        (Lanes::Labels, [Value::String(key)]) => Held::Labels(cluster.nodes().domains(key)),
        (Lanes::Names, _) => names(cluster.nodes()),
        (Lanes::Texts(of), args) => texts(cluster, |view| of(view, args)),
        (Lanes::Classes(of), _) => classes(cluster, of),
        (Lanes::AtPath, args) => {
            facts::api_path(&read.fact).map_or(Held::None, |(_, path)| at_path(cluster, path, args))
        }
        (Lanes::None | Lanes::Labels | Lanes::Numbers(_) | Lanes::Sums(_), _) => Held::None,
    }
}

fn names(nodes: &Nodes) -> Held<'_> {
    let mut ids = vec![0; nodes.slots()];
    for slot in nodes.iter().map(|view| view.slot) {
        if let Some(cell) = ids.get_mut(slot.index()) {
            *cell = id_of(slot);
        }
    }
    Held::Names { ids, nodes }
}

fn id_of(slot: NodeSlot) -> u32 {
    u32::try_from(slot.index() + 1).unwrap_or(0)
}

fn name_of(nodes: &Nodes, id: u32) -> Option<&str> {
    let slot = nodes.slot_at((id as usize).checked_sub(1)?)?;
    nodes.view(slot).map(|view| &*view.node.name)
}

/// Texts where all nodes have a text or nothing at the path, else nodes of equal values as classes.
fn at_path(cluster: &Cluster, path: &str, args: &[Value]) -> Held<'static> {
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

fn texts(cluster: &Cluster, of: impl Fn(NodeView<'_>) -> Option<Arc<str>>) -> Held<'static> {
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

fn classes(cluster: &Cluster, of: impl Fn(NodeView<'_>) -> u64) -> Held<'static> {
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

impl Dictionary for Held<'_> {
    fn text(&self, id: u32) -> &str {
        match self {
            Self::Labels(domains) => domains.value(id).unwrap_or_default(),
            Self::Names { nodes, .. } => name_of(nodes, id).unwrap_or_default(),
            Self::Texts { texts, .. } => texts.get(id as usize).map_or("", AsRef::as_ref),
            Self::Classes(_)
            | Self::Same(_)
            | Self::Sums { .. }
            | Self::Ints(_)
            | Self::Flags(_)
            | Self::None => "",
        }
    }

    fn id(&self, text: &str) -> Option<u32> {
        match self {
            Self::Labels(domains) => domains.find(text),
            Self::Texts { texts, .. } => {
                let position = texts.iter().skip(1).position(|have| **have == *text)?;
                u32::try_from(position + 1).ok()
            }
            Self::Names { nodes, .. } => nodes.find(text).map(id_of),
            Self::Classes(_)
            | Self::Same(_)
            | Self::Sums { .. }
            | Self::Ints(_)
            | Self::Flags(_)
            | Self::None => None,
        }
    }
}

impl Columns for NodeColumns<'_> {
    fn lanes(&self) -> usize {
        self.cluster().nodes().slots()
    }

    fn column(&self, read: &Read) -> Column<'_> {
        match self.held(read) {
            Some(held @ Held::Labels(domains)) => {
                return Column::Text { ids: domains.ids(), dictionary: held };
            }
            Some(held @ (Held::Texts { ids, .. } | Held::Names { ids, .. })) => {
                return Column::Text { ids, dictionary: held };
            }
            Some(Held::Classes(ids)) => return Column::Classes(ids),
            Some(Held::Same(answer)) => return Column::Constant(answer.clone()),
            Some(Held::Sums { sums, domains }) => return sums.column(domains),
            Some(Held::Ints(values)) => return Column::Int(Cow::Borrowed(values)),
            Some(Held::Flags(words)) => return Column::Bool(Cow::Borrowed(words)),
            Some(Held::None) | None => {}
        }
        if is_shared(&read.fact) {
            return Column::Constant(self.world.read(read));
        }
        match facts::row(&read.fact).map(|(_, row)| row.lanes) {
            Some(Lanes::Numbers(column)) => column(self, &read.args),
            Some(
                Lanes::None
                | Lanes::Sums(_)
                | Lanes::Labels
                | Lanes::Names
                | Lanes::Texts(_)
                | Lanes::Classes(_)
                | Lanes::AtPath,
            )
            | None => Column::Unavailable,
        }
    }

    fn is_shared(&self, fact: &Name) -> bool {
        is_shared(fact)
    }

    fn read_charged(&self, lane: usize, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        if let Some(answer) = self.of_lane(lane, read) {
            return Ok(answer);
        }
        self.on_node(lane).map_or(Ok(Answer::Absent), |world| world.read_charged(read, budget))
    }

    fn is_made(&self, read: &Read) -> bool {
        facts::is_made_by_node(&read.fact)
    }

    fn read(&self, lane: usize, read: &Read) -> Answer {
        self.of_lane(lane, read)
            .unwrap_or_else(|| self.on_node(lane).map_or(Answer::Absent, |world| world.read(read)))
    }
}
