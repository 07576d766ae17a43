//! What a node has for each request of claims, for people who ask why it has too few devices.

use std::collections::BTreeMap;

use crate::model::{Ask, ResourceClaim};
use crate::release::{Followed, Gate};
use crate::snapshot::devices_in_use::InUseWithout;
use crate::snapshot::{Cluster, NodeView};

use super::attempt::Attempt;
use super::pools;
use super::requests::Entry;
use super::work::Work;

/// What a node has for one request, or for one alternative of it. The devices are counted as if this
/// request were alone.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    /// `namespace/name` of the claim.
    pub(crate) claim: String,
    /// As allocations name it.
    pub(crate) request: Box<str>,
    /// How many devices are asked for.
    pub(crate) wanted: usize,
    /// Whether these are all that it accepts.
    pub(crate) is_all: bool,
    /// The devices that the node sees.
    pub(crate) seen: usize,
    /// Those of them that the class and all selectors accept.
    pub(crate) accepted: usize,
    /// How many of the others each selector refuses: the first one that does.
    pub(crate) refused: BTreeMap<String, usize>,
    /// Accepted devices that claims use.
    pub(crate) in_use: Vec<Place>,
    /// Accepted devices whose taints the request does not tolerate.
    pub(crate) tainted: usize,
    /// Accepted devices with too little capacity.
    pub(crate) short: usize,
    /// Accepted devices that nobody uses, of whose counters others leave too little.
    pub(crate) out_of_counters: usize,
    /// Accepted devices that none of this keeps from the request.
    pub(crate) free: usize,
}

/// Driver, pool and name of a device.
pub(crate) type Place = (Box<str>, Box<str>, Box<str>);

/// What a node has for the requests of these claims; nothing where a search would fail at once.
pub(crate) fn supplies(
    claims: &[&ResourceClaim],
    cluster: &Cluster,
    node: NodeView<'_>,
    followed: Followed,
    work: &mut Work,
) -> Vec<Supply> {
    let in_use = InUseWithout::default();
    let Ok(pools) = pools::gather((cluster, &in_use), node, followed, work) else {
        return Vec::new();
    };
    let begun = Attempt::begin(claims, cluster, (node, followed), &pools, work);
    let Ok(mut attempt) = begun else { return Vec::new() };
    let entries = attempt.entries.clone();
    let mut found = Vec::new();
    for (claim, entries) in entries.iter().enumerate() {
        for Entry { first, alternatives, .. } in entries {
            let indices = *first..first + alternatives;
            found.extend(indices.filter_map(|index| attempt.supply(claim, index)));
        }
    }
    found
}

impl Attempt<'_> {
    fn supply(&mut self, claim: usize, index: usize) -> Option<Supply> {
        let request = self.requests.get(index)?;
        let ask: &Ask = request.ask;
        let mut supply = Supply {
            claim: self.claims.get(claim).map(|claim| super::key_of(claim))?,
            request: request.full_name(),
            wanted: request.count,
            is_all: request.all.is_some(),
            seen: self.candidates.len(),
            ..Supply::default()
        };
        for place in 0..self.candidates.len() {
            if !self.accepts(claim, index, place).unwrap_or(false) {
                if let Some(selector) = self.refusing(index, place) {
                    *supply.refused.entry(selector).or_default() += 1;
                }
                continue;
            }
            supply.accepted += 1;
            let is_short = !self.has_capacity(ask, place, false).unwrap_or(true);
            let is_out_of_counters = self.is_out_of_counters(place);
            let Some(candidate) = self.candidate(place) else { continue };
            let is_in_use = !ask.is_admin && self.is_used_up(candidate);
            let is_tainted = self.is_tainted(candidate, ask);
            if is_in_use {
                let slice = candidate.slice;
                let device = candidate.device.name.clone();
                supply.in_use.push((slice.driver.clone(), slice.pool.clone(), device));
            }
            supply.tainted += usize::from(is_tainted);
            supply.short += usize::from(is_short);
            supply.out_of_counters += usize::from(is_out_of_counters);
            let is_kept = is_in_use || is_tainted || is_short || is_out_of_counters;
            supply.free += usize::from(!is_kept);
        }
        Some(supply)
    }

    fn is_out_of_counters(&mut self, place: usize) -> bool {
        let Some(candidate) = self.candidates.get(place) else { return false };
        let consumes = candidate.row.consumes();
        let is_in_use = candidate.in_use().is_some_and(|own| own.whole + own.shares > 0);
        let Some(pool) = self.pools.get(candidate.pool) else { return false };
        if consumes.is_empty() || is_in_use {
            return false;
        }
        if !self.followed.has(Gate::DRAPartitionableDevices) {
            return true;
        }
        if self.work.charge(self.counters.units(pool, consumes)).is_err() {
            return false;
        }
        let fits = self.counters.take(pool, consumes);
        if fits {
            self.counters.give_back(pool, consumes);
        }
        !fits
    }
}
