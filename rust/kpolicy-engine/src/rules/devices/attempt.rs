//! One attempt to find devices of one node: the candidates in order, and what is chosen so far.

use crate::model::{Ask, Device, ResourceClaim, ResourceSlice, WrittenQuantity};
use crate::release::{Followed, Gate};
use crate::snapshot::device_flags::Flags;
use crate::snapshot::device_rows::{Held, Row};
use crate::snapshot::devices_in_use::DeviceUse;
use crate::snapshot::{Cluster, NodeView};

use super::comparing::Comparing;
use super::constraints::Constraint;
use super::counters::Counters;
use super::marks::Marks;
use super::pools::{Pool, State};
use super::remembered::Remembered;
use super::requests::{Entry, Request};
use super::search::Stop;
use super::work::{CONSTRAINT, LOOKED_UP, Work};

/// A device that the node sees, in the order of the search.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) pool: usize,
    pub(super) slice: &'a ResourceSlice,
    pub(super) device: &'a Device,
    pub(super) row: Row<'a>,
    pub(super) held: Held<'a>,
}

impl<'a> Candidate<'a> {
    /// Who has something of it; somebody may have to be looked up.
    pub(super) fn in_use(&self) -> Option<&'a DeviceUse> {
        match self.held {
            Held::Known(own) => own,
            Held::InShares(pool) => pool.get(&*self.device.name),
        }
    }

    /// Whether anybody has something of it.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self.held, Held::Known(None))
    }

    /// What looking them up takes.
    pub(super) fn units_of_use(&self) -> u64 {
        if matches!(self.held, Held::InShares(_)) { LOOKED_UP } else { 0 }
    }
}

/// A device chosen for a claim.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// Place among all requests.
    pub(super) request: usize,
    /// Place among all candidates.
    pub(super) place: usize,
    /// What a share of it takes; `None`: it is taken whole.
    pub(super) consumed: Option<Vec<(Box<str>, WrittenQuantity)>>,
}

#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) claims: &'a [&'a ResourceClaim],
    pub(super) cluster: &'a Cluster,
    pub(super) node: NodeView<'a>,
    pub(super) followed: Followed,
    pub(super) pools: &'a [Pool<'a>],
    pub(super) candidates: Vec<Candidate<'a>>,
    /// The places of those that claims of the cluster leave something of.
    pub(super) free: Vec<usize>,
    pub(super) requests: Vec<Request<'a>>,
    /// By claim and request.
    pub(super) entries: Vec<Vec<Entry>>,
    /// Which alternative was chosen, by claim and request.
    pub(super) alternatives: Vec<Vec<usize>>,
    /// By claim.
    pub(super) constraints: Vec<Vec<Constraint<'a>>>,
    pub(super) counters: Counters<'a>,
    pub(super) marks: Marks,
    /// What is tried in vain is undone wholly: 1.36 does not.
    pub(super) repairs: bool,
    /// Trying a device in vain leaves no trace: 1.36 may leave counters taken and forget what
    /// constraints compare with.
    pub(super) undoes_all: bool,
    /// By claim.
    pub(super) chosen: Vec<Vec<Chosen>>,
    /// Whether selectors accept a device, by request and place: 0 where not asked yet.
    pub(super) selected: Vec<u8>,
    pub(super) remembered: Remembered<'a>,
    pub(super) work: &'a mut Work,
    /// The claim and the request that it got to.
    pub(super) reached: (usize, &'a str),
    pub(super) depth: usize,
    /// Where allocations are compared; `None`: the first one is taken.
    pub(super) comparing: Option<Comparing<'a>>,
}

impl<'a> Attempt<'a> {
    pub(super) fn begin(
        claims: &'a [&'a ResourceClaim],
        cluster: &'a Cluster,
        (node, followed): (NodeView<'a>, Followed),
        pools: &'a [Pool<'a>],
        work: &'a mut Work,
    ) -> Result<Self, (Stop, String)> {
        let units = pools.iter().map(Pool::units_of_places).sum();
        if let Err(stop) = work.charge(units) {
            return Err((stop.into(), String::new()));
        }
        let candidates = candidates(pools);
        let places = candidates.len();
        let repairs = followed.traits().repairs_allocator;
        let mut attempt = Self {
            claims,
            cluster,
            node,
            followed,
            pools,
            candidates,
            free: Vec::new(),
            requests: Vec::new(),
            entries: Vec::with_capacity(claims.len()),
            alternatives: Vec::with_capacity(claims.len()),
            constraints: Vec::with_capacity(claims.len()),
            counters: Counters::new(repairs),
            marks: Marks::new(places),
            repairs,
            undoes_all: true,
            chosen: claims.iter().map(|_| Vec::new()).collect(),
            selected: Vec::new(),
            remembered: Remembered::default(),
            work,
            reached: (0, ""),
            depth: 0,
            comparing: None,
        };
        match attempt.prepare() {
            Ok(()) => Ok(attempt),
            Err(stop) => Err((stop, attempt.part())),
        }
    }

    fn prepare(&mut self) -> Result<(), Stop> {
        let (claims, followed) = (self.claims, self.followed);
        let attempt = self;
        let candidates = attempt.candidates.iter().enumerate();
        let left = candidates.filter(|(_, candidate)| !attempt.is_used_up(candidate));
        attempt.free = left.map(|(place, _)| place).collect();
        let is_plain = |flags: Flags| !flags.consumes() && !flags.is_shared();
        attempt.undoes_all = attempt.repairs
            || (claims.iter().all(|claim| claim.constraints.is_empty())
                && attempt.candidates.iter().all(|candidate| is_plain(candidate.row.flags())));
        for (index, claim) in claims.iter().enumerate() {
            attempt.reached = (index, "");
            attempt.work.charge_each(claim.constraints.len(), CONSTRAINT)?;
            attempt.prepare_claim(index, claim)?;
            attempt.alternatives.push(vec![0; claim.requests.len()]);
            let mut constraints = Vec::with_capacity(claim.constraints.len());
            for (number, constraint) in claim.constraints.iter().enumerate() {
                let Some(ready) = Constraint::of(constraint, followed, attempt.repairs) else {
                    let key = super::key_of(claim);
                    return Err(Stop::Fatal(format!(
                        "claim {key}, constraint #{number}: empty constraint (unsupported constraint type?)"
                    )));
                };
                constraints.push(ready);
            }
            attempt.constraints.push(constraints);
        }
        Ok(())
    }

    /// The part of a claim that it got to, for people.
    pub(super) fn part(&self) -> String {
        let (claim, request) = self.reached;
        let key = self.claims.get(claim).map(|claim| super::key_of(claim)).unwrap_or_default();
        if request.is_empty() {
            format!("claim {key}")
        } else {
            format!("claim {key}, request {request}")
        }
    }

    /// Whether the device is given out in shares.
    pub(super) fn is_shared(&self, row: Row<'_>) -> bool {
        row.flags().is_shared() && self.followed.has(Gate::DRAConsumableCapacity)
    }

    /// Whether the claims of the cluster leave nothing of the device: one has it whole, or a share of
    /// it where shares are not known.
    pub(super) fn is_used_up(&self, candidate: &Candidate<'_>) -> bool {
        let knows_shares = self.followed.has(Gate::DRAConsumableCapacity);
        match candidate.held {
            Held::Known(own) => {
                own.is_some_and(|own| own.whole > 0 || (own.shares > 0 && !knows_shares))
            }
            Held::InShares(_) => !knows_shares,
        }
    }

    /// Whether a device has a taint that keeps the request away.
    pub(super) fn is_tainted(&self, candidate: &Candidate<'_>, ask: &Ask) -> bool {
        let rules = self.pools.get(candidate.pool).map(|pool| pool.taint_rules);
        if !candidate.row.flags().has_taints() && rules.is_none_or(|rules| rules.len() == 0) {
            return false;
        }
        let (driver, name) = (&candidate.slice.driver, &candidate.device.name);
        let of_rules = rules.iter().flat_map(|rules| rules.taints(driver, name));
        self.followed.has(Gate::DRADeviceTaints)
            && candidate
                .row
                .taints()
                .iter()
                .chain(of_rules)
                .filter(|taint| taint.is_hard())
                .any(|taint| !ask.tolerations.iter().any(|own| own.tolerates(taint)))
    }

    /// What asking for its taints takes.
    pub(super) fn units_of_taints(&self, candidate: &Candidate<'_>, ask: &Ask) -> u64 {
        let of_rules = self.pools.get(candidate.pool).map_or(0, |pool| pool.taint_rules.len());
        let has_taints = candidate.row.flags().has_taints();
        let own = if has_taints { candidate.row.taints().len() } else { 0 };
        let named = if of_rules > 0 { LOOKED_UP } else { 0 };
        let taints = (own + of_rules) as u64;
        taints.saturating_mul(1 + ask.tolerations.len() as u64).saturating_add(named)
    }

    pub(super) fn candidate(&self, place: usize) -> Option<&Candidate<'a>> {
        self.candidates.get(place)
    }
}

/// All devices of whole pools, in order.
fn candidates<'a>(pools: &[Pool<'a>]) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::with_capacity(pools.iter().map(Pool::places).sum());
    for (index, pool) in pools.iter().enumerate().filter(|(_, pool)| pool.state == State::Whole) {
        for own in &pool.seen {
            candidates.extend(own.rows().map(|row| Candidate {
                pool: index,
                slice: own.slice,
                device: row.device,
                row,
                held: pool.held(row),
            }));
        }
    }
    candidates
}
