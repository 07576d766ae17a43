//! Topology domains: the value of one label on every node, as small ids.
//!
//! Columns are made on demand for the keys that rules read, and kept up to date as nodes change.
//! Ids mean something only within one column and one `version`. Columns are a cache with a bound in
//! keys and in bytes: beyond it a column is made for the call that asks and not kept, so that pods
//! with thousands of label keys hold no memory. Keys that no node has share one column, which is made
//! without looking at nodes. Two columns of one key that are made while no node changes have the same
//! ids.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::heap::{flat_bytes, table_bytes};

use super::lanes_read::count;
use super::node::NodeSlot;
use super::nodes::Nodes;

/// The most keys whose columns are kept. The half that was asked for longest ago is dropped at the
/// next change of a node: within one cycle ids must keep their meaning. Of those that were asked for
/// by the same snapshot the last by name remain, whichever thread asked first.
const KEYS_MAX: usize = 256;

/// The most bytes that columns take together: so many, and so many a node.
const BYTES_MAX: usize = 2 << 20;
const BYTES_A_NODE_MAX: usize = 2 << 10;

/// What stands in front of the text of a value: the two counters of a reference.
const BYTES_A_VALUE: usize = 16;

/// The value of a label by node. Id 0 is absence.
#[derive(Debug, Clone)]
pub struct Domains {
    ids: Vec<u32>,
    values: Vec<Arc<str>>,
    by_value: FxHashMap<Arc<str>, u32>,
    /// Of all values.
    text_bytes: usize,
    version: u64,
}

pub(crate) const ABSENT: u32 = 0;

impl Domains {
    fn new(version: u64) -> Self {
        let by_value = FxHashMap::default();
        Self { ids: Vec::new(), values: vec!["".into()], by_value, text_bytes: 0, version }
    }

    /// By slot; [`ABSENT`] where the node lacks the key or there is no node.
    pub(crate) fn ids(&self) -> &[u32] {
        count(self.ids.len());
        &self.ids
    }

    pub(crate) fn id(&self, slot: NodeSlot) -> u32 {
        self.id_at(slot.index())
    }

    /// As [`Domains::id`], of a position in a column.
    pub(crate) fn id_at(&self, index: usize) -> u32 {
        count(1);
        self.ids.get(index).copied().unwrap_or(ABSENT)
    }

    /// One more than the greatest id: the length of a table by id.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// All values that nodes have, sorted; a value that nodes had keeps its id.
    pub(crate) fn values_in_use(&self) -> Vec<&str> {
        let mut in_use = vec![None; self.values.len()];
        for id in self.ids() {
            if let Some(value) = in_use.get_mut(*id as usize) {
                *value = self.values.get(*id as usize);
            }
        }
        let in_use = in_use.into_iter().skip(1).flatten();
        let mut values: Vec<&str> = in_use.map(AsRef::as_ref).collect();
        values.sort_unstable();
        values
    }

    pub(crate) fn value(&self, id: u32) -> Option<&str> {
        count(1);
        if id == ABSENT {
            return None;
        }
        self.values.get(id as usize).map(AsRef::as_ref)
    }

    /// The value at a position in a column.
    pub(crate) fn value_at(&self, index: usize) -> Option<&Arc<str>> {
        let id = self.id_at(index);
        if id == ABSENT { None } else { self.values.get(id as usize) }
    }

    pub(crate) fn find(&self, value: &str) -> Option<u32> {
        self.by_value.get(value).copied()
    }

    /// Changes whenever an id changed its meaning.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn bytes(&self) -> usize {
        let values = self.values.capacity() * size_of::<Arc<str>>();
        let texts = BYTES_A_VALUE * self.values.len() + self.text_bytes;
        size_of::<Self>() + flat_bytes(&self.ids) + values + texts + table_bytes(&self.by_value)
    }

    fn set(&mut self, slot: NodeSlot, value: Option<&str>) {
        if self.ids.len() <= slot.index() {
            self.ids.resize(slot.index() + 1, ABSENT);
        }
        let id = match value {
            None => ABSENT,
            Some(value) => match self.find(value) {
                Some(id) => id,
                None => self.add(value),
            },
        };
        if let Some(cell) = self.ids.get_mut(slot.index()) {
            *cell = id;
        }
    }

    fn add(&mut self, value: &str) -> u32 {
        let id = u32::try_from(self.values.len()).unwrap_or(ABSENT);
        self.text_bytes += value.len();
        let value: Arc<str> = value.into();
        self.values.push(Arc::clone(&value));
        self.by_value.insert(value, id);
        id
    }
}

/// A column that is kept, and how old the snapshot was that asked for it last.
#[derive(Debug)]
struct Kept {
    domains: Arc<Domains>,
    asked: AtomicU64,
}

#[derive(Debug, Default)]
struct ByKey {
    kept: FxHashMap<Box<str>, Kept>,
    /// Of all kept columns.
    bytes: usize,
    /// The column of every key that no node has.
    missing: Option<Arc<Domains>>,
}

#[derive(Debug, Default)]
pub(super) struct DomainColumns {
    by_key: RwLock<ByKey>,
    /// Counts columns made.
    versions: AtomicU64,
    /// Counts the snapshots that may ask.
    age: u64,
}

impl DomainColumns {
    pub(super) fn column(&self, key: &str, nodes: &Nodes) -> Arc<Domains> {
        if let Some(kept) = self.by_key.read().unwrap_or_else(PoisonError::into_inner).kept.get(key)
        {
            kept.asked.store(self.age, Ordering::Relaxed);
            return Arc::clone(&kept.domains);
        }
        if !nodes.any_has_label(key) {
            return self.missing(nodes);
        }
        let mut domains = Domains::new(self.next_version());
        domains.ids.resize(nodes.slots(), ABSENT);
        let mut place = 0;
        for view in nodes.iter() {
            domains.set(view.slot, view.node.object.meta.labels.get_near(key, &mut place));
        }
        let domains = Arc::new(domains);
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        by_key.keep(key, domains, self.age)
    }

    fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed)
    }

    /// The snapshot is about to change: what is asked for from here on is asked for later.
    pub(super) fn age(&mut self) {
        self.age += 1;
    }

    /// Whether so many columns can be made that those who ask at once need not mind who is first.
    pub(super) fn has_room(&self) -> bool {
        let by_key = self.by_key.read().unwrap_or_else(PoisonError::into_inner);
        by_key.kept.len() <= KEYS_MAX / 2 && by_key.bytes <= bytes_max(by_key.slots()) / 2
    }

    fn missing(&self, nodes: &Nodes) -> Arc<Domains> {
        let known = |by_key: &ByKey| by_key.missing.clone();
        if let Some(missing) = known(&self.by_key.read().unwrap_or_else(PoisonError::into_inner)) {
            return missing;
        }
        let mut domains = Domains::new(self.next_version());
        domains.ids.resize(nodes.slots(), ABSENT);
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_key.missing.get_or_insert(Arc::new(domains)))
    }

    /// Follows a node that changed; `label` gives its value of a key.
    pub(super) fn follow<'a>(&mut self, slot: NodeSlot, label: impl Fn(&str) -> Option<&'a str>) {
        let by_key = self.by_key.get_mut().unwrap_or_else(PoisonError::into_inner);
        by_key.trim();
        if let Some(missing) = &mut by_key.missing
            && missing.ids.len() <= slot.index()
        {
            Arc::make_mut(missing).set(slot, None);
        }
        // Each column by itself: the order of keys does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for (key, kept) in &mut by_key.kept {
            let domains = Arc::make_mut(&mut kept.domains);
            let before = domains.bytes();
            domains.set(slot, label(key));
            by_key.bytes = by_key.bytes + domains.bytes() - before;
        }
    }
}

fn bytes_max(slots: usize) -> usize {
    BYTES_MAX + BYTES_A_NODE_MAX * slots
}

impl ByKey {
    /// Gives the column that all who ask share: two threads may have made one each.
    fn keep(&mut self, key: &str, domains: Arc<Domains>, now: u64) -> Arc<Domains> {
        if let Some(kept) = self.kept.get(key) {
            return Arc::clone(&kept.domains);
        }
        let bytes = self.bytes + domains.bytes();
        let bytes_max = bytes_max(domains.ids.len());
        if self.kept.len() < KEYS_MAX && bytes <= bytes_max {
            self.bytes = bytes;
            let asked = AtomicU64::new(now);
            self.kept.insert(key.into(), Kept { domains: Arc::clone(&domains), asked });
        }
        domains
    }

    /// Drops what is not worth keeping.
    fn trim(&mut self) {
        // Values of nodes that left would pile up: a column made anew holds only those in use.
        let is_tidy = |domains: &Domains| domains.values.len() <= 2 * domains.ids.len() + 64;
        self.retain(|kept| is_tidy(&kept.domains));
        if self.kept.len() >= KEYS_MAX || self.bytes > bytes_max(self.slots()) {
            let kept = self.kept.iter();
            let asked = kept.map(|(key, kept)| (kept.asked.load(Ordering::Relaxed), key.clone()));
            let mut asked: Vec<(u64, Box<str>)> = asked.collect();
            asked.sort_unstable();
            asked.truncate(asked.len().div_ceil(2));
            for (_, key) in asked {
                self.kept.remove(&key);
            }
            self.weigh();
        }
    }

    fn slots(&self) -> usize {
        self.kept.values().map(|kept| kept.domains.ids.len()).max().unwrap_or(0)
    }

    fn weigh(&mut self) {
        self.bytes = self.kept.values().map(|kept| kept.domains.bytes()).sum();
    }

    fn retain(&mut self, is_kept: impl Fn(&Kept) -> bool) {
        let before = self.kept.len();
        self.kept.retain(|_, kept| is_kept(kept));
        if self.kept.len() != before {
            self.weigh();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_A_NODE_MAX, BYTES_MAX, KEYS_MAX};
    use crate::model::{Labels, Meta, Node};
    use crate::snapshot::Cluster;

    fn node(name: &str, value: &str) -> Node {
        labelled(name, [("zone".to_owned(), value)].into_iter())
    }

    fn labelled<'a>(name: &str, labels: impl Iterator<Item = (String, &'a str)>) -> Node {
        let labels: Labels = labels.collect();
        Node { meta: Meta { name: name.into(), labels, ..Meta::default() }, ..Node::default() }
    }

    /// What columns hold is counted as they grow: values that come later are long ones.
    #[test]
    fn columns_that_grow_beyond_the_bound_are_dropped() {
        let mut cluster = Cluster::default();
        cluster.set_node(labelled(
            "first",
            ["zone", "other"].map(|key| (key.to_owned(), "x")).into_iter(),
        ));
        let version = |cluster: &Cluster, key: &str| cluster.nodes().domains(key).version();
        let (other, zone) = (version(&cluster, "other"), version(&cluster, "zone"));
        let long = "v".repeat(2 * BYTES_A_NODE_MAX);
        let nodes = BYTES_MAX / BYTES_A_NODE_MAX;
        let mut kept = 0;
        while kept < 2 * nodes && version(&cluster, "zone") == zone {
            cluster.set_node(node(&format!("n{kept}"), &format!("{long}{kept}")));
            kept += 1;
        }
        assert!(nodes / 2 < kept && kept < 2 * nodes, "{kept} of {}", 2 * nodes);
        assert_ne!(version(&cluster, "other"), other, "it was asked for longest ago");
    }

    #[test]
    fn values_that_no_node_has_any_more_are_not_told() {
        let mut cluster = Cluster::default();
        cluster.set_node(node("a", "y"));
        cluster.set_node(node("b", "x"));
        assert_eq!(cluster.nodes().domains("zone").values_in_use().len(), 2);
        cluster.remove_node("a");
        assert_eq!(cluster.nodes().domains("zone").values_in_use(), ["x"]);
    }

    #[test]
    fn keys_beyond_the_bound_are_answered_and_not_kept() {
        let mut cluster = Cluster::default();
        let keys = (0..=2 * KEYS_MAX).map(|key| (format!("key-{key}"), "x"));
        cluster.set_node(labelled("a", keys.chain([("zone".to_owned(), "x")])));
        let zone = cluster.nodes().domains("zone").version();
        let version = |cluster: &Cluster, key: &str| cluster.nodes().domains(key).version();
        for key in 0..2 * KEYS_MAX {
            cluster.nodes().domains(&format!("key-{key}"));
        }
        cluster.settle_order();
        assert_eq!(version(&cluster, "zone"), zone, "what is kept stays while no node changes");
        let beyond = format!("key-{}", 2 * KEYS_MAX);
        assert_ne!(version(&cluster, &beyond), version(&cluster, &beyond));
        cluster.set_node(node("b", "y"));
        assert_eq!(version(&cluster, "zone"), zone, "it was asked for last");
        assert_eq!(version(&cluster, &beyond), version(&cluster, &beyond), "there is room again");
        let domains = cluster.nodes().domains("zone");
        assert_eq!(domains.len(), 3);
    }

    #[test]
    fn keys_that_no_node_has_share_a_column_until_one_has_them() {
        let mut cluster = Cluster::default();
        cluster.set_node(node("a", "x"));
        let version = |cluster: &Cluster, key: &str| cluster.nodes().domains(key).version();
        let missing = version(&cluster, "rack");
        assert_eq!(version(&cluster, "row"), missing);
        cluster.set_node(node("b", "x"));
        let column = cluster.nodes().domains("rack");
        assert_eq!((column.ids(), column.version()), (&[0, 0][..], missing), "a node more");
        cluster.set_node(labelled("b", [("rack".to_owned(), "r1")].into_iter()));
        let column = cluster.nodes().domains("rack");
        assert_eq!(column.ids().iter().filter(|id| **id != 0).count(), 1);
        assert_ne!(column.version(), missing);
        assert_eq!(version(&cluster, "row"), missing);
    }

    /// As if several threads asked: only the order differs.
    #[test]
    fn what_is_dropped_does_not_rest_on_who_asked_first() {
        let names: Vec<String> = (0..KEYS_MAX).map(|key| format!("key-{key:03}")).collect();
        let kept_after = |order: &[&String]| {
            let mut cluster = Cluster::default();
            cluster.set_node(labelled("a", names.iter().map(|name| (name.clone(), "x"))));
            let made: Vec<u64> =
                order.iter().map(|key| cluster.nodes().domains(key).version()).collect();
            cluster.set_node(node("b", "y"));
            let version = |key: &String| cluster.nodes().domains(key).version();
            let mut kept: Vec<String> = Vec::new();
            for (key, made) in order.iter().zip(made) {
                if version(key) == made {
                    kept.push((*key).clone());
                }
            }
            kept.sort_unstable();
            kept
        };
        let forwards: Vec<&String> = names.iter().collect();
        let backwards: Vec<&String> = names.iter().rev().collect();
        let kept = kept_after(&forwards);
        assert_eq!(kept.len(), KEYS_MAX / 2);
        assert_eq!(kept_after(&backwards), kept);
    }
}
