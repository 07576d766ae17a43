//! Pods by domain of one constraint, over nodes that take part in it.
//!
//! [`DomainCounts`] holds the real counts, and apart from them the differences of a hypothetical case
//! (pods added or removed), so that a copy for such a case shares the numbers. Ids of domains hold
//! for one `version`.

use std::sync::Arc;

use crate::heap::{HeapBytes, arc_bytes, flat_bytes};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains};

use super::levels::Levels;

#[derive(Debug, Clone)]
pub(super) struct DomainCounts {
    table: Arc<Table>,
    /// Domains, and how many pods hypothetical placements add to them; few.
    hypothetical: Vec<(u32, i64)>,
}

#[derive(Debug, Clone)]
struct Table {
    version: u64,
    by_domain: Vec<i64>,
    /// Of domains with a node that takes part.
    levels: Levels,
}

impl DomainCounts {
    /// `taking_part` are the domains of nodes that take part; `pods` are domains of such nodes, and
    /// how many pods each adds.
    pub(super) fn of(
        domains: &Domains,
        taking_part: impl Iterator<Item = u32>,
        pods: impl Iterator<Item = (u32, i64)>,
    ) -> Self {
        let mut by_domain = vec![0_i64; domains.len()];
        for (id, pods) in pods {
            if let Some(cell) = by_domain.get_mut(id as usize) {
                *cell += pods;
            }
        }
        let mut is_seen = vec![false; domains.len()];
        let mut seen = Vec::new();
        for id in taking_part {
            if let Some(cell) = is_seen.get_mut(id as usize).filter(|seen| !**seen) {
                *cell = true;
                seen.push(id);
            }
        }
        let at = |id: u32| by_domain.get(id as usize).copied();
        let levels = Levels::of(seen.into_iter().filter_map(at));
        let table = Table { version: domains.version(), by_domain, levels };
        Self { table: Arc::new(table), hypothetical: Vec::new() }
    }

    /// Whether ids still mean what they meant.
    pub(super) fn is_current(&self, cluster: &Cluster, topology_key: &str) -> bool {
        cluster.nodes().domains(topology_key).version() == self.table.version
    }

    /// A pod came to a node that takes part, or left it.
    pub(super) fn add(&mut self, id: u32, pods: i64) {
        let table = Arc::make_mut(&mut self.table);
        if let Some(cell) = table.by_domain.get_mut(id as usize) {
            let before = *cell;
            *cell = before.saturating_add(pods);
            table.levels.shift(before, *cell);
        }
    }

    /// As [`DomainCounts::add`], for a hypothetical case.
    pub(super) fn argue(&mut self, id: u32, pods: i64) {
        match self.hypothetical.iter_mut().find(|(other, _)| *other == id) {
            Some((_, sum)) => *sum = sum.saturating_add(pods),
            None => self.hypothetical.push((id, pods)),
        }
    }

    pub(super) fn at(&self, id: u32) -> i64 {
        let hypothetical = self.hypothetical.iter().find(|(other, _)| *other == id);
        self.plain(id).saturating_add(hypothetical.map_or(0, |(_, sum)| *sum))
    }

    /// The least over all domains. The API takes 0 if there are fewer domains than `minDomains`.
    pub(super) fn least(&self, domains_min: usize) -> i64 {
        let levels = &self.table.levels;
        if levels.domains() < domains_min {
            return 0;
        }
        if self.hypothetical.is_empty() {
            return levels.lowest();
        }
        let plain: Vec<i64> = self.hypothetical.iter().map(|(id, _)| self.plain(*id)).collect();
        let hypothetical = self.hypothetical.iter().map(|(id, _)| self.at(*id));
        levels.lowest_without(&plain).into_iter().chain(hypothetical).min().unwrap_or(0)
    }

    fn plain(&self, id: u32) -> i64 {
        if id == ABSENT {
            return 0;
        }
        self.table.by_domain.get(id as usize).copied().unwrap_or(0)
    }
}

impl HeapBytes for Table {
    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.by_domain) + self.levels.heap_bytes()
    }
}

impl HeapBytes for DomainCounts {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.table) + flat_bytes(&self.hypothetical)
    }
}
