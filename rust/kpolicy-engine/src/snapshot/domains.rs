//! Topology domains: the value of one label on every node, as small ids.
//!
//! Owns columns made on demand for the keys that rules ask for, kept up to date as nodes change.
//! Ids mean something only within one column and one `version`. Columns are a cache: dropping one
//! loses nothing.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::node::NodeSlot;
use super::nodes::Nodes;

/// With more keys than this, all columns are dropped at the next change of a node.
const KEYS_MAX: usize = 256;

/// The value of a label by node. Id 0 is absence.
#[derive(Debug, Clone)]
pub struct Domains {
    ids: Vec<u32>,
    values: Vec<Arc<str>>,
    by_value: FxHashMap<Arc<str>, u32>,
    version: u64,
}

pub const ABSENT: u32 = 0;

impl Domains {
    fn new(version: u64) -> Self {
        Self { ids: Vec::new(), values: vec!["".into()], by_value: FxHashMap::default(), version }
    }

    /// By slot; [`ABSENT`] where the node lacks the key or there is no node.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    pub fn id(&self, slot: NodeSlot) -> u32 {
        self.ids.get(slot.index()).copied().unwrap_or(ABSENT)
    }

    /// One more than the greatest id: the length of a table by id.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.len() <= 1
    }

    pub fn value(&self, id: u32) -> Option<&str> {
        if id == ABSENT {
            return None;
        }
        self.values.get(id as usize).map(AsRef::as_ref)
    }

    pub fn find(&self, value: &str) -> Option<u32> {
        self.by_value.get(value).copied()
    }

    /// Changes whenever an id changed its meaning.
    pub fn version(&self) -> u64 {
        self.version
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
        let value: Arc<str> = value.into();
        self.values.push(Arc::clone(&value));
        self.by_value.insert(value, id);
        id
    }
}

#[derive(Debug, Default)]
pub(super) struct DomainColumns {
    by_key: RwLock<FxHashMap<Box<str>, Arc<Domains>>>,
    versions: std::sync::atomic::AtomicU64,
}

impl DomainColumns {
    pub fn column(&self, key: &str, nodes: &Nodes) -> Arc<Domains> {
        let found =
            self.by_key.read().unwrap_or_else(PoisonError::into_inner).get(key).map(Arc::clone);
        if let Some(found) = found {
            return found;
        }
        let version = self.versions.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut domains = Domains::new(version);
        domains.ids.resize(nodes.slots(), ABSENT);
        for view in nodes.iter() {
            domains.set(view.slot, view.node.object.meta.labels.get(key));
        }
        let domains = Arc::new(domains);
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        by_key.insert(key.into(), Arc::clone(&domains));
        domains
    }

    /// Follows a node that changed; `label` gives its value of a key.
    pub fn follow<'a>(&mut self, slot: NodeSlot, label: impl Fn(&str) -> Option<&'a str>) {
        let by_key = self.by_key.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Only between cycles: within one, ids must keep their meaning.
        if by_key.len() > KEYS_MAX {
            by_key.clear();
        }
        // Values of nodes that left would pile up: a column made anew holds only those in use.
        by_key.retain(|_, domains| domains.values.len() <= 2 * domains.ids.len() + 64);
        // Each column by itself: the order of keys does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for (key, domains) in by_key.iter_mut() {
            Arc::make_mut(domains).set(slot, label(key));
        }
    }
}
