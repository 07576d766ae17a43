//! Sums by topology: for a key, a number for each value of that label on nodes.
//!
//! Ids of domains hold for one version of a column; `is_current` checks this.

use std::sync::Arc;

use crate::heap::{HeapBytes, flat_bytes};
use crate::rules::Code;
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains, NodeSlot};

#[derive(Debug, Clone, Default)]
pub(super) struct TopologySums {
    /// One for each key, in the order in which keys were first added to.
    by_key: Vec<KeySums>,
}

#[derive(Debug, Clone)]
struct KeySums {
    key: Box<str>,
    version: u64,
    by_domain: Vec<i64>,
    /// How many domains have a sum other than 0.
    live: usize,
}

impl TopologySums {
    /// Adds to the domain that the node is in; a node without the key is in none. Tells whether a
    /// domain's sum became positive or ceased to be.
    pub(super) fn add(
        &mut self,
        cluster: &Cluster,
        key: &str,
        slot: NodeSlot,
        amount: i64,
    ) -> Option<bool> {
        if !cluster.nodes().any_has_label(key) {
            return None;
        }
        let domains = cluster.nodes().domains(key);
        let id = domains.id(slot);
        if id == ABSENT { None } else { self.of(key, &domains).add(&domains, id, amount) }
    }

    /// Adds to many nodes what is there an `amount` each.
    pub(super) fn add_all(
        &mut self,
        key: &str,
        domains: &Domains,
        amounts: impl Iterator<Item = (NodeSlot, i64)>,
    ) {
        let of_domains = amounts.map(|(slot, amount)| (domains.id(slot), amount));
        let mut of_domains = of_domains.filter(|(id, _)| *id != ABSENT).peekable();
        if of_domains.peek().is_some() {
            let sums = self.of(key, domains);
            for (id, amount) in of_domains {
                sums.add(domains, id, amount);
            }
        }
    }

    fn of(&mut self, key: &str, domains: &Domains) -> &mut KeySums {
        let known = self.by_key.iter().position(|sums| sums.key.as_ref() == key);
        let position = known.unwrap_or_else(|| {
            self.by_key.push(KeySums {
                key: key.into(),
                version: domains.version(),
                by_domain: Vec::new(),
                live: 0,
            });
            self.by_key.len() - 1
        });
        &mut self.by_key[position]
    }

    /// No domain of any key has a sum other than 0.
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.iter().all(|sums| sums.live == 0)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.by_key.iter().map(|sums| sums.key.as_ref())
    }

    /// Whether the ids still mean what they meant.
    pub(super) fn is_current(&self, cluster: &Cluster) -> bool {
        self.by_key.iter().all(|sums| cluster.nodes().domains(&sums.key).version() == sums.version)
    }

    /// The sum of the node's domain; `None` if the node lacks the key.
    pub(super) fn at(&self, cluster: &Cluster, key: &str, slot: NodeSlot) -> Option<i64> {
        let id = cluster.nodes().domains(key).id(slot);
        (id != 0).then(|| self.by_id(key, id))
    }

    /// Over all keys, the sum of the node's domains.
    pub(super) fn total(&self, cluster: &Cluster, slot: NodeSlot) -> i64 {
        self.keys().filter_map(|key| self.at(cluster, key, slot)).sum()
    }

    /// Whether any of the node's domains has a sum above 0.
    pub(super) fn any_positive(&self, cluster: &Cluster, slot: NodeSlot) -> bool {
        self.keys().any(|key| self.at(cluster, key, slot).is_some_and(|sum| sum > 0))
    }

    /// The keys with a sum other than 0 somewhere, each with its column, to go through all nodes.
    pub(super) fn columns(&self, cluster: &Cluster) -> Vec<Column<'_>> {
        let live = self.by_key.iter().filter(|sums| sums.live > 0);
        live.map(|sums| Column {
            domains: cluster.nodes().domains(&sums.key),
            by_domain: &sums.by_domain,
        })
        .collect()
    }

    pub(super) fn column(&self, cluster: &Cluster, key: &str) -> Column<'_> {
        let found = self.by_key.iter().find(|sums| sums.key.as_ref() == key);
        Column {
            domains: cluster.nodes().domains(key),
            by_domain: found.map_or(&[], |sums| &sums.by_domain),
        }
    }

    fn by_id(&self, key: &str, id: u32) -> i64 {
        let sums = self.by_key.iter().find(|sums| sums.key.as_ref() == key);
        sums.and_then(|sums| sums.by_domain.get(id as usize)).copied().unwrap_or(0)
    }
}

impl KeySums {
    /// Tells whether the domain's sum became positive or ceased to be.
    fn add(&mut self, domains: &Domains, id: u32, amount: i64) -> Option<bool> {
        let index = id as usize;
        if amount == 0 {
            return None;
        }
        if self.by_domain.len() <= index {
            self.by_domain.resize(domains.len().max(index + 1), 0);
        }
        let cell = self.by_domain.get_mut(index)?;
        let before = *cell;
        *cell = before.saturating_add(amount);
        let after = *cell;
        match (before == 0, after == 0) {
            (true, false) => self.live += 1,
            (false, true) => self.live = self.live.saturating_sub(1),
            _ => {}
        }
        Some((before > 0) != (after > 0))
    }
}

/// One key's sums beside the domains of nodes.
#[derive(Debug)]
pub(super) struct Column<'a> {
    domains: Arc<Domains>,
    by_domain: &'a [i64],
}

impl Column<'_> {
    /// The sum of each node's domain, by slot; 0 where the node lacks the key.
    pub(super) fn each(&self) -> impl Iterator<Item = i64> {
        let at = |id: &u32| self.by_domain.get(*id as usize).copied().unwrap_or(0);
        self.domains.ids().iter().map(at)
    }

    /// What `code_of` gives for the domain of each node, by slot. It gets the sum of a domain, or `None`
    /// for nodes that lack the key.
    pub(super) fn codes(
        &self,
        code_of: impl Fn(Option<i64>) -> Code,
    ) -> impl Iterator<Item = Code> {
        let sums = self.by_domain.iter();
        let mut by_domain: Vec<Code> = sums.map(|sum| code_of(Some(*sum))).collect();
        by_domain.resize(self.domains.len(), code_of(Some(0)));
        if let Some(absent) = by_domain.get_mut(ABSENT as usize) {
            *absent = code_of(None);
        }
        let at = move |id: &u32| by_domain.get(*id as usize).copied().unwrap_or_default();
        self.domains.ids().iter().map(at)
    }
}

impl HeapBytes for KeySums {
    fn heap_bytes(&self) -> usize {
        self.key.heap_bytes() + flat_bytes(&self.by_domain)
    }
}

impl HeapBytes for TopologySums {
    fn heap_bytes(&self) -> usize {
        self.by_key.heap_bytes()
    }
}
