//! The search: every request gets the first devices with which everything after it succeeds too.

use crate::release::Gate;

use super::attempt::{Attempt, Chosen};
use super::capacity::consumed;
use super::requests::{DEVICES_MAX, Request};
use super::work::{
    CONSTRAINING, DEVICES_IN_A_ROW, GIVING, SHARE, STEP, counters_of, of_capacities,
};

/// The search calls itself once for each claim, request and device.
const DEPTH_MAX: usize = 2_500;

/// What ends a search without an answer.
#[derive(Debug)]
pub(super) enum Stop {
    /// An allocation would have more devices than the API stores.
    TooMany,
    /// It takes more units than there are.
    TooMuch,
    /// The whole cycle fails.
    Fatal(String),
}

/// Which device of which request is looked for.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    claim: usize,
    request: usize,
    alternative: usize,
    device: usize,
}

/// How a device was given to a request, so that it can be given up.
#[derive(Debug, Clone, Copy)]
struct Given {
    request: usize,
    place: usize,
    took_counters: bool,
}

impl Attempt<'_> {
    /// Whether there is a solution; if so, it is in `chosen`.
    pub(super) fn search(&mut self) -> Result<bool, Stop> {
        self.allocate(At::default(), false, 0)
    }

    /// `is_chosen`: the alternative is chosen. `start`: the first place to look at.
    fn allocate(&mut self, at: At, is_chosen: bool, start: usize) -> Result<bool, Stop> {
        if self.depth == DEPTH_MAX {
            return Err(Stop::TooMuch);
        }
        self.depth += 1;
        let outcome = self.allocate_next(at, is_chosen, start);
        self.depth -= 1;
        outcome
    }

    fn allocate_next(&mut self, at: At, is_chosen: bool, start: usize) -> Result<bool, Stop> {
        self.work.charge(STEP)?;
        let Some(entries) = self.entries.get(at.claim) else { return self.found() };
        let Some(entry) = entries.get(at.request).copied() else {
            let next = At { claim: at.claim + 1, ..At::default() };
            return match self.allocate(next, false, 0) {
                // Another alternative of this claim may leave room for the next one.
                Err(Stop::TooMany) => Ok(false),
                answer => answer,
            };
        };
        if entry.is_list && !is_chosen {
            return self.allocate_first(at, entry.alternatives);
        }
        let index = entry.first + at.alternative;
        let Some(request) = self.requests.get(index) else { return Ok(false) };
        self.reached = (at.claim, request.base);
        let (count, all) = (request.count, request.all.as_ref());
        if all.is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        let next = At { device: at.device + 1, ..at };
        let all_place = all.and_then(|all| all.get(at.device)).copied();
        let is_all = all.is_some();
        if at.device >= count {
            let next = At { claim: at.claim, request: at.request + 1, ..At::default() };
            return self.allocate(next, false, 0);
        }
        let chosen = self.chosen.get(at.claim).map_or(0, Vec::len);
        if chosen + count - at.device > DEVICES_MAX {
            return Err(Stop::TooMany);
        }
        if is_all {
            let Some(place) = all_place else { return Ok(false) };
            let Some(given) = self.give(at.claim, index, place, true)? else { return Ok(false) };
            let outcome = self.allocate(next, is_chosen, 0);
            if !matches!(outcome, Ok(true)) {
                self.give_up(at.claim, given);
            }
            return outcome;
        }
        let mut after = start;
        let mut tried: Vec<u32> = Vec::new();
        loop {
            if self.are_too_few(index, after, count - at.device)? {
                return Ok(false);
            }
            let (place, passed) = self.next_free(at.claim, index, after);
            self.work.charge(STEP + (passed / DEVICES_IN_A_ROW) as u64)?;
            if place >= self.candidates.len() {
                return Ok(false);
            }
            after = place + 1;
            if self.is_like_one_of(&mut tried, place) {
                continue;
            }
            if !self.will_do(at.claim, index, place)? {
                continue;
            }
            let Some(given) = self.give(at.claim, index, place, false)? else { continue };
            let outcome = self.allocate(next, is_chosen, place + 1);
            if matches!(outcome, Ok(true)) {
                return outcome;
            }
            self.give_up(at.claim, given);
            outcome?;
            self.reached = (at.claim, self.requests.get(index).map_or("", |request| request.base));
        }
    }

    /// The first alternative with which everything after it succeeds.
    fn allocate_first(&mut self, at: At, alternatives: usize) -> Result<bool, Stop> {
        if self.comparing.is_some() {
            // The release has chosen the alternative already.
            let chosen = self.alternatives.get(at.claim).and_then(|chosen| chosen.get(at.request));
            let alternative = chosen.copied().unwrap_or_default();
            return self.allocate(At { alternative, ..at }, true, 0);
        }
        let mut is_too_many = true;
        for alternative in 0..alternatives {
            match self.allocate(At { alternative, ..at }, true, 0) {
                Err(Stop::TooMany) => {}
                Ok(false) => is_too_many = false,
                Ok(true) => {
                    let chosen = self.alternatives.get_mut(at.claim);
                    if let Some(cell) = chosen.and_then(|chosen| chosen.get_mut(at.request)) {
                        *cell = alternative;
                    }
                    return Ok(true);
                }
                Err(other) => return Err(other),
            }
        }
        if is_too_many { Err(Stop::TooMany) } else { Ok(false) }
    }

    /// What giving a device to a request takes, and taking it back.
    fn units_of_giving(&self, claim: usize, request: &Request<'_>, place: usize) -> u64 {
        let Some(candidate) = self.candidate(place) else { return 0 };
        let constraints = self.constraints.get(claim).into_iter().flatten();
        let constraining: u64 = constraints.map(|constraint| constraint.units(CONSTRAINING)).sum();
        let (row, flags) = (candidate.row, candidate.row.flags());
        let pool = self.pools.get(candidate.pool);
        let counting = pool.filter(|_| flags.consumes() && counters_of(row.consumes()) > 0);
        let counting = counting.map_or(0, |pool| self.counters.units(pool, row.consumes()));
        let of_shares = match flags.is_shared() {
            true => {
                let capacities = row.capacity();
                SHARE * capacities.len() as u64
                    + of_capacities(capacities, request.ask)
                    + candidate.units_of_use()
            }
            false => 0,
        };
        GIVING + constraining + counting + of_shares + self.units_of_taints(candidate, request.ask)
    }

    fn is_admin(&self, index: usize) -> bool {
        self.requests.get(index).is_some_and(|request| request.ask.is_admin)
    }

    /// Whether somebody has the device whole.
    fn is_taken(&self, place: usize) -> bool {
        self.candidate(place).is_some_and(|candidate| self.is_used_up(candidate))
            || self.marks.is_chosen(place)
    }

    /// The first place from here on that nobody has, and how many that this attempt has given were
    /// passed over. What claims of the cluster use up is not looked at, except for administrators.
    fn next_free(&self, claim: usize, index: usize, from: usize) -> (usize, usize) {
        let end = self.candidates.len();
        if self.is_admin(index) {
            let mut places = from..end;
            let found = places.find(|place| !self.marks.is_chosen_for(*place, claim));
            let place = found.unwrap_or(end.max(from));
            return (place, place - from);
        }
        let first = self.free.partition_point(|place| *place < from);
        let free = self.free.get(first..).unwrap_or_default();
        let passed = free.iter().position(|place| !self.marks.is_chosen(*place));
        let passed = passed.unwrap_or(free.len());
        (free.get(passed).copied().unwrap_or(end.max(from)), passed)
    }

    /// Whether the devices from here on are known to be too few for a request that wants several: there
    /// are very many ways to choose of them in vain. Each of them was asked for before, so that none can
    /// fail the cycle.
    fn are_too_few(&mut self, index: usize, from: usize, wanted: usize) -> Result<bool, Stop> {
        if wanted < 2 || !self.undoes_all || self.is_admin(index) {
            return Ok(false);
        }
        let first = self.free.partition_point(|place| *place < from);
        let (mut looked_at, mut left) = (0, 0);
        for place in self.free.get(first..).unwrap_or_default() {
            looked_at += 1;
            match self.known(index, *place) {
                _ if self.marks.is_chosen(*place) => {}
                Some(accepted) => left += usize::from(accepted),
                None => left = wanted,
            }
            if left >= wanted {
                break;
            }
        }
        self.work.charge((looked_at / DEVICES_IN_A_ROW) as u64)?;
        Ok(left < wanted)
    }

    /// What is asked of a device before it is tried.
    fn will_do(&mut self, claim: usize, index: usize, place: usize) -> Result<bool, Stop> {
        match self.accepts(claim, index, place) {
            Ok(true) => {}
            // The release looks no further than its own choice, so that what errs there is no error.
            Err(Stop::Fatal(_)) if self.comparing.is_some() => return Ok(false),
            other => return other,
        }
        let Some(request) = self.requests.get(index) else { return Ok(false) };
        let ask = request.ask;
        self.work.charge(self.units_of_capacity(ask, place))?;
        match self.has_capacity(ask, place, false) {
            Err(Stop::Fatal(_)) if self.comparing.is_some() => Ok(false),
            other => other,
        }
    }

    /// Gives a device to a request, if counters, taints, constraints and capacities allow it. `must`:
    /// there is no other one, so that a constraint against it is an error.
    fn give(
        &mut self,
        claim: usize,
        index: usize,
        place: usize,
        must: bool,
    ) -> Result<Option<Given>, Stop> {
        let (Some(request), Some(candidate)) =
            (self.requests.get(index), self.candidates.get(place))
        else {
            return Ok(None);
        };
        let units = self.units_of_giving(claim, request, place);
        self.work.charge(units)?;
        let (ask, row, slice) = (request.ask, candidate.row, candidate.slice);
        let is_repaired = self.repairs;
        let (is_shared, consumes) = (self.is_shared(row), row.flags().consumes());
        if ask.is_admin {
            if !is_shared && self.marks.is_chosen_for(place, claim) {
                return Ok(None);
            }
        } else if self.is_taken(place) {
            return Ok(None);
        }
        if consumes && !self.followed.has(Gate::DRAPartitionableDevices) {
            return Ok(None);
        }
        let is_shared_already = is_shared
            && (candidate.in_use().is_some_and(|own| own.consumers > 0)
                || self.marks.shares(place).is_some());
        let counts = !is_shared_already && consumes;
        let pool = self.pools.get(candidate.pool);
        if counts && !pool.is_some_and(|pool| self.counters.take(pool, row.consumes())) {
            return Ok(None);
        }
        let mut refused = self.is_tainted(candidate, ask);
        let constraints = self.constraints.get_mut(claim).map_or(&mut [][..], Vec::as_mut_slice);
        if !refused {
            let refusing = constraints
                .iter_mut()
                .position(|constraint| !constraint.add(request, &slice.driver, row));
            if let Some(refusing) = refusing {
                if must && self.comparing.is_none() {
                    let key = self.claims.get(claim).map(|claim| super::key_of(claim));
                    return Err(Stop::Fatal(format!(
                        "claim {}, request {}: cannot add device {}/{}/{} because a claim constraint would not be satisfied",
                        key.unwrap_or_default(),
                        ask.name,
                        slice.driver,
                        slice.pool,
                        candidate.device.name
                    )));
                }
                for constraint in constraints.iter_mut().take(refusing) {
                    constraint.remove(request, &slice.driver, row);
                }
                refused = true;
            }
        }
        if refused {
            // 1.36 leaves the counters taken.
            if counts
                && is_repaired
                && let Some(pool) = pool
            {
                self.counters.give_back(pool, row.consumes());
            }
            return Ok(None);
        }
        if !is_shared {
            self.marks.choose(place, claim);
        }
        let given = Given { request: index, place, took_counters: counts };
        if must {
            // One of several was asked for its capacity before it came to this.
            self.work.charge(self.units_of_capacity(ask, place))?;
            if !self.has_capacity(ask, place, false)? {
                // 1.36 leaves all of it as it is.
                if is_repaired {
                    self.undo(claim, given);
                }
                return Ok(None);
            }
        }
        let share = if is_shared {
            let share = consumed(ask, row.capacity(), self.followed).unwrap_or_default();
            let amounts = share.iter().map(|(name, amount)| (&**name, amount.amount.nanos()));
            self.marks.share(place, amounts);
            Some(share)
        } else {
            None
        };
        if let Some(chosen) = self.chosen.get_mut(claim) {
            chosen.push(Chosen { request: index, place, consumed: share });
        }
        Ok(Some(given))
    }

    /// Takes the device that was given last from its request.
    fn give_up(&mut self, claim: usize, given: Given) {
        let last = self.chosen.get_mut(claim).and_then(Vec::pop);
        if let Some(share) = last.and_then(|chosen| chosen.consumed)
            && !share.is_empty()
        {
            let amounts = share.iter().map(|(name, amount)| (&**name, amount.amount.nanos()));
            self.marks.unshare(given.place, amounts);
        }
        self.undo(claim, given);
    }

    /// Undoes constraints, marks and counters.
    fn undo(&mut self, claim: usize, given: Given) {
        let Given { request, place, took_counters } = given;
        let (Some(request), Some(candidate)) =
            (self.requests.get(request), self.candidates.get(place))
        else {
            return;
        };
        let (row, slice) = (candidate.row, candidate.slice);
        for constraint in self.constraints.get_mut(claim).into_iter().flatten() {
            constraint.remove(request, &slice.driver, row);
        }
        self.marks.give_up(place, claim);
        // 1.36 does not return the counters of a shared device.
        let returns = took_counters && (self.repairs || !self.is_shared(row));
        if returns && let Some(pool) = self.pools.get(candidate.pool) {
            self.counters.give_back(pool, row.consumes());
        }
    }
}
