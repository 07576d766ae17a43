//! All nodes: slots, names, columns.
//!
//! Holds the slot of each node and what is on it. The caller, `Cluster`, logs what it changes.
//! Iteration is in slot order, which depends on history: sums and extremes may use it, a choice
//! among nodes goes by `by_rank`.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::columns::Columns;
use super::domains::{DomainColumns, Domains};
use super::images::Images;
use super::label_keys::LabelKeys;
use super::lanes_read::count;
use super::node::{Load, Node, NodeSlot, NodeView};
use super::node_tree::NodeTree;
use super::pod::Pod;
use super::taint_sets::TaintSets;

#[derive(Debug)]
struct Entry {
    node: Arc<Node>,
    load: Load,
}

/// All nodes by slot and by name, with columns of their labels, domains, images and taints.
#[derive(Debug, Default)]
pub struct Nodes {
    entries: Vec<Option<Entry>>,
    free: Vec<NodeSlot>,
    by_name: FxHashMap<Arc<str>, NodeSlot>,
    columns: Columns,
    domains: DomainColumns,
    images: Images,
    label_keys: LabelKeys,
    taint_sets: TaintSets,
    tree: NodeTree,
    by_rank: Vec<NodeSlot>,
    rank: Vec<u32>,
    is_ranked: bool,
    /// How often a newer row took the place of an older one, on any node.
    rows_replaced: u64,
    /// How many pods are on all of them.
    pods: usize,
}

impl Nodes {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The length of every column by slot; some slots may be without a node.
    pub fn slots(&self) -> usize {
        self.entries.len()
    }

    /// How many pods are on nodes.
    pub(crate) fn pods(&self) -> usize {
        self.pods
    }

    /// The slot of the node of this name.
    pub fn find(&self, name: &str) -> Option<NodeSlot> {
        self.by_name.get(name).copied()
    }

    /// The node in a slot; `None` if the slot is free.
    pub fn view(&self, slot: NodeSlot) -> Option<NodeView<'_>> {
        count(1);
        let entry = self.entries.get(slot.index())?.as_ref()?;
        Some(NodeView { slot, node: &entry.node, load: &entry.load })
    }

    /// The slot of a position in a column, if a node is there.
    pub fn slot_at(&self, index: usize) -> Option<NodeSlot> {
        self.entries.get(index)?.as_ref()?;
        NodeSlot::at(index)
    }

    /// The node's shared part, to keep beyond a change.
    pub fn shared(&self, slot: NodeSlot) -> Option<Arc<Node>> {
        self.entries.get(slot.index())?.as_ref().map(|entry| Arc::clone(&entry.node))
    }

    /// All nodes in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| {
            count(1);
            let entry = entry.as_ref()?;
            Some(NodeView { slot: NodeSlot::at(index)?, node: &entry.node, load: &entry.load })
        })
    }

    pub(crate) fn columns(&self) -> &Columns {
        self.columns_of(self.entries.len())
    }

    /// The columns, for who reads so many lanes of them.
    pub(crate) fn columns_of(&self, lanes: usize) -> &Columns {
        count(lanes);
        &self.columns
    }

    /// The values of a label by node. Do not keep it beyond the call it was asked in.
    pub fn domains(&self, key: &str) -> Arc<Domains> {
        self.domains.column(key, self)
    }

    /// Whether columns of several label keys may be asked for at once: which of them are kept must not
    /// rest on who is first.
    pub(crate) fn may_be_asked_at_once(&self) -> bool {
        self.domains.has_room()
    }

    /// Whether any node has a label of this key.
    pub(crate) fn any_has_label(&self, key: &str) -> bool {
        self.label_keys.contains(key)
    }

    /// The label keys that some node has, in no order.
    pub(crate) fn label_keys(&self) -> impl Iterator<Item = &str> {
        self.label_keys.all()
    }

    pub(crate) fn label_keys_count(&self) -> usize {
        self.label_keys.count()
    }

    pub(crate) fn images(&self) -> &Images {
        &self.images
    }

    pub(crate) fn taint_sets(&self) -> &TaintSets {
        &self.taint_sets
    }

    /// Slots in order of the nodes' names. Only after [`Nodes::settle`].
    pub(crate) fn by_rank(&self) -> &[NodeSlot] {
        &self.by_rank
    }

    /// All slots in the order in which kube-scheduler looks at nodes.
    pub(crate) fn in_zones(&self) -> Cow<'_, [NodeSlot]> {
        self.tree.order()
    }

    /// The node's position in `by_rank`.
    pub fn rank_of(&self, slot: NodeSlot) -> u32 {
        self.rank.get(slot.index()).copied().unwrap_or(u32::MAX)
    }

    /// How often a newer row of a pod took the place of one that weighs the same, which no log tells of.
    pub(crate) fn rows_replaced(&self) -> u64 {
        self.rows_replaced
    }

    /// Brings all orders of nodes up to date, for a cycle.
    pub(super) fn settle(&mut self) {
        self.settle_names();
        self.tree.list();
    }

    /// Brings the order of names up to date.
    pub(super) fn settle_names(&mut self) {
        self.domains.age();
        self.rank();
    }

    fn rank(&mut self) {
        if self.is_ranked {
            return;
        }
        let mut named: Vec<(&str, NodeSlot)> = Vec::with_capacity(self.len());
        named.extend(self.iter().map(|view| (view.node.name.as_ref(), view.slot)));
        named.sort_unstable();
        let by_rank: Vec<NodeSlot> = named.into_iter().map(|(_, slot)| slot).collect();
        self.rank = vec![u32::MAX; self.entries.len()];
        for (rank, slot) in (0u32..).zip(&by_rank) {
            if let Some(cell) = self.rank.get_mut(slot.index()) {
                *cell = rank;
            }
        }
        self.by_rank = by_rank;
        self.is_ranked = true;
    }

    /// Puts a new node in a slot, or a changed one in its own. `None` beyond 2³² slots.
    pub(super) fn set(&mut self, node: Arc<Node>) -> Option<NodeSlot> {
        let slot = match self.find(&node.name) {
            Some(slot) => slot,
            None => self.claim(&node)?,
        };
        let entry = self.entries.get_mut(slot.index())?;
        let old = entry.take();
        let images = old.as_ref().map_or(&[][..], |old| &old.node.object.images);
        self.images.follow(slot, images, &node.object.images);
        let labels = old.as_ref().map(|old| &old.node.object.meta.labels);
        self.label_keys.follow(labels, Some(&node.object.meta.labels));
        self.tree.follow(slot, labels, Some(&node.object.meta.labels));
        self.taint_sets.follow(slot.index(), Some(&node.taints));
        let load = old.map(|old| old.load).unwrap_or_default();
        self.columns.set(slot.index(), &node, &load);
        self.domains.follow(slot, |key| node.object.meta.labels.get(key));
        *entry = Some(Entry { node, load });
        Some(slot)
    }

    fn claim(&mut self, node: &Node) -> Option<NodeSlot> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = NodeSlot::at(self.entries.len())?;
                self.entries.push(None);
                self.columns.grow();
                slot
            }
        };
        self.by_name.insert(Arc::clone(&node.name), slot);
        self.is_ranked = false;
        Some(slot)
    }

    /// Takes a node away and gives the pods that were on it.
    pub(super) fn remove(&mut self, name: &str) -> Option<(NodeSlot, Arc<Node>, Vec<Arc<Pod>>)> {
        let slot = self.by_name.remove(name)?;
        let entry = self.entries.get_mut(slot.index())?.take()?;
        self.columns.clear(slot.index());
        self.domains.follow(slot, |_| None);
        self.images.follow(slot, &entry.node.object.images, &[]);
        self.label_keys.follow(Some(&entry.node.object.meta.labels), None);
        self.tree.follow(slot, Some(&entry.node.object.meta.labels), None);
        self.taint_sets.follow(slot.index(), None);
        self.free.push(slot);
        self.is_ranked = false;
        self.pods -= entry.load.pods.len();
        Some((slot, entry.node, entry.load.pods))
    }

    pub(super) fn put(&mut self, slot: NodeSlot, pod: Arc<Pod>) {
        if let Some(Some(entry)) = self.entries.get_mut(slot.index()) {
            entry.load.put(pod);
            self.pods += 1;
            self.domains.age();
            self.columns.set_load(slot.index(), &entry.node, &entry.load);
        }
    }

    /// Puts a newer row of a pod in the place of the older one, which weighs the same. The old row is found
    /// by its address: to read the uids of all pods of the node would cost more than all else here.
    pub(super) fn replace(&mut self, slot: NodeSlot, old: &Arc<Pod>, pod: &Arc<Pod>) {
        if let Some(Some(entry)) = self.entries.get_mut(slot.index())
            && let Some(have) = entry.load.pods.iter_mut().find(|have| Arc::ptr_eq(have, old))
        {
            *have = Arc::clone(pod);
            entry.load.rows_replaced += 1;
            self.rows_replaced += 1;
        }
    }

    pub(super) fn take(&mut self, slot: NodeSlot, uid: &str) {
        if let Some(Some(entry)) = self.entries.get_mut(slot.index()) {
            self.pods -= usize::from(entry.load.take(uid));
            self.columns.set_load(slot.index(), &entry.node, &entry.load);
        }
    }
}
